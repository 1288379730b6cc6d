package duckdb

import (
	"path/filepath"
	"testing"

	"github.com/dendroprof/dendro/profile"
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
		return mustOpen(t, s.(*Store).file.Path, Options{})
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

// TestCompactSortsFunctions expects functions with values of one magnitude together.
func TestCompactSortsFunctions(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "store.duckdb"), Options{})
	file := storetest.File("g", "b", "r", profile.CPUSamples, "×2  ×1  ×9\nA  A  A\nB  C  D")
	if _, err := s.Put(t.Context(), []*store.File{file}, store.PutOptions{Rules: "1"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, err := ask(t, s, "SELECT string_agg(name, ' ' ORDER BY id) FROM fn"); err != nil || got != "A D B C\n" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := ask(t, s, "SELECT string_agg(function || total, ' ' ORDER BY function) FROM function_sample"); err != nil || got != "A12 B2 C1 D9\n" {
		t.Errorf("%q, %v", got, err)
	}
}
