package neo4j

import "github.com/dendroprof/dendro/store/neo4j/internal/bolt"

import "math/rand/v2"

// The gate keeps imports apart from what must not happen beside them: a path
// that an importer is about to refer to must not be deleted as unused, nor a run
// to which it is adding its first profile.
//
// It is a lock for many or one, made of a few nodes that are there for nothing
// else: an import writes to one of them, which locks it until its transaction
// ends; who wants to be alone writes to all of them, in order. Importers of
// different processes share a node by chance only, and then wait for each other
// one transaction at a time.

// slots is the number of nodes of the gate.
const slots = 64

// anySlot returns the node that the imports of a Store write to.
func anySlot() int64 { return rand.Int64N(slots) }

// passGate lets a statement in beside other imports, and thereby its transaction:
// what follows it in the statement, too, is read and written behind the gate. It
// knows the mark, which imports must know of: the epoch, under which remembered
// paths are valid, the rules, and the time.
const passGate = `MATCH (g:DendroGate {id: $slot}) SET g.passed = g.passed + 1
	WITH datetime.realtime() AS now MATCH (d:Dendro {id: 'dendro'})
	WITH d {.epoch, .rules, now: now.epochSeconds * 1000000 + now.microsecond} AS mark`

// enter lets a transaction in that has nothing else to do there, and returns the
// mark.
func enter(t *bolt.Tx, slot int64) (bolt.Props, error) {
	r, err := t.One(passGate+" RETURN mark", map[string]any{"slot": slot})
	if err != nil {
		return nil, err
	}
	return r.Props(0), nil
}

// alone waits for all imports that have entered and keeps further ones out until
// the transaction ends.
func alone(t *bolt.Tx) error {
	return t.Do("MATCH (g:DendroGate) WITH g ORDER BY g.id SET g.passed = g.passed + 1", nil)
}
