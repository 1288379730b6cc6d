package profiles

import (
	"sync"

	"github.com/dendroprof/dendro/internal/lru"
)

// defaultCache is the maximum size of decoded vectors and rows in memory, in bytes.
const defaultCache = 256 << 20

// cache keeps the vectors of profiles that queries read, and the rows of functions that they
// compute: those of a stored profile never change, and reading, decoding and computing them is
// most of the work of adding them up. It evicts the profiles that were least recently used.
// A process that runs one query and ends keeps nothing.
type cache struct {
	mu        sync.Mutex
	queries   int
	functions int // queries for functions
	epoch     int // of the ids: entries of another one are not kept
	vectors   lru.Cache[int32, *packedVector]
	rows      lru.Cache[int32, *packedRows]

	preloaded map[int32][]byte // encoded vectors, each for the next query that reads it
}

// reset removes everything, because ids have a new meaning, and sets the limit.
// Vectors and rows have a half of it each.
func (r *cache) reset(limit int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.epoch++
	r.vectors.Reset(limit / 2)
	r.rows.Reset(limit / 2)
	r.preloaded = nil
}

// preload keeps encoded vectors, each until takeBlob, and all until release at most. It
// replaces those of an earlier call.
func (r *cache) preload(epoch int, blobs map[int32][]byte) (release func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if epoch == r.epoch {
		r.preloaded = blobs
	}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		clear(blobs)
	}
}

// takeBlob returns a preloaded vector, or nil.
func (r *cache) takeBlob(id int32) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	blob := r.preloaded[id]
	delete(r.preloaded, id)
	return blob
}

// admit counts a query that reads about so many bytes and reports whether to keep
// them, under the epoch returned.
func (r *cache) admit(bytes int) (epoch int, keep bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.queries++
	return r.epoch, r.queries > 1 && int64(bytes) <= r.vectors.Limit()
}

// commandQueries is how many queries for functions a command asks. Their sums take less time
// without the rows of each profile.
const commandQueries = 2

// admitRows is admit for a query that computes the rows of profiles of so many bytes.
func (r *cache) admitRows(bytes int) (epoch int, keep bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.functions++
	return r.epoch, r.functions > commandQueries && int64(bytes) <= r.rows.Limit()
}

// kept returns the vector or the rows of a profile from a cache of r, read-only, or nil.
func kept[V any](r *cache, of *lru.Cache[int32, V], id int32) V {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, _ := of.Get(id)
	return v
}

// keeps reports whether admit would keep so many bytes of one more query.
func (r *cache) keeps(bytes int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.queries > 0 && int64(bytes) <= r.vectors.Limit()
}

// keep adds the vector or the rows of a profile to a cache of r, unless the ids have changed since the epoch.
func keep[V interface{ bytes() int64 }](r *cache, of *lru.Cache[int32, V], epoch int, id int32, v V) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if epoch == r.epoch && v.bytes() <= of.Limit() {
		of.Put(id, v, v.bytes())
	}
}
