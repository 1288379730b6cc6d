package regression

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/analysis/regression/internal/row"
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
	_, nodeMu := v.nodes()
	for _, mu := range nodeMu {
		r.all += mu
	}
	if v.rate.Known {
		r.all = v.rate.Before
	}
	if v.hasMetric {
		r.time = v.metricLevel(v.base)
		m, _ := history.Metric(v.run(v.head[0]).Profile)
		r.unit = history.MetricUnit(m)
	}
	return r
}

// newFinding returns a finding of a series.
func newFinding(k Kind, s *history.Series, confirmed bool) Finding {
	f := Finding{Kind: k, Group: s.Benchmark.Group, Benchmark: s.Benchmark.Name, Type: s.Type.Name, Path: []string{}, Paths: []Path{},
		Parts: []Part{}, RuledOut: []RuledOut{}, Status: Suspect}
	if confirmed {
		f.Status = Confirmed
	}
	return f
}

// finding returns a finding with the fields common to all kinds.
func (r *reporter) finding(k Kind) Finding {
	f := newFinding(k, r.series, len(r.head) > 1)
	first := r.run(r.head[0]).Profile.Run
	f.Since = Since{Run: first.Key, Commit: first.Commit, LastGood: r.run(r.base[len(r.base)-1]).Profile.Run.Key}
	return f
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
	if r.rate.Known {
		return stat.StudentOfScore(stat.Interval95, r.rate.Freedom)
	}
	return stat.Interval95
}

// spread is the variance of the difference at a place as an estimate. Unlike in the
// score, the tested runs have the noise of the level they reached, so that a new
// function has an interval too.
func (r *reporter) spread(p *place) float64 {
	invB := (r.poisson - r.baseInverse/r.baseRuns) * r.headRuns
	mu, now := math.Max(0, p.mu), math.Max(0, p.mu+p.d)
	return r.baseInverse*mu/r.baseRuns + invB*now/r.headRuns + r.jitter(p.slot, p.mu)*(mu*mu/r.baseRuns+now*now/r.headRuns)
}

// place describes a single place.
func (r *reporter) place(k Kind, p *place) Finding { return r.grouped(k, single(p)) }

func (r *reporter) paths(p *place) []Path {
	list := []Path{}
	for i, root := range p.roots {
		if len(list) == mostPaths {
			break
		}
		if sameSign(p.part[i], p.d) {
			list = append(list, Path{r.space.Table.Path(root), p.part[i]})
		}
	}
	return list
}

func (r *reporter) part(p *place) Part {
	t := r.space.Table
	part := Part{Function: t.Functions[r.space.Function(p.slot)].Name, Path: t.Path(p.node), Delta: p.d, Score: p.z}
	if c := r.caller(p); c != calltree.NoNode {
		part.Caller = t.Functions[c].Name
	}
	return part
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
	f, variance, mu := r.finding(k), 0.0, 0.0
	f.Score = c.z
	for _, p := range c.places {
		variance += r.spread(p)
		mu += p.mu
		f.Paths = append(f.Paths, r.paths(p)...)
		f.Rows = append(f.Rows, r.space.Name(p.slot))
		if c.wide || c.merged || len(c.places) > 1 {
			f.Parts = append(f.Parts, r.part(p))
		}
	}
	slices.SortStableFunc(f.Paths, func(a, b Path) int { return -cmp.Compare(math.Abs(a.Delta), math.Abs(b.Delta)) })
	f.Paths = f.Paths[:min(len(f.Paths), mostPaths)]
	if c.wide {
		f.Kind, f.Note = Widespread, "many functions changed at once (compiler, flags, runtime?)"
		if f.Delta = r.delta(c.d, mu, math.Sqrt(variance)); r.rate.Known {
			f.Delta = r.program()
		}
		return f
	}
	main, fn := r.part(c.places[0]), r.space.Function(c.places[0].slot)
	f.Function, f.Caller, f.Path = main.Function, main.Caller, main.Path
	if c.merged {
		fn, f.Path = r.space.Table.Func[c.node], r.space.Table.Path(c.node)
		f.Function, f.Caller = f.Path[len(f.Path)-1], ""
		if len(f.Path) > 1 {
			f.Caller = f.Path[len(f.Path)-2]
		}
	}
	f.Presence = r.presence(fn)
	r.setHeadline(&f, c.places, c.node, c.d, math.Sqrt(variance))
	return f
}

// gains are the falls, those of one function of the user's as one change.
func (r *reporter) gains() []*change {
	var list []*change
	for _, p := range r.falls {
		list = append(list, single(p))
	}
	return r.oneCarrier(list)
}

// replaced returns the finding of a change that only the metric shows as a cost. Its function
// is the one whose work the places now do. Its cost is the work of the places, less the work
// that the function no longer does.
func (r *reporter) replaced(c *change) Finding {
	slot := c.places[0].flat
	c.merged = true // its function is above the places
	f := r.grouped(Regression, c)
	f.Caller, f.Presence, f.Rows = "", "", []Row{r.space.Name(slot)}
	f.Headline = r.headlineAt(c.node, c.places[0].node)
	f.Delta = r.delta(r.diff[slot], r.level[slot], r.of(slot).stdErr)
	f.Delta.Gross = c.d / math.Max(1, r.all)
	f.Score = c.z
	log, _ := r.metricChange()
	f.Note = fmt.Sprintf("what %s calls replaced most of its work (%.1f%% of the program); the metric is worse by %.1f%%, which nothing else explains", f.Function, 100*f.Delta.Gross, 100*math.Expm1(log))
	f.RuledOut = r.ruleOut(nil)
	return f
}

// findings returns all findings of a verdict, in the order of kinds.
func (r *reporter) findings() []Finding {
	var list []Finding
	changes, gains := r.oneCarrier(r.changes), r.gains()
	r.carriers, r.main, r.aboveMain = map[int32]int{}, call{fn: calltree.NoNode}, nil
	most := 0.0
	for _, c := range slices.Concat(changes, gains) {
		if c.wide {
			continue
		}
		h, node := r.headline(c.places, c.node)
		fn := r.space.Table.Func[node]
		r.carriers[fn]++
		if d := math.Abs(c.d); d > most && r.wholeFunction(fn) {
			r.main, most = call{fn, h.Calls}, d
			r.aboveMain = slices.DeleteFunc(r.space.Table.FunctionPath(node), func(of int32) bool { return of == fn })
		}
	}
	for _, c := range changes {
		list = append(list, r.change(Regression, c))
	}
	list = slices.DeleteFunc(list, Finding.mayBeNone)
	if r.shown != nil {
		list = append(list, r.replaced(r.shown))
	}

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
		switch {
		case f.Kind == Slowdown && r.rate.Known: // one quantity
			tests = 1
		case f.Kind == Slowdown:
			tests = slowdownTests
		}
		f.PlaceChance = tests * stat.NormalTail(score)
		if f.Headline != nil && f.Kind == Regression {
			score = math.Min(score, f.Headline.score)
			f.FunctionChance = stat.NormalTail(f.Headline.score)
		}
		f.Chance = tests * stat.NormalTail(score)
		if r.rate.Known {
			f.RateChance = stat.NormalTail(r.rate.Score())
		}
		f.Unmeasured = !r.measuredSlower()
		f.Doubtless = r.doubtless() && f.Kind.Costs() && f.Delta.Share >= halfOf
		r.limitToPower(f)
	}
	return list
}

// measuredSlower reports whether the metric or the samples per operation show that the
// program became slower, with an error probability of 5%.
func (f *fit) measuredSlower() bool {
	const least = scoreOf95
	if f.rate.Known && f.rate.Score() >= least {
		return true
	}
	if !f.hasMetric {
		return false
	}
	_, z := f.metricChange()
	return z >= least
}

// limitToPower makes a confirmed regression a suspect if it is smaller than the change that the
// report says its runs detect. The next run of a benchmark can confirm a suspect; a release of
// a service has no next run, so there, if runs have many samples, the score decides alone.
func (r *reporter) limitToPower(f *Finding) {
	if r.options.without("detectable") || r.countless() {
		return
	}
	detects := r.smallestChange(powerShare, r.fit.program, r.headRuns, r.leastScore(r.headRuns)+powerScore)
	if f.Status == Confirmed && f.Kind == Regression && math.Max(f.Delta.Gross, f.Delta.Share) < detects {
		f.Status = Suspect
		f.Note = fmt.Sprintf("smaller than the change of %.1f%% that so few samples and runs detect reliably", 100*detects)
	}
}

// movedNote says where the work of a rise was before, if that is known.
func (r *reporter) movedNote(p *place) string {
	share := func(d float64) float64 { return 100 * d / math.Max(1, r.all) }
	if from, to, ok := r.renamedAbove(p.node); ok {
		d, t := r.diff[r.space.At(row.NodeTotal, to)], r.space.Table
		return fmt.Sprintf("%s%s to %s (%.1f%%); net %+.1f%%", renamedNote, t.Functions[t.Func[from]].Name, t.Functions[t.Func[to]].Name,
			share(d), share(d+r.diff[r.space.At(row.NodeTotal, from)]))
	}
	what := "moved"
	if _, ok := r.inlined(p); ok {
		what = "inlined"
	}
	between := func(from, to int32) string {
		name := func(slot int32) string { return r.space.Table.Functions[r.space.Function(slot)].Name }
		if name(from) == name(to) {
			return "inside " + name(to)
		}
		return "from " + name(from) + " to " + name(to)
	}
	switch {
	case p.with != nil:
		return fmt.Sprintf("%s %.1f%% %s; net %+.1f%%", what, share(p.d), between(p.with.slot, p.slot), share(p.d+p.with.d))
	case p.from != row.None:
		return fmt.Sprintf("%s %.1f%% %s", what, share(p.d), between(p.from, p.slot))
	}
	return ""
}
