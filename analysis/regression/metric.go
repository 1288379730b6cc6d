package regression

import (
	"math"

	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/analysis/regression/internal/size"
	"github.com/dendroprof/dendro/analysis/stat"
)

func (f *fit) run(t int) *history.Run { return &f.space.Matrix.Runs[t] }

// metricLevel returns the metric of runs: of the median run where samples per operation are
// known, as their level is, else the mean.
func (f *fit) metricLevel(runs []int) float64 {
	values, mean := size.Each(runs, func(t int) float64 { return f.run(t).Metric })
	if f.rate.Known {
		return stat.Median(values)
	}
	return mean
}

// outside compares a logarithm of the tested runs with the history: the difference from
// the median, and its score by the median deviation.
func (f *fit) outside(value func(t int) float64, floor float64) (diff, z float64) {
	median, sd := f.usual(value, floor)
	for _, t := range f.head {
		diff += (value(t) - median) / f.headRuns
	}
	return diff, stat.StudentScore(diff/(sd*math.Sqrt(1/f.baseRuns+1/f.headRuns)), f.dof)
}

// usual returns the median of a value over the history, and the deviation of a run by the median deviation.
func (f *fit) usual(value func(t int) float64, floor float64) (median, sd float64) {
	of, _ := size.Each(f.base, value)
	median, mad := stat.MedianDeviation(of)
	return median, math.Max(floor, stat.NormalDeviation*mad)
}

// metricChange returns the logarithm of the factor by which the metric became worse, and
// its score.
func (f *fit) metricChange() (log, z float64) {
	return f.outside(func(t int) float64 { return math.Log(f.run(t).Metric) }, size.MetricFloor)
}

// commonFactor returns G, the factor by which everything takes longer, and its score.
func (f *fit) commonFactor() (g, z float64, ok bool) {
	if !f.hasMetric {
		return 1, 0, false
	}
	diff, z := f.outside(func(t int) float64 {
		r := f.run(t)
		return math.Log(r.Metric * f.factor[t] / r.Total)
	}, size.MetricFloor)
	return math.Exp(diff), z, true
}

// environmentFloor is the minimum relative deviation of the environment's share, for
// any runtime.
const environmentFloor = 0.25

// environmentShare returns the share of samples outside of the program on both sides, and
// the score of its change.
func (f *fit) environmentShare() (before, now, z float64) {
	share := func(t int) float64 {
		run := f.run(t)
		return run.Environment / (run.Environment + run.Total)
	}
	_, before = size.Each(f.base, share)
	_, now = size.Each(f.head, share)
	_, z = f.outside(func(t int) float64 { return math.Log(share(t) + 0.01) }, environmentFloor)
	return before, now, z
}

// manySamples is how many samples of a run of a service are so many that the spread of runs
// says all about the noise.
const manySamples = 10_000

// countless reports whether runs are those of a service with so many samples.
func (f *fit) countless() bool { return f.options.Service && f.program >= manySamples }

// machine returns the factor by which code that did not change takes more samples per
// operation.
func (f *fit) machine() float64 {
	_, mean := size.Each(f.head, func(t int) float64 { return math.Log(f.factor[t] * f.rate.Operations / f.run(t).Operations) })
	return math.Exp(mean)
}
