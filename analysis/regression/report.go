package regression

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/analysis/stat"
	"github.com/dendroprof/dendro/calltree"
)

// mostPaths is the maximum length of Finding.Paths.
const mostPaths = 10

// reporter converts the places of a verdict to findings.
type reporter struct {
	*verdict
	series *history.Series
	all    float64 // samples of the whole program in a mean history run
	time   float64 // metric of the history; 0 if unknown
	unit   string
	// carriers counts the changes that a function of the user carries.
	carriers map[int32]int
	// main is the largest change whose function is nearly all of the program: what changed beside
	// all findings is its, because the collector works for it.
	main call
	// aboveMain are the functions that call that of main: their totals have its change too.
	aboveMain []int32
}

// call is a function of the user's and the callee that carries a change.
type call struct {
	fn    int32
	calls string
}

func newReporter(v *verdict, s *history.Series) *reporter {
	r := &reporter{verdict: v, series: s}
	for _, mu := range v.nodeMu {
		r.all += mu
	}
	if v.rate.known {
		r.all = v.rate.before
	}
	if v.hasMetric {
		r.time = v.metricLevel(v.base)
		m, _ := history.Metric(v.run(v.head[0]).Profile)
		r.unit = history.MetricUnit(m)
	}
	return r
}

func (f *fit) run(t int) *history.Run { return &f.space.matrix.Runs[t] }

// finding returns a finding with the fields common to all kinds.
func (r *reporter) finding(k Kind) Finding {
	f := Finding{Kind: k, Group: r.series.Benchmark.Group, Benchmark: r.series.Benchmark.Name, Type: r.series.Type.Name,
		Path: []string{}, Paths: []Path{}, Parts: []Part{}, RuledOut: []RuledOut{}, Status: Suspect}
	if len(r.head) > 1 {
		f.Status = Confirmed
	}
	first := r.run(r.head[0]).Profile.Run
	f.Since = Since{Run: first.Key, Commit: first.Commit, LastGood: r.run(r.base[len(r.base)-1]).Profile.Run.Key}
	return f
}

// metricLevel returns the metric of runs: of the median run where samples per operation are
// known, as their level is, else the mean.
func (f *fit) metricLevel(runs []int) float64 {
	values, mean := each(runs, func(t int) float64 { return f.run(t).Metric })
	if f.rate.known {
		return stat.Median(values)
	}
	return mean
}

// explained compares the metric with what findings explain of it; nil without a metric.
func (r *reporter) explained(findings []Finding) *Change {
	if r.time <= 0 {
		return nil
	}
	c := &Change{Base: r.time, Unit: r.unit}
	_, c.Score = r.metricChange()
	c.Head = r.metricLevel(r.head)
	for i := range findings {
		if f := &findings[i]; f.Delta.Time != nil && (f.Kind.Costs() || f.Kind == Improvement) {
			c.Found += f.Delta.Time.Value
		}
	}
	return c
}

// delta describes a difference d of a place of level mu with its standard error.
func (r *reporter) delta(d, mu, se float64) Delta {
	out := Delta{Samples: d}
	if r.all > 0 {
		out.Share = d / r.all
		out.Base = mu / r.all
	}
	if r.time > 0 && r.all > 0 {
		per := r.time / r.all
		width := r.interval()
		low := d - width*se
		if mu+d >= 0 {
			low = math.Max(low, -mu) // no more falls than there was
		}
		out.Time = &Estimate{Value: d * per, Low: low * per, High: (d + width*se) * per, Unit: r.unit}
	}
	return out
}

// interval is the half width of a 95% interval in standard errors: wide where few runs tell
// how much they vary.
func (r *reporter) interval() float64 {
	if r.rate.known {
		return stat.StudentOfScore(stat.Interval95, r.rate.dof)
	}
	return stat.Interval95
}

// spread is the variance of the difference at a place as an estimate. Unlike in the
// score, the tested runs have the noise of the level they reached, so that a new
// function has an interval too.
func (r *reporter) spread(p *place) float64 {
	invB := (r.poisson - r.baseInverse/r.baseRuns) * r.headRuns
	jitter := r.group(p.slot).trend.F1
	if p.mu >= leastMeanPrior {
		jitter = r.overdispersion[p.slot] / (1/r.baseRuns + 1/r.headRuns)
	}
	now := math.Max(0, p.mu+p.d)
	mu := math.Max(0, p.mu)
	return r.baseInverse*mu/r.baseRuns + invB*now/r.headRuns + jitter*(mu*mu/r.baseRuns+now*now/r.headRuns)
}

// place fills in the fields of a single place.
func (r *reporter) place(k Kind, p *place) Finding {
	f := r.finding(k)
	f.Function = r.space.table.Functions[r.space.function(p.slot)].Name
	if c := r.caller(p); c != noRow {
		f.Caller = r.space.table.Functions[c].Name
	}
	f.Path = r.space.table.Path(p.node)
	f.Paths = r.paths(p)
	f.Score = p.z
	f.Presence = r.presence(r.space.function(p.slot))
	f.Rows = r.rowsOf([]*place{p})
	r.setHeadline(&f, []*place{p}, p.node, p.d, math.Sqrt(r.spread(p)))
	f.setID()
	return f
}

// presence tells whether a function, in all contexts, is on one side only.
func (f *fit) presence(fn int32) Presence {
	slot := f.space.at(functionTotal, fn)
	if slot == noRow {
		return ""
	}
	switch sumA, sumB := f.sums(slot); {
	case sumA == 0:
		return New
	case sumB == 0:
		return Vanished
	}
	return ""
}

func (r *reporter) paths(p *place) []Path {
	list := []Path{}
	for i, root := range p.roots {
		if len(list) == mostPaths {
			break
		}
		if sameSign(p.part[i], p.d) {
			list = append(list, Path{r.space.table.Path(root), p.part[i]})
		}
	}
	return list
}

func (r *reporter) part(p *place) Part {
	f := r.place(Regression, p)
	return Part{f.Function, f.Caller, f.Path, p.d, p.z}
}

// change converts a group of places to a finding.
func (r *reporter) change(k Kind, c *change) Finding {
	f := r.grouped(k, c)
	if k.Costs() {
		f.RuledOut = r.ruleOut(&f)
		f.Note = cmp.Or(f.Note, r.doubts(&f))
	}
	return f
}

// grouped describes a group of places.
func (r *reporter) grouped(k Kind, c *change) Finding {
	if !c.wide && !c.merged && len(c.places) == 1 {
		return r.place(k, c.places[0])
	}
	var variance float64
	var paths []Path
	for _, p := range c.places {
		variance += r.spread(p)
		paths = append(paths, r.paths(p)...)
	}
	var f Finding
	switch {
	case c.wide:
		f = r.finding(Widespread)
		f.Note = "many functions changed at once (compiler, flags, runtime?)"
	case c.merged:
		f = r.finding(k)
		f.Path = r.space.table.Path(c.node)
		f.Function = f.Path[len(f.Path)-1]
		if len(f.Path) > 1 {
			f.Caller = f.Path[len(f.Path)-2]
		}
		f.Presence = r.presence(r.space.table.Func[c.node])
	default:
		f = r.place(k, c.places[0])
	}
	slices.SortStableFunc(paths, func(a, b Path) int { return -cmp.Compare(math.Abs(a.Delta), math.Abs(b.Delta)) })
	f.Paths = paths[:min(len(paths), mostPaths)]
	f.Rows = r.rowsOf(c.places)
	for _, p := range c.places {
		f.Parts = append(f.Parts, r.part(p))
	}
	if c.wide {
		mu := 0.0
		for _, p := range c.places {
			mu += p.mu
		}
		f.Delta = r.delta(c.d, mu, math.Sqrt(variance))
		if r.rate.known {
			f.Delta = r.program()
		}
	} else {
		r.setHeadline(&f, c.places, c.node, c.d, math.Sqrt(variance))
	}
	f.Score = c.z
	f.setID()
	return f
}

// gains are the falls, those of one function of the user's as one change.
func (r *reporter) gains() []*change {
	var list []*change
	for _, p := range r.falls {
		list = append(list, &change{places: []*place{p}, node: p.node, d: p.d, z: p.z})
	}
	return r.oneCarrier(list)
}

// replaced returns the finding of a change that only the metric shows as a cost. Its function
// is the one whose work the places now do. Its cost is the work of the places, less the work
// that the function no longer does.
func (r *reporter) replaced(c *change) Finding {
	t, slot := r.space.table, c.places[0].flat
	f := r.finding(Regression)
	f.Path = t.Path(c.node)
	f.Function = f.Path[len(f.Path)-1]
	for _, p := range c.places {
		f.Paths = append(f.Paths, r.paths(p)...)
		f.Parts = append(f.Parts, r.part(p))
	}
	slices.SortStableFunc(f.Paths, func(a, b Path) int { return -cmp.Compare(a.Delta, b.Delta) })
	f.Paths = f.Paths[:min(len(f.Paths), mostPaths)]
	f.Rows = []Row{r.space.rowNamed(slot)}
	at, own := r.carrierOf(c.node)
	calls := at.calls
	if calls == calltree.NoNode {
		for n := c.places[0].node; n != c.node && n != calltree.NoNode; n = t.Parent[n] {
			calls = n
		}
	}
	callee := noRow
	if calls != calltree.NoNode {
		callee = t.Func[calls]
	}
	f.Headline = r.name(t.Func[at.node], callee, own, 1)
	f.Delta = r.delta(r.diff[slot], r.level[slot], r.stdErr[slot])
	f.Delta.Gross = c.d / math.Max(1, r.all)
	f.Score = c.z
	log, _ := r.metricChange()
	f.Note = fmt.Sprintf("what %s calls replaced most of its work (%.1f%% of the program); the metric is worse by %.1f%%, which nothing else explains", f.Function, 100*f.Delta.Gross, 100*math.Expm1(log))
	f.RuledOut = r.ruleOut(nil)
	f.setID()
	return f
}

// findings returns all findings of a verdict, in the order of kinds.
func (r *reporter) findings() []Finding {
	var list []Finding
	changes, gains := r.oneCarrier(r.changes), r.gains()
	r.carriers, r.main, r.aboveMain = map[int32]int{}, call{fn: noRow}, nil
	most := 0.0
	for _, c := range slices.Concat(changes, gains) {
		if c.wide {
			continue
		}
		h, node := r.headline(c.places, c.node)
		fn := r.space.table.Func[node]
		r.carriers[fn]++
		if d := math.Abs(c.d); d > most && r.wholeFunction(fn) {
			r.main, most = call{fn, h.Calls}, d
			r.aboveMain = slices.DeleteFunc(r.space.table.FunctionPath(node), func(of int32) bool { return of == fn })
		}
	}
	for _, c := range changes {
		if f := r.change(Regression, c); f.Delta.Share > 0 {
			list = append(list, f)
		} else { // the function as a whole does not take longer
			r.unstable = append(r.unstable, c.places...)
		}
	}
	if r.shown != nil {
		list = append(list, r.replaced(r.shown))
	}
	list = r.withoutDoubtful(list)
	costs := len(list)
	for _, c := range gains {
		list = append(list, r.change(Improvement, c))
	}
	list = slices.DeleteFunc(list, Finding.mayBeNone)
	r.addUp(list)
	list = slices.Insert(list, costs, r.slowdown(list[:costs])...)
	list = slices.DeleteFunc(append(list, r.faster(list)...), Finding.mayBeNone)
	for _, p := range r.moved {
		if p.d > 0 {
			f := r.place(Moved, p)
			f.Note = r.movedNote(p)
			list = append(list, f)
		}
	}
	list = append(list, r.environment()...)
	for i := range list {
		f := &list[i]
		score, tests := math.Abs(f.Score), r.tests()
		if f.Kind == Slowdown {
			tests = slowdownTests
		}
		f.PlaceChance = tests * stat.NormalTail(score)
		if f.Headline != nil && f.Kind == Regression {
			score = math.Min(score, f.Headline.score)
			f.FunctionChance = stat.NormalTail(f.Headline.score)
		}
		f.Chance = tests * stat.NormalTail(score)
		if r.rate.known {
			f.RateChance = stat.NormalTail(r.rateScore())
		}
		f.Unmeasured = !r.measuredSlower()
		f.Doubtless = r.doubtless() && f.Kind.Costs() && f.Delta.Share >= visible
		r.limitToPower(f)
	}
	return list
}

// withoutDoubtful leaves out the suspects of one run beside a larger cost whose intervals, per
// operation, hold no change: a program that became slower moves shares of small functions too,
// and the next run will tell. A suspect alone is listed by its score.
func (r *reporter) withoutDoubtful(costs []Finding) []Finding {
	most := 0.0
	for i := range costs {
		most = math.Max(most, costs[i].Delta.Share)
	}
	return slices.DeleteFunc(costs, func(f Finding) bool {
		return r.rate.exact && f.Status == Suspect && f.Delta.Share < most && f.Delta.Time != nil && f.Delta.Time.Low < 0
	})
}

// measuredSlower reports whether the metric or the samples per operation show that the
// program became slower, with an error probability of 5%.
func (f *fit) measuredSlower() bool {
	const least = 1.645
	if f.rate.known && f.rateScore() >= least {
		return true
	}
	if !f.hasMetric {
		return false
	}
	_, z := f.metricChange()
	return z >= least
}

// manySamples is how many samples of a run of a service are so many that the spread of runs
// says all about the noise.
const manySamples = 10_000

// limitToPower makes a confirmed regression a suspect if it is smaller than the change that the
// report says its runs detect. The next run of a benchmark can confirm a suspect; a release of
// a service has no next run, so there, if runs have many samples, the score decides alone.
func (r *reporter) limitToPower(f *Finding) {
	if r.options.Service && r.fit.program >= manySamples {
		return
	}
	detects := r.smallestChange(powerShare, r.fit.program, r.headRuns, r.leastScore(r.headRuns)+powerScore)
	if f.Status == Confirmed && f.Kind == Regression && math.Max(f.Delta.Gross, f.Delta.Share) < detects {
		f.Status = Suspect
		f.Note = fmt.Sprintf("smaller than the change of %.1f%% that so few samples and runs detect reliably", 100*detects)
	}
}

// slowdownTests is the number of tests that a slowdown counts for. The metric is one test,
// but by simulation scores from 3 on are up to 6 times as frequent as the normal tail has
// them, because the deviation is the median's (noise of 10%, 4 to 20 runs).
const slowdownTests = 6

// renamedAbove returns the outermost new function on the path to a node, and the function
// that its caller called before instead: that vanished, and took as much.
func (f *fit) renamedAbove(n int32) (from, to int32, ok bool) {
	t := f.space.table
	for to = calltree.NoNode; n != calltree.NoNode; n = t.Parent[n] {
		if f.presence(t.Func[n]) == New {
			to = n
		}
	}
	if to == calltree.NoNode || t.Parent[to] == calltree.NoNode {
		return 0, 0, false
	}
	slot, gap := f.space.at(nodeTotal, to), math.Inf(1)
	f.children(t.Parent[to], func(c int32) {
		old := f.space.at(nodeTotal, c)
		if slot == noRow || old == noRow || f.presence(t.Func[c]) != Vanished ||
			t.Functions[t.Func[c]].Package() != t.Functions[t.Func[to]].Package() || !f.surelyGone(t.Func[c], t.Func[to]) {
			return
		}
		g := math.Abs(f.diff[slot] + f.diff[old])
		if g < gap && g <= math.Max(pairShare*f.diff[slot], pairErrors*math.Hypot(f.stdErr[slot], f.stdErr[old])) {
			from, gap, ok = c, g, true
		}
	})
	return from, to, ok
}

// surelyGone reports whether chance hardly explains that one function has no sample in the
// tested runs, and the other none in the history.
func (f *fit) surelyGone(vanished, appeared int32) bool {
	fresh := f.space.at(functionTotal, appeared)
	if fresh == noRow {
		return false
	}
	_, now := f.sums(fresh)
	return f.expected(vanished) >= leastGone && now*f.baseFactors/f.headFactors >= leastGone
}

// movedNote says where the work of a rise was before, if that is known.
func (r *reporter) movedNote(p *place) string {
	share := func(d float64) float64 { return 100 * d / math.Max(1, r.all) }
	if from, to, ok := r.renamedAbove(p.node); ok {
		d, t := r.diff[r.space.at(nodeTotal, to)], r.space.table
		return fmt.Sprintf("%s%s to %s (%.1f%%); net %+.1f%%", renamedNote, t.Functions[t.Func[from]].Name, t.Functions[t.Func[to]].Name,
			share(d), share(d+r.diff[r.space.at(nodeTotal, from)]))
	}
	what := "moved"
	if _, ok := r.inlined(p); ok {
		what = "inlined"
	}
	between := func(from, to int32) string {
		name := func(slot int32) string { return r.space.table.Functions[r.space.function(slot)].Name }
		if name(from) == name(to) {
			return "inside " + name(to)
		}
		return "from " + name(from) + " to " + name(to)
	}
	switch {
	case p.with != nil:
		return fmt.Sprintf("%s %.1f%% %s; net %+.1f%%", what, share(p.d), between(p.with.slot, p.slot), share(p.d+p.with.d))
	case p.from != noRow:
		return fmt.Sprintf("%s %.1f%% %s", what, share(p.d), between(p.from, p.slot))
	}
	return ""
}

// slowdown returns the finding that everything, or the one hot function, became slower,
// from the metric's own history.
func (r *reporter) slowdown(costs []Finding) []Finding {
	if r.rate.known {
		return r.slower(costs)
	}
	if hot := r.hotFunction(); hot != noRow {
		return r.hotSlowdown(hot)
	}
	g, z, ok := r.commonFactor()
	if len(costs) == 0 && r.doubtless() { // whatever the sizes of so few runs seem to be
		log, score := r.metricChange()
		g, z, ok = math.Exp(log), score, true
	}
	if !ok || z < r.fit.threshold && !r.doubtless() || g < 1+r.options.MinGrowth {
		return nil
	}
	f := r.finding(Slowdown)
	f.Score = z
	if !r.everyMetricShows(math.Log(g)) {
		f.Status = Suspect
	}
	f.Delta = Delta{Share: g - 1, Base: 1}
	if r.time > 0 {
		f.Delta.Time = &Estimate{Value: (g - 1) * r.time, Low: (g*math.Exp(-stat.Interval95*math.Log(g)/z) - 1) * r.time,
			High: (g*math.Exp(stat.Interval95*math.Log(g)/z) - 1) * r.time, Unit: r.unit}
	}
	f.Note = fmt.Sprintf("everything takes %.2f times as long as before: machine or environment, not a single function", g)
	f.setID()
	return []Finding{f}
}

// slowerShare is the minimum change of a program of which no place is known. However noisy
// its history is, it is a suspect if it doubles, or takes half as much again in runs that
// are all above those before.
const (
	slowerShare   = 0.1
	doubledChange = 0.9
	halfMore      = 0.5
	leastApart    = 3 // minimum runs of each side
)

// slower returns the finding that the program takes more samples per operation, if the costs of
// places do not explain half of it. If the profile shows that the code changed, and a rise
// beside code that did not change, the rate alone has to show less. A service has no such
// finding: its rate is its load.
func (r *reporter) slower(costs []Finding) []Finding {
	change, z, explained := r.rate.change(), r.rateScore(), 0.0
	for i := range costs {
		explained += costs[i].Delta.Samples
	}
	large := change >= doubledChange || change >= halfMore && r.apart()
	if !r.rate.exact || !large && !r.everyRunShows(change) {
		return nil
	}
	node := r.carrying()
	alone := z >= stat.ScoreOfTail(r.options.alpha(len(r.head))) && r.everyRunShows(change) || r.doubtless()
	if !alone && !large && !(z >= carriedNew && node != calltree.NoNode && r.codeChanged()) || change < slowerShare ||
		explained >= visible*change*r.rate.before {
		return nil
	}
	f := r.finding(Slowdown)
	if !alone {
		f.Status = Suspect
	}
	f.Score = z
	f.Delta = r.program()
	f.Note = "slower; place not certain"
	if !alone && large {
		f.Note += fmt.Sprintf(", and runs of the history differ by %.0f%%", 100*r.rate.spread)
	}
	if node != calltree.NoNode {
		f.Path = r.space.table.Path(node)
		f.Headline = r.headlineAt(node)
	}
	f.setID()
	return []Finding{f}
}

// apart reports whether each tested run takes more samples per operation than every run of
// the history. With four runs on each side, that has a probability of 1/70 by chance.
func (r *reporter) apart() bool {
	rates := func(runs []int) (list []float64) {
		for _, t := range runs {
			list = append(list, r.run(t).Rate())
		}
		return list
	}
	return min(len(r.base), len(r.head)) >= leastApart && slices.Min(rates(r.head)) > slices.Max(rates(r.base))
}

// everyRunShows reports whether each tested run has most of a change of the samples per
// operation.
func (r *reporter) everyRunShows(change float64) bool {
	for _, t := range r.head {
		if (r.run(t).Rate()*r.rate.operations/r.rate.before-1)/change < lastingShare {
			return false
		}
	}
	return true
}

// faster returns the finding that the program takes fewer samples per operation, if no place
// is known. A service has no such finding: its rate is its load.
func (r *reporter) faster(list []Finding) []Finding {
	is := func(f Finding) bool { return f.Kind == Improvement }
	if !r.rate.exact || r.rate.change() > -slowerShare || -r.rateScore() < stat.ScoreOfTail(r.options.alpha(len(r.head))) ||
		!r.everyRunShows(r.rate.change()) || slices.ContainsFunc(list, is) {
		return nil
	}
	f := r.finding(Improvement)
	f.Score = r.rateScore()
	f.Delta = r.program()
	f.Note = "faster; place not certain"
	f.setID()
	return []Finding{f}
}

// everyMetricShows reports whether the metric of each tested run has most of a change, given as
// the logarithm of a factor.
func (r *reporter) everyMetricShows(log float64) bool {
	for _, t := range r.head {
		if math.Log(r.run(t).Metric/r.metricLevel(r.base)) < lastingShare*log {
			return false
		}
	}
	return true
}

// codeChanged reports whether some path rose beyond the threshold, although it is no cost by
// itself: work moved to it, or the user's function did not surely rise with it.
func (r *reporter) codeChanged() bool {
	rose := func(p *place) bool { return p.d > 0 && p.z >= r.fit.threshold }
	return slices.ContainsFunc(r.moved, rose) || slices.ContainsFunc(r.unstable, rose)
}

// carrying returns the innermost node with most of the rise of the program, or NoNode if the
// shares of functions do not show half of what the rate shows.
func (r *reporter) carrying() int32 {
	t, at, most := r.space.table, calltree.NoNode, visible*(r.rate.now-r.rate.before)
	for n := int32(0); n < int32(t.Len()); n = t.End[n] {
		if slot := r.space.at(nodeTotal, n); slot != noRow && r.diff[slot] >= most {
			at, most = n, r.diff[slot]
		}
	}
	if at == calltree.NoNode {
		return at
	}
	return r.innermost(at)
}

// headlineAt names the user's function at or above a node and the callee towards it.
func (r *reporter) headlineAt(node int32) *Headline {
	t, calls := r.space.table, noRow
	at, own := r.carrierOf(node)
	if at.calls != calltree.NoNode {
		calls = t.Func[at.calls]
	}
	return r.name(t.Func[at.node], calls, own, 1)
}

// program returns the change of the whole program's samples per operation.
func (r *reporter) program() Delta {
	return r.delta(r.rate.now-r.rate.before, r.rate.before, r.rateError(r.rate.before, r.rate.now))
}

// programChange returns the change of the whole program's samples per operation, as a share
// of those before; nil if operations are unknown.
func (r *reporter) programChange() *Estimate {
	if !r.rate.known {
		return nil
	}
	width := r.interval() * r.rateError(r.rate.before, r.rate.now) / r.rate.before
	return &Estimate{Value: r.rate.change(), Low: math.Max(-1, r.rate.change()-width), High: r.rate.change() + width, Unit: "share"}
}

// hotFunction returns the self row of the function that is nearly all of the program.
func (r *reporter) hotFunction() int32 {
	for slot := range int32(len(r.space.functionSelfs())) {
		if r.isTested[slot] && r.whole(slot) {
			return slot
		}
	}
	return noRow
}

func (r *reporter) hotSlowdown(slot int32) []Finding {
	if !r.hasMetric {
		return nil
	}
	ratio, z := r.metricChange()
	explained := 0.0
	for _, c := range r.changes {
		explained += c.d
	}
	if z < r.fit.threshold && !r.doubtless() || math.Exp(ratio) < 1+r.options.MinGrowth ||
		explained >= visible*math.Expm1(ratio)*r.level[slot] {
		return nil
	}
	f := r.finding(Slowdown)
	f.Function = r.space.table.Functions[r.space.item[slot]].Name
	node := r.space.functions[r.space.item[slot]][0]
	for _, n := range r.space.functions[r.space.item[slot]] {
		if r.nodeMu[n] > r.nodeMu[node] {
			node = n
		}
	}
	f.Path = r.space.table.Path(node)
	f.Paths = []Path{{f.Path, (math.Exp(ratio) - 1) * r.level[slot]}}
	f.Score = z
	if !r.everyMetricShows(ratio) {
		f.Status = Suspect
	}
	se := ratio / z
	f.Delta = Delta{Samples: (math.Exp(ratio) - 1) * r.level[slot], Share: math.Exp(ratio) - 1, Base: r.level[slot] / r.all}
	f.Delta.Time = &Estimate{Value: math.Expm1(ratio) * r.time, Low: math.Expm1(ratio-stat.Interval95*se) * r.time,
		High: math.Expm1(ratio+stat.Interval95*se) * r.time, Unit: r.unit}
	f.Note = "this function is nearly all of the program, so its cost is that of the benchmark"
	f.setID()
	return []Finding{f}
}

// outside compares a logarithm of the tested runs with the history: the difference from
// the median, and its score by the median deviation.
func (f *fit) outside(value func(t int) float64, floor float64) (diff, z float64) {
	var of []float64
	for _, t := range f.base {
		of = append(of, value(t))
	}
	median, mad := stat.MedianDeviation(of)
	for _, t := range f.head {
		diff += (value(t) - median) / f.headRuns
	}
	sd := math.Max(floor, stat.NormalDeviation*mad) * math.Sqrt(1/f.baseRuns+1/f.headRuns)
	return diff, stat.StudentScore(diff/sd, f.dof)
}

// metricChange returns the logarithm of the factor by which the metric became worse, and
// its score.
func (f *fit) metricChange() (log, z float64) {
	return f.outside(func(t int) float64 { return math.Log(f.run(t).Metric) }, metricFloor)
}

// commonFactor returns G, the factor by which everything takes longer, and its score.
func (f *fit) commonFactor() (g, z float64, ok bool) {
	if !f.hasMetric {
		return 1, 0, false
	}
	diff, z := f.outside(func(t int) float64 {
		r := f.run(t)
		return math.Log(r.Metric * f.factor[t] / r.Total)
	}, metricFloor)
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
	_, before = each(f.base, share)
	_, now = each(f.head, share)
	_, z = f.outside(func(t int) float64 { return math.Log(share(t) + 0.01) }, environmentFloor)
	return before, now, z
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
	f.setID()
	return []Finding{f}
}
