package api

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/storetest"
)

// versioned is a store that counts its lists of profiles, and knows when it changed.
type versioned struct {
	store.Store
	lists   int
	version uint64
}

func (s *versioned) Profiles(ctx context.Context, q store.Query) ([]store.Profile, error) {
	s.lists++
	return s.Store.Profiles(ctx, q)
}

func (s *versioned) Put(ctx context.Context, files []*store.File, o store.PutOptions) ([]store.Outcome, error) {
	s.version++
	return s.Store.Put(ctx, files, o)
}

func (s *versioned) Version() uint64 { return s.version }

// TestKeptAnswers computes an answer about what changed once for a content of the store,
// and anew for every other request.
func TestKeptAnswers(t *testing.T) {
	st := &versioned{Store: mem.New()}
	im := storetest.NewImporter()
	put := func(run int) {
		t.Helper()
		f := im.File("shop", "pay", fmt.Sprint("r", run), profile.CPUSamples, fmt.Sprintf("×%d  ×50\nmain  main\npay", 100+run))
		if out, err := st.Put(t.Context(), []*store.File{f}, store.PutOptions{Rules: "1"}); err != nil || out[0].Err != nil {
			t.Fatal(err, out)
		}
	}
	for run := range 6 {
		put(run)
	}
	l := labOf(t, st, server.Options{}, Options{})
	ask := func(address string) (body string, computed bool) {
		t.Helper()
		before := st.lists
		w := l.serve(httptest.NewRequest(http.MethodGet, address, nil))
		if w.Code != http.StatusOK {
			t.Fatal(w.Code, w.Body)
		}
		return w.Body.String(), st.lists > before
	}
	first, computed := ask("/api/v1/report?candidates=0&changed=true")
	if !computed {
		t.Error("the first answer came from nowhere")
	}
	if again, computed := ask("/api/v1/report?changed=true&candidates=0"); computed || again != first {
		t.Error("the same request was computed twice")
	}
	for _, other := range []string{"/api/v1/report?candidates=1&changed=true", "/api/v1/report?since=9000d", "/api/v1/report?since=9000d"} {
		if _, computed := ask(other); !computed {
			t.Errorf("%s was not computed", other)
		}
	}
	put(6)
	if _, computed := ask("/api/v1/report?candidates=0&changed=true"); !computed {
		t.Error("an answer from before an import")
	}
}

// TestKeptOfOlderContent does not let an answer that took long replace those of the content
// since.
func TestKeptOfOlderContent(t *testing.T) {
	var k kept
	k.put("a", 2, []byte("new"))
	k.put("b", 1, []byte("old"))
	if got, ok := k.get("a", 2); !ok || string(got) != "new" {
		t.Errorf("%q, %v", got, ok)
	}
	if got, ok := k.get("b", 2); ok {
		t.Errorf("an answer of older content: %q", got)
	}
}
