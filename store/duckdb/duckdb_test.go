package duckdb

import (
	"path/filepath"
	"testing"

	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/storetest"
)

var engine = storetest.Engine{
	Open: func(t testing.TB) store.Store {
		return mustOpen(t, filepath.Join(t.TempDir(), "store.duckdb"), Options{})
	},
	Reopen: func(t testing.TB, s store.Store) store.Store {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		return mustOpen(t, s.(*Store).path, Options{})
	},
}

func mustOpen(t testing.TB, path string, opts Options) *Store {
	t.Helper()
	s, err := Open(path, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestStore(t *testing.T) { storetest.Run(t, engine) }

func TestHistory(t *testing.T) {
	for seed := range uint64(6) {
		storetest.History(t, seed, engine)
	}
}
