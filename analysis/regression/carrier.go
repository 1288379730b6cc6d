package regression

import (
	"math"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/analysis/own"
	"github.com/dendroprof/dendro/analysis/regression/internal/row"
	"github.com/dendroprof/dendro/analysis/stat"
	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
)

// ownFunctions tells which functions are the user's own, by function of the table.
func (f *fit) ownFunctions() []bool {
	if f.outer != nil {
		return f.outer.ownFunctions()
	}
	if f.own == nil {
		_, mu := f.nodes()
		f.own = own.Functions(f.space.Table, mu, f.options.Own)
	}
	return f.own
}

// carrier is a function with a change, and its callee with it (calltree.NoNode: none).
type carrier struct{ node, calls int32 }

// carrierOf returns the innermost own function at or above a node. A new function is
// left for the existing one that calls it: that is where somebody changed the code.
func (f *fit) carrierOf(n int32) (c carrier, ok bool) {
	t, is := f.space.Table, f.ownFunctions()
	c = carrier{n, calltree.NoNode}
	for !is[t.Func[c.node]] {
		c = carrier{t.Parent[c.node], c.node}
		if c.node == calltree.NoNode {
			return carrier{n, calltree.NoNode}, false
		}
	}
	if f.options.without("existing headline") {
		return c, true
	}
	for up := t.Parent[c.node]; f.presence(t.Func[c.node]) == New && up != calltree.NoNode && is[t.Func[up]]; up = t.Parent[up] {
		c = carrier{up, c.node}
	}
	return c, true
}

// headline names a change with places of one sign, and returns the node of the function.
// Node is the place of the whole.
func (f *fit) headline(places []*place, node int32) (*Headline, int32) {
	t := f.space.Table
	byFunction := map[int32]float64{}
	byCall := map[[2]int32]float64{} // function, callee (-1: none)
	heaviest := map[int32]carrier{}
	sum, sign := 0.0, math.Copysign(1, places[0].d)
	for _, p := range places {
		for i, root := range p.roots {
			d := math.Abs(p.part[i])
			if !sameSign(p.part[i], p.d) {
				continue
			}
			sum += d
			c, ok := f.carrierOf(root)
			if !ok {
				continue
			}
			fn, callee := t.Func[c.node], int32(-1)
			if c.calls != calltree.NoNode {
				callee = t.Func[c.calls]
			}
			if _, have := byFunction[fn]; !have {
				heaviest[fn] = c
			}
			byFunction[fn] += d
			byCall[[2]int32{fn, callee}] += d
		}
	}
	best, ok := carrier{}, false
	most := 0.0
	for fn, d := range byFunction {
		if d > most || d == most && ok && fn < t.Func[best.node] {
			best, most, ok = heaviest[fn], d, true
		}
	}
	if !ok || most < mostOf*sum {
		if above, found := f.carrierOf(node); found {
			best, ok = above, true
		}
	}
	if !ok {
		return f.name(t.Func[node], calltree.NoNode, false, sign), node
	}
	fn, calls := t.Func[best.node], calltree.NoNode
	most = 0
	for call, d := range byCall {
		if call[0] == fn && (d > most || d == most && call[1] < calls) {
			most, calls = d, call[1]
		}
	}
	if calls == calltree.NoNode && best.calls != calltree.NoNode {
		calls = t.Func[best.calls]
	}
	return f.name(fn, calls, true, sign), best.node
}

// name fills a headline with names, the place of the code, and the score of a change of a
// sign.
func (f *fit) name(fn, calls int32, isOwn bool, sign float64) *Headline {
	def := &f.space.Table.Functions[fn]
	h := &Headline{Function: def.Name, File: sourceOf(def), Line: int(def.StartLine), New: f.presence(fn) == New, Own: isOwn}
	h.score = f.scoreOf(fn, sign)
	if calls != calltree.NoNode {
		h.Calls = f.space.Table.Functions[calls].Name
		if f.ownFunctions()[calls] {
			h.score = math.Max(h.score, f.scoreOf(calls, sign))
		}
	}
	return h
}

// scoreOf returns the score of a change of a function with its callees, positive if it has
// the sign. The share of one that is
// nearly all of the program tells nothing: a single run must show it in the metric.
func (f *fit) scoreOf(fn int32, sign float64) float64 {
	slot := f.space.At(row.FunctionTotal, fn)
	switch {
	case !f.isTested[slot]:
		return 0
	case !f.whole(slot):
		return sign * f.of(slot).z
	case f.rate.Exact && (len(f.head) == 1 || sign*f.rate.Score() < carriedRate):
		return sign * f.rate.Score()
	case len(f.head) > 1:
		return stat.MaxScore
	case !f.hasMetric:
		return 0
	}
	_, z := f.metricChange()
	return sign * z
}

// carriedRate is the minimum score of the samples per operation of several runs.
const carriedRate = 1

// carried reports whether a change in a library shows in the user's own code. Compilers
// inline a library's functions differently in each run: that makes new paths with any score,
// but the user's function that calls them takes as long as before. Between releases, one whose noise is larger
// than its part of the change may have any score: it must contradict that part.
func (f *fit) carried(p *place) bool {
	if f.options.without("library carried") || f.ownFunctions()[f.space.Function(p.slot)] {
		return true
	}
	h, at := f.headline([]*place{p}, p.node)
	switch {
	case !h.Own:
		return true
	case p.isNew():
		return h.score >= scoreOf95
	case h.score >= 0 || !f.countless():
		return h.score >= 0
	}
	slot, part := f.space.At(row.FunctionTotal, f.space.Table.Func[at]), 0.0
	for i, root := range p.roots {
		if f.space.RootOf(slot, root) != calltree.NoNode {
			part += p.part[i]
		}
	}
	return !f.flat(slot, part, -likely)
}

// sourceOf returns the file of a function. Profiles of Java have none: it is that of the
// outermost class by convention.
func sourceOf(f *profile.Function) string {
	if f.File != "" || f.Kind != profile.KindJava || strings.Contains(f.Name, "/") {
		return f.File
	}
	elements := strings.Split(f.Name, ".")
	at := slices.IndexFunc(elements, func(e string) bool { return e != "" && e[0] >= 'A' && e[0] <= 'Z' })
	if at < 0 || at == len(elements)-1 {
		return ""
	}
	class, _, _ := strings.Cut(elements[at], "$")
	return strings.Join(append(elements[:at:at], class+".java"), "/")
}
