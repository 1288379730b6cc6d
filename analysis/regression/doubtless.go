package regression

import (
	"math"
	"slices"

	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/analysis/regression/internal/size"
)

// Some changes leave no doubt, however little is known of the noise: no machine makes every
// tested run take twice the time of every run before. Such a change is confirmed with two runs
// on each side, and fails a gate also if its place is not certain.
const (
	doubtlessRuns = 2 // minimum of each side
)

// doubtless reports whether the tested runs leave no doubt that the program takes longer than in
// the runs before: the lowest cost of an operation, which is its samples or the metric, is twice times the highest
// before, and exceeds it by the square of the factor by which those differ. Amounts at one moment are no cost.
func doubtless(m *history.Matrix, base, head []int) bool {
	if min(len(base), len(head)) < doubtlessRuns || m.Runs[base[0]].Profile.Type.Momentary() {
		return false
	}
	rate, metric := func(t int) float64 { return m.Runs[t].Rate() }, func(t int) float64 { return m.Runs[t].Metric }
	for _, cost := range []func(t int) float64{rate, metric} {
		if size.Every(cost, base, head) {
			before, _ := size.Each(base, cost)
			now, _ := size.Each(head, cost)
			spread := slices.Max(before) / slices.Min(before)
			return slices.Min(now) >= math.Max(size.Twice, spread*spread)*slices.Max(before)
		}
	}
	return false
}

// doubtless reports whether the comparison leaves no doubt that the program takes longer. The
// rate of a service is its load.
func (f *fit) doubtless() bool {
	return !f.options.Service && doubtless(f.space.Matrix, f.base, f.head)
}
