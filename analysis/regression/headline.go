package regression

import (
	"math"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/analysis/own"
	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/stat"
	"github.com/dendroprof/dendro/profile"
)

// Headline names a change in the code that the user can change: the function of the
// user's own that carries it, and what that function calls.
type Headline struct {
	Function string `json:"function"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`  // where the function begins; 0: unknown
	Calls    string `json:"calls,omitempty"` // the callee with the change; empty: its own code
	New      bool   `json:"new,omitempty"`   // the function is not in the history
	// Own is false if no function of the user's own is on the path: then Function is the
	// place itself.
	Own bool `json:"own"`

	// score is that of the function with all its callees, or of its callee if that is the
	// user's own too: a library's functions may only be called by other names, which
	// compilers decide run by run.
	score float64
}

// carrierShare is the part of a change that one function must carry; otherwise the
// function above all of its places is named.
const carrierShare = 0.6

// ownFunctions tells which functions are the user's own, by function of the table.
func (r *reporter) ownFunctions() []bool {
	if r.own == nil {
		r.own = own.Functions(r.sp.t, r.nodeMu, r.o.Own)
	}
	return r.own
}

// carrier is a function with a change, and its callee with it (calltree.NoNode: none).
type carrier struct{ node, calls int32 }

// carrierOf returns the innermost own function at or above a node. A new function is
// left for the existing one that calls it: that is where somebody changed the code.
func (r *reporter) carrierOf(n int32) (c carrier, ok bool) {
	t, is := r.sp.t, r.ownFunctions()
	c = carrier{n, calltree.NoNode}
	for !is[t.Func[c.node]] {
		c = carrier{t.Parent[c.node], c.node}
		if c.node == calltree.NoNode {
			return carrier{n, calltree.NoNode}, false
		}
	}
	for up := t.Parent[c.node]; r.isNew(t.Func[c.node]) && up != calltree.NoNode && is[t.Func[up]]; up = t.Parent[up] {
		c = carrier{up, c.node}
	}
	return c, true
}

// isNew reports whether the history has no sample of a function or its callees.
func (r *reporter) isNew(fn int32) bool {
	slot := r.sp.at(functionTotal, fn)
	if slot == noRow {
		return false
	}
	sumA, _ := r.sums(slot)
	return sumA == 0
}

// headline names a change with places of one sign, and returns the node of the function.
// Node is the place of the whole.
func (r *reporter) headline(places []*place, node int32) (*Headline, int32) {
	t := r.sp.t
	byFunction := map[int32]float64{}
	byCall := map[[2]int32]float64{} // function, callee (-1: none)
	heaviest := map[int32]carrier{}
	sum := 0.0
	for _, p := range places {
		for i, root := range p.roots {
			d := math.Abs(p.part[i])
			if !sameSign(p.part[i], p.d) {
				continue
			}
			sum += d
			c, ok := r.carrierOf(root)
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
	if !ok || most < carrierShare*sum {
		if above, found := r.carrierOf(node); found {
			best, ok = above, true
		}
	}
	if !ok {
		return r.name(t.Func[node], noRow, false), node
	}
	fn, calls := t.Func[best.node], noRow
	most = 0
	for call, d := range byCall {
		if call[0] == fn && (d > most || d == most && call[1] < calls) {
			most, calls = d, call[1]
		}
	}
	if calls == noRow {
		calls = r.risingCallee(fn, places)
	}
	if calls == noRow && best.calls != calltree.NoNode {
		calls = t.Func[best.calls]
	}
	return r.name(fn, calls, true), best.node
}

// risingCallee returns the callee of a function that has most of the change of its
// places, or noRow.
func (r *reporter) risingCallee(fn int32, places []*place) int32 {
	t := r.sp.t
	sums := map[int32]float64{}
	whole := 0.0
	for _, p := range places {
		whole += p.d
		if !r.sp.kind[p.slot].total() {
			continue
		}
		for _, root := range p.roots {
			if t.Func[root] != fn {
				continue
			}
			r.children(root, func(c int32) {
				for n := c; n < t.End[c]; n++ {
					sums[t.Func[c]] += r.nodeD[n]
				}
			})
		}
	}
	best := noRow
	for callee, d := range sums {
		if callee != fn && d/whole >= carrierShare && (best == noRow || math.Abs(d) > math.Abs(sums[best]) || d == sums[best] && callee < best) {
			best = callee
		}
	}
	return best
}

// name fills a headline with names and the place of the code.
func (r *reporter) name(fn, calls int32, isOwn bool) *Headline {
	f := &r.sp.t.Functions[fn]
	h := &Headline{Function: f.Name, File: sourceOf(f), Line: int(f.StartLine), New: r.isNew(fn), Own: isOwn}
	h.score = r.scoreOf(fn)
	if calls != noRow {
		h.Calls = r.sp.t.Functions[calls].Name
		if r.ownFunctions()[calls] {
			h.score = math.Max(h.score, r.scoreOf(calls))
		}
	}
	return h
}

// scoreOf returns the score of a function with its callees. The share of one that is
// nearly all of the program tells nothing: a single run must show it in the metric.
func (r *reporter) scoreOf(fn int32) float64 {
	slot := r.sp.at(functionTotal, fn)
	switch {
	case slot == noRow || !r.isTested[slot]:
		return 0
	case !r.whole(slot):
		return r.z[slot]
	case len(r.b) > 1:
		return stat.MaxScore
	case !r.hasMetric:
		return 0
	}
	_, z := r.outside(func(t int) float64 { return math.Log(r.run(t).Metric) }, metricFloor)
	return z
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

// setHeadline stores a headline and the amount of its function: the change d of the
// places, and the net change of the function with all its callees.
func (r *reporter) setHeadline(f *Finding, places []*place, node int32, d, se float64) {
	h, at := r.headline(places, node)
	fn := r.sp.t.Func[at]
	f.Headline = h
	net := r.net(fn, d)
	f.Delta = r.delta(net, r.levelOf(fn), se)
	if r.all > 0 {
		f.Delta.Gross = d / r.all
	}
}

// levelOf returns the level of a function with its callees in the history, in samples.
func (r *reporter) levelOf(fn int32) float64 {
	slot := r.sp.at(functionTotal, fn)
	if slot == noRow {
		return 0
	}
	mu, x := 0.0, r.sp.values(slot)
	for _, t := range r.a {
		mu += x[t] / r.s[t] / r.n
	}
	return mu
}

// netError is the standard error of a function's whole change, relative to the change of
// its places, up to which the former is the cost: a function that is most of the program
// has more noise than the change.
const netError = 0.25

// net returns what a change d of some places costs the function that carries them: the
// difference of the function with all its callees, if that is known well enough.
func (r *reporter) net(fn int32, d float64) float64 {
	slot := r.sp.at(functionTotal, fn)
	if slot == noRow || !r.isTested[slot] || r.whole(slot) || r.se[slot] > netError*math.Abs(d) || !sameSign(r.d[slot], d) {
		return d
	}
	return r.d[slot]
}

// oneCarrier joins changes that one function of the user's own carries, if they are most
// of its cost or of one callee. A reader needs both together.
func (r *reporter) oneCarrier(changes []*change) []*change {
	type key struct {
		fn    int32
		calls string
	}
	var kept []*change
	var keys []key
	for _, c := range changes {
		if c.wide {
			return changes
		}
		h, node := r.headline(c.places, c.node)
		fn := r.sp.t.Func[node]
		at := slices.IndexFunc(keys, func(k key) bool {
			return k.fn == fn && h.Own
		})
		if at >= 0 && (keys[at].calls == h.Calls || r.levelOf(fn) <= mergeLevel*(kept[at].d+c.d)) {
			kept[at].node, kept[at].merged = node, true
			kept[at].add(c)
			continue
		}
		kept = append(kept, c)
		keys = append(keys, key{fn, h.Calls})
	}
	return kept
}
