package detection

import (
	"math"
	"math/rand/v2"
)

// Truth is the planted change of a simulated history.
type Truth struct {
	Accepted []string   // functions that name the change
	Paths    [][]string // where it is, 50 at most
	Impact   float64    // share of the program before
}

// effect is a planted change of a program.
type effect struct {
	scale     map[int]float64 // of a node's self cost
	extra     map[int]float64 // cost that a node gets on top
	renamed   map[int]string  // functions
	inlined   map[[2]int]bool // pairs of caller and callee that are always inlined now, and never before
	uninlined map[[2]int]bool // the other way round
}

// planter chooses the place of a change.
type planter struct {
	r         *rand.Rand
	p         *simProgram
	plan      Plan
	self, sub []float64
	touched   map[int]bool // functions on either side of an unstable inlining
	e         effect
	t         Truth
}

func newPlanter(r *rand.Rand, p *simProgram, plan Plan) *planter {
	pl := &planter{r: r, p: p, plan: plan, self: p.selfs(), sub: p.subtrees(), touched: map[int]bool{},
		e: effect{map[int]float64{}, map[int]float64{}, map[int]string{}, map[[2]int]bool{}, map[[2]int]bool{}},
		t: Truth{Impact: plan.Impact}}
	for _, in := range p.inlined {
		pl.touched[in.caller], pl.touched[in.callee] = true, true
	}
	return pl
}

// plant plants the change of the plan; false: the program has no place for one of
// that size.
func (pl *planter) plant() bool {
	switch pl.plan.Kind {
	case "none", "slow":
		return true
	case "self", "improve", "drift", "old", "spikes":
		return pl.scaleFunction()
	case "context":
		return pl.scaleNode()
	case "calls":
		return pl.scaleCall()
	case "new":
		return pl.addFunction()
	case "extract":
		return pl.extract()
	case "rename":
		return pl.rename()
	case "sibling":
		return pl.shift()
	case "inline", "uninline":
		return pl.inline()
	}
	panic("unknown kind of change " + pl.plan.Kind)
}

// ok reports whether a function may be the place of a change: its own noise must
// not be of the kind of the change.
func (pl *planter) ok(fn int) bool {
	return pl.p.own(fn) && pl.p.fns[fn].flip == 0 && !pl.touched[fn]
}

// growths are the relative growths of places that are tried.
var growths = []float64{0.05, 0.1, 0.25, 0.5, 1}

// pick chooses an item whose weight times a common growth is the impact, and
// returns the growth that makes it exact.
func (pl *planter) pick(weights []float64, ok func(i int) bool) (int, float64) {
	for try := range 12 {
		growth := growths[pl.r.IntN(len(growths))]
		tolerance := 1.25 + 0.1*float64(try)
		var fit []int
		for i, w := range weights {
			if q := w * growth / pl.plan.Impact; w > 0 && q < tolerance && 1/q < tolerance && ok(i) {
				fit = append(fit, i)
			}
		}
		if len(fit) > 0 {
			i := fit[pl.r.IntN(len(fit))]
			return i, pl.plan.Impact / weights[i]
		}
	}
	return -1, 0
}

func (pl *planter) name(fn int) string { return pl.p.fns[fn].name }

func (pl *planter) pathTo(n int) {
	if len(pl.t.Paths) < 50 {
		pl.t.Paths = append(pl.t.Paths, pl.p.path(n))
	}
}

func (pl *planter) scaleFunction() bool {
	f, growth := pl.pick(pl.self, func(f int) bool { return pl.ok(f) && !pl.p.fns[f].wrapper })
	if f < 0 {
		return false
	}
	m := 1 + growth
	pl.t.Accepted = []string{pl.name(f)}
	if pl.plan.Kind == "improve" {
		m = 1 - math.Min(0.95, growth)
	}
	for i, n := range pl.p.nodes {
		if n.fn == f {
			pl.e.scale[i] = m
			pl.pathTo(i)
		}
	}
	return true
}

func (pl *planter) scaleNode() bool {
	weights := make([]float64, len(pl.p.nodes))
	contexts := map[int]int{}
	for i, n := range pl.p.nodes {
		weights[i] = n.cost
		if n.cost > 0 {
			contexts[n.fn]++
		}
	}
	i, growth := pl.pick(weights, func(i int) bool {
		n := &pl.p.nodes[i]
		return pl.ok(n.fn) && n.rare == 0 && contexts[n.fn] >= 3 && n.cost < 0.6*pl.self[n.fn]
	})
	if i < 0 {
		return false
	}
	pl.e.scale[i] = 1 + growth
	pl.t.Accepted = []string{pl.name(pl.p.nodes[i].fn)}
	pl.pathTo(i)
	return true
}

// scaleCall makes all that a function does when called by another dearer.
func (pl *planter) scaleCall() bool {
	pairs, members := pl.pairs()
	weights := make([]float64, len(pairs))
	for j, m := range members {
		for _, n := range m {
			weights[j] += pl.sub[n]
		}
	}
	j, growth := pl.pick(weights, func(j int) bool {
		k := pairs[j]
		return k[0] != k[1] && pl.ok(k[0]) && pl.ok(k[1]) && len(pl.p.fns[k[1]].calls) > 0
	})
	if j < 0 {
		return false
	}
	within := make([]bool, len(pl.p.nodes))
	for _, n := range members[j] {
		within[n] = true
		pl.pathTo(n)
	}
	for i, n := range pl.p.nodes {
		if within[i] = within[i] || n.parent >= 0 && within[n.parent]; within[i] {
			pl.e.scale[i] = 1 + growth
		}
	}
	pl.t.Accepted = []string{pl.name(pairs[j][1]), pl.name(pairs[j][0])}
	pl.acceptChain(members[j])
	return true
}

// acceptChain accepts the callees below nodes that have nearly the same total:
// the data cannot distinguish them.
func (pl *planter) acceptChain(nodes []int) {
	for range 6 {
		sum, below := 0.0, map[int][]int{}
		at := map[int]bool{}
		for _, n := range nodes {
			sum += pl.sub[n]
			at[n] = true
		}
		for i, n := range pl.p.nodes {
			if n.parent >= 0 && at[n.parent] {
				below[n.fn] = append(below[n.fn], i)
			}
		}
		next := -1
		for fn, list := range below {
			s := 0.0
			for _, n := range list {
				s += pl.sub[n]
			}
			if s > 0.85*sum {
				next = fn
			}
		}
		if next < 0 {
			return
		}
		pl.t.Accepted = append(pl.t.Accepted, pl.name(next))
		nodes = below[next]
	}
}

// pairs lists the pairs of caller and callee and their nodes.
func (pl *planter) pairs() (pairs [][2]int, members [][]int) {
	at := map[[2]int]int{}
	for i, n := range pl.p.nodes {
		if n.parent <= 0 {
			continue
		}
		k := [2]int{pl.p.nodes[n.parent].fn, n.fn}
		j, ok := at[k]
		if !ok {
			j = len(pairs)
			at[k] = j
			pairs = append(pairs, k)
			members = append(members, nil)
		}
		members[j] = append(members[j], i)
	}
	return pairs, members
}

// addFunction puts a new function with a helper and a library call below one that
// exists.
func (pl *planter) addFunction() bool {
	weights := make([]float64, len(pl.p.fns))
	for i, n := range pl.p.nodes {
		weights[n.fn] += pl.sub[i]
	}
	g, _ := pl.pick(weights, func(f int) bool { return pl.ok(f) && !pl.p.fns[f].wrapper && pl.p.fns[f].module >= 0 })
	if g < 0 {
		return false
	}
	like := pl.p.fns[g]
	like.calls, like.jitter, like.module = nil, 0.05, -1
	like.name = "shop.added.Feature.run"
	feature := pl.p.add(like)
	like.name = "shop.added.Helper.compute"
	helper := pl.p.add(like)
	n := len(pl.p.nodes)
	for i := range n {
		if pl.p.nodes[i].fn != g {
			continue
		}
		cost := pl.plan.Impact * pl.sub[i] / weights[g]
		at := len(pl.p.nodes)
		pl.p.nodes = append(pl.p.nodes, simNode{fn: feature, parent: i}, simNode{fn: helper, parent: at}, simNode{fn: 2, parent: at})
		pl.e.extra[at], pl.e.extra[at+1], pl.e.extra[at+2] = 0.5*cost, 0.3*cost, 0.2*cost
		pl.pathTo(at)
	}
	pl.t.Accepted = []string{pl.name(feature), pl.name(g)}
	return true
}

// extract moves a part of a function into a new callee.
func (pl *planter) extract() bool {
	f, growth := pl.pick(pl.self, func(f int) bool { return pl.ok(f) && !pl.p.fns[f].wrapper })
	if f < 0 {
		return false
	}
	share := math.Min(0.9, growth)
	like := pl.p.fns[f]
	like.name, like.calls = like.name+"Part", nil
	part := pl.p.add(like)
	n := len(pl.p.nodes)
	for i := range n {
		if pl.p.nodes[i].fn == f {
			pl.e.scale[i] = 1 - share
			pl.p.nodes = append(pl.p.nodes, simNode{fn: part, parent: i})
			pl.e.extra[len(pl.p.nodes)-1] = share * pl.p.nodes[i].cost
		}
	}
	return true
}

func (pl *planter) rename() bool {
	f, _ := pl.pick(pl.self, func(f int) bool { return pl.ok(f) && !pl.p.fns[f].wrapper && pl.p.fns[f].module >= 0 })
	if f < 0 {
		return false
	}
	pl.e.renamed[f] = pl.name(f) + "2"
	return true
}

// shift moves work from one callee to another of the same caller.
func (pl *planter) shift() bool {
	children := map[int][]int{}
	for i, n := range pl.p.nodes {
		if n.parent > 0 && pl.ok(n.fn) {
			children[n.parent] = append(children[n.parent], i)
		}
	}
	var from, to []int
	for q := range pl.p.nodes {
		for _, a := range children[q] {
			for _, b := range children[q] {
				if a != b && pl.p.nodes[a].cost > 1.1*pl.plan.Impact && pl.p.nodes[b].cost > 0.2*pl.plan.Impact {
					from, to = append(from, a), append(to, b)
				}
			}
		}
	}
	if len(from) == 0 {
		return false
	}
	i := pl.r.IntN(len(from))
	pl.e.scale[from[i]] = 1 - pl.plan.Impact/pl.p.nodes[from[i]].cost
	pl.e.extra[to[i]] = pl.plan.Impact
	return true
}

// inline makes the compiler decide otherwise about one pair.
func (pl *planter) inline() bool {
	pairs, members := pl.pairs()
	weights := make([]float64, len(pairs))
	for j, m := range members {
		for _, n := range m {
			weights[j] += pl.p.nodes[n].cost
		}
	}
	j, _ := pl.pick(weights, func(j int) bool { return pairs[j][0] != pairs[j][1] && pl.ok(pairs[j][0]) && pl.ok(pairs[j][1]) })
	if j < 0 {
		return false
	}
	if pl.plan.Kind == "inline" {
		pl.e.inlined[pairs[j]] = true
	} else {
		pl.e.uninlined[pairs[j]] = true
	}
	return true
}
