package size

import (
	"math"
	"slices"

	"github.com/dendroprof/dendro/analysis/regression/internal/row"
	"github.com/dendroprof/dendro/analysis/stat"
)

// Untold is what the runs of a comparison leave open, because too little tells their size. Zeros: nothing is
// worth a note.
type Untold struct {
	// Uncounted is the change of the samples per run, if neither operations nor a metric say whether the
	// program became slower, and the runs of the two sides do not overlap: then only shares are compared,
	// and what makes everything slower does not show.
	Uncounted float64 `json:"uncounted,omitempty"`
	// Shifted is the largest change of a function's share in a program of so few functions that shares do
	// not tell which of them became slower, if neither operations nor a metric do.
	Shifted float64 `json:"shifted,omitempty"`
	// Differ is the factor by which the samples per operation of runs of the base differ; 0 where that is
	// below 2, or operations are unknown.
	Differ float64 `json:"differ,omitempty"`
}

// The least change that is worth a note: of the number of samples per run of any program, and of one with so
// few functions that nothing but this number tells shares that fell from costs, or of a share of that.
const (
	grown    = 0.2
	fewGrown = 0.05
)

// Twice is a factor of time that no noise of a machine explains.
const Twice = 2.0

// UntoldOf returns what the runs of two sides leave open.
func UntoldOf(sp *row.Space, base, head []int) (u Untold) {
	m := sp.Matrix
	rates, _ := Each(base, func(t int) float64 { return m.Runs[t].Rate() })
	if least, most := slices.Min(rates), slices.Max(rates); least > 0 && most/least >= Twice {
		u.Differ = most / least
	}
	operations, metric := func(t int) float64 { return m.Runs[t].Operations }, func(t int) float64 { return m.Runs[t].Metric }
	if Every(operations, base, head) || Every(metric, base, head) {
		return u
	}
	before, was := Each(base, func(t int) float64 { return m.Runs[t].Total + m.Runs[t].Environment })
	after, now := Each(head, func(t int) float64 { return m.Runs[t].Total + m.Runs[t].Environment })
	change := now/was - 1
	if (slices.Min(after) > slices.Max(before) || slices.Max(after) < slices.Min(before)) &&
		(math.Abs(change) >= grown || math.Abs(change) >= fewGrown && functions(sp, base, NoisyMean) < leastRows) {
		u.Uncounted = change
	}
	if functions(sp, base, leastMeanTested) >= leastRowsTested {
		return u
	}
	for slot := range sp.FunctionSelfs() {
		x := sp.Values(slot)
		share := func(t int) float64 { return x[t] / m.Runs[t].Total }
		before, was := Each(base, share)
		after, now := Each(head, share)
		if slices.Min(after) > slices.Max(before) && now-was >= fewGrown {
			u.Shifted = math.Max(u.Shifted, now-was)
		}
	}
	return u
}

// Each returns a value of each run, and their mean.
func Each(runs []int, value func(t int) float64) (list []float64, mean float64) {
	for _, t := range runs {
		list = append(list, value(t))
	}
	return list, stat.Mean(list)
}

// Every reports whether a value of every run of some lists is above 0.
func Every(value func(t int) float64, lists ...[]int) bool {
	return !slices.ContainsFunc(slices.Concat(lists...), func(t int) bool { return !(value(t) > 0) })
}

// functions counts the functions with so many samples in a mean base run.
func functions(sp *row.Space, base []int, least float64) (n int) {
	for slot := range sp.FunctionSelfs() {
		x := sp.Values(slot)
		if _, mean := Each(base, func(t int) float64 { return x[t] }); mean >= least {
			n++
		}
	}
	return n
}
