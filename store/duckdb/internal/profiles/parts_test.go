package profiles

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
	"github.com/dendroprof/dendro/test/storetest"
)

// small sets a limit for a test.
func small[T any](t *testing.T, limit *T, value T) {
	was := *limit
	*limit = value
	t.Cleanup(func() { *limit = was })
}

// several fills a store with the runs of three benchmarks.
func several(t *testing.T) *Store {
	s, im := open(t), storetest.NewImporter()
	for i := range 12 {
		f := im.File("g", fmt.Sprint("b", i%3), fmt.Sprint("r", i), profile.CPUSamples, fmt.Sprintf("×%d  ×2  ×3\nA  A  f%d\nB  C  D", i+1, i))
		if out, err := s.Put(t.Context(), []*store.File{f}, store.PutOptions{Rules: storetest.Rules}); err != nil || out[0].Err != nil {
			t.Fatal(err, out)
		}
	}
	s.cache.reset(0)
	return s
}

// TestParts reads a selection in many parts: the answers do not change.
func TestParts(t *testing.T) {
	s := several(t)
	queries := []store.Query{{}, {Benchmarks: []string{"b1"}}, {Runs: []string{"r0", "r4", "r5", "r11"}}}
	var want []string
	for _, q := range queries {
		want = append(want, answers(t, s, q))
	}
	small(t, &manyNodes, 2)
	small(t, &scannedRows, 5)
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
		if kept := s.cache.rows.Len(); (kept > 0) != (limit > 0) || limit > 0 && kept != 12 {
			t.Errorf("limit %d: the rows of %d profiles were kept", limit, kept)
		}
	}
}

// TestCopyInRanges copies the rows of functions benchmark by benchmark: all of them, and
// in one order.
func TestCopyInRanges(t *testing.T) {
	s := several(t)
	small(t, &sortedRows, 30)
	err := s.file.With(func(c *driver.Conn) error {
		sql := "ATTACH " + driver.Quote(driver.Spare(s.file.Path)) + " AS fresh;"
		for _, table := range Tables {
			sql += "CREATE TABLE fresh." + table.Name + "(" + table.Columns + ");"
		}
		if err := c.Exec(sql); err != nil {
			return err
		}
		ranges, err := (&rewriter{c: c}).benchRanges(t.Context())
		if err != nil || fmt.Sprint(ranges) != "[[0 0] [1 1] [2 2]]" {
			t.Errorf("ranges %v, %v", ranges, err)
		}
		if err := Copy(t.Context(), s, c, "fresh", noVectors{}); err != nil {
			return err
		}
		rows := func(from string) (lines []string) {
			err := c.Query(t.Context(), "SELECT concat_ws(' ', bench, profile, name, self, total) FROM "+from, nil, func(ch driver.Chunk) error {
				lines = append(lines, ch.Texts(0)...)
				return nil
			})
			if err != nil {
				t.Error(err)
			}
			return lines
		}
		got := rows("fresh.fn_sample JOIN fresh.fn ON id = fn ORDER BY bench, profile, name")
		if want := rows("fn_sample JOIN fn ON id = fn ORDER BY bench, profile, name"); strings.Join(got, "\n") != strings.Join(want, "\n") || len(got) == 0 {
			t.Errorf("%q, want %q", got, want)
		}
		if n, err := c.Number(t.Context(), "SELECT count(*) FROM (SELECT (bench, fn, profile) < lag((bench, fn, profile)) OVER (ORDER BY rowid) AS falls FROM fresh.fn_sample) WHERE falls"); err != nil || n != 0 {
			t.Errorf("%d rows are out of order, %v", n, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
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
	whole, _, err := s.MergeTrees(t.Context(), store.Query{})
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
	again, _, err := s.MergeTrees(t.Context(), store.Query{})
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
