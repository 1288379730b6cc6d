package graphql

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/traceprof"
)

// panics counts the panics that are logged.
type panics struct {
	slog.Handler
	n *int
}

func (p panics) Enabled(context.Context, slog.Level) bool { return true }

func (p panics) Handle(_ context.Context, r slog.Record) error {
	if r.Level >= slog.LevelError {
		*p.n++
	}
	return nil
}

// FuzzHandler: whatever is sent, the answer is one of those that clients know,
// and nothing panics.
func FuzzHandler(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		f.Fatalf("%d files, %v", len(files), err)
	}
	for _, name := range files {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			f.Fatal(err)
		}
		part := map[string]string{"variables": "null"}
		for _, file := range archive.Files {
			part[file.Name] = string(file.Data)
		}
		f.Add(part["query"], part["variables"])
	}
	f.Add(introspection, "null")
	f.Add(nested(4), "{}")
	f.Add("{", `[`)
	f.Add("query a { version } query b { version }", `{"x": {"y": [1e400]}}`)
	count := 0
	st := mem.New()
	now := func() int64 { return start }
	h := New(Options{Store: st, Dispatcher: traceprof.NewDispatcher(st, traceprof.DispatcherOptions{Now: now}), Now: now,
		Log: slog.New(panics{slog.DiscardHandler, &count})})
	f.Fuzz(func(t *testing.T, query, variables string) {
		quoted, err := json.Marshal(query)
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest(http.MethodPost, "/graphql", strings.NewReader(`{"query":`+string(quoted)+`,"variables":`+variables+`}`))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		count = 0
		h.ServeHTTP(w, r)
		var answer struct {
			Data   json.RawMessage
			Errors []struct{ Message string }
		}
		switch {
		case count > 0:
			t.Fatalf("a panic: %s", w.Body)
		case w.Code == 400 && strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain"):
		case w.Code != 200 && w.Code != 400:
			t.Fatalf("%d %s", w.Code, w.Body)
		case json.Unmarshal(w.Body.Bytes(), &answer) != nil || answer.Data == nil && len(answer.Errors) == 0:
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	})
}
