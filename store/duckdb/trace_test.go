package duckdb

import (
	"path/filepath"
	"testing"

	"github.com/dendroprof/dendro/store/storetest"
	"github.com/dendroprof/dendro/traceprof"
)

var traceEngine = storetest.TraceEngine{
	Open: func(t testing.TB) traceprof.Store {
		return mustOpen(t, filepath.Join(t.TempDir(), "store.duckdb"), Options{})
	},
	Reopen: func(t testing.TB, s traceprof.Store) traceprof.Store {
		if err := s.(*Store).Close(); err != nil {
			t.Fatal(err)
		}
		return mustOpen(t, s.(*Store).path, Options{})
	},
}

func TestTraces(t *testing.T) { storetest.RunTraces(t, traceEngine) }
