package iceberg

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/duckdb"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/runtest"
	"github.com/dendroprof/dendro/testrun"
)

// export writes everything that a store has.
func export(t testing.TB, st store.Reader) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "lake")
	list, err := st.Profiles(t.Context(), store.Query{})
	if err != nil {
		t.Fatal(err)
	}
	if err := Write(t.Context(), dir, st, list, nil); err != nil {
		t.Fatal(err)
	}
	return dir
}

// files lists the files of a directory.
func files(t testing.TB, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// rows reads a table, each row drawn with the month that it is in.
func rows[T any](t testing.TB, dir, name string, draw func(r *T) string) (list []string) {
	t.Helper()
	for _, file := range files(t, filepath.Join(dir, name)) {
		part, err := parquet.ReadFile[T](file)
		if err != nil {
			t.Fatal(err)
		}
		for i := range part {
			line := draw(&part[i])
			if month, ok := strings.CutPrefix(filepath.Base(filepath.Dir(file)), "month="); ok {
				line = month + " " + line
			}
			list = append(list, line)
		}
	}
	return list
}

// dates of the runs of file.
var dates = []time.Time{{}, time.Date(2026, 1, 31, 23, 59, 59, 123456789, time.UTC),
	time.Date(2026, 2, 1, 1, 0, 0, 0, time.FixedZone("", 7200))}

// file is a run of a benchmark with the n-th date.
func file(t testing.TB, benchmark string, n int, stacks string) *store.File {
	f := &calltree.Forest{}
	run := testrun.Run{Key: fmt.Sprintf("r%d", n), Date: dates[n], Branch: "main", Attributes: map[string]string{"k": "v"}}
	return &store.File{Name: "f", Benchmark: testrun.Benchmark{Group: "g", Name: benchmark}, Run: run,
		Metrics: []testrun.Metric{{Name: "time", Mean: 1.5, Unit: "ms", Better: testrun.Lower, N: 3, Primary: true, Samples: "1 2", Error: 0.5}},
		Records: []*store.Record{
			{Type: profile.NamedType(profile.CPUSamples), Hash: profile.Hash{byte(n), 1}, Forest: f,
				Self: runtest.Vector(f, runtest.Counts(t, stacks))},
			{Type: profile.NamedType("alloc"), Default: true, Hash: profile.Hash{byte(n), 2}, Forest: f,
				Self: runtest.Vector(f, runtest.Counts(t, "A 8"))},
		}}
}

// TestTables compares each table with a picture.
func TestTables(t *testing.T) {
	st := mem.New()
	runtest.Put(t, st, file(t, "b/size=9", 1, "A;B;A 3, A 2, C 1"), file(t, "b/size=9", 0, "A;B 1"), file(t, "a", 2, "A;B 1, A;B;D -1"))
	dir := export(t, st)

	names := map[FunctionID]string{}
	got := rows(t, dir, "functions", func(r *functionRow) string { names[r.Function] = r.Name; return r.Name })
	if diff := cmp.Diff([]string{"A", "B", "C", "D"}, got); diff != "" {
		t.Error("functions", diff)
	}
	paths := map[string]string{"": "-"}
	rows(t, dir, "paths", func(r *pathRow) string {
		name := names[r.Function]
		if r.Parent != nil {
			if paths[string(*r.Parent)] == "" {
				t.Errorf("%s comes before its parent", name)
			}
			name = paths[string(*r.Parent)] + ";" + name
		}
		if paths[string(r.Path)] != "" {
			t.Errorf("%s is there twice", name)
		}
		paths[string(r.Path)] = name
		return ""
	})
	for table, c := range map[string]struct{ got, want []string }{
		"paths": {rows(t, dir, "paths", func(r *pathRow) string {
			return line(paths[string(r.Path)], "in", paths[optional(r.Parent)], "depth", r.Depth, "recursion", paths[optional(r.Recursion)],
				r.Distance)
		}), []string{
			"A in - depth 0 recursion - 0",
			"A;B in A depth 1 recursion - 0",
			"A;B;D in A;B depth 2 recursion - 0",
			"A;B;A in A;B depth 2 recursion A 2",
			"C in - depth 0 recursion - 0",
		}},
		"profiles": {rows(t, dir, "profiles", func(r *profileRow) string {
			return line(r.Group, r.Benchmark, r.BaseName, r.Params, r.Run, r.Attributes, dateText(r.Date), r.Type, r.Default, r.Sum, r.Nodes,
				*r.MetricMean)
		}), []string{
			"2026-01 g a a map[] r2 map[k:v] 2026-01-31T23:00:00Z cpu-samples false 2 3 1.5",
			"2026-01 g a a map[] r2 map[k:v] 2026-01-31T23:00:00Z alloc true 8 1 1.5",
			"2026-01 g b/size=9 b map[size:9] r1 map[k:v] 2026-01-31T23:59:59.123456Z cpu-samples false 6 4 1.5",
			"2026-01 g b/size=9 b map[size:9] r1 map[k:v] 2026-01-31T23:59:59.123456Z alloc true 8 1 1.5",
			"__HIVE_DEFAULT_PARTITION__ g b/size=9 b map[size:9] r0 map[k:v] - cpu-samples false 1 2 1.5",
			"__HIVE_DEFAULT_PARTITION__ g b/size=9 b map[size:9] r0 map[k:v] - alloc true 8 1 1.5",
		}},
		"path_samples": {rows(t, dir, "path_samples", func(r *pathSampleRow) string {
			return line(r.Benchmark, dateText(r.Date), r.Type, paths[string(r.Path)], r.Self, r.Total)
		}), []string{ // with values that cancel
			"2026-01 a 2026-01-31T23:00:00Z cpu-samples A 0 0",
			"2026-01 a 2026-01-31T23:00:00Z cpu-samples A;B 1 0",
			"2026-01 a 2026-01-31T23:00:00Z cpu-samples A;B;D -1 -1",
			"2026-01 a 2026-01-31T23:00:00Z alloc A 8 8",
			"2026-01 b/size=9 2026-01-31T23:59:59.123456Z cpu-samples A 2 5",
			"2026-01 b/size=9 2026-01-31T23:59:59.123456Z cpu-samples A;B 0 3",
			"2026-01 b/size=9 2026-01-31T23:59:59.123456Z cpu-samples A;B;A 3 3",
			"2026-01 b/size=9 2026-01-31T23:59:59.123456Z cpu-samples C 1 1",
			"2026-01 b/size=9 2026-01-31T23:59:59.123456Z alloc A 8 8",
			"__HIVE_DEFAULT_PARTITION__ b/size=9 - cpu-samples A 0 1",
			"__HIVE_DEFAULT_PARTITION__ b/size=9 - cpu-samples A;B 1 1",
			"__HIVE_DEFAULT_PARTITION__ b/size=9 - alloc A 8 8",
		}},
		"function_samples": {rows(t, dir, "function_samples", func(r *functionSampleRow) string {
			return line(r.Benchmark, dateText(r.Date), r.Type, names[r.Function], r.Self, r.Total)
		}), []string{ // recursion counts once
			"2026-01 a 2026-01-31T23:00:00Z cpu-samples D -1 -1",
			"2026-01 a 2026-01-31T23:00:00Z alloc A 8 8",
			"2026-01 b/size=9 2026-01-31T23:59:59.123456Z cpu-samples A 5 5",
			"2026-01 b/size=9 2026-01-31T23:59:59.123456Z cpu-samples B 0 3",
			"2026-01 b/size=9 2026-01-31T23:59:59.123456Z cpu-samples C 1 1",
			"2026-01 b/size=9 2026-01-31T23:59:59.123456Z alloc A 8 8",
			"__HIVE_DEFAULT_PARTITION__ b/size=9 - cpu-samples A 0 1",
			"__HIVE_DEFAULT_PARTITION__ b/size=9 - cpu-samples B 1 1",
			"__HIVE_DEFAULT_PARTITION__ b/size=9 - alloc A 8 8",
		}},
		"metrics": {rows(t, dir, "metrics", func(r *metricRow) string {
			return line(r.Group, r.Benchmark, r.Run, dateText(r.Date), r.Name, r.Mean, r.Unit, r.Better, r.N, r.Samples, r.Error, r.Primary)
		}), []string{
			"2026-01 g a r2 2026-01-31T23:00:00Z time 1.5 ms lower 3 [1 2] 0.5 true",
			"2026-01 g b/size=9 r1 2026-01-31T23:59:59.123456Z time 1.5 ms lower 3 [1 2] 0.5 true",
			"__HIVE_DEFAULT_PARTITION__ g b/size=9 r0 - time 1.5 ms lower 3 [1 2] 0.5 true",
		}},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Error(table, diff)
		}
	}
}

func line(values ...any) string { return strings.TrimSuffix(fmt.Sprintln(values...), "\n") }

// optional returns an id as text. An unknown one must be NULL, not empty.
func optional(id *[]byte) string {
	if id == nil {
		return ""
	}
	return string(append([]byte{}, (*id)[:16]...))
}

func dateText(us *int64) string {
	if us == nil {
		return "-"
	}
	return time.UnixMicro(*us).UTC().Format(time.RFC3339Nano)
}

// TestSameIDs expects equal rows of stores that received the same profiles in another
// order, before and after compaction, of any engine.
func TestSameIDs(t *testing.T) {
	content := func(st store.Reader) []string {
		dir := export(t, st)
		all := rows(t, dir, "functions", func(r *functionRow) string { return line(r.Function, r.Name, r.Kind == nil) })
		all = append(all, rows(t, dir, "paths", func(r *pathRow) string {
			return line(r.Path, optional(r.Parent), r.Function, r.Depth, optional(r.Recursion), r.Distance)
		})...)
		all = append(all, rows(t, dir, "path_samples", func(r *pathSampleRow) string {
			return fmt.Sprint(r.Profile, r.Path, r.Self, r.Total)
		})...)
		all = append(all, rows(t, dir, "function_samples", func(r *functionSampleRow) string {
			return fmt.Sprint(r.Profile, r.Function, r.Self, r.Total)
		})...)
		slices.Sort(all)
		return all
	}
	input := func() []*store.File {
		return []*store.File{file(t, "a", 0, "A;B 1, C 2"), file(t, "a", 1, "A;B;A 3, D 1"), file(t, "b", 2, "E;B 1, C 7")}
	}
	forward, back := input(), input()
	slices.Reverse(back)
	memory := mem.New()
	runtest.Put(t, memory, forward...)
	want := content(memory)

	disk, err := duckdb.Open(t.Context(), filepath.Join(t.TempDir(), "s.duckdb"), duckdb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer disk.Close()
	for _, f := range back {
		runtest.Put(t, disk, f)
	}
	if diff := cmp.Diff(want, content(disk)); diff != "" {
		t.Error(diff)
	}
	if err := disk.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, content(disk)); diff != "" {
		t.Error("compacted", diff)
	}
}

// TestIDs has the test vectors of docs/lake.md.
func TestIDs(t *testing.T) {
	s := newIDs()
	main, parse := s.hashFunction("main"), s.hashFunction("parse")
	c := content(PathID{}, main)
	root := s.hashPath(c[:])
	c = content(root, parse)
	below := s.hashPath(c[:])
	if got := fmt.Sprintf("%d %d %x %x", main, parse, root, below); got != "2661421658316386162 1649142980013564769 64b8f7ae5449497f808ff13dd3fb9273 062205f04b172ca3cd60236b045a5fa1" {
		t.Error(got)
	}
	for _, want := range []bool{true, false} {
		if first, err := s.path(root, PathID{}, main); first != want || err != nil {
			t.Error(first, err)
		}
		if first, err := s.function(main, "main"); first != want || err != nil {
			t.Error(first, err)
		}
	}
	s.forget()
	if first, err := s.path(root, PathID{}, main); !first || err != nil {
		t.Error("a forgotten path is not new", err)
	}
}

func TestCollisions(t *testing.T) {
	s := newIDs()
	s.function(7, "A")
	if _, err := s.function(7, "B"); err == nil || !strings.Contains(err.Error(), `"A" and "B" have the same id 7`) {
		t.Error(err)
	}
	s.path(PathID{7}, PathID{}, 1)
	if _, err := s.path(PathID{7}, PathID{}, 2); err == nil {
		t.Error("two paths share an id")
	}
}

// failing is a store whose streams break.
type failing struct{ *mem.Store }

var errBroken = errors.New("broken")

func (failing) Trees(context.Context, store.Query, store.TreeOptions) (*store.TreeSet, error) {
	return nil, errBroken
}

func TestDirectory(t *testing.T) {
	st := runtest.Store(t, runtest.Run{Benchmark: "b", Stacks: "A 1"})
	list, err := st.Profiles(t.Context(), store.Query{})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := Write(t.Context(), filepath.Join(dir, "lake"), failing{st}, list, nil); !errors.Is(err, errBroken) {
		t.Error(err)
	}
	if left := files(t, dir); left != nil {
		t.Error("a failed export left", left)
	}
	done := 0
	if err := Write(t.Context(), dir, st, list, func(n int) { done = n }); err != nil || done != 1 { // empty: as good as new
		t.Error(err, done)
	}
	if err := Write(t.Context(), dir, st, list, nil); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Error(err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o755 {
		t.Error(info.Mode(), err)
	}
}

// TestBatches expects batches of at most 64 profiles and a million nodes.
func TestBatches(t *testing.T) {
	list := make([]store.Profile, 100)
	if n := batchLen(list); n != batchProfiles {
		t.Error(n)
	}
	for i := range list {
		list[i].Nodes = batchNodes / 2
	}
	list[0].Nodes = 5 * batchNodes
	if n := batchLen(list); n != 1 {
		t.Error(n)
	}
	if n := batchLen(list[1:]); n != 2 {
		t.Error(n)
	}
	if n := batchLen(list[99:]); n != 1 {
		t.Error(n)
	}
}

// TestRowGroups expects that row groups are bounded.
func TestRowGroups(t *testing.T) {
	tab := table[metricRow]{dir: t.TempDir()}
	if err := tab.in(partition{}); err != nil {
		t.Fatal(err)
	}
	const n = groupRows + tableRows + 1
	for range n {
		if err := tab.add(metricRow{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := tab.close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(files(t, tab.dir)[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	p, err := parquet.OpenFile(f, info.Size())
	if err != nil {
		t.Fatal(err)
	}
	if p.NumRows() != n || len(p.RowGroups()) != 2 || p.RowGroups()[0].NumRows() != groupRows {
		t.Error(p.NumRows(), len(p.RowGroups()))
	}
}
