package regression

import (
	"math"

	"github.com/dendroprof/dendro/analysis/regression/internal/row"
	"github.com/dendroprof/dendro/analysis/regression/internal/size"
	"github.com/dendroprof/dendro/analysis/stat"
)

// Trace returns, of each run of hist and then of tested, how much more it takes than a mean
// history run at the rows of a finding, in standard deviations of one run: without rows, in
// the whole program, per operation or by the metric. Nil: that is unknown in these runs.
func (r *Rows) Trace(hist, tested []int, f *Finding, o Options) []float64 {
	for _, list := range [][]int{hist, tested} {
		for _, t := range list {
			if !r.Usable(t) {
				return nil
			}
		}
	}
	if len(hist) < leastHistory || len(tested) == 0 {
		return nil
	}
	if r.series.Type.Momentary() {
		return r.traceAmounts(hist, tested)
	}
	o = o.withDefaults()
	fit := newFit(r.sp, &o, hist, tested)
	if len(f.Rows) == 0 {
		return fit.traceProgram()
	}
	return fit.traceRows(f.Rows)
}

func (f *fit) traceProgram() (list []float64) {
	value, sd := func(t int) float64 { return math.Log(f.run(t).Metric) }, 0.0
	switch {
	case f.rate.Exact:
		value, sd = func(t int) float64 { return math.Log(f.run(t).Rate()) }, f.rate.Spread
	case !f.hasMetric:
		return nil
	}
	var before []float64
	for _, t := range f.base {
		before = append(before, value(t))
	}
	level, deviation := stat.MedianDeviation(before)
	if sd == 0 {
		sd = math.Max(size.MetricFloor, stat.NormalDeviation*deviation)
	}
	for _, runs := range [][]int{f.base, f.head} {
		for _, t := range runs {
			list = append(list, (value(t)-level)/sd)
		}
	}
	return list
}

func (f *fit) traceRows(rows []Row) (list []float64) {
	var slots []int32
	level, spread := 0.0, 0.0 // variance beyond that of counts
	for i := range rows {
		slot := f.space.Named(&rows[i])
		if slot == row.None {
			continue
		}
		mu := f.mean(slot, f.base)
		q := f.group(slot).trend.F1
		if f.isTested[slot] && f.level[slot] >= size.NoisyMean {
			q = f.of(slot).overdispersion / (1/f.baseRuns + 1/f.headRuns)
		}
		high := math.Max(mu, f.mean(slot, f.head))
		slots, level, spread = append(slots, slot), level+mu, spread+q*high*high
	}
	if len(slots) == 0 {
		return nil
	}
	high := 0.0
	for _, slot := range slots {
		high += math.Max(f.mean(slot, f.base), f.mean(slot, f.head))
	}
	q := 0.0
	if high > 0 {
		q = spread / (high * high)
	}
	for _, runs := range [][]int{f.base, f.head} {
		for _, t := range runs {
			y := 0.0
			for _, slot := range slots {
				y += f.space.Values(slot)[t] / f.factor[t]
			}
			list = append(list, stable(y, f.baseInverse, q)-stable(level, f.baseInverse, q))
		}
	}
	return list
}
