package api

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/dendroprof/dendro/internal/lru"
	"github.com/dendroprof/dendro/store"
)

// keptBytes is the maximum of all answers that are kept.
const keptBytes = 64 << 20

// kept are encoded answers about what changed: they take seconds to compute for a store of
// many benchmarks, every visit of a page asks for them, and they hold until the content of
// the store changes. Stores that other programs write to have no version, and nothing of
// them is kept.
type kept struct {
	mu      sync.Mutex
	version uint64
	answers lru.Cache[string, []byte]
}

// keyOf returns the key of a request whose answer may be kept; false: it may not. What
// depends on the time of day or on facts of the client is computed anew.
func keyOf(r *http.Request, st store.Store) (key string, version uint64, ok bool) {
	v, is := store.As[store.Versioned](st)
	q := r.URL.Query()
	if !is || r.Method != http.MethodGet || q.Has("since") || q.Has("until") {
		return "", 0, false
	}
	key = r.URL.Path + "?" + q.Encode()
	if s, is := store.As[store.Accepter](st); is {
		list, err := s.Accepted(r.Context())
		if err != nil {
			return "", 0, false
		}
		inForce := 0 // it changes when an acceptance ends
		for _, a := range list {
			if a.Until.IsZero() || time.Now().Before(a.Until) {
				inForce++
			}
		}
		key += fmt.Sprintf("#%d", inForce)
	}
	return key, v.Version(), true
}

// get returns a kept answer of this version of the store.
func (k *kept) get(key string, version uint64) ([]byte, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.version != version {
		return nil, false
	}
	return k.answers.Get(key)
}

// put keeps an answer that was computed from this version of the store.
func (k *kept) put(key string, version uint64, answer []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if version < k.version {
		return // it took longer to compute than the content lasted
	}
	if version > k.version || k.answers.Limit() == 0 {
		k.answers.Reset(keptBytes)
		k.version = version
	}
	if len(answer) <= keptBytes/4 {
		k.answers.Put(key, answer, int64(len(key)+len(answer)))
	}
}
