package duckdb

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/nightly"
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
	for seed := range nightly.Or[uint64](3, 8) {
		storetest.WindowHistory(t, seed, simple, windowEngine)
	}
}

// TestWindowsReadOnly reads windows of a file that nobody may change.
func TestWindowsReadOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.duckdb")
	s := mustOpen(t, path, Options{})
	m := storetest.NewWindowMaker()
	w := m.Window("shop", firstPush, nil, storetest.Sample{Stack: []string{"main"}, Value: 1})
	if _, err := s.PutWindows(t.Context(), []*continuous.Window{w}); err != nil {
		t.Fatal(err)
	}
	s.Close()
	s = mustOpen(t, path, Options{ReadOnly: true})
	if merged, err := s.Tree(t.Context(), continuous.Query{}); err != nil || merged.Parts != 1 {
		t.Errorf("%+v, %v", merged, err)
	}
	_, put := s.PutWindows(t.Context(), []*continuous.Window{w})
	_, roll := s.RollUp(t.Context(), firstPush, continuous.Policy{})
	for _, err := range []error{put, roll} {
		if !errors.Is(err, store.ErrReadOnly) {
			t.Errorf("a change of a file opened for reading: %v", err)
		}
	}
}

// TestWindowsSQL asks for windows in SQL.
func TestWindowsSQL(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "store.duckdb"), Options{})
	m := storetest.NewWindowMaker()
	for i := range 3 {
		w := m.Window("shop", firstPush.Add(time.Duration(i)*time.Minute), []string{"pod", "a"},
			storetest.Sample{Stack: []string{"main", "work"}, Value: int64(i) + 1})
		if _, err := s.PutWindows(t.Context(), []*continuous.Window{w}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.RollUp(t.Context(), firstPush.Add(time.Hour), continuous.Policy{}); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{
		"SELECT service, type, labels['pod'], level, count(*), sum(parts), sum(covered), sum(sum) FROM windows GROUP BY ALL ORDER BY level":                "shop process_cpu:cpu:nanoseconds:cpu:nanoseconds a hour 1 3 45000 6\nshop process_cpu:cpu:nanoseconds:cpu:nanoseconds a raw 3 3 45000 6\n",
		"SELECT level, function, sum(self) FROM window_sample s JOIN path p ON p.id = s.path WHERE start >= '2026-03-01 00:01:00' GROUP BY ALL ORDER BY 1": "raw work 5\n",
	} {
		if got, err := ask(t, s, query); err != nil || got != want {
			t.Errorf("%s: %v\n%s", query, err, cmp.Diff(want, got))
		}
	}
}

// TestIdleRollUpWritesNothing rolls up with nothing to do, as a server does every minute.
func TestIdleRollUpWritesNothing(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "store.duckdb"), Options{})
	m := storetest.NewWindowMaker()
	for i := range 3 {
		w := m.Window("shop", firstPush.Add(time.Duration(i)*40*time.Minute), nil, storetest.Sample{Stack: []string{"main", "work"}, Value: 1})
		if _, err := s.PutWindows(t.Context(), []*continuous.Window{w}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.RollUp(t.Context(), w.Start, continuous.Policy{}); err != nil {
			t.Fatal(err)
		}
	}
	policy := continuous.Policy{Keep: [3]time.Duration{time.Hour, 0, 0}}
	if _, err := s.RollUp(t.Context(), firstPush.Add(105*time.Minute), policy); err != nil { // once an hour the policy removes more
		t.Fatal(err)
	}
	writes := 0
	stop := driver.Observe(func(sql string) {
		if strings.HasPrefix(sql, "INSERT") || strings.HasPrefix(sql, "DELETE") {
			writes++
			t.Log(sql)
		}
	})
	defer stop()
	rolled, err := s.RollUp(t.Context(), firstPush.Add(110*time.Minute), policy)
	if err != nil || rolled != (continuous.Rolled{}) || writes != 0 {
		t.Errorf("%+v, %v, %d statements that write", rolled, err, writes)
	}
}

// TestOneStatement pushes windows of a program that the store knows: each commit is one statement.
func TestOneStatement(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "store.duckdb"), Options{})
	m := storetest.NewWindowMaker()
	put := func(n int) {
		t.Helper()
		w := m.Window("shop", firstPush.Add(time.Duration(n)*15*time.Second), nil, storetest.Sample{Stack: []string{"main"}, Value: int64(1 + n)})
		if _, err := s.PutWindows(t.Context(), []*continuous.Window{w}); err != nil {
			t.Fatal(err)
		}
	}
	put(0)
	var statements []string
	stop := driver.Observe(func(sql string) { statements = append(statements, strings.Fields(sql)[0]) })
	defer stop()
	for n := range 3 {
		put(1 + n)
	}
	if got := strings.Join(statements, " "); got != "INSERT INSERT INSERT" {
		t.Errorf("statements: %s", got)
	}
}

// TestSweepPaths pushes windows of a service whose functions change with each day, and removes what
// is old: Compact removes the call paths that no window has any more.
func TestSweepPaths(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "store.duckdb"), Options{})
	m := storetest.NewWindowMaker()
	day := 24 * time.Hour
	policy := continuous.Policy{Keep: [3]time.Duration{continuous.Raw: day, continuous.Hour: 2 * day, continuous.Day: 4 * day}}
	paths := func() (n int) {
		t.Helper()
		text, err := ask(t, s, "SELECT count(*) FROM path")
		if _, scan := fmt.Sscan(text, &n); err != nil || scan != nil {
			t.Fatal(text, err, scan)
		}
		return n
	}
	const days, stacks = 12, 50
	for i := range days {
		start := firstPush.Truncate(day).Add(time.Duration(i) * day)
		var samples []storetest.Sample
		for k := range stacks {
			samples = append(samples, storetest.Sample{Stack: []string{"main", fmt.Sprintf("f%d of day %d", k, i)}, Value: int64(i + 1)})
		}
		if _, err := s.PutWindows(t.Context(), []*continuous.Window{m.Window("shop", start.Add(time.Hour), nil, samples...)}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.RollUp(t.Context(), start.Add(day), policy); err != nil {
			t.Fatal(err)
		}
	}
	if n := paths(); n != 1+days*stacks {
		t.Errorf("%d call paths before compact", n)
	}
	want, err := s.Tree(t.Context(), continuous.Query{})
	if err != nil || want.Parts != 4 {
		t.Fatalf("%d windows are left, %v", want.Parts, err)
	}
	if err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := paths(); n != 1+4*stacks {
		t.Errorf("%d call paths after compact, want those of four days", n)
	}
	got, err := s.Tree(t.Context(), continuous.Query{})
	if err != nil || got.Tree.RootTotal() != want.Tree.RootTotal() || got.Tree.Len() != 1+4*stacks {
		t.Errorf("the tree has a total of %d in %d nodes, %v", got.Tree.RootTotal(), got.Tree.Len(), err)
	}
}

// TestPushesAndImports stores windows and profiles by turns in one process: both write with the
// same arrays over the forest, which each of them makes longer.
func TestPushesAndImports(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "store.duckdb"), Options{})
	m := storetest.NewWindowMaker()
	for i := range 5 {
		var samples []storetest.Sample
		var outer, inner strings.Builder // columns of stacks
		for k := range 20 << i {         // more than what the arrays have in reserve
			samples = append(samples, storetest.Sample{Stack: []string{"main", fmt.Sprint("w", i, k)}, Value: 1})
			fmt.Fprintf(&outer, "%-10s", "main")
			fmt.Fprintf(&inner, "%-10s", fmt.Sprintf("p%d-%d", i, k))
		}
		if _, err := s.PutWindows(t.Context(), []*continuous.Window{m.Window("shop", firstPush.Add(time.Duration(i)*time.Minute), nil,
			samples...)}); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			file := storetest.File("g", fmt.Sprint("b", i), fmt.Sprint("r", i), profile.CPUSamples, outer.String()+"\n"+inner.String())
			if out, err := s.Put(t.Context(), []*store.File{file}, store.PutOptions{Rules: "1"}); err != nil || out[0].Err != nil {
				t.Fatal(err, out)
			}
		}
	}
	merged, err := s.Tree(t.Context(), continuous.Query{})
	if err != nil || merged.Parts != 5 || merged.Tree.RootTotal() != 20*31 {
		t.Errorf("%d windows with a total of %d, %v", merged.Parts, merged.Tree.RootTotal(), err)
	}
}

// TestThousandPods deploys 1,000 pods three times: what is left of them is one series, and as many
// hours as without pods.
func TestThousandPods(t *testing.T) {
	m := storetest.NewWindowMaker()
	deployed := func(instance []string, keep time.Duration) (stats continuous.Stats, memory int64) {
		s := mustOpen(t, filepath.Join(t.TempDir(), "store.duckdb"), Options{})
		defer s.Close()
		begin := firstPush.Truncate(24 * time.Hour)
		for deployment := range 3 {
			start := begin.Add(time.Duration(deployment) * 24 * time.Hour)
			w := m.Window("shop", start, nil, storetest.Sample{Stack: []string{"main", "work"}, Value: 7})
			list := make([]*continuous.Window, 1000)
			for pod := range list {
				of := *w
				of.Series.Labels = continuous.Labels{{Name: "pod", Value: fmt.Sprintf("shop-%d-%04d", deployment, pod)}, {Name: "version", Value: "1"}}
				list[pod] = &of
			}
			if _, err := s.PutWindows(t.Context(), list); err != nil {
				t.Fatal(err)
			}
		}
		policy := continuous.Policy{Keep: [3]time.Duration{continuous.Raw: keep}, Instance: instance}
		if _, err := s.RollUp(t.Context(), begin.Add(72*time.Hour), policy); err != nil {
			t.Fatal(err)
		}
		stats, err := s.WindowStats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		forest, err := s.Forest(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if merged, err := s.Tree(t.Context(), continuous.Query{}); err != nil || merged.Tree.RootTotal() != 3*1000*7 || merged.Parts != 3000 {
			t.Errorf("%+v, %v", merged, err)
		}
		return stats, forest.Text
	}
	before, texts := deployed(nil, 24*time.Hour)
	after, left := deployed(continuous.InstanceLabels, 24*time.Hour)
	if before.Series != 3000 || after.Series != 1001 || before.Windows != [3]int64{1000, 3000, 3000} || after.Windows != [3]int64{1000, 3, 3} {
		t.Errorf("before %+v, after %+v", before, after)
	}
	if left*2 > texts {
		t.Errorf("labels take %d bytes, before %d", left, texts)
	}
	t.Logf("%d series and %d bytes of their texts; with instances in all levels %d and %d", after.Series, left, before.Series, texts)
}
