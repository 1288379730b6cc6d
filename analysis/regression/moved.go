package regression

import (
	"cmp"
	"math"
	"slices"

	"github.com/dendroprof/dendro/analysis/regression/internal/row"
	"github.com/dendroprof/dendro/calltree"
)

// Work that only changed its place is neither a regression nor an improvement: a function
// was renamed, split, inlined, or the profiler now attributes its samples to its caller.
// Such a rise has a fall nearby, or an enclosing place whose cost did not rise; and such a
// fall a rise nearby, or an enclosing place whose cost did not fall.

// The constants of the tests for moved work.
const (
	domainLimitNew = -1.5 // like likely, of "the domain rose as well", for a path that hardly existed before
	neighbourLimit = 3.0  // log likelihood ratio of "a neighbour fell as much"
	neighbourNew   = 1.0
	nearRoots      = 20 // of a row whose neighbours are looked at
	chainLevels    = 5  // ancestors that a chain is followed to
	attributionUp  = 3  // ancestors whose noise may swallow a new path

	// attributionShare is the part of a caller's jitter below which a new path of self
	// time counts as the caller's own samples. A larger one hides small new functions
	// below large callers and gains nothing on real histories.
	attributionShare = 0.4

	// A rise and a fall differ by at most a share of the rise, or by so many standard errors.
	pairErrors = 2.5

	partnersMost = 3 // functions that together became a rise
)

// markMoved marks the places of moved work. The places are in the order of discovery. A
// rise is moved only with a fall that could have become it, and no fall is used twice. It returns
// the falls that no rise has taken.
func (f *fit) markMoved(places []*place) *given {
	g := &given{fit: f}
	d, _ := f.nodes()
	g.rest = slices.Clone(d)
	if !f.options.without("moved nearby") {
		g.pairFalls(places, f.closeBy)
	}
	for _, p := range places {
		if !p.moved && (f.insideFlatDomain(p) || f.neighbourOpposes(p)) {
			p.moved = p.d < 0 || g.partner(p, places) || !f.rate.Known && p.from != row.None
		}
	}
	g.pairFalls(places, func(rise, fall *place) bool {
		return !f.options.without("moved anywhere") && -fall.d >= (1-littleOf)*rise.d && -fall.d <= (1+likeOf)*rise.d
	})
	return g
}

// given is the work of falls that no rise has taken yet.
type given struct {
	*fit
	rest []float64 // differences of self samples, by node
}

// left returns the work that a row lost and no rise has taken.
func (g *given) left(slot int32) (sum float64) {
	g.space.NodesOf(slot, func(n int32) { sum -= g.rest[n] })
	return sum
}

// take takes an amount of the work that a row lost.
func (g *given) take(slot int32, amount float64) {
	left := g.left(slot)
	if left <= 0 {
		return
	}
	part := math.Max(0, 1-amount/left)
	g.space.NodesOf(slot, func(n int32) {
		if g.rest[n] < 0 {
			g.rest[n] *= part
		}
	})
}

// partner finds what could have become a rise that an enclosing place, or a neighbour, does
// not show: of the rows that fell, the one whose unused fall is closest to the rise, else at
// most three functions together. It names the largest.
func (g *given) partner(p *place, places []*place) bool {
	least := halfOf * p.d
	best, gap := row.None, math.Inf(1)
	var selfs []int32
	for _, slot := range g.fallen(p, places) {
		left := g.left(slot)
		enough := least
		if g.rate.Known {
			enough = math.Max(least, p.d-g.tolerance(p.slot, slot, p.d))
		}
		if d := math.Abs(left - p.d); left >= enough && d < gap {
			best, gap = slot, d
		}
		if g.space.Kind[slot] == row.FunctionSelf && left > 0 {
			selfs = append(selfs, slot)
		}
	}
	if best != row.None {
		p.from = best
		g.take(best, p.d)
		return true
	}
	if g.rate.Known {
		return g.wrapped(p)
	}
	return g.together(p, selfs, partnersMost, least)
}

// together takes a rise from the largest of some falls, at most so many, if these are enough.
func (g *given) together(p *place, slots []int32, most int, least float64) bool {
	slices.SortStableFunc(slots, func(a, b int32) int { return -cmp.Compare(g.left(a), g.left(b)) })
	slots = slots[:min(len(slots), most)]
	sum := 0.0
	for _, slot := range slots {
		sum += g.left(slot)
	}
	if len(slots) == 0 || sum < least {
		return false
	}
	p.from = slots[0]
	for _, slot := range slots {
		g.take(slot, p.d*g.left(slot)/sum)
	}
	return true
}

// wrapped reports whether calls that vanished inside the row that did not rise are together
// as much as the rise: somebody moved them into a new function. It names the largest.
func (g *given) wrapped(p *place) bool {
	if g.options.without("wrapped calls") {
		return false
	}
	t := g.space.Table
	gone := func(n int32) bool {
		slot := g.space.At(row.NodeTotal, n)
		_, now := g.sums(slot)
		return now == 0 && g.expected(slot) >= leastSamples
	}
	var calls []int32
	g.space.NodesOf(p.flat, func(n int32) {
		if gone(n) && (t.Parent[n] == calltree.NoNode || !gone(t.Parent[n])) {
			calls = append(calls, g.space.At(row.NodeTotal, n))
		}
	})
	return g.together(p, calls, len(calls), math.Max(halfOf*p.d, p.d-g.tolerance(p.slot, p.slot, p.d)))
}

// fallen lists the rows whose fall may explain the rise of a place: the falls that were
// found, and of the neighbours of the place and the rows in it those that fell.
func (g *given) fallen(p *place, places []*place) (slots []int32) {
	for _, q := range places {
		if q.d < 0 {
			slots = append(slots, q.slot)
		}
	}
	slots = append(slots, g.neighbours(p)...)
	g.space.NodesOf(p.flat, func(n int32) {
		slots = append(slots, g.space.At(row.FunctionSelf, g.space.Table.Func[n]), g.space.At(row.NodeSelf, n), g.space.At(row.NodeTotal, n))
	})
	slices.Sort(slots)
	return slices.DeleteFunc(slices.Compact(slots), func(slot int32) bool { return slot == p.slot || g.diff[slot] >= 0 })
}

// isNew reports whether a path exists on one side only, or nearly so: in the tested runs
// for a rise, in the history for a fall.
func (p *place) isNew() bool {
	if p.d < 0 {
		return p.mu+p.d < -littleOf*p.d
	}
	return p.mu < littleOf*p.d
}

// pairFalls matches rises with falls of the same size; each fall once.
func (f *given) pairFalls(places []*place, mayPair func(rise, fall *place) bool) {
	for _, rise := range places {
		if rise.d <= 0 || rise.moved {
			continue
		}
		var best *place
		gap := math.Inf(1)
		for _, fall := range places {
			if fall.d >= 0 || fall.moved || math.Abs(fall.d) <= rise.d/2 || !mayPair(rise, fall) {
				continue
			}
			g := math.Abs(rise.d + fall.d)
			if g <= f.tolerance(rise.slot, fall.slot, rise.d) && g < gap {
				best, gap = fall, g
			}
		}
		if best != nil {
			rise.moved, best.moved = true, true
			rise.with, best.with = best, rise
			f.take(best.slot, rise.d)
		}
	}
}

// tolerance is the difference up to which a rise d and a fall are of a like size.
func (f *fit) tolerance(rise, fall int32, d float64) float64 {
	return math.Max(likeOf*d, pairErrors*math.Hypot(f.of(rise).stdErr, f.of(fall).stdErr))
}

// closeBy reports whether the function of the fall is that of the rise, or its
// parent, grandparent, child or sibling somewhere.
func (f *fit) closeBy(rise, fall *place) bool {
	t := f.space.Table
	fn := f.space.Function(fall.slot)
	if fn == f.space.Function(rise.slot) {
		return true
	}
	for _, root := range rise.roots {
		p := t.Parent[root]
		if f.hasChild(root, fn) {
			return true
		}
		if p == calltree.NoNode {
			continue
		}
		if t.Func[p] == fn || f.hasChild(p, fn) {
			return true
		}
		if g := t.Parent[p]; g != calltree.NoNode && t.Func[g] == fn {
			return true
		}
	}
	return false
}

func (f *fit) hasChild(n, fn int32) bool {
	found := false
	f.children(n, func(c int32) { found = found || f.space.Table.Func[c] == fn })
	return found
}

// children visits the children of a node in order.
func (f *fit) children(n int32, visit func(c int32)) {
	t := f.space.Table
	for c := n + 1; c < t.End[n]; c = t.End[c] {
		visit(c)
	}
}

// flat reports whether a row rose so much less than d that "it rose by d too" is
// this unlikely. One that surely rose is not flat: a part of the change replaced other work
// of the row, and the rest is its cost.
func (f *fit) flat(slot int32, d, limit float64) bool {
	s := f.of(slot)
	if !(s.stdErr > 0) || sameSign(f.diff[slot], d) && math.Abs(s.z) >= f.threshold {
		return false
	}
	return (f.diff[slot]*d-d*d/2)/(s.stdErr*s.stdErr) < limit
}

// insideFlatDomain reports whether a place that encloses the rise did not rise:
// its function, or one of the callers of its largest node.
func (f *fit) insideFlatDomain(p *place) bool {
	limit := -likely
	if p.isNew() {
		limit = domainLimitNew
	}
	for _, kind := range []row.Kind{row.FunctionSelf, row.FunctionTotal} {
		q := f.space.At(kind, f.space.Function(p.slot))
		if q == p.slot || !kind.Total() && f.space.Kind[p.slot].Total() || f.options.without("flat around") {
			continue
		}
		if f.flat(q, p.d, limit) {
			p.flat = q
			return true
		}
	}
	return p.isNew() && f.attributed(p) || f.chainIsFlat(p, limit)
}

// attributed reports whether a new path of self time is small against the jitter
// of a caller: the samples were the caller's before. Within that jitter no fall can be
// named; where samples per operation are known, they tell a cost from it, and one is asked for.
func (f *fit) attributed(p *place) bool {
	if f.options.without("within jitter") {
		return false
	}
	d := math.Abs(p.d)
	if f.space.Kind[p.slot].Total() && math.Copysign(p.rootSelf, p.rootSelf*p.d) <= nearlyAll*d {
		return false
	}
	q := f.space.Table.Parent[p.roots[0]]
	for range attributionUp {
		if q == calltree.NoNode {
			break
		}
		if slot := f.space.At(row.NodeTotal, q); d < attributionShare*f.level[slot]*math.Sqrt(f.of(slot).overdispersion) {
			p.from = slot
			return true
		}
		q = f.space.Table.Parent[q]
	}
	return false
}

// chainIsFlat follows the callers of the place's largest node and asks at each
// whether it rose as much as what is below it did at least.
func (f *fit) chainIsFlat(p *place, limit float64) bool {
	if f.options.without("flat caller") {
		return false
	}
	sp, t, n, kind := f.space, f.space.Table, p.roots[0], row.NodeSelf
	if sp.Kind[p.slot].Total() {
		kind = row.NodeTotal
	}
	sign := math.Copysign(1, p.d)
	d := math.Min(sign*p.d, sign*f.diff[sp.At(kind, n)])
	if d < sign*p.d/2 {
		return false
	}
	for range chainLevels {
		slot := sp.At(row.NodeTotal, n)
		d = math.Max(d, sign*f.diff[slot]-f.of(slot).stdErr)
		if n = t.Parent[n]; n == calltree.NoNode {
			break
		}
		for _, slot := range [2]int32{sp.At(row.NodeTotal, n), sp.At(row.FunctionTotal, t.Func[n])} {
			if f.flat(slot, sign*d, limit) {
				p.flat = slot
				return true
			}
		}
	}
	return false
}

// neighbourOpposes reports whether some neighbour of the place fell by about what it
// rose, or the other way round: the work of one went to the other.
func (f *fit) neighbourOpposes(p *place) bool {
	if f.options.without("neighbour fell") {
		return false
	}
	d := p.d
	limit := neighbourLimit
	if p.isNew() {
		limit = neighbourNew
	}
	best, kept := math.Inf(-1), 0
	for _, q := range f.neighbours(p) {
		level := f.level[q] // where the place is lower
		if d < 0 {
			level += f.diff[q]
		}
		if !(f.of(q).stdErr > 0) || level < 0.4*math.Abs(d) || q == p.slot || f.space.RootOf(q, p.roots[0]) != calltree.NoNode {
			continue
		}
		kept++
		if sameSign(-f.diff[q], d) && (p.isNew() || math.Abs(f.diff[q]) <= 2*math.Abs(d)) {
			best = math.Max(best, (-f.diff[q]*d-d*d/2)/(f.of(q).stdErr*f.of(q).stdErr))
		}
	}
	return kept > 0 && best-math.Log(float64(kept)) > limit
}

// neighbours lists the rows beside a place that may have given it their work, in
// ascending order.
func (f *fit) neighbours(p *place) []int32 {
	sp, t := f.space, f.space.Table
	var list []int32
	add := func(slots ...int32) { list = append(list, slots...) }
	node := func(n int32) { add(sp.At(row.NodeSelf, n), sp.At(row.NodeTotal, n)) }
	for _, root := range p.roots[:min(len(p.roots), nearRoots)] {
		fn := t.Func[root]
		f.children(root, func(c int32) { add(sp.At(row.FunctionSelf, t.Func[c]), sp.At(row.EdgeTotal, sp.EdgeOf[c])) })
		g := t.Parent[root]
		if g == calltree.NoNode {
			continue
		}
		add(sp.At(row.FunctionSelf, t.Func[g]), sp.At(row.NodeSelf, g))
		f.children(g, func(c int32) {
			if c == root {
				return
			}
			if t.Func[c] != fn {
				add(sp.At(row.FunctionSelf, t.Func[c]))
			}
			node(c)
			add(sp.At(row.EdgeTotal, sp.EdgeOf[c]))
			f.children(c, func(cc int32) {
				if t.Func[cc] == fn {
					node(cc)
					add(sp.At(row.EdgeTotal, sp.EdgeOf[cc]))
				}
			})
		})
		if gg := t.Parent[g]; gg != calltree.NoNode {
			f.children(gg, func(c int32) {
				if c != g && (t.Func[c] == fn || t.Func[c] == t.Func[g]) {
					node(c)
				}
			})
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// innermost goes from a node down the calls that hold most of the rise of each. A call that
// rose by more than its caller did took over work of its siblings.
func (f *fit) innermost(n int32) int32 {
	total := func(n int32) float64 { return f.diff[f.space.At(row.NodeTotal, n)] }
	for {
		rise := total(n)
		next, most := calltree.NoNode, mostOf*rise
		f.children(n, func(c int32) {
			if d := total(c); d >= most && d > 0 && d <= (1+likeOf)*rise {
				next, most = c, d
			}
		})
		if next == calltree.NoNode {
			return n
		}
		n = next
	}
}

// shownByMetric returns the change of rises that were taken for moved work although the
// metric alone is significantly worse, which neither the other changes nor a slower machine
// explain by half: the rises inside the row that gave them their work, the row with most of
// them. Otherwise a compiler that attributes a function's samples to its callees would hide
// what the function costs. Of one tested run, the metric tells too little.
func (f *fit) shownByMetric(changes []*change, moved []*place) *change {
	if f.options.without("metric alone") || !f.hasMetric || len(f.head) == 1 {
		return nil
	}
	worse, z := f.metricChange()
	machine, _, _ := f.commonFactor()
	if z < f.threshold || math.Log(machine) > halfOf*worse {
		return nil
	}
	explained := 0.0
	for _, c := range changes {
		explained += c.d
	}
	if explained > halfOf*math.Expm1(worse)*f.program {
		return nil
	}
	inside := map[int32]*change{} // by row
	var best *change
	for _, p := range moved {
		if p.d <= 0 || p.z < f.threshold || !f.lasts(p) || p.with != nil || p.flat == row.None ||
			f.space.Function(p.flat) == f.space.Function(p.slot) || f.whole(p.flat) || f.diff[p.flat] <= 0 {
			continue
		}
		if _, _, renamed := f.renamedAbove(p.node); renamed {
			continue
		}
		c := inside[p.flat]
		if c == nil {
			c = &change{node: f.space.RootOf(p.flat, p.roots[0]), z: z}
			inside[p.flat] = c
		}
		c.places = append(c.places, p)
		if c.d += p.d; best == nil || c.d > best.d {
			best = c
		}
	}
	return best
}
