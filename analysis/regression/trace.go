package regression

import (
	"cmp"
	"math"
	"slices"

	"github.com/dendroprof/dendro/analysis/regression/internal/row"
	"github.com/dendroprof/dendro/analysis/regression/internal/size"
)

// Trace returns, of each run of hist and then of tested, how much more it takes than a mean
// history run at the rows of a finding, in standard deviations of one run: without rows, in
// the whole program, per operation or by the metric. Nil: that is unknown in these runs.
func (r *Rows) Trace(hist, tested []int, f *Finding, o Options) []float64 {
	if len(hist) < leastHistory || len(tested) == 0 || !size.Every(func(t int) float64 { return r.sp.Matrix.Runs[t].Total }, hist, tested) {
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
	level, usual := f.usual(value, size.MetricFloor)
	sd = cmp.Or(sd, usual)
	for _, t := range slices.Concat(f.base, f.head) {
		list = append(list, (value(t)-level)/sd)
	}
	return list
}

func (f *fit) traceRows(rows []Row) (list []float64) {
	var slots []int32
	level, high, spread := 0.0, 0.0, 0.0 // of the higher side; variance beyond that of counts
	for i := range rows {
		slot := f.space.Named(&rows[i])
		if slot == row.None {
			continue
		}
		mu := f.mean(slot, f.base)
		top := math.Max(mu, f.mean(slot, f.head))
		slots, level, high, spread = append(slots, slot), level+mu, high+top, spread+f.jitter(slot, f.level[slot])*top*top
	}
	if len(slots) == 0 {
		return nil
	}
	q := 0.0
	if high > 0 {
		q = spread / (high * high)
	}
	for _, t := range slices.Concat(f.base, f.head) {
		y := 0.0
		for _, slot := range slots {
			y += f.space.Values(slot)[t] / f.factor[t]
		}
		list = append(list, stable(y, f.baseInverse, q)-stable(level, f.baseInverse, q))
	}
	return list
}
