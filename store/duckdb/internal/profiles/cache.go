package profiles

import (
	"sync"

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
	rows    lru.Cache[int32, *packedRows]
	vectors lru.Cache[int32, *packedVector]

	preloaded map[int32][]byte // encoded vectors, each for the next query that reads it
}

// reset removes everything, because ids have a new meaning, and sets the limit.
// Rows and vectors have a half of it each.
func (r *rowCache) reset(limit int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.epoch++
	r.rows.Reset(limit / 2)
	r.vectors.Reset(limit / 2)
	r.preloaded = nil
}

// preload keeps encoded vectors, each until takeBlob, and all until release at most. It
// replaces those of an earlier call.
func (r *rowCache) preload(epoch int, blobs map[int32][]byte) (release func()) {
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
func (r *rowCache) takeBlob(id int32) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	blob := r.preloaded[id]
	delete(r.preloaded, id)
	return blob
}

// admit counts a query that reads about so many bytes and reports whether to keep
// them, under the epoch returned.
func (r *rowCache) admit(bytes int) (epoch int, keep bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.queries++
	return r.epoch, r.queries > 1 && int64(bytes) <= r.rows.Limit()
}

// kept returns what a cache of r has of a profile, read-only, or nil.
func kept[V any](r *rowCache, cache *lru.Cache[int32, V], id int32) V {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, _ := cache.Get(id)
	return v
}

// keeps reports whether admit would keep so many bytes of one more query.
func (r *rowCache) keeps(bytes int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.queries > 0 && int64(bytes) <= r.vectors.Limit()
}

// put adds what is of a profile to a cache of r, unless ids have a new meaning since the epoch.
func put[V interface{ bytes() int64 }](r *rowCache, cache *lru.Cache[int32, V], epoch int, id int32, v V) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if epoch == r.epoch && v.bytes() <= cache.Limit() {
		cache.Put(id, v, v.bytes())
	}
}
