// Package history is the history of one benchmark as analyses see it: which runs
// belong together, and what they sampled, as counts over one call tree.
//
// Between a store and an analysis three things have to be settled, once for all
// analyses:
//
//   - which runs compare (Choose): same benchmark with all parameters, value
//     type, machine, profiler and branch, in order of time;
//   - what a sample is (Load): values in nanoseconds or bytes are divided by what
//     one sample stands for, because noise is the noise of counts;
//   - which code a sample belongs to (fold.go): the program's own functions.
//     Kernel, collector and compiler frames below them differ from run to run
//     without anybody's change; stacks of nothing else are the environment.
//
// The result is a Matrix: a table of call nodes, and per run a sparse vector of
// counts and a metric of which less is better. It holds no statistics and no
// verdict; packages beside this one compute.
//
// Loading costs time and memory in proportion to the values of the runs.
package history

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// Window is the number of runs before the tested ones that count by default.
const Window = 30

// FlaggedAttribute marks a run that belongs to no history: `--attr flagged=true`.
const FlaggedAttribute = "flagged"

// Series is the runs of one benchmark that compare, oldest first.
type Series struct {
	Benchmark testrun.Benchmark
	Type      profile.ValueType
	Profiles  []store.Profile // at most one per run
	LeftOut   []LeftOut       // runs of the benchmark that do not compare, by reason
}

// Key names a Series: what is judged as one.
type Key struct {
	Benchmark testrun.Benchmark
	Type      string // name of the value type
}

// KeyOf returns the key of the series that a profile is of.
func KeyOf(p *store.Profile) Key { return Key{p.Benchmark, p.Type.Name} }

// OneName demands profiles whose value types have one name, else as store.OneType
// does. Types of one name may differ in their sample rate: Choose leaves out what does
// not add to the newest run, and says so.
func OneName(list []store.Profile, q store.Query) error {
	if len(list) > 0 && !slices.ContainsFunc(list, func(p store.Profile) bool { return p.Type.Name != list[0].Type.Name }) {
		return nil
	}
	return store.OneType(list, q)
}

// LeftOut counts runs that are not part of a Series.
type LeftOut struct {
	Reason string `json:"reason"` // "another machine", "newer than the tested runs"
	Runs   int    `json:"runs"`
}

// Options says which runs make a history. The zero value is the default.
type Options struct {
	Window int // runs before the newest that are kept at most; 0: Window plus what Extra asks
	Extra  int // newest runs that are under test and do not count against Window
	// What need not be as in the newest run: the caller has chosen the runs.
	AnyMachine, AnyProfiler, AnyBranch bool
}

// Choose groups the profiles of a selection, in the order of store.Query.Filter,
// by benchmark and name of the value type, and keeps of each the runs that compare
// with the newest one. Runs whose date is unknown come first; benchmarks are in order of
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
		return cmp.Or(cmp.Compare(a.Benchmark.Group, b.Benchmark.Group), cmp.Compare(a.Benchmark.Name, b.Benchmark.Name), cmp.Compare(a.Type.Name, b.Type.Name))
	})
	return all
}

func newSeries(list []store.Profile, o Options) Series {
	newest := list[len(list)-1]
	s := Series{Benchmark: newest.Benchmark, Type: newest.Type}
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

// Warnings says what about the series a reader of results should know.
func (s *Series) Warnings() []string {
	var list []string
	undated := 0
	for i := range s.Profiles {
		if s.Profiles[i].Run.Date.IsZero() {
			undated++
		}
	}
	if undated > 0 && undated < len(s.Profiles) {
		list = append(list, fmt.Sprintf("%d of %d runs have no date: they are taken to be the oldest, in order of their keys", undated, len(s.Profiles)))
	}
	return list
}

// Compares reports whether a run may be in one series with a newest one.
func (o Options) Compares(p, newest *store.Profile) bool { return differs(p, newest, o) == "" }

// differs says why a run does not compare with the newest one; empty: it does.
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

// Matrix is what the runs of a Series sampled. It does not change once loaded
// and is safe for concurrent use.
type Matrix struct {
	Table *calltree.Table // of the folded stacks; functions and siblings in byte order
	Runs  []Run           // oldest first
	// Weighted says that counts are values divided by a unit that is smaller
	// than one sample, so that their noise is more than that of counts.
	Weighted bool
	Language Language
}

// Run is one column of a Matrix.
type Run struct {
	Profile *store.Profile
	Nodes   []int32   // of the table, ascending, distinct
	Count   []float64 // samples whose folded stack ends in the node; > 0
	Total   float64   // Σ Count
	// Environment is the samples outside of the program: collector, JIT compiler,
	// scheduler, kernel threads. Idle ones of a wall clock are in neither.
	Environment float64
	// Metric is the primary metric as something of which less is better, the
	// inverse of a rate; 0 when the run has none that is positive.
	Metric float64
}

// MetricUnit returns the unit of Run.Metric: that of the stored metric, or of its
// inverse for one that is better higher ("s/op" of "ops/s").
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

// metricOf returns the metric of a profile as Run.Metric defines it.
func metricOf(p *store.Profile) float64 {
	m, ok := p.Metric()
	switch {
	case !ok || !(m.Mean > 0):
		return 0
	case m.Better == testrun.Higher:
		return 1 / m.Mean
	}
	return m.Mean
}
