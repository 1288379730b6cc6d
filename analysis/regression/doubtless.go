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

// costsOf returns the cost of an operation in each run: its samples per operation (rates), or its
// metric. It returns nil if a run lacks that, and for value types that are amounts at one moment.
func costsOf(m *history.Matrix, runs []int, rates bool) (list []float64) {
	if m.Runs[runs[0]].Profile.Type.Momentary() {
		return nil
	}
	for _, t := range runs {
		v := m.Runs[t].Metric
		if rates {
			v = m.Runs[t].Rate()
		}
		if !(v > 0) {
			return nil
		}
		list = append(list, v)
	}
	return list
}

// doubtless reports whether the tested runs leave no doubt that the program takes longer than in
// the runs before: the lowest cost is twice times the highest before, and exceeds it by
// the square of the factor by which those differ.
func doubtless(m *history.Matrix, base, head []int) bool {
	if min(len(base), len(head)) < doubtlessRuns {
		return false
	}
	before, now := costsOf(m, base, true), costsOf(m, head, true)
	if before == nil || now == nil {
		before, now = costsOf(m, base, false), costsOf(m, head, false)
	}
	if before == nil || now == nil {
		return false
	}
	spread := slices.Max(before) / slices.Min(before)
	return slices.Min(now) >= math.Max(size.Twice, spread*spread)*slices.Max(before)
}

// doubtless reports whether the comparison leaves no doubt that the program takes longer. The
// rate of a service is its load.
func (f *fit) doubtless() bool {
	return !f.options.Service && doubtless(f.space.Matrix, f.base, f.head)
}
