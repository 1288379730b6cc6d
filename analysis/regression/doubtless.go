package regression

import (
	"math"
	"slices"

	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/analysis/regression/internal/size"
	"github.com/dendroprof/dendro/analysis/stat"
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
	return slices.Min(now) >= math.Max(twice, spread*spread)*slices.Max(before)
}

// doubtless reports whether the comparison leaves no doubt that the program takes longer. The
// rate of a service is its load.
func (f *fit) doubtless() bool {
	return !f.options.Service && doubtless(f.space.Matrix, f.base, f.head)
}

// The least change of the number of samples per run that is worth a note: of any program, and of one
// with so few functions that nothing but this number tells shares that fell from costs.
const (
	grownSamples    = 0.2
	fewGrownSamples = 0.05
)

// Uncounted returns by how much the samples per run changed, if neither operations nor a metric
// say whether that is a cost, and the runs of the two sides do not overlap: then only shares are
// compared, and what makes everything slower does not show. 0: nothing to note.
func (r *Rows) Uncounted(hist, tested []int, o Options) float64 {
	m := r.sp.Matrix
	if o.Service || m.Runs[hist[0]].Profile.Type.Momentary() || counted(m, hist, tested) {
		return 0
	}
	samples := func(t int) float64 { return m.Runs[t].Total + m.Runs[t].Environment }
	before, was := each(hist, samples)
	after, now := each(tested, samples)
	change := now/was - 1
	apart := slices.Min(after) > slices.Max(before) || slices.Max(after) < slices.Min(before)
	if !apart || math.Abs(change) < fewGrownSamples || math.Abs(change) < grownSamples && r.functions(hist, size.NoisyMean) >= size.LeastRows {
		return 0
	}
	return change
}

// Shifted returns the largest change of a function's share in a program of so few functions that
// shares do not tell which of them became slower, if neither operations nor a metric do, and the
// runs of the two sides do not overlap. 0: nothing to note.
func (r *Rows) Shifted(hist, tested []int, o Options) (most float64) {
	m := r.sp.Matrix
	if o.Service || m.Runs[hist[0]].Profile.Type.Momentary() || counted(m, hist, tested) ||
		r.functions(hist, size.LeastMeanTested) >= size.LeastRowsTested {
		return 0
	}
	for slot := range r.sp.FunctionSelfs() {
		x := r.sp.Values(int32(slot))
		share := func(t int) float64 { return x[t] / m.Runs[t].Total }
		before, was := each(hist, share)
		after, now := each(tested, share)
		if slices.Min(after) > slices.Max(before) && now-was >= fewGrownSamples {
			most = math.Max(most, now-was)
		}
	}
	return most
}

// Differ returns the factor by which runs of the history differ in samples per operation; 0 if
// that is not worth a note, or operations are unknown.
func (r *Rows) Differ(hist []int, o Options) float64 {
	m := r.sp.Matrix
	if o.Service || m.Runs[hist[0]].Profile.Type.Momentary() {
		return 0
	}
	least, most := math.Inf(1), 0.0
	for _, t := range hist {
		rate := m.Runs[t].Rate()
		if m.Runs[t].Operations <= 0 {
			rate = 0
		}
		least, most = math.Min(least, rate), math.Max(most, rate)
	}
	if !(least > 0) || most/least < twice {
		return 0
	}
	return most / least
}

// each returns a value of each run, and their mean.
func each(runs []int, value func(t int) float64) (list []float64, mean float64) {
	for _, t := range runs {
		list = append(list, value(t))
	}
	return list, stat.Mean(list)
}

// counted reports whether all runs have operations, or all a metric.
func counted(m *history.Matrix, hist, tested []int) bool {
	operations, metric := true, true
	for _, t := range slices.Concat(hist, tested) {
		operations = operations && m.Runs[t].Operations > 0
		metric = metric && m.Runs[t].Metric > 0
	}
	return operations || metric
}

// functions counts the functions with so many samples in a mean run of the history.
func (r *Rows) functions(hist []int, least float64) (n int) {
	for slot := range r.sp.FunctionSelfs() {
		x := r.sp.Values(int32(slot))
		if _, mean := each(hist, func(t int) float64 { return x[t] }); mean >= least {
			n++
		}
	}
	return n
}
