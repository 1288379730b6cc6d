package duckdb_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/store/duckdb"
	"github.com/dendroprof/dendro/test/storetest"
)

// TestForestIsBounded: stacks for which the store, or the share of a service, has no room are
// together in (other). Values are never lost, and known stacks stay as they are, also after the
// store is opened again.
func TestForestIsBounded(t *testing.T) {
	for name, room := range map[string]continuous.Room{
		"paths": {Paths: 20, Share: 50},
		"text":  {Text: 100, Share: 50}, // "main" and names of 5 bytes
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "s.duckdb")
			m := storetest.NewWindowMaker()
			at := time.Date(2026, 11, 2, 10, 0, 0, 0, time.UTC)
			open := func() *duckdb.Store {
				st, err := duckdb.Open(t.Context(), file, duckdb.Options{})
				if err != nil {
					t.Fatal(err)
				}
				st.Limit(room)
				return st
			}
			put := func(st *duckdb.Store, service string, from, n int) {
				t.Helper()
				var samples []storetest.Sample
				for i := range n {
					samples = append(samples, storetest.Sample{Stack: []string{"main", fmt.Sprintf("f%04d", from+i)}, Value: 1})
				}
				at = at.Add(time.Minute)
				if _, err := st.PutWindows(t.Context(), []*continuous.Window{m.Window(service, at, nil, samples...)}); err != nil {
					t.Fatal(err)
				}
			}
			// tree returns how many functions a service has besides (other), and the values of all
			// and of (other).
			tree := func(st *duckdb.Store, service string) string {
				t.Helper()
				merged, err := st.Tree(t.Context(), continuous.Query{Matchers: []continuous.Matcher{{Name: continuous.ServiceLabel,
					Op: continuous.Equal, Value: service}}})
				if err != nil {
					t.Fatal(err)
				}
				functions, other := 0, int64(0)
				for n, fn := range merged.Tree.Func {
					switch name := merged.Tree.Functions[fn].Name; {
					case name == continuous.Other:
						other += merged.Tree.Self[n]
					case strings.HasPrefix(name, "f"):
						functions++
					}
				}
				return fmt.Sprintf("%d functions, %d of %d in (other)", functions, other, merged.Tree.RootTotal())
			}
			same := func(what, got, want string) {
				t.Helper()
				if got != want {
					t.Errorf("%s: %s, want %s", what, got, want)
				}
			}
			st := open()
			put(st, "hog", 0, 30)
			same("a service has its share", tree(st, "hog"), "9 functions, 21 of 30 in (other)")
			put(st, "other", 25, 5)
			same("another service has room, also for stacks that were refused to the first", tree(st, "other"), "5 functions, 0 of 5 in (other)")
			put(st, "third", 100, 30)
			forest, err := st.Forest(t.Context())
			if err != nil || room.Paths > 0 && forest.Paths > room.Paths+1 || room.Text > 0 && forest.Text > room.Text || forest.Folded < 21 {
				t.Errorf("%+v, %v", forest, err)
			}
			if err := st.Close(); err != nil {
				t.Fatal(err)
			}
			st = open()
			defer st.Close()
			put(st, "other", 25, 5)
			same("what is known stays", tree(st, "other"), "5 functions, 0 of 10 in (other)")
			put(st, "fourth", 200, 30)
			after, err := st.Forest(t.Context())
			if err != nil || after.Paths > forest.Paths+3 || after.Text > max(forest.Text, room.Text)+int64(len(continuous.Other)) {
				t.Errorf("%+v, then %+v, %v", forest, after, err)
			}
		})
	}
}

// TestUnusedPaths: paths of removed windows are of no use, and Compact makes room for others.
func TestUnusedPaths(t *testing.T) {
	st, err := duckdb.Open(t.Context(), filepath.Join(t.TempDir(), "s.duckdb"), duckdb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	st.Limit(continuous.Room{Paths: 12})
	m, at := storetest.NewWindowMaker(), time.Date(2026, 11, 2, 10, 0, 0, 0, time.UTC)
	put := func(day, n int) {
		t.Helper()
		var samples []storetest.Sample
		for i := range n {
			samples = append(samples, storetest.Sample{Stack: []string{"main", fmt.Sprint("f", 100*day+i)}, Value: 1})
		}
		if _, err := st.PutWindows(t.Context(), []*continuous.Window{m.Window("shop", at.Add(time.Duration(day)*24*time.Hour), nil,
			samples...)}); err != nil {
			t.Fatal(err)
		}
	}
	put(0, 9)
	put(9, 2)
	day := 24 * time.Hour
	if _, err := st.RollUp(t.Context(), at.Add(10*day), continuous.Policy{Keep: [3]time.Duration{5 * day, 5 * day, 5 * day}}); err != nil {
		t.Fatal(err)
	}
	if unused, err := st.Unused(t.Context()); err != nil || unused != 9 {
		t.Errorf("%d paths are unused, %v", unused, err)
	}
	if err := st.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	put(9, 9)
	if forest, err := st.Forest(t.Context()); err != nil || forest.Paths != 10 || forest.Folded != 0 {
		t.Errorf("%+v, %v", forest, err)
	}
}

// TestLogIsBounded: however much is pushed, the log that the next process replays before it is
// ready stays small.
func TestLogIsBounded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "s.duckdb")
	st, err := duckdb.Open(t.Context(), file, duckdb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	m, at := storetest.NewWindowMaker(), time.Date(2026, 11, 2, 10, 0, 0, 0, time.UTC)
	largest := int64(0)
	for n := range 36 {
		var samples []storetest.Sample
		for i := range 20_000 {
			samples = append(samples, storetest.Sample{Stack: []string{fmt.Sprint("f", i*7919%20_000)},
				Value: int64(1 + i*n*1_000_003%1_000_000_007)})
		}
		var list []*continuous.Window
		for k := range 10 {
			list = append(list, m.Window(fmt.Sprint("s", k), at.Add(time.Duration(n)*time.Minute), nil, samples...))
		}
		if _, err := st.PutWindows(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(file + ".wal"); err == nil {
			largest = max(largest, info.Size())
		}
	}
	stats, err := st.WindowStats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes of vectors, the log had at most %d bytes", stats.Bytes[0], largest)
	if stats.Bytes[0] < 24<<20 || largest > 18<<20 {
		t.Errorf("%d bytes of vectors, the log had %d bytes", stats.Bytes[0], largest)
	}
}

// TestRollUpWritesNoLabels: a roll-up writes the times of series, and not their labels, which may
// be long: whoever pushes many series would hold up all pushes with them, and the next start.
func TestRollUpWritesNoLabels(t *testing.T) {
	file := filepath.Join(t.TempDir(), "s.duckdb")
	open := func() *duckdb.Store {
		st, err := duckdb.Open(t.Context(), file, duckdb.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return st
	}
	st := open()
	m, at := storetest.NewWindowMaker(), time.Date(2026, 11, 2, 10, 0, 0, 0, time.UTC)
	const series, long = 200, 4000
	put := func(at time.Time) {
		t.Helper()
		var list []*continuous.Window
		for i := range series {
			list = append(list, m.Window("shop", at, []string{"id", strings.Repeat("x", long) + fmt.Sprint(i)},
				storetest.Sample{Stack: []string{"main"}, Value: 1}))
		}
		if _, err := st.PutWindows(t.Context(), list); err != nil {
			t.Fatal(err)
		}
	}
	logged := func() int64 {
		t.Helper()
		log, err := os.Stat(file + ".wal")
		if err != nil {
			t.Fatal(err)
		}
		return log.Size()
	}
	put(at)
	put(at.Add(time.Minute))
	before := logged()
	if before < series*long {
		t.Fatalf("the log has %d bytes without the labels", before)
	}
	if _, err := st.RollUp(t.Context(), at.Add(3*time.Hour), continuous.Policy{}); err != nil {
		t.Fatal(err)
	}
	if grown := logged() - before; grown > series*long/4 {
		t.Errorf("a roll-up wrote %d bytes", grown)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	st = open()
	defer st.Close()
	list, err := st.Series(t.Context(), continuous.Query{})
	if err != nil || len(list) != series {
		t.Fatalf("%d series, %v", len(list), err)
	}
	for _, s := range list {
		if !s.First.Equal(at) || !s.Last.Equal(at.Add(time.Minute+15*time.Second)) {
			t.Errorf("from %s to %s", s.First, s.Last)
		}
	}
}

// TestSeriesHaveRoom: labels of series count as text of the store, also after it is opened
// again, until their windows are removed. Known series have room in a full store.
func TestSeriesHaveRoom(t *testing.T) {
	file := filepath.Join(t.TempDir(), "s.duckdb")
	open := func() *duckdb.Store {
		st, err := duckdb.Open(t.Context(), file, duckdb.Options{})
		if err != nil {
			t.Fatal(err)
		}
		st.Limit(continuous.Room{Text: 10_000, Share: 50})
		return st
	}
	st := open()
	m, at := storetest.NewWindowMaker(), time.Date(2026, 11, 2, 10, 0, 0, 0, time.UTC)
	window := func(service string, n int) *continuous.Window {
		return m.Window(service, at, []string{"id", strings.Repeat("x", 1000) + fmt.Sprint(n)},
			storetest.Sample{Stack: []string{"main"}, Value: 1})
	}
	put := func(service string, from, until int) {
		t.Helper()
		for i := from; i < until; i++ {
			if _, err := st.PutWindows(t.Context(), []*continuous.Window{window(service, i)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	has := func(service string, n int, want bool) {
		t.Helper()
		w := window(service, n)
		if got := st.HasRoom(w.Series.Key(), service, w.Series.Labels.Bytes()); got != want {
			t.Errorf("series %d of %s has room: %v", n, service, got)
		}
	}
	put("hog", 0, 4)
	has("hog", 3, true)
	has("hog", 4, false)
	has("other", 4, true)
	put("other", 0, 4)
	put("third", 0, 1)
	has("third", 1, false)
	before, err := st.Forest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	st = open()
	defer st.Close()
	if after, err := st.Forest(t.Context()); err != nil || after.Text != before.Text || after.Text < 9000 {
		t.Errorf("%d bytes of text, %d before: %v", after.Text, before.Text, err)
	}
	has("hog", 3, true)
	has("hog", 4, false)
	day := 24 * time.Hour
	if _, err := st.RollUp(t.Context(), at.Add(10*day), continuous.Policy{Keep: [3]time.Duration{day, day, day}}); err != nil {
		t.Fatal(err)
	}
	if after, err := st.Forest(t.Context()); err != nil || after.Text > 100 {
		t.Errorf("%d bytes of text of removed series: %v", after.Text, err)
	}
	has("hog", 4, true)
}
