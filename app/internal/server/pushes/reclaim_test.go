package pushes

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
)

// forest is a store whose forest has paths of no use.
type forest struct {
	continuous.Store
	store.Writer
	paths, unused, looks, compactions int64
}

func (f *forest) Limit(continuous.Room)                      {}
func (f *forest) HasRoom(continuous.Key, string, int64) bool { return true }
func (f *forest) Forest(context.Context) (continuous.Forest, error) {
	return continuous.Forest{Paths: f.paths}, nil
}
func (f *forest) Unused(context.Context) (int64, error) { f.looks++; return f.unused, nil }
func (f *forest) Compact(context.Context) error {
	f.compactions++
	f.paths, f.unused = f.paths-f.unused, 0
	return nil
}

// TestReclaim: a store is compacted if many paths are of no use, which is looked at only after
// windows were removed, at most once an hour.
func TestReclaim(t *testing.T) {
	f := &forest{paths: 1000, unused: 200}
	r := &reclaimer{st: f, forest: f, least: 100}
	now := time.Unix(1795622400, 0)
	step := func(what string, after time.Duration, expired, looks, compactions int64) {
		t.Helper()
		now = now.Add(after)
		r.expired += expired
		if _, err := r.reclaim(t.Context(), now); err != nil {
			t.Fatal(err)
		}
		if f.looks != looks || f.compactions != compactions {
			t.Errorf("%s: %d looks, %d compactions", what, f.looks, f.compactions)
		}
	}
	step("nothing was removed", 0, 0, 0, 0)
	step("few are of no use", 0, 5, 1, 0)
	f.unused = 300
	step("looked lately", time.Minute, 5, 1, 0)
	step("many are of no use", time.Hour, 0, 2, 1)
	step("nothing more was removed", time.Hour, 0, 2, 1)
	f.paths = 50
	step("a small store", time.Hour, 5, 2, 1)
}

// narrow is an engine with room for no series with labels.
type narrow struct {
	*mem.Store
	continuous.Limited
	room continuous.Room
}

func (n *narrow) Limit(r continuous.Room)                       { n.room = r }
func (n *narrow) HasRoom(continuous.Key, string, int64) bool    { return false }
func (n *narrow) Unused(context.Context) (paths int64, _ error) { return 0, nil }
func (n *narrow) Forest(context.Context) (continuous.Forest, error) {
	return continuous.Forest{Paths: 17}, nil
}

// behind is a store that changes nothing of another one.
type behind struct{ store.Store }

func (b behind) Unwrap() store.Reader { return b.Store }

// TestLimits: what an engine says of its room holds for pushes, also from behind another store.
func TestLimits(t *testing.T) {
	st := &narrow{Store: mem.New()}
	p, err := New(behind{st}, Options{Log: slog.Default()})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	s, err := server.New(server.Options{HTTPListen: "127.0.0.1:0"}, p.Parts...)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Now().Unix()
	ask := func(method, address, body string) string {
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, httptest.NewRequest(method, "http://localhost"+address, strings.NewReader(body)))
		if w.Code != http.StatusOK {
			t.Errorf("%s: %d %s", address, w.Code, w.Body)
		}
		return w.Body.String()
	}
	ask("POST", fmt.Sprintf("/ingest?name=shop%%7Bid%%3Dx%%7D&format=folded&from=%d&until=%d", at-10, at), "main;a 3\n")
	if m := p.in.Metrics(); m.FoldedSamples != 1 || st.room.Paths == 0 {
		t.Errorf("%d samples folded, room %+v", m.FoldedSamples, st.room)
	}
	if text := ask("GET", "/metrics", ""); !strings.Contains(text, "dendro_continuous_paths 17\n") {
		t.Error(text)
	}
}
