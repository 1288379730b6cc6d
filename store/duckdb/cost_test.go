package duckdb

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/calltree/callpath"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
	"github.com/dendroprof/dendro/test/storetest"
)

var fromTable = regexp.MustCompile(`\bFROM (\w+)`)

// TestTablesRead expects of opening and of each query the statements that it needs, by the
// tables that they read: a store is opened for every command.
func TestTablesRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.duckdb")
	s := mustOpen(t, path, Options{})
	var files []*store.File
	for b := range 20 {
		for run := range 5 {
			files = append(files, storetest.File("g", fmt.Sprint("b", b), fmt.Sprint("r", run), profile.CPUSamples, "×2  ×1  ×9\nA  A  A\nB  C  D"))
		}
	}
	if _, err := s.Put(t.Context(), files, store.PutOptions{Rules: "1"}); err != nil {
		t.Fatal(err)
	}
	ids := map[string][]store.ProfileID{}
	for _, f := range list(t, s) {
		ids[f.Benchmark.Name] = append(ids[f.Benchmark.Name], f.ID)
	}

	var reads []string
	s.Close()
	imported := filepath.Join(t.TempDir(), "imported.duckdb")
	if err := copyFile(path, imported); err != nil {
		t.Fatal(err)
	}
	s = mustOpen(t, path, Options{})
	if err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.Close()
	total := func() error { _, err := store.TotalFunctions(t.Context(), s, store.Query{}); return err }
	find := func() error {
		p, err := callpath.Parse("B")
		if err == nil {
			_, err = store.Find(t.Context(), s, store.Query{}, p, false)
		}
		return err
	}
	for _, c := range []struct {
		name string
		do   func() error
		want string
		path string // other than the compacted store
	}{
		{"open", func() error { return nil }, "", ""},
		{"Profiles", func() error { _, err := s.Profiles(t.Context(), store.Query{}); return err }, "", ""},
		{"TotalFunctions", total, "fn call_path call_path tree", ""},
		{"Find", find, "fn call_path call_path tree", ""},
		{"TotalFunctions, not compacted", total, "fn call_path call_path tree", imported},
		{"MergeTrees", func() error { _, _, err := store.MergeTrees(t.Context(), s, store.Query{}); return err }, "fn call_path call_path tree",
			""},
		{"Trees of each benchmark", func() error {
			release, err := store.Preload(t.Context(), s, slices.Concat(ids["b1"], ids["b2"], ids["b3"]))
			if err != nil {
				return err
			}
			defer release()
			for _, b := range []string{"b1", "b2", "b3"} {
				set, err := s.Trees(t.Context(), store.Query{Profiles: ids[b]}, store.TreeOptions{})
				if err != nil {
					return err
				}
				n := 0
				for v, err := range set.Vectors {
					if err != nil || len(v.Nodes) != 3 {
						return fmt.Errorf("%d nodes with values, %w", len(v.Nodes), err)
					}
					n++
				}
				if n != 5 {
					return fmt.Errorf("%d trees of %s", n, b)
				}
			}
			return nil
		}, "tree fn call_path call_path", ""},
	} {
		reads = nil
		stop := driver.Observe(func(sql string) {
			for _, m := range fromTable.FindAllStringSubmatch(sql, -1) {
				if m[1] != "selected" {
					reads = append(reads, m[1])
				}
			}
		})
		s = mustOpen(t, cmp.Or(c.path, path), Options{ReadOnly: true})
		err := c.do()
		stop()
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		want := strings.TrimSpace("meta task meta benchmark run metric profile " + c.want)
		if got := strings.Join(reads, " "); got != want {
			t.Errorf("%s reads %s\nwant %s", c.name, got, want)
		}
		s.Close()
	}
}

func list(t *testing.T, s *Store) []store.Profile {
	profiles, err := s.Profiles(t.Context(), store.Query{})
	if err != nil {
		t.Fatal(err)
	}
	return profiles
}
