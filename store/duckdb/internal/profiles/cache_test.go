package profiles

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
	"github.com/dendroprof/dendro/store/duckdb/internal/schema"
	"github.com/dendroprof/dendro/test/storetest"
)

// open returns an empty store.
func open(t testing.TB) *Store {
	file, err := driver.NewFile(filepath.Join(t.TempDir(), "store.duckdb"), driver.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := New(file)
	err = file.Open(t.Context(), driver.Hooks{Session: Session, Closing: func() { Unload(s) },
		Load: func(ctx context.Context, c *driver.Conn) error {
			if err := c.Exec(strings.ReplaceAll(schema.After(0), "CREATE TABLE", "CREATE TABLE IF NOT EXISTS")); err != nil {
				return err
			}
			return Load(ctx, s, c)
		}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return s
}

// TestCacheAdmits expects nothing kept of the first query, of too large ones, and
// of another epoch.
func TestCacheAdmits(t *testing.T) {
	vector := func(n int) *packedVector {
		return packed(calltree.Vector{Nodes: make([]int32, n), Self: make([]int64, n)})
	}
	var r cache
	r.reset(2 * 3 * vector(10).bytes()) // three vectors
	if _, admitted := r.admit(10); admitted {
		t.Error("the first query of a process keeps what it reads")
	}
	epoch, admitted := r.admit(10)
	if !admitted {
		t.Error("the second query keeps nothing")
	}
	if _, admitted := r.admit(1 << 20); admitted {
		t.Error("a query keeps more than the limit")
	}
	has := func(want ...int32) {
		t.Helper()
		for _, id := range want {
			if kept(&r, &r.vectors, id) == nil {
				t.Errorf("vector %d was evicted", id)
			}
		}
		if n := r.vectors.Len(); n != len(want) {
			t.Errorf("%d vectors, want %v", n, want)
		}
	}
	for id := range int32(4) {
		keep(&r, &r.vectors, epoch, id, vector(10))
	}
	has(1, 2, 3)
	keep(&r, &r.vectors, epoch, 4, vector(1000)) // larger than the limit
	has(1, 2, 3)
	r.reset(r.vectors.Limit())
	keep(&r, &r.vectors, epoch, 1, vector(10)) // of another epoch
	keep(&r, &r.rows, epoch, 1, &packedRows{})
	has()
	if kept(&r, &r.rows, 1) != nil {
		t.Error("rows of another epoch were kept")
	}
	for query := range 4 {
		if _, admitted := r.admitRows(10); admitted != (query >= commandQueries) {
			t.Errorf("rows of query %d for functions are kept: %v", query, admitted)
		}
	}
}

// TestCachedAnswers asks again and again while the store changes, with room for
// everything, for some, and for nothing.
func TestCachedAnswers(t *testing.T) {
	for _, limit := range []int64{1 << 20, 2000, 0} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			kept, fresh := open(t), open(t)
			kept.cache.reset(limit)
			im := storetest.NewImporter()
			put := func(conflict store.Conflict, run, drawing string) {
				t.Helper()
				for _, s := range []*Store{kept, fresh} {
					f := im.File("g", "b", run, profile.CPUSamples, drawing)
					if out, err := s.Put(t.Context(), []*store.File{f}, store.PutOptions{Conflict: conflict, Rules: storetest.Rules}); err != nil ||
						out[0].Err != nil {
						t.Fatal(err, out)
					}
				}
			}
			compare := func() {
				t.Helper()
				for _, q := range []store.Query{{}, {Runs: []string{"r1", "r3"}}, {Runs: []string{"r2"}}} {
					for range 2 {
						got := answers(t, kept, q)
						fresh.cache.reset(0) // reads the file every time
						if want := answers(t, fresh, q); got != want {
							t.Fatalf("%+v:\n%s\nwant\n%s", q, got, want)
						}
					}
				}
			}
			for i := range 9 {
				put(store.Refuse, fmt.Sprint("r", i), fmt.Sprintf("×%d  ×2\nA  A\nB  f%d", i+1, i%3))
				if i >= 3 {
					compare()
				}
			}
			put(store.Replace, "r1", "×70\nX")
			compare()
			put(store.Add, "r2", "×5  ×1\nA  Y\nB  Z")
			compare()
			for _, s := range []*Store{kept, fresh} {
				list, err := s.Profiles(t.Context(), store.Query{Runs: []string{"r0", "r3"}})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := s.Delete(t.Context(), []store.ProfileID{list[0].ID, list[1].ID}); err != nil {
					t.Fatal(err)
				}
			}
			compare()
			for _, s := range []*Store{kept, fresh} { // as after Compact
				if err := s.file.Replace(t.Context(), func() error { return nil }); err != nil {
					t.Fatal(err)
				}
			}
			kept.cache.reset(limit)
			compare()
			put(store.Refuse, "r9", "B\nA\nX")
			compare()
			put(store.Refuse, "r10", "×5000000000  ×1\nA  Y\nB  Z") // no 32-bit number
			compare()
		})
	}
}

// answers writes down what the three ways to read rows say, and spoils what it
// was given: it is the caller's.
func answers(t *testing.T, s *Store, q store.Query) string {
	t.Helper()
	sums, err := s.SumFunctions(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, r := range sums.Rows {
		text += fmt.Sprintln(sums.Functions[r.Function].Name, r.Profiles, r.Self, r.Total)
	}
	few, err := s.Functions(t.Context(), q, []string{"A", "f1", "X", "nobody"})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string // in no order
	for rows, err := range few.Rows {
		if err != nil {
			t.Fatal(err)
		}
		for i, at := range rows.Profile {
			lines = append(lines, fmt.Sprintln(few.Profiles[at].Run.Key, few.Functions[rows.Function[i]].Name, rows.Self[i], rows.Total[i]))
		}
	}
	slices.Sort(lines)
	text += strings.Join(lines, "")
	set, err := s.Trees(t.Context(), q, store.TreeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for v, err := range set.Vectors {
		if err != nil {
			t.Fatal(err)
		}
		byPath := map[string]int64{}
		for i, n := range v.Nodes {
			byPath[fmt.Sprint(set.Table.Path(n))] = v.Self[i]
			v.Nodes[i], v.Self[i] = -1, -1
		}
		text += fmt.Sprintln(v.Profile, byPath)
	}
	tree, _, err := s.MergeTreesAbove(t.Context(), q, 0)
	if err != nil {
		t.Fatal(err)
	}
	for n := range tree.Len() {
		text += fmt.Sprintln(tree.Path(int32(n)), tree.Self[n], tree.Total[n])
		tree.Self[n] = -1
	}
	return text
}
