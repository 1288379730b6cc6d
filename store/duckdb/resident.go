package duckdb

import (
	"slices"
	"sync"

	"github.com/dendroprof/dendro/calltree"
)

// defaultResident is how many bytes of decoded rows and vectors stay in memory.
const defaultResident = 256 << 20

// resident keeps the function rows and the vectors of profiles in memory after
// they were read for a question, for the questions that follow: the rows of a
// stored profile never change, and reading them out of DuckDB is most of the work
// of adding them up. A process that asks once and ends keeps nothing.
//
// What was not asked for lately goes when the limit is reached: entries are in two
// generations, each at most half of the limit. A question moves what it uses to
// the young one; when that is full, the old one is dropped and the young one is
// the old one.
type resident struct {
	mu         sync.Mutex
	limit      int
	questions  int
	epoch      int // of the ids; what belongs to another one is not kept
	young, old generation
}

// generation is a part of what is resident.
type generation struct {
	bytes   int
	entries map[residentKey]residentEntry
}

// residentKey names what is kept of the profile with a dense id.
type residentKey struct {
	id   int32
	kind residentKind
}

type residentKind uint8

const (
	rowsOf residentKind = iota
	vectorOf
)

// residentEntry is what is kept; nobody writes to it.
type residentEntry interface{ bytes() int }

// functionRows are the rows of fn_sample of one profile, as equally long columns.
type functionRows struct {
	fn          []int32
	self, total []int64
}

func (r functionRows) bytes() int { return 20*len(r.fn) + 100 }

// residentVector is the vector of one profile over the store's forest, its values in
// half the memory if they fit: adding up many is as fast as they can be fetched.
type residentVector struct {
	nodes  []int32
	narrow []int32
	wide   []int64 // if narrow is nil
}

// packed returns a copy of v.
func packed(v calltree.Vector) residentVector {
	p := residentVector{nodes: slices.Clone(v.Nodes)}
	for _, x := range v.Self {
		if x != int64(int32(x)) {
			p.wide = slices.Clone(v.Self)
			return p
		}
	}
	p.narrow = make([]int32, len(v.Self))
	for i, x := range v.Self {
		p.narrow[i] = int32(x)
	}
	return p
}

// vector returns the vector, to be read until buf is used again.
func (v *residentVector) vector(buf *calltree.Vector) calltree.Vector {
	if v.narrow == nil {
		return calltree.Vector{Nodes: v.nodes, Self: v.wide}
	}
	buf.Self = grown(buf.Self, len(v.narrow))
	for i, x := range v.narrow {
		buf.Self[i] = int64(x)
	}
	return calltree.Vector{Nodes: v.nodes, Self: buf.Self}
}

func (v residentVector) bytes() int { return 4*len(v.nodes) + 4*len(v.narrow) + 8*len(v.wide) + 100 }

// reset forgets everything: ids mean something else from now on.
func (r *resident) reset(limit int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.limit = limit
	r.epoch++
	r.young, r.old = generation{}, generation{}
}

// ask counts a question and reports whether keeping what it reads pays: about so
// many bytes, in a process that asks more than once. The epoch is what to keep it
// under.
func (r *resident) ask(bytes int) (epoch int, pays bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.questions++
	return r.epoch, r.questions > 1 && bytes <= r.limit/2
}

// functions returns the rows of a profile, or false.
func (r *resident) functions(id int32) (functionRows, bool) {
	rows, ok := r.get(residentKey{id, rowsOf}).(functionRows)
	return rows, ok
}

// vector returns the vector of a profile, or false.
func (r *resident) vector(id int32) (residentVector, bool) {
	v, ok := r.get(residentKey{id, vectorOf}).(residentVector)
	return v, ok
}

// addFunctions and addVector keep what they are given, which must not change any
// more, if the epoch is still the one that it is of.
func (r *resident) addFunctions(epoch int, id int32, rows functionRows) {
	r.add(epoch, residentKey{id, rowsOf}, rows)
}

func (r *resident) addVector(epoch int, id int32, v residentVector) {
	r.add(epoch, residentKey{id, vectorOf}, v)
}

// get returns an entry, which is young from now on, or nil.
func (r *resident) get(k residentKey) residentEntry {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.young.entries[k]; e != nil {
		return e
	}
	e := r.old.entries[k]
	if e != nil {
		r.keep(k, e)
	}
	return e
}

func (r *resident) add(epoch int, k residentKey, e residentEntry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if epoch == r.epoch && r.young.entries[k] == nil {
		r.keep(k, e)
	}
}

// keep makes an entry young, if there is room for one of its size at all.
func (r *resident) keep(k residentKey, e residentEntry) {
	n := e.bytes()
	if n > r.limit/2 {
		return
	}
	if r.young.bytes+n > r.limit/2 {
		r.young, r.old = generation{}, r.young
	}
	if r.young.entries == nil {
		r.young.entries = map[residentKey]residentEntry{}
	}
	r.young.bytes += n
	r.young.entries[k] = e
}
