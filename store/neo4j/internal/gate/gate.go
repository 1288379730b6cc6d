// Package gate is a lock for many imports or one deletion: a path that an importer is
// about to refer to must not be deleted as unused, nor a run to which it is adding
// its first profile.
//
// It consists of a few nodes. An import writes to one of them, which locks it until
// its transaction ends; a deletion writes to all of them, in order. Importers of
// different processes rarely share a node, and then wait for one transaction.
package gate

import (
	"math/rand/v2"

	"github.com/dendroprof/dendro/store/neo4j/internal/bolt"
)

// Slots is the number of nodes of the gate.
const Slots = 64

// AnySlot returns the node that the imports of a Store write to.
func AnySlot() int64 { return rand.Int64N(Slots) }

// Pass lets an import pass the gate: its statement and its transaction continue
// behind it. It returns the mark that imports need: the epoch for which remembered
// paths are valid, the rules, and the time.
const Pass = `MATCH (g:DendroGate {id: $slot}) SET g.passed = g.passed + 1
	WITH datetime.realtime() AS now MATCH (d:Dendro {id: 'dendro'})
	WITH d {.epoch, .rules, now: now.epochSeconds * 1000000 + now.microsecond} AS mark`

// Enter lets a transaction pass the gate and returns the mark.
func Enter(t *bolt.Tx, slot int64) (bolt.Props, error) {
	r, err := t.One(Pass+" RETURN mark", map[string]any{"slot": slot})
	if err != nil {
		return nil, err
	}
	return r.Props(0), nil
}

// Lock waits for all imports that have passed and keeps others out until the
// transaction ends.
func Lock(t *bolt.Tx) error {
	return t.Do("MATCH (g:DendroGate) WITH g ORDER BY g.id SET g.passed = g.passed + 1", nil)
}
