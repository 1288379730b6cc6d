package neo4j

import (
	"maps"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/lru"
)

// origin remembers which functions and paths of one importer's forest the database
// has, so that only new ones are sent. A committed transaction adds to it; it is valid
// for the epoch that the transaction read.
type origin struct {
	functions []bool // with their attributes
	paths     []bool
	raw       map[rawKey]string // the example that the database has, or a greater one
}

type rawKey struct {
	group    string
	function int32
}

// fit makes room for all functions and paths of the forest.
func (o *origin) fit(f *calltree.Forest) {
	o.functions = append(o.functions, make([]bool, max(0, len(f.Functions)-len(o.functions)))...)
	o.paths = append(o.paths, make([]bool, max(0, f.Paths.Len()-len(o.paths)))...)
}

// origins holds the origins of the importers' forests that were used last.
type origins struct {
	epoch int64
	lru.Cache[*calltree.Forest, *origin]
}

// warmForests is the maximum number of importers whose origins are remembered. Each
// keeps its forest in memory.
const warmForests = 8

// of returns what is known of a forest in an epoch.
func (l *origins) of(f *calltree.Forest, epoch int64) *origin {
	if l.epoch != epoch || l.Limit() == 0 {
		l.epoch = epoch
		l.Reset(warmForests)
	}
	o, ok := l.Get(f.Origin())
	if !ok {
		o = &origin{raw: map[rawKey]string{}}
		l.Put(f.Origin(), o, 1)
	}
	o.fit(f)
	return o
}

// additions is what a transaction adds to an origin.
type additions struct {
	origin    *origin
	functions []int32
	paths     []int32
	raw       map[rawKey]string
}

func newAdditions(o *origin) additions { return additions{origin: o, raw: map[rawKey]string{}} }

func (l *additions) commit() {
	for _, fn := range l.functions {
		l.origin.functions[fn] = true
	}
	for _, p := range l.paths {
		l.origin.paths[p] = true
	}
	maps.Copy(l.origin.raw, l.raw)
}
