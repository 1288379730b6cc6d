// Package metrics compares all metrics of benchmarks between two sets of runs: times,
// allocated bytes, throughput, whatever the benchmarks report.
//
//	profiles of both sides ──Compare──▶ Table: a row per benchmark and metric,
//	                                    a geometric mean per metric
//
// A row has the medians of both sides with their intervals, and the error probability of
// the test of Mann and Whitney, as benchstat does. It differs in two ways: significance is
// corrected for the number of tests, and where a side has several runs, a run is one
// value, because measurements within a run resemble each other. docs/method/gate.md has
// the rules.
package metrics

import (
	"cmp"
	"math"
	"slices"

	"github.com/dendroprof/dendro/analysis/stat"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// Runs are the runs of one benchmark to compare: the profiles of one value type.
type Runs struct {
	Benchmark  testrun.Benchmark
	Base, Head []store.Profile
}

// Table is the result of Compare.
type Table struct {
	Rows  []Row  `json:"rows"`  // by metric, primary ones first, then by benchmark
	Means []Mean `json:"means"` // of metrics of two or more benchmarks
	// Level is the error probability of each test of the metrics that judge a benchmark at
	// which one of them is significant by chance with at most 5%. It is 0.05 divided by the
	// number of these tests, without those that have too few values to reach it. For the
	// other metrics it is divided by the number of all tests, so that they cost the judging
	// ones nothing.
	Level float64 `json:"level"`
	// Others is the level of the other metrics.
	Others float64 `json:"others,omitempty"`
	// New reports that the head has metrics, and the base none of them.
	New bool `json:"-"`
}

// Row is one metric of one benchmark.
type Row struct {
	Group     string         `json:"group,omitempty"`
	Benchmark string         `json:"benchmark"`
	Metric    string         `json:"metric"`
	Unit      string         `json:"unit"`
	Better    testrun.Better `json:"better"`
	Base      Side           `json:"base"`
	Head      Side           `json:"head"`
	// Change is the relative difference of the medians: 0.1 is 10% more. It is 0 if Base's
	// median is 0.
	Change      float64 `json:"change"`
	P           float64 `json:"p"`     // error probability by Mann and Whitney, two-sided
	Least       float64 `json:"least"` // the least P that so many values can have
	Level       float64 `json:"level"` // P up to which the change is significant
	Significant bool    `json:"significant"`
	Reason      Reason  `json:"reason,omitempty"`
	// Needed is the number of values of the head, and of the base if it has fewer, that could
	// make a difference significant; 0 if both have enough.
	Needed int  `json:"needed,omitempty"`
	Fails  bool `json:"fails"` // by the gate's policy

	judges bool // the metric is the first of the benchmark
}

// Of returns the benchmark.
func (r *Row) Of() testrun.Benchmark { return testrun.Benchmark{Group: r.Group, Name: r.Benchmark} }

// Reason says why a row is significant, or cannot be.
type Reason string

// The reasons; empty: Row.P and Table.Level decide.
const (
	TooFew    Reason = "too few values" // Least is above Level
	Constant  Reason = "never varied"   // all values of a side are equal, and those of the sides differ
	Intervals Reason = "99.9% intervals do not overlap"
)

// Side is what one side measured.
type Side struct {
	Runs   int     `json:"runs"`
	Values int     `json:"values"` // that were compared: one per run, or the measurements of few runs
	Median float64 `json:"median"`
	// Low and High are the 95% interval of the median, or for one result of JMH the 99.9%
	// interval of its mean. Nil: too few values.
	Low  *float64 `json:"low"`
	High *float64 `json:"high"`

	values []float64 // ascending
}

// Mean is the geometric mean of a metric over benchmarks.
type Mean struct {
	Metric     string  `json:"metric"`
	Unit       string  `json:"unit"`
	Benchmarks int     `json:"benchmarks"`
	Base       float64 `json:"base"` // 0 if the median of a benchmark is not above 0
	Head       float64 `json:"head"`
	Change     float64 `json:"change"` // of the ratios of head and base
}

// Worse reports how much worse the head is, relative to the base; negative if it is better.
func (r *Row) Worse() float64 {
	change := r.Change
	if r.Base.Median == 0 && r.Head.Median != 0 {
		change = math.Copysign(math.MaxFloat64, r.Head.Median)
	}
	if r.Better == testrun.Higher {
		return -change
	}
	return change
}

const (
	confidence = 0.95
	// fewRuns is the number of runs from which on a run is one value.
	fewRuns = 4
	// constantRuns is the minimum number of equal values of the base, or fewRuns of each side, of a metric that does not vary.
	constantRuns = 5
)

// Compare compares every metric that both sides of a benchmark have.
func Compare(list []Runs) *Table {
	t := &Table{Rows: []Row{}, Means: []Mean{}}
	var order []metricKey // those that judge a benchmark first
	for _, judges := range []bool{true, false} {
		for i := range list {
			for j, m := range newest(list[i].Head) {
				if k := keyOf(&m); judges == (j == 0) && !slices.Contains(order, k) {
					order = append(order, k)
				}
			}
		}
	}
	for _, k := range order {
		from := len(t.Rows)
		for i := range list {
			if r, ok := compare(&list[i], k); ok {
				t.Rows = append(t.Rows, r)
			}
		}
		slices.SortStableFunc(t.Rows[from:], func(a, b Row) int { return a.Of().Compare(b.Of()) })
		if rows := t.Rows[from:]; len(rows) > 1 {
			if m, ok := meanOf(k, rows); ok {
				t.Means = append(t.Means, m)
			}
		}
	}
	t.New = len(order) > 0 && len(t.Rows) == 0
	t.decide()
	return t
}

// metricKey identifies a metric over benchmarks and runs.
type metricKey struct{ name, unit string }

func keyOf(m *testrun.Metric) metricKey { return metricKey{m.Name, m.Unit} }

// newest returns the metrics of the newest run that has some, without operations.
func newest(runs []store.Profile) []testrun.Metric {
	for i := range slices.Backward(runs) {
		if list := slices.DeleteFunc(slices.Clone(runs[i].Metrics),
			func(m testrun.Metric) bool { return m.Name == testrun.OperationsMetric }); len(list) > 0 {
			return list
		}
	}
	return nil
}

// compare compares one metric; false if a side does not have it.
func compare(runs *Runs, k metricKey) (Row, bool) {
	base, head := of(runs.Base, k), of(runs.Head, k)
	if len(base) == 0 || len(head) == 0 {
		return Row{}, false
	}
	single := len(base) < fewRuns && len(head) < fewRuns
	r := Row{Group: runs.Benchmark.Group, Benchmark: runs.Benchmark.Name, Metric: k.name, Unit: k.unit, Better: head[len(head)-1].Better,
		Base: newSide(base, single), Head: newSide(head, single)}
	r.Better = cmp.Or(r.Better, testrun.BetterOf(k.unit))
	r.judges = keyOf(&newest(runs.Head)[0]) == k
	if r.Base.Median != 0 {
		r.Change = r.Head.Median/r.Base.Median - 1
	}
	r.P, r.Least = stat.MannWhitney(r.Base.values, r.Head.values)
	switch {
	case r.Base.constant() && r.Head.constant() && (r.Base.Values >= constantRuns || min(r.Base.Values, r.Head.Values) >= fewRuns):
		if r.Base.Median != r.Head.Median {
			r.Reason, r.Significant = Constant, true
		}
	case len(base) == 1 && len(head) == 1 && base[0].Error > 0 && head[0].Error > 0 && (r.Base.Values == 1 || r.Head.Values == 1):
		if *r.Base.High < *r.Head.Low || *r.Head.High < *r.Base.Low {
			r.Reason, r.Significant = Intervals, true
		}
	}
	return r, true
}

// of returns a metric of every run that has it.
func of(runs []store.Profile, k metricKey) (list []testrun.Metric) {
	for i := range runs {
		for _, m := range runs[i].Metrics {
			if keyOf(&m) == k {
				list = append(list, m)
			}
		}
	}
	return list
}

// newSide describes the results of runs; if single, by the measurements within them.
func newSide(results []testrun.Metric, single bool) Side {
	s := Side{Runs: len(results)}
	for _, m := range results {
		values := []float64{m.Mean}
		if more := m.Samples.Values(); single && len(more) > 0 {
			values = more
		}
		s.values = append(s.values, values...)
	}
	slices.Sort(s.values)
	s.Values, s.Median = len(s.values), stat.Median(s.values)
	if low, high, ok := stat.MedianInterval(s.values, confidence); ok {
		s.Low, s.High = &low, &high
	} else if e := results[0].Error; len(results) == 1 && e > 0 {
		low, high := results[0].Mean-e, results[0].Mean+e
		s.Low, s.High = &low, &high
	}
	return s
}

// constant reports whether all values are equal.
func (s *Side) constant() bool { return s.values[0] == s.values[len(s.values)-1] }

// decide sets the level of the table, and which rows are significant.
func (t *Table) decide() {
	judging, all := func(r *Row) bool { return r.judges }, func(*Row) bool { return true }
	t.Level, t.Others = t.level(judging), t.level(all)
	for i := range t.Rows {
		r, tests := &t.Rows[i], all
		if r.Level = t.Others; r.judges {
			r.Level, tests = t.Level, judging
		}
		switch {
		case r.Reason != "" || r.same():
		case r.Least > r.Level:
			r.Reason, r.Needed = TooFew, needed(r.Base.Values, r.Head.Values, t.strictest(tests))
		default:
			r.Significant = r.P <= r.Level
		}
	}
}

// same reports whether a metric has one value on both sides.
func (r *Row) same() bool {
	return r.Base.constant() && r.Head.constant() && r.Base.Median == r.Head.Median
}

// strictest returns the level of some rows if all of them had so many values that they count.
func (t *Table) strictest(of func(*Row) bool) float64 {
	tests := 0
	for i := range t.Rows {
		if r := &t.Rows[i]; of(r) && !r.same() {
			tests++
		}
	}
	return (1 - confidence) / float64(tests)
}

// level returns the error probability of each test of some rows. A test whose least error
// probability is above the level cannot be significant by chance and does not count
// (Tarone 1990).
func (t *Table) level(of func(*Row) bool) float64 {
	for tests := 1; ; tests++ {
		n := 0
		for i := range t.Rows {
			if r := &t.Rows[i]; of(r) && r.Least <= (1-confidence)/float64(tests) {
				n++
			}
		}
		if n <= tests {
			return (1 - confidence) / float64(tests)
		}
	}
}

// needed returns the number of values of the head, and of a base of n if that is fewer, from which on the
// least error probability is at most level; 0 if both have so many.
func needed(n, head int, level float64) int {
	for k := 1; ; k++ {
		least := 2.0 // of two-sided tests: one arrangement of all, on either side
		for i := range k {
			least *= float64(i+1) / float64(max(n, k)+i+1)
		}
		switch {
		case least > level*(1+1e-9):
		case k <= min(n, head):
			return 0 // equal values are between
		default:
			return k
		}
	}
}

// Few counts the rows with too few values to tell. They need a number of runs of a side: the head, or each side.
func (t *Table) Few() (rows, runs int, side string) {
	side = "the head"
	for i := range t.Rows {
		if r := &t.Rows[i]; r.Reason == TooFew {
			rows, runs = rows+1, max(runs, r.Needed)
			if r.Needed > r.Base.Values {
				side = "each side"
			}
		}
	}
	return rows, runs, side
}

// meanOf returns the geometric means of rows with one metric. A benchmark whose medians are
// both 0 did not change; there is no mean if one changed from 0, or to 0.
func meanOf(k metricKey, rows []Row) (Mean, bool) {
	m := Mean{Metric: k.name, Unit: k.unit, Benchmarks: len(rows)}
	var base, head, ratio float64
	for i := range rows {
		b, h := rows[i].Base.Median, rows[i].Head.Median
		base, head = base+math.Log(b), head+math.Log(h)
		if b != h {
			ratio += math.Log(h / b)
		}
	}
	n := float64(len(rows))
	if finite(base) && finite(head) {
		m.Base, m.Head = math.Exp(base/n), math.Exp(head/n)
	}
	m.Change = math.Expm1(ratio / n)
	return m, finite(ratio)
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
