package regression

import (
	"math"

	"github.com/dendroprof/dendro/analysis/regression/internal/row"
	"github.com/dendroprof/dendro/analysis/regression/internal/size"
	"github.com/dendroprof/dendro/analysis/stat"
	"github.com/dendroprof/dendro/calltree"
)

// rowNamed returns the row of a slot.
func rowNamed(s *row.Space, slot int32) Row {
	t, item := s.Table, s.Item[slot]
	r := Row{Total: s.Kind[slot].Total()}
	switch s.Kind[slot] {
	case row.FunctionSelf, row.FunctionTotal:
		r.Function = t.Functions[item].Name
	case row.EdgeSelf, row.EdgeTotal:
		n := s.EdgeNode[item]
		r.Function, r.Caller = t.Name(n), t.Name(t.Parent[n])
	default:
		r.Function, r.Path = t.Name(item), t.Path(item)
	}
	return r
}

// slotOf returns the slot of a row, or noRow.
func slotOf(s *row.Space, r *Row) int32 {
	kind := func(self, total row.Kind) row.Kind {
		if r.Total {
			return total
		}
		return self
	}
	t := s.Table
	for fn := range t.Functions {
		if t.Functions[fn].Name != r.Function {
			continue
		}
		if r.Caller == "" && len(r.Path) == 0 {
			return s.At(kind(row.FunctionSelf, row.FunctionTotal), int32(fn))
		}
		for _, n := range s.Functions[fn] {
			switch {
			case len(r.Path) > 0:
				if isAt(s, n, r.Path) {
					return s.At(kind(row.NodeSelf, row.NodeTotal), n)
				}
			case t.Parent[n] != calltree.NoNode && t.Name(t.Parent[n]) == r.Caller:
				return s.At(kind(row.EdgeSelf, row.EdgeTotal), s.EdgeOf[n])
			}
		}
	}
	return row.None
}

// isAt reports whether a path leads to a node.
func isAt(s *row.Space, n int32, path []string) bool {
	for i := len(path) - 1; i >= 0; i-- {
		if n == calltree.NoNode || s.Table.Name(n) != path[i] {
			return false
		}
		n = s.Table.Parent[n]
	}
	return n == calltree.NoNode
}

// rowsOf returns the rows of places.
func (r *reporter) rowsOf(places []*place) (rows []Row) {
	for _, p := range places {
		rows = append(rows, rowNamed(r.space, p.slot))
	}
	return rows
}

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
	case f.rate.exact:
		value, sd = func(t int) float64 { return math.Log(f.run(t).Rate()) }, f.rate.spread
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
		slot := slotOf(f.space, &rows[i])
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
	scale := func(y float64) float64 {
		if y = math.Max(0, y); q < 1e-9 {
			return 2 * math.Sqrt(y/f.baseInverse)
		}
		return 2 / math.Sqrt(q) * math.Asinh(math.Sqrt(q*y/f.baseInverse))
	}
	for _, runs := range [][]int{f.base, f.head} {
		for _, t := range runs {
			y := 0.0
			for _, slot := range slots {
				y += f.space.Values(slot)[t] / f.factor[t]
			}
			list = append(list, scale(y)-scale(level))
		}
	}
	return list
}
