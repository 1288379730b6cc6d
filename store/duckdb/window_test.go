package duckdb

import (
	"path/filepath"
	"testing"

	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/storetest"
)

var windowEngine = storetest.WindowEngine{
	Open: func(t testing.TB) continuous.Store {
		return mustOpen(t, filepath.Join(t.TempDir(), "store.duckdb"), Options{})
	},
	Reopen: func(t testing.TB, s continuous.Store) continuous.Store {
		if err := s.(*Store).Close(); err != nil {
			t.Fatal(err)
		}
		return mustOpen(t, s.(*Store).file.Path, Options{})
	},
}

func TestWindows(t *testing.T) { storetest.RunWindows(t, windowEngine) }

func TestWindowHistory(t *testing.T) {
	simple := storetest.WindowEngine{Open: func(testing.TB) continuous.Store { return mem.New() }}
	for seed := range uint64(8) {
		storetest.WindowHistory(t, seed, simple, windowEngine)
	}
}
