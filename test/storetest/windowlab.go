package storetest

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
)

// RunWindows runs the contract of continuous.Store.
func RunWindows(t *testing.T, e WindowEngine) {
	for _, test := range windowTests {
		t.Run(test.name, func(t *testing.T) { test.run(newWindowLab(t, e)) })
	}
}

// windowTests lists the suite, simple things first.
var windowTests = []struct {
	name string
	run  func(*windowLab)
}{
	{"Nothing", testNoWindows},
	{"OneWindow", testOneWindow},
	{"SeriesIdentity", testSeriesIdentity},
	{"FactsOfNewest", testFactsOfNewest},
	{"Repeats", testRepeats},
	{"UntimedRepeats", testUntimedRepeats},
	{"Matchers", testMatchers},
	{"SlowMatchers", testSlowMatchers},
	{"Ranges", testRanges},
	{"Types", testWindowTypes},
	{"Gauges", testGauges},
	{"Levels", testLevels},
	{"LateWindows", testLateWindows},
	{"Hours", testHours},
	{"SumsOfEveryPath", testSumsOfEveryPath},
	{"SummedInstances", testSummedInstances},
	{"SummedInstancesOfEveryPath", testSummedInstancesOfEveryPath},
	{"RetentionByAge", testRetentionByAge},
	{"RetentionByBytes", testRetentionByBytes},
	{"RetentionShares", testRetentionShares},
	{"SeriesEnd", testSeriesEnd},
	{"HostileWindows", testHostileWindows},
	{"BadWindows", testBadWindows},
	{"LargeSums", testLargeSums},
	{"OwnCopies", testOwnWindows},
	{"EndedContext", testWindowsEndedContext},
	{"Concurrent", testConcurrentWindows},
	{"Lines", testLines},
	{"LineRoom", testLineRoom},
}

// The types of the suite's windows.
var (
	CPUWindows = continuous.Type{Name: "process_cpu", SampleType: "cpu", SampleUnit: "nanoseconds", PeriodType: "cpu",
		PeriodUnit: "nanoseconds"}
	HeapWindows = continuous.Type{Name: "memory", SampleType: "inuse_space", SampleUnit: "bytes", PeriodType: "space", PeriodUnit: "bytes"}
)

// WindowMaker makes windows whose vectors share one forest, as those of a receiver do.
type WindowMaker struct{ Forest *calltree.Forest }

// NewWindowMaker returns a maker with an empty forest.
func NewWindowMaker() *WindowMaker { return &WindowMaker{new(calltree.Forest)} }

// Window returns a window of CPU time of 15 seconds. Its labels are given as names and
// values, and its content, of which it has the hash, as stacks.
func (m *WindowMaker) Window(service string, start time.Time, labels []string, samples ...Sample) *continuous.Window {
	w := &continuous.Window{
		Series: continuous.Series{Service: service, Type: CPUWindows},
		Start:  start, Length: 15 * time.Second,
		Type: TypeOf(profile.CPU),
	}
	for i := 0; i < len(labels); i += 2 {
		w.Series.Labels = append(w.Series.Labels, continuous.Label{Name: labels[i], Value: labels[i+1]})
	}
	slices.SortFunc(w.Series.Labels, func(a, b continuous.Label) int { return strings.Compare(a.Name, b.Name) })
	values, hash := map[int32]int64{}, fnv.New128a()
	for _, s := range samples {
		path := calltree.NoNode
		for _, name := range s.Stack {
			path = m.Forest.Path(path, m.Forest.Function(profile.Function{Name: name}))
		}
		values[path] += s.Value
		fmt.Fprintf(hash, "%q %d", s.Stack, s.Value)
	}
	for _, path := range slices.Sorted(maps.Keys(values)) {
		if values[path] != 0 {
			w.Self.Nodes, w.Self.Self = append(w.Self.Nodes, path), append(w.Self.Self, values[path])
		}
	}
	w.Forest = m.Forest.Snapshot()
	hash.Sum(w.Hash[:0])
	return w
}

// stack returns a sample of a stack that is written `main;work`.
func stack(path string, value int64) Sample { return Sample{strings.Split(path, ";"), value} }

// pathValues are self values by call path, outermost function first.
type pathValues map[string]int64

func (v pathValues) add(w *continuous.Window) {
	for i, p := range w.Self.Nodes {
		v[strings.Join(w.Forest.Names(p), ";")] += w.Self.Self[i]
	}
	maps.DeleteFunc(v, func(_ string, n int64) bool { return n == 0 })
}

// valuesOf returns those of a tree.
func valuesOf(t *calltree.Tree) pathValues {
	v := pathValues{}
	for n := range int32(t.Len()) {
		if t.Self[n] != 0 {
			v[strings.Join(t.Path(n), ";")] = t.Self[n]
		}
	}
	return v
}

// windowLab is one store under test and what it must have.
type windowLab struct {
	opened[continuous.Store]
	make *WindowMaker
	have []*continuous.Window // that were stored
}

func newWindowLab(t testing.TB, e WindowEngine) *windowLab {
	return &windowLab{opened: open(t, e), make: NewWindowMaker()}
}

// day0 is the first day of the suite's windows.
var day0 = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

// at returns a time of day0: `at(25, 30, 0)` is half past one of the next day.
func at(hour, minute, second int) time.Time {
	return day0.Add(time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute + time.Duration(second)*time.Second)
}

// put stores windows, all new.
func (l *windowLab) put(list ...*continuous.Window) {
	l.t.Helper()
	l.putAs(continuous.Stored, list...)
	l.have = append(l.have, list...)
}

// putAs puts windows that all have one outcome.
func (l *windowLab) putAs(want continuous.Outcome, list ...*continuous.Window) {
	l.t.Helper()
	got, err := l.s.PutWindows(l.ctx, list)
	if err != nil {
		l.t.Fatalf("PutWindows: %v", err)
	}
	l.same("outcomes", got, slices.Repeat([]continuous.Outcome{want}, len(list)))
}

// compact compacts the store, if the engine can, and reports whether paths were removed.
func (l *windowLab) compact() bool {
	l.t.Helper()
	s, ok := l.s.(store.Store)
	if !ok {
		return false
	}
	before, err := s.Info(l.ctx)
	if err == nil {
		err = s.Compact(l.ctx)
	}
	l.ok(err)
	after, err := s.Info(l.ctx)
	l.ok(err)
	return after.Paths < before.Paths
}

func (l *windowLab) rollUp(now time.Time, p continuous.Policy) continuous.Rolled {
	l.t.Helper()
	rolled, err := l.s.RollUp(l.ctx, now, p)
	if err != nil {
		l.t.Fatalf("RollUp: %v", err)
	}
	return rolled
}

func (l *windowLab) series(q continuous.Query) []continuous.Series {
	l.t.Helper()
	list, err := l.s.Series(l.ctx, q)
	if err != nil {
		l.t.Fatalf("Series: %v", err)
	}
	return list
}

func (l *windowLab) totals(q continuous.Query, step time.Duration) *continuous.Totals {
	l.t.Helper()
	totals, err := l.s.Totals(l.ctx, q, step)
	if err != nil {
		l.t.Fatalf("Totals: %v", err)
	}
	return totals
}

func (l *windowLab) tree(q continuous.Query) *continuous.Merged {
	l.t.Helper()
	merged, err := l.s.Tree(l.ctx, q)
	if err != nil {
		l.t.Fatalf("Tree: %v", err)
	}
	if err := merged.Tree.Check(); err != nil {
		l.t.Fatalf("Tree: %v", err)
	}
	return merged
}

func (l *windowLab) function(q continuous.Query, name string, step time.Duration) *continuous.Amounts {
	l.t.Helper()
	amounts, err := l.s.Function(l.ctx, q, name, step)
	if err != nil {
		l.t.Fatalf("Function: %v", err)
	}
	return amounts
}

func (l *windowLab) stats() continuous.Stats {
	l.t.Helper()
	stats, err := l.s.WindowStats(l.ctx)
	if err != nil {
		l.t.Fatalf("WindowStats: %v", err)
	}
	return stats
}

// selected returns the stored windows of a selection, by their own starts.
func (l *windowLab) selected(q continuous.Query) (list []*continuous.Window) {
	matching, err := q.Compile()
	l.ok(err)
	r := q.Range()
	for _, w := range l.have {
		matches, err := matching.Matches(l.ctx, &w.Series)
		l.ok(err)
		if ms := w.Start.UnixMilli(); matches && r.From <= ms && ms < r.Until {
			list = append(list, w)
		}
	}
	return list
}

// checkAll requires all answers for a selection to be those of the windows themselves,
// which must all be kept, in some level that the selection does not cut.
func (l *windowLab) checkAll(what string, q continuous.Query) {
	l.t.Helper()
	want, sum, covered, of := pathValues{}, int64(0), time.Duration(0), map[continuous.Key]bool{}
	selected := l.selected(q)
	for _, w := range selected {
		want.add(w)
		sum += w.Self.Sum()
		covered += w.Length.Truncate(time.Millisecond)
		of[w.Series.Key()] = true
	}
	merged := l.tree(q)
	l.same(what+": tree", valuesOf(merged.Tree), want)
	l.same(what+": parts", merged.Parts, int64(len(selected)))
	l.same(what+": covered time", merged.Covered, covered)
	l.same(what+": series of the tree", len(merged.Series), len(of))
	l.same(what+": series", l.series(q), merged.Series)
	tree := merged.Tree
	for _, step := range []time.Duration{0, time.Hour, 24 * time.Hour} {
		totals := l.totals(q, step)
		parts, got, time := int64(0), int64(0), time.Duration(0)
		for i, t := range totals.Totals {
			parts, got, time = parts+t.Parts, got+t.Sum, time+t.Covered
			if i > 0 && totals.Totals[i-1].Compare(&t) > 0 {
				l.t.Errorf("%s: totals are not in order: %+v", what, totals.Totals)
			}
		}
		l.same(fmt.Sprint(what, ": parts of totals by ", step), parts, int64(len(selected)))
		l.same(fmt.Sprint(what, ": sum of totals by ", step), got, sum)
		l.same(fmt.Sprint(what, ": covered time by ", step), time, covered)
		for _, row := range tree.FunctionRows()[:min(3, len(tree.FunctionRows()))] {
			self, whole := int64(0), int64(0)
			amounts := l.function(q, tree.Functions[row.Func].Name, step)
			for _, a := range amounts.Amounts {
				self, whole = self+a.Self, whole+a.Whole
			}
			l.same(what+": function", [2]int64{self, whole}, [2]int64{row.Self, row.Total})
			l.same(what+": windows of the function", len(amounts.Amounts), len(totals.Totals))
		}
	}
}
