package profiles

import (
	"sync"

	"github.com/dendroprof/dendro/internal/lru"
)

// defaultCache is the maximum size of decoded vectors in memory, in bytes.
const defaultCache = 256 << 20

// vectorCache keeps the vectors of profiles that queries read: those of a stored profile never
// change, and reading them from DuckDB and decoding them is most of the work of adding them
// up. It evicts the profiles that were least recently used.
// A process that runs one query and ends keeps nothing.
type vectorCache struct {
	mu      sync.Mutex
	queries int
	epoch   int // of the ids: entries of another one are not kept
	vectors lru.Cache[int32, *packedVector]

	preloaded map[int32][]byte // encoded vectors, each for the next query that reads it
}

// reset removes everything, because ids have a new meaning, and sets the limit.
func (r *vectorCache) reset(limit int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.epoch++
	r.vectors.Reset(limit)
	r.preloaded = nil
}

// preload keeps encoded vectors, each until takeBlob, and all until release at most. It
// replaces those of an earlier call.
func (r *vectorCache) preload(epoch int, blobs map[int32][]byte) (release func()) {
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
func (r *vectorCache) takeBlob(id int32) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	blob := r.preloaded[id]
	delete(r.preloaded, id)
	return blob
}

// admit counts a query that reads about so many bytes and reports whether to keep
// them, under the epoch returned.
func (r *vectorCache) admit(bytes int) (epoch int, keep bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.queries++
	return r.epoch, r.queries > 1 && int64(bytes) <= r.vectors.Limit()
}

// get returns the vector of a profile, read-only, or nil.
func (r *vectorCache) get(id int32) *packedVector {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, _ := r.vectors.Get(id)
	return v
}

// keeps reports whether admit would keep so many bytes of one more query.
func (r *vectorCache) keeps(bytes int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.queries > 0 && int64(bytes) <= r.vectors.Limit()
}

// put adds the vector of a profile, unless ids have a new meaning since the epoch.
func (r *vectorCache) put(epoch int, id int32, v *packedVector) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if epoch == r.epoch && v.bytes() <= r.vectors.Limit() {
		r.vectors.Put(id, v, v.bytes())
	}
}
