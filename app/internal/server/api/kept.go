package api

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/dendroprof/dendro/app/internal/endpoint"
	"github.com/dendroprof/dendro/internal/lru"
	"github.com/dendroprof/dendro/query"
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
	answers lru.Cache[string, keptAnswer]
}

// keptAnswer is an answer that was computed from a version of the content.
type keptAnswer struct {
	version uint64
	body    []byte
}

// dated is the beginning of a time that does not depend on the time of day.
var dated = regexp.MustCompile(`^\d{4}-`)

// keyOf returns the key of a request whose answer follows from the content, and the version of that;
// false: it does not. What depends on the time of day or on facts of the client is computed anew.
func (a *api) keyOf(r *http.Request, q *endpoint.Question) (key string, version uint64, ok bool) {
	asked := r.URL.Query()
	service := asked.Get("service")
	if r.Method != http.MethodGet || q.Tag != "queries" && q.Tag != "analyses" || q.ID == endpoint.Lines.ID { // which the repository completes
		return "", 0, false
	}
	for name, values := range asked {
		switch last := name[strings.LastIndexByte(name, '-')+1:]; last {
		case "since", "until", "new":
			if !dated.MatchString(values[0]) { // a day, or an age
				return "", 0, false
			}
		case "service":
			if name != last { // of a side
				service = ""
			}
		}
	}
	if version, ok = query.Version(a.Store, service); !ok {
		return "", 0, false
	}
	key = r.URL.Path + "?" + asked.Encode()
	if s, is := store.As[store.Accepter](a.Store); is {
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
	if a.code(r.Context()) != nil {
		key += "#code"
	}
	return key, version, true
}

// get returns a kept answer of this version of the content.
func (k *kept) get(key string, version uint64) ([]byte, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	found, ok := k.answers.Get(key)
	return found.body, ok && found.version == version
}

// put keeps an answer that was computed from this version of the content.
func (k *kept) put(key string, version uint64, answer []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.answers.Limit() == 0 {
		k.answers.Reset(keptBytes)
	}
	if before, ok := k.answers.Get(key); ok && before.version > version {
		return // it took longer to compute than the content lasted
	}
	if len(answer) <= keptBytes/4 {
		k.answers.Put(key, keptAnswer{version, answer}, int64(len(key)+len(answer)))
	}
}

// tag is the ETag of an answer, in two parts: the content that it follows from, if the store knows its
// version, which tells without computing anything that the answer is the same, and the answer itself,
// if it is short. A client sends the tag of the answer that it has.
type tag struct{ content, body string }

// tagOf returns the tag of what keyOf returned.
func (a *api) tagOf(key string, version uint64, known bool) (t tag) {
	if known {
		t.content = hash([]byte(fmt.Sprint(key, "#", version, "#", a.started.UnixNano()))) // versions of two openings do not compare
	}
	return t
}

func hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// unchanged writes the tag, and whether the client has the answer: then it gets no other.
func (t tag) unchanged(w http.ResponseWriter, r *http.Request) bool {
	has := r.Header.Get("If-None-Match")
	content, body, _ := strings.Cut(strings.Trim(has, `"`), ".")
	same := t.content != "" && content == t.content
	switch {
	case same && t.body == "": // the body is that of the client
		w.Header().Set("ETag", has)
	case t != tag{}:
		w.Header().Set("ETag", `"`+t.content+"."+t.body+`"`)
		same = same || t.body != "" && body == t.body
	}
	if same {
		w.Header().Del("Content-Type")
		w.WriteHeader(http.StatusNotModified)
	}
	return same
}

// respondTagged writes a result as respond does, unless the client has it.
func respondTagged(w http.ResponseWriter, r *http.Request, t tag, f *endpoint.RowsForm, result any) {
	w.Header().Set("Content-Type", "application/json")
	out := &lateWriter{w: w, begin: func() {}}
	write(out, f, result)
	if !out.begun { // it is short
		if t.body = hash(out.held); t.unchanged(w, r) {
			return
		}
	}
	abortOn(out.flush())
}
