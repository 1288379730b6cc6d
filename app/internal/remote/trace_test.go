package remote_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/dendroprof/dendro/store/duckdb"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/storetest"
	"github.com/dendroprof/dendro/traceprof"
)

func tracesOfMem() storetest.TraceEngine {
	return storetest.TraceEngine{Open: func(t testing.TB) traceprof.Store {
		s := serve(t, mem.New())
		t.Cleanup(func() { s.Close() })
		return s
	}}
}

func tracesOfDuckDB() storetest.TraceEngine {
	paths := map[traceprof.Store]string{}
	open := func(t testing.TB, path string) traceprof.Store {
		st, err := duckdb.Open(t.Context(), path, duckdb.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s := serve(t, st)
		paths[s] = path
		t.Cleanup(func() { s.Close() })
		return s
	}
	return storetest.TraceEngine{
		Open: func(t testing.TB) traceprof.Store { return open(t, filepath.Join(t.TempDir(), "s.duckdb")) },
		Reopen: func(t testing.TB, s traceprof.Store) traceprof.Store {
			if err := s.(*served).Close(); err != nil {
				t.Fatal(err)
			}
			return open(t, paths[s])
		},
	}
}

func TestTraces(t *testing.T) {
	t.Run("mem", func(t *testing.T) { storetest.RunTraces(t, tracesOfMem()) })
	t.Run("duckdb", func(t *testing.T) { storetest.RunTraces(t, tracesOfDuckDB()) })
}

// TestTraceHistory holds a served store against the same engine at hand.
func TestTraceHistory(t *testing.T) {
	here := storetest.TraceEngine{Open: func(testing.TB) traceprof.Store { return mem.New() }}
	for seed := range uint64(10) {
		storetest.TraceHistory(t, seed, here, tracesOfMem())
	}
}

// TestLargeChange stores as many segments at once as an intake gathers for one
// commit.
func TestLargeChange(t *testing.T) {
	s := serve(t, mem.New())
	defer s.Close()
	list := make([]traceprof.Segment, 64)
	for i := range list {
		list[i] = traceprof.Segment{ID: fmt.Sprint("segment ", i), Trace: "trace", Service: "shop", Start: 1, End: 2, Raw: make([]byte, 512<<10)}
	}
	if err := s.PutSegments(t.Context(), list...); err != nil {
		t.Fatal(err)
	}
	got, err := s.Segments(t.Context(), traceprof.SegmentQuery{Service: "shop", NoRaw: true})
	if err != nil || len(got) != len(list) {
		t.Errorf("%d segments of %d, %v", len(got), len(list), err)
	}
}
