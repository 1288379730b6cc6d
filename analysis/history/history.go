// Package history prepares the runs of one benchmark for analyses: it selects the runs
// that compare and returns their samples as counts over one call tree.
//
// It decides three things for all analyses:
//
//   - which runs compare (Choose): same benchmark with all parameters, value
//     type, machine, profiler and branch, in order of time;
//   - what a sample is (Load): values in nanoseconds or bytes are divided by the
//     value of one sample, because the noise is that of counts;
//   - which code a sample belongs to (fold.go): the program's own functions.
//     Kernel, collector and compiler frames below them differ from run to run
//     without any change of the code; stacks without other frames are the
//     environment.
//
// The result is a Matrix: a table of call nodes, and per run a sparse vector of counts
// and a metric of which less is better.
//
// Loading costs time and memory proportional to the values of the runs.
package history

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/analysis/stat"
	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// Window is the default maximum number of runs before the tested ones.
const Window = 30

// FlaggedAttribute marks a run that no history includes: `--attr flagged=true`.
const FlaggedAttribute = "flagged"

// Series is the comparable runs of one benchmark, oldest first.
type Series struct {
	Benchmark testrun.Benchmark
	Type      profile.ValueType
	Profiles  []store.Profile // at most one per run
	LeftOut   []LeftOut       // runs of the benchmark that do not compare, by reason
	Service   bool            // see Options.Service
}

// Key identifies a Series.
type Key struct {
	Benchmark testrun.Benchmark
	Type      string // name of the value type
}

// Key returns the key of the series.
func (s *Series) Key() Key { return Key{s.Benchmark, s.Type.Name} }

// KeyOf returns the key of the series of a profile.
func KeyOf(p *store.Profile) Key { return Key{p.Benchmark, p.Type.Name} }

// ByBenchmark groups profiles by their benchmarks.
func ByBenchmark(list []store.Profile) map[testrun.Benchmark][]store.Profile {
	of := map[testrun.Benchmark][]store.Profile{}
	for i := range list {
		of[list[i].Benchmark] = append(of[list[i].Benchmark], list[i])
	}
	return of
}

// besides is the profiles that may say what another one of their benchmark and run is, by these.
type besides map[file][]*store.Profile

type file struct {
	benchmark testrun.Benchmark
	run       string
}

func newBesides(list []store.Profile) besides {
	b := besides{}
	for i := range list {
		p := &list[i]
		if p.Type.Unit != "count" && p.Type.Period > 0 || p.Type.Name == profile.Unclocked {
			at := file{p.Benchmark, p.Run.Key}
			b[at] = append(b[at], p)
		}
	}
	return b
}

// has reports whether a profile has one with a property beside it.
func (b besides) has(p *store.Profile, is func(q *store.Profile) bool) bool {
	return slices.ContainsFunc(b[file{p.Benchmark, p.Run.Key}], is)
}

// Estimated returns the series of numbers of objects that are estimated from sampled sizes,
// as in pprof's heap profiles. Such a number is many times that of the samples behind it, so
// that its noise looks far smaller than it is.
func Estimated(list []store.Profile) map[Key]bool { return newBesides(list).estimated(list) }

func (b besides) estimated(list []store.Profile) map[Key]bool {
	estimated := map[Key]bool{} // in any run: a history has no gaps
	for i := range list {
		p := &list[i]
		if p.Type.Unit == "count" && b.has(p, func(q *store.Profile) bool {
			return q.Type.Unit == "bytes" && q.Type.Period > 0 && p.Type.Name == q.Type.Name+"-samples" && p.Sum/2 > q.Sum/q.Type.Period
		}) {
			estimated[KeyOf(p)] = true
		}
	}
	return estimated
}

// Distinct drops the profiles that add nothing to another one of their benchmark and run:
// the number of samples of a profile whose values are samples times the period, as in
// pprof's profiles of the processor; the time between the samples of V8's profiler, where
// one that the machine delayed weighs as much as hundreds; and estimated numbers. The result is the
// list itself if nothing is dropped: it may be long.
func Distinct(list []store.Profile) []store.Profile {
	beside := newBesides(list)
	estimated := beside.estimated(list)
	drops := func(p *store.Profile) bool {
		return estimated[KeyOf(p)] || beside.has(p, func(q *store.Profile) bool {
			if p.Type.Unit != "count" {
				return p.Type.Name == profile.Wall && p.Type.Period == 0 && q.Type.Name == profile.Unclocked
			}
			return q.Type.Unit != "count" && q.Type.Period > 0 && p.Sum > 0 && q.Sum/p.Sum == q.Type.Period && q.Sum%p.Sum == 0
		})
	}
	first := 0
	for first < len(list) && !drops(&list[first]) {
		first++
	}
	if first == len(list) {
		return list
	}
	kept := slices.Clone(list[:first])
	for i := first + 1; i < len(list); i++ {
		if !drops(&list[i]) {
			kept = append(kept, list[i])
		}
	}
	return kept
}

// LeftOut counts runs that are not part of a Series.
type LeftOut struct {
	Reason string `json:"reason"` // "another machine", "newer than the tested runs"
	Runs   int    `json:"runs"`
}

// Options select the runs of a history. The zero value is the default.
type Options struct {
	Window int // maximum number of runs before the newest; 0: Window plus Extra
	Extra  int // number of newest runs that are tested and do not count against Window
	// What may differ from the newest run, because the caller has chosen the runs.
	AnyMachine, AnyProfiler, AnyBranch bool
	// Service is set if runs are profiles of a service: what the collector makes the
	// program's goroutines do counts as its own work then.
	Service bool
}

// Choose groups the profiles of a selection, in the order of store.Query.Filter, by
// benchmark and name of the value type, and keeps of each group the runs that compare
// with the newest one. Runs without a date come first; benchmarks are in order of
// group, name and type.
func Choose(profiles []store.Profile, o Options) []Series {
	if o.Window <= 0 {
		o.Window = Window
	}
	byKey := map[Key][]store.Profile{}
	for i := range profiles {
		k := KeyOf(&profiles[i])
		byKey[k] = append(byKey[k], profiles[i])
	}
	all := make([]Series, 0, len(byKey))
	for _, list := range byKey {
		all = append(all, newSeries(list, o))
	}
	slices.SortFunc(all, func(a, b Series) int {
		return cmp.Or(a.Benchmark.Compare(b.Benchmark), cmp.Compare(a.Type.Name, b.Type.Name))
	})
	return all
}

func newSeries(list []store.Profile, o Options) Series {
	newest := list[len(list)-1]
	s := Series{Benchmark: newest.Benchmark, Type: newest.Type, Service: o.Service}
	reasons := map[string]int{}
	for i := range list {
		if r := differs(&list[i], &newest, o); r != "" {
			reasons[r]++
			continue
		}
		s.Profiles = append(s.Profiles, list[i])
	}
	if over := len(s.Profiles) - o.Window - o.Extra; over > 0 {
		s.Profiles = s.Profiles[over:]
	}
	for r, n := range reasons {
		s.LeftOut = append(s.LeftOut, LeftOut{r, n})
	}
	slices.SortFunc(s.LeftOut, func(a, b LeftOut) int { return cmp.Compare(a.Reason, b.Reason) })
	return s
}

// Newest returns the series of the newest n runs.
func (s *Series) Newest(n int) *Series {
	newest := *s
	newest.Profiles = s.Profiles[max(0, len(s.Profiles)-n):]
	return &newest
}

// Warnings returns warnings about the series for readers of results.
func (s *Series) Warnings() []string {
	var list []string
	undated := 0
	for i := range s.Profiles {
		if s.Profiles[i].Run.Date.IsZero() {
			undated++
		}
	}
	if undated > 0 && undated < len(s.Profiles) {
		list = append(list, fmt.Sprintf("%d of %d runs have no date: they count as the oldest, in order of their keys", undated, len(s.Profiles)))
	}
	return list
}

// Compares reports whether a run may be in one series with a newest one.
func (o Options) Compares(p, newest *store.Profile) bool { return differs(p, newest, o) == "" }

// differs returns the reason why a run does not compare with the newest one; empty if
// it does.
func differs(p, newest *store.Profile, o Options) string {
	switch {
	case p.Run.Key == newest.Run.Key:
		return ""
	case p.Run.Attributes[FlaggedAttribute] == "true":
		return "flagged"
	case p.Type.Key() != newest.Type.Key():
		return "another sample rate or unit"
	case p.Run.Machine != newest.Run.Machine && !o.AnyMachine:
		return "another machine"
	case p.Profiler != newest.Profiler && !o.AnyProfiler:
		return "another profiler"
	case p.Run.Branch != newest.Run.Branch && !o.AnyBranch:
		return "another branch"
	}
	return ""
}

// Matrix has the samples of the runs of a Series. It is immutable and safe for
// concurrent use.
type Matrix struct {
	Table *calltree.Table // of the folded stacks; functions and siblings in byte order
	Runs  []Run           // oldest first
	// Weighted: counts are values divided by a unit smaller than one sample, so that
	// their noise is larger than that of counts.
	Weighted bool
	Unit     float64 // the value of a count of 1
}

// Run is one column of a Matrix.
type Run struct {
	Profile *store.Profile
	Nodes   []int32   // of the table, ascending, distinct
	Count   []float64 // samples whose folded stack ends in the node; > 0
	Total   float64   // Σ Count
	// Environment is the samples outside of the program: collector, JIT compiler,
	// scheduler, kernel threads. Idle samples of a wall-clock profile count nowhere.
	Environment float64
	// Operations is the number of operations that the samples stand for (store.Profile.Covered),
	// 0 if unknown: Total/Operations is the samples per operation.
	Operations float64
	// Metric is that of Metric, or the inverse of a rate, so that less is better;
	// 0 if the run has no positive one.
	Metric float64
}

// Rate returns the samples per operation of a run, those outside of the program too; 0 if
// operations are unknown.
func (r *Run) Rate() float64 {
	if r.Operations <= 0 {
		return 0
	}
	return (r.Total + r.Environment) / r.Operations
}

// PerOperation returns a value of some runs per operation: the part of all their samples that it
// is, at the level of the median run. Findings, charts and diffs have this amount, so sizes add
// up, and agree with the medians of the metric.
func (m *Matrix) PerOperation(runs []int, value func(t int) float64) float64 {
	var rates []float64
	sum, all := 0.0, 0.0
	for _, t := range runs {
		rates = append(rates, m.Runs[t].Rate())
		sum, all = sum+value(t), all+m.Runs[t].Total+m.Runs[t].Environment
	}
	return sum * stat.Median(rates) / all
}

// MetricUnit returns the unit of Run.Metric: that of the stored metric, or of the
// inverse of a rate ("s/op" for "ops/s").
func MetricUnit(m testrun.Metric) string {
	if m.Better != testrun.Higher {
		return m.Unit
	}
	what, per, ok := strings.Cut(m.Unit, "/")
	if !ok {
		return "1/(" + m.Unit + ")"
	}
	return per + "/" + strings.TrimSuffix(what, "s")
}

// Metric returns the metric that says how much a profile's values are per operation: for
// allocations the one in bytes or in allocations, for other types the primary one, if it is a
// time: a number of allocations says nothing about time. False if there is none.
func Metric(p *store.Profile) (testrun.Metric, bool) {
	m, ok := p.Metric()
	switch p.Type.Name {
	case profile.Alloc:
		ok = ok && m.Unit == "B/op"
	case profile.AllocSamples:
		ok = ok && m.Unit == "allocs/op"
	case profile.Live, profile.LiveSamples, profile.Malloc:
		ok = false
	default:
		ok = ok && testrun.IsTime(m.Unit)
	}
	if !ok {
		return testrun.Metric{}, false
	}
	return m, true
}

// metricOf returns the metric of a profile as Run.Metric defines it.
func metricOf(p *store.Profile) float64 {
	m, ok := Metric(p)
	switch {
	case !ok || !(m.Mean > 0):
		return 0
	case m.Better == testrun.Higher:
		return 1 / m.Mean
	}
	return m.Mean
}
