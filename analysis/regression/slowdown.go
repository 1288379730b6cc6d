package regression

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/dendroprof/dendro/analysis/regression/internal/row"
	"github.com/dendroprof/dendro/analysis/regression/internal/size"
	"github.com/dendroprof/dendro/analysis/stat"
	"github.com/dendroprof/dendro/calltree"
)

// slowdownTests is the number of tests that a slowdown by the metric counts for. The metric is one test,
// but by simulation scores from 3 on are up to 6 times as frequent as the normal tail has
// them, because the deviation is the median's (noise of 10%, 4 to 20 runs).
const slowdownTests = 6

// slowdown returns the finding that everything, or the one hot function, became slower,
// from the metric's own history.
func (r *reporter) slowdown(costs []Finding) []Finding {
	if r.options.without("slowdown") {
		return nil
	}
	if r.rate.Known {
		return r.slower(costs)
	}
	if !r.hasMetric {
		return nil
	}
	g, z, _ := r.commonFactor()
	hot, explained := r.hotFunction(), 0.0
	if hot != row.None || len(costs) == 0 && r.doubtless() { // whatever the sizes of so few runs seem to be
		log, score := r.metricChange()
		g, z = math.Exp(log), score
	}
	if hot != row.None {
		for _, c := range r.changes {
			explained += c.d / r.level[hot]
		}
	}
	if z < r.fit.threshold && !r.doubtless() || g < 1+r.options.least().growth || explained >= halfOf*(g-1) {
		return nil
	}
	f := r.finding(Slowdown)
	f.Score = z
	if !r.everyMetricShows(math.Log(g)) {
		f.Status = Suspect
	}
	f.Delta = Delta{Share: g - 1, Base: 1}
	f.Note = fmt.Sprintf("everything takes %.2f times as long as before: machine or environment, not a single function", g)
	if hot != row.None {
		fn := r.space.Item[hot]
		f.Function = r.space.Table.Functions[fn].Name
		f.Path = r.space.Table.Path(slices.MaxFunc(r.space.Functions[fn], func(a, b int32) int { return cmp.Compare(r.nodeMu[a], r.nodeMu[b]) }))
		f.Delta.Samples, f.Delta.Base = (g-1)*r.level[hot], r.level[hot]/r.all
		f.Paths = []Path{{f.Path, f.Delta.Samples}}
		f.Note = "this function is nearly all of the program, so its cost is that of the benchmark"
	}
	log, width := math.Log(g), stat.Interval95*math.Log(g)/z
	after := func(log float64) float64 { return math.Expm1(log) * r.time }
	f.Delta.Time = &Estimate{after(log), after(log - width), after(log + width), r.unit}
	return []Finding{f}
}

// slower returns the finding that the program takes more samples per operation, if the costs of
// places do not explain half of it. If the profile shows that the code changed, and a rise
// beside code that did not change, the rate alone has to show less. A service has no such
// finding: its rate is its load.
func (r *reporter) slower(costs []Finding) []Finding {
	change, z, explained := r.rate.Change(), r.rate.Score(), 0.0
	for i := range costs {
		explained += costs[i].Delta.Samples
	}
	large := !r.options.without("doubled") && change >= size.Twice-1
	if !r.rate.Exact || !large && !r.everyRunShows(change) {
		return nil
	}
	node := r.carrying()
	alone := z >= stat.ScoreOfTail(r.options.alpha(len(r.head))) && r.everyRunShows(change) || r.doubtless()
	if !alone && !large && !(z >= scoreOf95 && node != calltree.NoNode && r.codeChanged()) || change < littleOf ||
		explained >= halfOf*change*r.rate.Before {
		return nil
	}
	f := r.ofProgram(Slowdown, "slower; place not certain")
	if !alone {
		f.Status = Suspect
	}
	if !alone && large {
		f.Note += fmt.Sprintf(", and runs of the history differ by %.0f%%", 100*r.rate.Spread)
	}
	if node != calltree.NoNode {
		f.Path = r.space.Table.Path(node)
		f.Headline = r.headlineAt(node, node)
	}
	return []Finding{f}
}

// everyShows reports whether each tested run has most of a change.
func (r *reporter) everyShows(change float64, of func(t int) float64) bool {
	return !slices.ContainsFunc(r.head, func(t int) bool { return of(t)/change < lastingShare })
}

// everyRunShows reports whether each tested run has most of a change of the samples per
// operation.
func (r *reporter) everyRunShows(change float64) bool {
	return r.everyShows(change, func(t int) float64 { return r.run(t).Rate()*r.rate.Operations/r.rate.Before - 1 })
}

// faster returns the finding that the program takes fewer samples per operation, if no place
// is known. A service has no such finding: its rate is its load.
func (r *reporter) faster(list []Finding) []Finding {
	if r.options.without("faster") || !r.rate.Exact || r.rate.Change() > -littleOf ||
		-r.rate.Score() < stat.ScoreOfTail(r.options.alpha(len(r.head))) ||
		!r.everyRunShows(r.rate.Change()) || slices.ContainsFunc(list, func(f Finding) bool { return f.Kind == Improvement }) {
		return nil
	}
	return []Finding{r.ofProgram(Improvement, "faster; place not certain")}
}

// everyMetricShows reports whether the metric of each tested run has most of a change, given as
// the logarithm of a factor.
func (r *reporter) everyMetricShows(log float64) bool {
	level := r.metricLevel(r.base)
	return r.everyShows(log, func(t int) float64 { return math.Log(r.run(t).Metric / level) })
}

// codeChanged reports whether some path rose beyond the threshold, although it is no cost by
// itself: work moved to it, or the user's function did not surely rise with it.
func (r *reporter) codeChanged() bool {
	if r.options.without("code changed") {
		return false
	}
	rose := func(p *place) bool { return p.d > 0 && p.z >= r.fit.threshold }
	return slices.ContainsFunc(r.moved, rose) || slices.ContainsFunc(r.unstable, rose)
}

// carrying returns the innermost node with most of the rise of the program, or NoNode if the
// shares of functions do not show half of what the rate shows.
func (r *reporter) carrying() int32 {
	t, at, most := r.space.Table, calltree.NoNode, halfOf*(r.rate.Rise())
	for n := int32(0); n < int32(t.Len()); n = t.End[n] {
		if slot := r.space.At(row.NodeTotal, n); r.diff[slot] >= most {
			at, most = n, r.diff[slot]
		}
	}
	if at == calltree.NoNode {
		return at
	}
	return r.innermost(at)
}

// headlineAt names the user's function at or above a node, and the callee towards that or a node below.
func (r *reporter) headlineAt(node, below int32) *Headline {
	t, calls := r.space.Table, calltree.NoNode
	at, own := r.carrierOf(node)
	if at.calls != calltree.NoNode {
		below, node = at.calls, at.node
	}
	for ; below != node && below != calltree.NoNode; below = t.Parent[below] {
		calls = t.Func[below]
	}
	return r.name(t.Func[at.node], calls, own, 1)
}

// ofProgram returns the finding of a change of the whole program's samples per operation.
func (r *reporter) ofProgram(k Kind, note string) Finding {
	f := r.finding(k)
	f.Score, f.Delta, f.Note = r.rate.Score(), r.program(), note
	return f
}

// program returns the change of the whole program's samples per operation.
func (r *reporter) program() Delta {
	return r.delta(r.rate.Rise(), r.rate.Before, r.rate.Deviation())
}

// programChange returns the change of the whole program's samples per operation, as a share
// of those before; nil if operations are unknown.
func (r *reporter) programChange() *Estimate {
	if !r.rate.Known {
		return nil
	}
	width := r.interval() * r.rate.Deviation() / r.rate.Before
	return &Estimate{Value: r.rate.Change(), Low: math.Max(-1, r.rate.Change()-width), High: r.rate.Change() + width, Unit: "share"}
}

// hotFunction returns the self row of the function that is nearly all of the program.
func (r *reporter) hotFunction() int32 {
	for slot := range r.space.FunctionSelfs() {
		if r.isTested[slot] && r.whole(slot) {
			return slot
		}
	}
	return row.None
}

// environment returns the finding, at most one and never a cost, that the share of
// collector, compiler or scheduler changed.
func (r *reporter) environment() []Finding {
	before, now, z := r.environmentShare()
	if math.Abs(z) < r.fit.threshold || math.Abs(now-before) < 0.02 {
		return nil
	}
	f := r.finding(Environment)
	f.Score = z
	f.Delta = Delta{Share: now - before, Base: before}
	f.Note = fmt.Sprintf("share of samples outside of the program (collector, compiler, kernel): %.0f%% → %.0f%%", 100*before, 100*now)
	return []Finding{f}
}
