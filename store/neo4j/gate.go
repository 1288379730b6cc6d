package neo4j

import "github.com/dendroprof/dendro/store/neo4j/internal/bolt"

import "math/rand/v2"

// The gate is a lock for many imports or one deletion: a path that an importer is
// about to refer to must not be deleted as unused, nor a run to which it is adding
// its first profile.
//
// It consists of a few nodes. An import writes to one of them, which locks it until
// its transaction ends; a deletion writes to all of them, in order. Importers of
// different processes rarely share a node, and then wait for one transaction.

// slots is the number of nodes of the gate.
const slots = 64

// anySlot returns the node that the imports of a Store write to.
func anySlot() int64 { return rand.Int64N(slots) }

// passGate lets an import pass the gate: its statement and its transaction continue
// behind it. It returns the mark that imports need: the epoch for which remembered
// paths are valid, the rules, and the time.
const passGate = `MATCH (g:DendroGate {id: $slot}) SET g.passed = g.passed + 1
	WITH datetime.realtime() AS now MATCH (d:Dendro {id: 'dendro'})
	WITH d {.epoch, .rules, now: now.epochSeconds * 1000000 + now.microsecond} AS mark`

// enterGate lets a transaction pass the gate and returns the mark.
func enterGate(t *bolt.Tx, slot int64) (bolt.Props, error) {
	r, err := t.One(passGate+" RETURN mark", map[string]any{"slot": slot})
	if err != nil {
		return nil, err
	}
	return r.Props(0), nil
}

// lockGate waits for all imports that have passed and keeps others out until the
// transaction ends.
func lockGate(t *bolt.Tx) error {
	return t.Do("MATCH (g:DendroGate) WITH g ORDER BY g.id SET g.passed = g.passed + 1", nil)
}
