package profiles

import (
	"slices"
	"sync"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/lru"
)

// defaultCache is the maximum size of decoded rows and vectors in memory, in bytes.
const defaultCache = 256 << 20

// rowCache keeps the function rows and the vectors of profiles that queries read:
// the rows of a stored profile never change, and reading them from DuckDB is most of
// the work of adding them up. It evicts the profiles that were least recently used.
// A process that runs one query and ends keeps nothing.
type rowCache struct {
	mu      sync.Mutex
	queries int
	epoch   int // of the ids: entries of another one are not kept
	rows    lru.Cache[int32, functionRows]
	vectors lru.Cache[int32, narrowVector]
}

// functionRows are the rows of fn_sample of one profile, as columns of one length.
type functionRows struct {
	fn          []int32
	self, total []int64
}

func (r functionRows) bytes() int64 { return int64(20*len(r.fn) + 150) }

// narrowVector is the vector of one profile over the store's forest, its values in
// half the memory if they fit: reading them from memory limits the speed of sums.
type narrowVector struct {
	nodes  []int32
	narrow []int32
	wide   []int64 // if narrow is nil
}

// narrowed returns a copy of v.
func narrowed(v calltree.Vector) narrowVector {
	p := narrowVector{nodes: slices.Clone(v.Nodes)}
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

// vector returns the vector, valid until buf is used again.
func (v *narrowVector) vector(buf *calltree.Vector) calltree.Vector {
	if v.narrow == nil {
		return calltree.Vector{Nodes: v.nodes, Self: v.wide}
	}
	buf.Self = slices.Grow(buf.Self[:0], len(v.narrow))[:len(v.narrow)]
	for i, x := range v.narrow {
		buf.Self[i] = int64(x)
	}
	return calltree.Vector{Nodes: v.nodes, Self: buf.Self}
}

func (v narrowVector) bytes() int64 {
	return int64(4*len(v.nodes) + 4*len(v.narrow) + 8*len(v.wide) + 150)
}

// reset removes everything, because ids have a new meaning, and sets the limit.
// Rows and vectors have a half of it each.
func (r *rowCache) reset(limit int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.epoch++
	r.rows.Reset(limit / 2)
	r.vectors.Reset(limit / 2)
}

// admit counts a query that reads about so many bytes and reports whether to keep
// them, under the epoch returned.
func (r *rowCache) admit(bytes int) (epoch int, keep bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.queries++
	return r.epoch, r.queries > 1 && int64(bytes) <= r.rows.Limit()
}

// functions returns the rows of a profile, read-only.
func (r *rowCache) functions(id int32) (functionRows, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rows.Get(id)
}

// vector returns the vector of a profile, read-only.
func (r *rowCache) vector(id int32) (narrowVector, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.vectors.Get(id)
}

// addFunctions keeps rows, unless ids have a new meaning since the epoch.
func (r *rowCache) addFunctions(epoch int, id int32, rows functionRows) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if epoch == r.epoch {
		put(&r.rows, id, rows)
	}
}

// addVector keeps a vector, unless ids have a new meaning since the epoch.
func (r *rowCache) addVector(epoch int, id int32, v narrowVector) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if epoch == r.epoch {
		put(&r.vectors, id, v)
	}
}

func put[V interface{ bytes() int64 }](c *lru.Cache[int32, V], id int32, v V) {
	if v.bytes() <= c.Limit() {
		c.Put(id, v, v.bytes())
	}
}
