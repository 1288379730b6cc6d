package query_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/param"
	"github.com/dendroprof/dendro/test/runtest"
	"github.com/dendroprof/dendro/traceprof"
)

// TestSearch: one text finds benchmarks, functions, runs by key and commit, services and tasks.
func TestSearch(t *testing.T) {
	st := runtest.Store(t,
		runtest.Run{Benchmark: "parse", Key: "r1", Type: profile.CPU, Stacks: "main;json.Parse 1\nmain;lib.parseAll 2\nmain;x.comparseX 1"},
		runtest.Run{Benchmark: "sort", Key: "r1", Type: profile.CPU, Stacks: "main 1"},
		runtest.Run{Benchmark: "parse", Key: "parse-2", Type: profile.CPU, Stacks: "main 1"})
	if _, err := st.CreateTask(t.Context(), traceprof.Task{Kind: traceprof.TraceKind, Service: "shop", ServiceID: "shop", Endpoint: "/parse",
		Created: 1, Start: 1, Duration: traceprof.Minute, Period: 10, MaxSegments: 1}); err != nil {
		t.Fatal(err)
	}
	if err := st.PutInstances(t.Context(), traceprof.Instance{Service: "parser", Name: "i", LastSeen: 1}); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"Parse":      "[{g parse}] [json.Parse lib.parseAll x.comparseX] [{parse-2   1 {g parse}}] [{parser false}] [{ shop /parse}] map[]",
		"r1":         "[] [] [{r1   2 { }}] [] [] map[]",
		"all  PARSE": "[] [lib.parseAll] [] [] [] map[]",
		"nothing":    "[] [] [] [] [] map[]",
		"  ":         "[] [] [] [] [] map[]",
		"'; DROP --": "[] [] [] [] [] map[]",
	} {
		r, err := query.Search(t.Context(), st, &query.SearchRequest{Text: text, Rows: 8})
		if err != nil {
			t.Fatal(err)
		}
		for i := range r.Tasks {
			r.Tasks[i].ID = ""
		}
		got := fmt.Sprint(r.Benchmarks, r.Functions, r.Runs, r.Services, r.Tasks, r.Omitted)
		if got != want {
			t.Errorf("%q:\n%s\nwant\n%s", text, got, want)
		}
	}
	r, err := query.Search(t.Context(), st, &query.SearchRequest{Text: "parse", Rows: 1})
	if err != nil || len(r.Functions) != 1 || r.Omitted["functions"] != 2 {
		t.Errorf("one row: %+v, %v", r, err)
	}
	_, err = query.Search(t.Context(), st, &query.SearchRequest{Text: strings.Repeat("x", 1000), Rows: 1})
	if !errors.As(err, new(*param.Error)) {
		t.Errorf("a text of 1000 bytes: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := query.Search(ended, st, &query.SearchRequest{Text: "parse", Rows: 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("ended: %v", err)
	}
}

// TestHintedIsBounded: of many names that select nothing, some are explained.
func TestHintedIsBounded(t *testing.T) {
	st := runtest.Store(t, runtest.Run{Benchmark: "parse", Key: "run", Type: profile.CPU, Stacks: "main 1"})
	var s query.Selection
	for i := range 500 {
		s.Runs = append(s.Runs, fmt.Sprint("r", i))
	}
	err := query.Hinted(t.Context(), st, &s, nil)
	if n := strings.Count(fmt.Sprint(err), "no run"); n != 10 {
		t.Errorf("%d names are explained: %v", n, err)
	}
}
