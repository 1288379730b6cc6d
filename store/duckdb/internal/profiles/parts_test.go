package profiles

import (
	"context"
	"fmt"
	"maps"
	"os"
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

// small sets a limit for a test.
func small[T any](t *testing.T, limit *T, value T) {
	was := *limit
	*limit = value
	t.Cleanup(func() { *limit = was })
}

// several fills a store with the runs of three benchmarks. Rows of functions are in the file
// for none, for some (1), or for all of them (2).
func several(t *testing.T, written int) *Store {
	s, im := open(t), storetest.NewImporter()
	for i := range 12 {
		if written == 1 && i == 7 {
			compact(t, s)
		}
		f := im.File("g", fmt.Sprint("b", i%3), fmt.Sprint("r", i), profile.CPUSamples, fmt.Sprintf("×%d  ×2  ×3\nA  A  f%d\nB  C  D", i+1, i))
		if out, err := s.Put(t.Context(), []*store.File{f}, store.PutOptions{Rules: storetest.Rules}); err != nil || out[0].Err != nil {
			t.Fatal(err, out)
		}
	}
	if written == 2 {
		compact(t, s)
	}
	s.cache.reset(0)
	return s
}

// compact replaces the store by a copy, which has all rows of functions.
func compact(t *testing.T, s *Store) {
	t.Helper()
	err := s.file.With(func(c *driver.Conn) error {
		if err := copyFresh(t.Context(), s, c); err != nil {
			return err
		}
		return c.Exec("DETACH fresh")
	})
	if err == nil {
		err = s.file.Replace(t.Context(), func() error { return os.Rename(driver.Spare(s.file.Path), s.file.Path) })
	}
	if err != nil {
		t.Fatal(err)
	}
}

// copyFresh copies the store to the file beside it, which it attaches as fresh.
func copyFresh(ctx context.Context, s *Store, c *driver.Conn) error {
	sql := "ATTACH " + driver.Quote(driver.Spare(s.file.Path)) + " AS fresh; USE fresh;" + schema.After(0) + "; USE store"
	if err := c.Exec(sql); err != nil {
		return err
	}
	return Copy(ctx, s, c, "fresh", noVectors{})
}

// TestParts reads a selection in many parts, with rows of functions in the file for none,
// some or all of the profiles: the answers do not change.
func TestParts(t *testing.T) {
	was := manyNodes
	var want []string
	for written := range 3 {
		manyNodes = was
		want = testParts(t, several(t, written), want)
	}
}

// testParts compares the answers of a store with those wanted, or returns them.
func testParts(t *testing.T, s *Store, want []string) []string {
	queries := []store.Query{{}, {Benchmarks: []string{"b1"}}, {Runs: []string{"r0", "r4", "r5", "r11"}}}
	var whole []string
	for _, q := range queries {
		whole = append(whole, answers(t, s, q))
	}
	if want == nil {
		want = whole
	}
	if !slices.Equal(whole, want) {
		t.Errorf("%q, want %q", whole, want)
	}
	small(t, &manyNodes, 2)
	parts := 0
	for range s.parts(s.selectProfiles(store.Query{})) {
		parts++
	}
	if parts != 12 {
		t.Fatalf("%d parts", parts)
	}
	for _, limit := range []int64{0, 1 << 20} { // the second keeps what it reads in parts
		s.cache.reset(limit)
		for i, q := range slices.Repeat(queries, 2) {
			if got := answers(t, s, q); got != want[i%len(want)] {
				t.Errorf("limit %d, %+v:\n%s\nwant\n%s", limit, q, got, want[i%len(want)])
			}
		}
		for _, kept := range []int{s.cache.vectors.Len(), s.cache.rows.Len()} {
			if (kept > 0) != (limit > 0) || limit > 0 && kept != 12 {
				t.Errorf("limit %d: vectors or rows of %d profiles were kept", limit, kept)
			}
		}
	}
	return want
}

// TestCopiedRows compares the rows of functions in a copy, which is written in small parts,
// with those computed from the vectors, and expects each benchmark's in the order of kinds.
func TestCopiedRows(t *testing.T) {
	for written := range 3 {
		s := several(t, written)
		small(t, &manyNodes, 20)
		small(t, &sortedNodes, 10)
		err := s.file.With(func(c *driver.Conn) error {
			if err := copyFresh(t.Context(), s, c); err != nil {
				return err
			}
			if err := ShowForest(t.Context(), s, c); err != nil {
				return err
			}
			rows := func(sql string) (lines []string) {
				err := c.Query(t.Context(), sql, nil, func(ch driver.Chunk) error {
					lines = append(lines, ch.Texts(0)...)
					return nil
				})
				if err != nil {
					t.Error(err)
				}
				return lines
			}
			got := rows("SELECT concat_ws(' ', p.id, name, self * divisor, (self + callees) * divisor) FROM fresh.fn_sample s JOIN fresh.fn f ON f.id = fn JOIN fresh.profile p ON p.bench = s.bench AND p.slot = s.slot ORDER BY ALL")
			want := rows("SELECT concat_ws(' ', profile, name, n.self, n.total) FROM (SELECT profile, unnest(dendro_functions(paths)) AS n FROM tree) JOIN fn ON id = n.fn ORDER BY ALL")
			if !slices.Equal(got, want) || len(got) == 0 {
				t.Errorf("%q, want %q", got, want)
			}
			const kind = "(CASE WHEN self = 0 THEN 0 WHEN callees = 0 THEN 1 ELSE 2 END)"
			if n, err := c.Number(t.Context(), "SELECT count(*) FROM (SELECT (bench, "+kind+") < lag((bench, "+kind+")) OVER (ORDER BY rowid) AS falls FROM fresh.fn_sample) WHERE falls"); err != nil || n > 12 {
				t.Errorf("%d rows are out of order, %v", n, err) // one for each part
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestMergeTreesAbove compares the nodes that a pruned tree has with those of the whole
// tree: large ones with their values, and their callees, which are leaves if they are small.
func TestMergeTreesAbove(t *testing.T) {
	s := open(t)
	files := []*store.File{
		storetest.File("g", "b", "1", profile.CPUSamples, "×20 ×9 ×1 ×1\nA   A  A  E\nB   C  C  F\n       D  G"),
		storetest.File("g", "b", "2", profile.CPUSamples, "×30 ×1 ×2\nA   A  E\nB   C  F\n    H"),
	}
	if _, err := s.Put(t.Context(), files, store.PutOptions{Rules: "1"}); err != nil {
		t.Fatal(err)
	}
	whole, _, err := s.MergeTreesAbove(t.Context(), store.Query{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, percent := range []float64{0, 0.1, 4, 5, 15, 60, 100, 200} {
		pruned, _, err := s.MergeTreesAbove(t.Context(), store.Query{}, percent)
		if err != nil {
			t.Fatal(err)
		}
		small := func(n int32) bool { return float64(whole.Total[n])*100 < percent*float64(whole.RootTotal()) }
		want := map[string][2]int64{}
		for n := range int32(whole.Len()) {
			switch up := whole.Parent[n]; {
			case up != calltree.NoNode && small(up):
			case small(n):
				want[strings.Join(whole.Path(n), ";")] = [2]int64{whole.Total[n], whole.Total[n]}
			default:
				want[strings.Join(whole.Path(n), ";")] = [2]int64{whole.Self[n], whole.Total[n]}
			}
		}
		got := map[string][2]int64{}
		for n := range int32(pruned.Len()) {
			got[strings.Join(pruned.Path(n), ";")] = [2]int64{pruned.Self[n], pruned.Total[n]}
		}
		if !maps.Equal(got, want) {
			t.Errorf("%v %%: %v\nwant %v", percent, got, want)
		}
	}
	again, _, err := s.MergeTreesAbove(t.Context(), store.Query{}, 0)
	if err != nil || !slices.Equal(again.Self, whole.Self) {
		t.Errorf("the whole tree has other values afterwards: %v, %v, %v", again.Self, whole.Self, err)
	}
}

// noVectors are the vectors of a store without windows.
type noVectors struct{}

func (noVectors) Each(context.Context, *driver.Conn, func([]driver.Text) error) error { return nil }

func (noVectors) Copy(context.Context, *driver.Conn, string, func([]driver.Text) ([][]byte, error)) error {
	return nil
}
