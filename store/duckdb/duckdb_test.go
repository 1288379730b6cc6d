package duckdb

import (
	"path/filepath"
	"testing"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
	"github.com/dendroprof/dendro/test/nightly"
	"github.com/dendroprof/dendro/test/storetest"
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
	s, err := Open(t.Context(), path, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestStore(t *testing.T) { storetest.Run(t, engine) }

func TestHistory(t *testing.T) {
	for seed := range nightly.Or[uint64](2, 6) {
		storetest.History(t, seed, engine)
	}
}

// TestCompactWritesRows expects the rows of functions in the file after Compact, and only then.
func TestCompactWritesRows(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "store.duckdb"), Options{})
	file := storetest.File("g", "b", "r", profile.CPUSamples, "×2  ×1  ×9\nA  A  A\nB  C  D")
	if _, err := s.Put(t.Context(), []*store.File{file}, store.PutOptions{Rules: "1"}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"0 false A12 B2 C1 D9\n", "4 true A12 B2 C1 D9\n"} {
		if got, err := ask(t, s, "SELECT (SELECT count(*) FROM fn_sample), (SELECT has_rows FROM profiles), (SELECT string_agg(function || total, ' ' ORDER BY function) FROM function_sample)"); err != nil || got != want {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
		if err := s.Compact(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMemoryLimit expects a limit by default, and a statement that exceeds one to use the
// disk.
func TestMemoryLimit(t *testing.T) {
	path := filledFile(t)
	for _, limit := range []string{"", "64MiB"} {
		s := mustOpen(t, path, Options{MemoryLimit: limit})
		set := ""
		err := s.file.With(func(c *driver.Conn) error {
			return c.Query(t.Context(), "SELECT current_setting('memory_limit')", nil, func(ch driver.Chunk) error {
				set = ch.Texts(0)[0]
				return nil
			})
		})
		want := "64.0 MiB"
		if limit == "" {
			want = "768.0 MiB"
		}
		if err != nil || set != want {
			t.Errorf("limit %q: %q, %v, want %q on a machine of more than 1.25 GiB", limit, set, err, want)
		}
		got, err := ask(t, s, "SELECT count(*) FILTER (h < before) FROM (SELECT h, lag(h) OVER (ORDER BY h) AS before FROM (SELECT hash(range) AS h FROM range(6_000_000)))")
		if err != nil || got != "0\n" {
			t.Errorf("limit %q: sorted %q, %v", limit, got, err)
		}
		s.Close()
	}
}

// TestListingIsShared holds that requests do not copy the profiles of a store.
func TestListingIsShared(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "s.duckdb"), Options{})
	im := storetest.NewImporter()
	put := func(run string) {
		if _, err := s.Put(t.Context(), []*store.File{im.File("g", "a", run, profile.CPUSamples, "×1  ×2\nA  B")}, store.PutOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	listed := func(q store.Query) []store.Profile {
		list, err := s.Profiles(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	put("r1")
	put("r2")
	all := listed(store.Query{})
	if again := listed(store.Query{Groups: []string{"g"}}); len(again) != 2 || &again[0] != &all[0] {
		t.Error("a selection of all is a copy")
	}
	if some := listed(store.Query{Runs: []string{"r2"}}); len(some) != 1 || some[0].Run.Key != "r2" || cap(all) != 2 {
		t.Errorf("a selection of one is %v", some)
	}
	put("r3")
	if now := listed(store.Query{}); len(now) != 3 || len(all) != 2 || all[1].Run.Key != "r2" {
		t.Errorf("after another run %v, and before %v", now, all)
	}
}
