package remote_test

import (
	"path/filepath"
	"testing"

	"github.com/dendroprof/dendro/store/duckdb"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/store/storetest"
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
		st, err := duckdb.Open(path, duckdb.Options{})
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
