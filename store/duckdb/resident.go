package duckdb

import (
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

// generation is a part of what is resident, by dense profile id.
type generation struct {
	bytes   int
	rows    map[int32]functionRows
	vectors map[int32]calltree.Vector
}

// functionRows are the rows of fn_sample of one profile, as equally long columns
// that nobody writes to.
type functionRows struct {
	fn          []int32
	self, total []int64
}

func (r functionRows) bytes() int { return 20*len(r.fn) + 100 }

func vectorBytes(v calltree.Vector) int { return 12*len(v.Nodes) + 100 }

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
	r.mu.Lock()
	defer r.mu.Unlock()
	rows, ok := r.young.rows[id]
	if !ok {
		if rows, ok = r.old.rows[id]; ok {
			r.keepRows(id, rows)
		}
	}
	return rows, ok
}

// vector returns the vector of a profile over the store's forest, or false.
func (r *resident) vector(id int32) (calltree.Vector, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, ok := r.young.vectors[id]
	if !ok {
		if v, ok = r.old.vectors[id]; ok {
			r.keepVector(id, v)
		}
	}
	return v, ok
}

// addFunctions and addVector keep what they are given, which must not change any
// more.
func (r *resident) addFunctions(epoch int, id int32, rows functionRows) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if epoch == r.epoch {
		r.keepRows(id, rows)
	}
}

func (r *resident) addVector(epoch int, id int32, v calltree.Vector) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if epoch == r.epoch {
		r.keepVector(id, v)
	}
}

func (r *resident) keepRows(id int32, rows functionRows) {
	if _, ok := r.young.rows[id]; ok || !r.room(rows.bytes()) {
		return
	}
	if r.young.rows == nil {
		r.young.rows = map[int32]functionRows{}
	}
	r.young.rows[id] = rows
}

func (r *resident) keepVector(id int32, v calltree.Vector) {
	if _, ok := r.young.vectors[id]; ok || !r.room(vectorBytes(v)) {
		return
	}
	if r.young.vectors == nil {
		r.young.vectors = map[int32]calltree.Vector{}
	}
	r.young.vectors[id] = v
}

// room makes room for so many bytes in the young generation, if there is any.
func (r *resident) room(bytes int) bool {
	if bytes > r.limit/2 {
		return false
	}
	if r.young.bytes+bytes > r.limit/2 {
		r.young, r.old = generation{}, r.young
	}
	r.young.bytes += bytes
	return true
}
