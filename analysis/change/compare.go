package change

import (
	"cmp"
	"math"
	"slices"

	"github.com/dendroprof/dendro/analysis/regression"
)

// stated is a finding of the newest runs.
type stated struct {
	regression.Finding
	first   int // the first tested run
	runs    int // tested
	program *regression.Estimate
	sure    bool
	old     bool // against the level before the current one
	weather bool
	drifts  bool // the amount grows from run to run
}

// compare tests the newest run alone, and with those before. T is not yet in the level.
func (w *walker) compare(t int) (found []stated, err error) {
	level := append(slices.Clone(w.v.Walk.Level), t)
	suspect := w.oldestSuspect(t)
	w.v.Detectable = 0
	for _, k := range w.ages(level) {
		tested := level[len(level)-k:]
		before := tested[0]
		if k == 1 {
			before = suspect // runs that may be of a change are no base of a single one
		}
		base, old := w.base(before)
		if len(base) < leastLevel {
			continue
		}
		var list []stated
		if w.series.Type.Momentary() {
			list = w.amounts(base, tested, old)
		} else if list, err = w.places(base, tested, old); err != nil {
			return nil, err
		}
		found = append(found, list...)
	}
	return found, nil
}

// oldestSuspect returns the first run of the suspects, or t.
func (w *walker) oldestSuspect(t int) int {
	for i := range w.v.Changes {
		if c := &w.v.Changes[i]; c.State.pending() {
			t = min(t, c.Head[0])
		}
	}
	return t
}

// places tests where the newest runs take more or less. It sets what they say of the benchmark: the
// weather, and what would have been seen.
func (w *walker) places(base, tested []int, old bool) (found []stated, err error) {
	usable, with := w.usable(base), w.usable(tested)
	if len(usable) < leastLevel || len(with) == 0 {
		return nil, nil
	}
	a, err := w.now.Compare(w.cols(usable), w.cols(with), w.o)
	if err != nil {
		return nil, err
	}
	if len(tested) <= 2 {
		w.v.Detectable = cmp.Or(a.Detectable.Stated(), w.v.Detectable)
	}
	for _, f := range a.Findings {
		weather := isWeather(&f, a)
		if weather && len(tested) == 1 {
			w.v.Weather = &Weather{w.v.Newest, 1 + f.Delta.Share}
		}
		if f.Kind.Costs() && f.Delta.Share > 0 || f.Kind == regression.Improvement && f.Delta.Share < 0 {
			found = append(found, stated{Finding: f, first: tested[0], runs: len(tested), program: ProgramOf(a), sure: w.sure(&f, tested, weather),
				old: old, weather: weather})
		}
	}
	return found, nil
}

// untold returns what the newest runs leave open, as many of them as differ most from those of the level
// before. T is not yet in the level.
func (w *walker) untold(t int) (most regression.Untold) {
	level := w.usable(append(slices.Clone(w.v.Walk.Level), t))
	for k := 1; k <= min(oldestAge, len(level)-leastLevel); k++ {
		tested := level[len(level)-k:]
		base, _ := w.base(tested[0])
		if base = w.usable(base); len(base) < leastLevel {
			break
		}
		of := w.now.Untold(w.cols(base), w.cols(tested), w.o)
		if math.Abs(of.Uncounted) > math.Abs(most.Uncounted) {
			most.Uncounted = of.Uncounted
		}
		most.Shifted = max(most.Shifted, of.Shifted)
		if k == 1 {
			most.Differ = of.Differ
		}
	}
	return most
}

// before returns how many of the first runs, too few to compare with, differ from those after them; 0: none. T is not yet in the level.
func (w *walker) before(t int) (n int) {
	level := w.usable(append(slices.Clone(w.v.Walk.Level), t))
	switch first := w.v.Walk.Judged + 1; {
	case first > 2*leastLevel && first <= mostRuns && len(w.v.Changes) == 0:
		return w.v.Before
	case first != 2*leastLevel || len(level) < first || w.series.Type.Momentary():
		return 0
	}
	for k := 1; k < leastLevel; k++ {
		a, err := w.now.Compare(w.cols(level[k:]), w.cols(level[:k]), w.o)
		if err == nil && slices.ContainsFunc(a.Findings, func(f regression.Finding) bool {
			return (f.Kind.Costs() || f.Kind == regression.Improvement) && f.Chance <= sureChance && !isWeather(&f, a)
		}) {
			n = k
		}
	}
	return n
}

// The error probabilities, by one comparison, at which a change is confirmed: at once, and if it was
// a suspect of several runs before.
const (
	sureChance  = 0.0005
	againChance = 0.005
)

// sure reports whether a finding of the tested runs is a confirmed change.
func (w *walker) sure(f *regression.Finding, tested []int, weather bool) bool {
	confirmed, again := f.Status == regression.Confirmed, len(tested) > 2 && w.suspected(f, tested[0])
	switch {
	case len(tested) == 1, len(tested) == 2 && (f.Kind == regression.Widespread || weather):
		return false
	case f.Chance <= sureChance:
		return confirmed || again
	}
	return confirmed && again && f.Chance <= againChance
}

// suspected reports whether a finding is a suspect that began with a run.
func (w *walker) suspected(f *regression.Finding, first int) bool {
	return slices.ContainsFunc(w.v.Changes, func(c Change) bool { return c.State.pending() && c.Head[0] == first && f.SameAs(c.Finding) })
}

// ages lists the numbers of newest runs that are tested together, the smallest first: one, two,
// those since each suspect, and larger ones the less often the larger they are.
func (w *walker) ages(level []int) []int {
	ages := []int{1, 2}
	for i := range w.v.Changes {
		if c := &w.v.Changes[i]; c.State.pending() {
			n := 0
			for n < len(level) && level[len(level)-1-n] >= c.Head[0] {
				n++
			}
			ages = append(ages, n)
		}
	}
	for k := 4; k <= oldestAge; k *= 2 {
		if len(level)%(k/2) == 0 {
			ages = append(ages, k)
		}
	}
	slices.Sort(ages)
	ages = slices.Compact(ages)
	return slices.DeleteFunc(ages, func(k int) bool { return k > len(level) || k > 2 && len(level)-k < k })
}

// isWeather reports whether a finding is that all code took longer, by a factor that machines differ
// by. Where operations are known, that is a change.
func isWeather(f *regression.Finding, a *regression.Analysis) bool {
	return f.Kind == regression.Slowdown && f.Function == "" && a.Program == nil && !f.Doubtless
}

// ProgramOf returns the change of the whole program that a comparison shows; nil if it is unknown.
func ProgramOf(a *regression.Analysis) *regression.Estimate {
	if a.Program != nil || a.Metric == nil || a.Metric.Base <= 0 {
		return a.Program
	}
	return &regression.Estimate{Value: a.Metric.Head/a.Metric.Base - 1, Unit: "share"}
}
