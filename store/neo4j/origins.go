package neo4j

import (
	"slices"

	"github.com/dendroprof/dendro/calltree"
)

// origin remembers which functions and paths of one importer's forest the
// database has, so that only new ones are sent. What a transaction taught counts
// when it has committed, and as long as the epoch stays that it read.
type origin struct {
	functions []bool // with their attributes
	paths     []bool
	raw       map[rawKey]string // the example that the database has, or a greater one
}

type rawKey struct {
	group    string
	function int32
}

// fit makes room for all that the forest has.
func (o *origin) fit(f *calltree.Forest) {
	o.functions = append(o.functions, make([]bool, max(0, len(f.Functions)-len(o.functions)))...)
	o.paths = append(o.paths, make([]bool, max(0, f.Paths.Len()-len(o.paths)))...)
}

// origins are those of the forests that importers fill, the one used last at
// the end.
type origins struct {
	epoch int64
	list  []remembered
}

type remembered struct {
	forest *calltree.Forest
	*origin
}

// warmForests is for how many importers at once an origin is remembered. Each
// keeps its forest alive, so there has to be an end.
const warmForests = 8

// of returns what is known of a forest under an epoch.
func (l *origins) of(f *calltree.Forest, epoch int64) *origin {
	if l.epoch != epoch {
		l.epoch, l.list = epoch, nil
	}
	key := f.Origin()
	i := slices.IndexFunc(l.list, func(r remembered) bool { return r.forest == key })
	r := remembered{key, &origin{raw: map[rawKey]string{}}}
	switch {
	case i >= 0:
		r = l.list[i]
		l.list = slices.Delete(l.list, i, i+1)
	case len(l.list) == warmForests:
		l.list = slices.Delete(l.list, 0, 1)
	}
	l.list = append(l.list, r)
	r.fit(f)
	return r.origin
}

// learned is what a transaction adds to an origin.
type learned struct {
	origin    *origin
	functions []int32
	paths     []int32
	raw       map[rawKey]string
}

func (l *learned) commit() {
	for _, fn := range l.functions {
		l.origin.functions[fn] = true
	}
	for _, p := range l.paths {
		l.origin.paths[p] = true
	}
	for k, name := range l.raw {
		l.origin.raw[k] = name
	}
}
