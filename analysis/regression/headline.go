package regression

import (
	"math"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/analysis/own"
	"github.com/dendroprof/dendro/analysis/stat"
	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
)

// Headline names a change in the code that the user can change: the function of the
// user's own that carries it, and what that function calls.
type Headline struct {
	Function string `json:"function"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`  // where the function begins; 0: unknown
	Call     int    `json:"call,omitempty"`  // line of the call, or of its own code, in the newest run; 0: unknown
	Calls    string `json:"calls,omitempty"` // the callee with the change; empty: its own code
	New      bool   `json:"new,omitempty"`   // the function is not in the history
	// Own is false if no function of the user's own is on the path: then Function is the
	// place itself.
	Own bool `json:"own"`

	// score is that of the function with all its callees, or of its callee if that is the
	// user's own too, positive if it changed as the places did: a library's functions may
	// only be called by other names, which compilers decide run by run.
	score float64
}

// carrierShare is the part of a change that one function must carry; otherwise the
// function above all of its places is named.
const carrierShare = 0.6

// ownFunctions tells which functions are the user's own, by function of the table.
func (f *fit) ownFunctions() []bool {
	if f.own == nil {
		f.own = own.Functions(f.space.table, f.nodeMu, f.options.Own)
	}
	return f.own
}

// carrier is a function with a change, and its callee with it (calltree.NoNode: none).
type carrier struct{ node, calls int32 }

// carrierOf returns the innermost own function at or above a node. A new function is
// left for the existing one that calls it: that is where somebody changed the code.
func (f *fit) carrierOf(n int32) (c carrier, ok bool) {
	t, is := f.space.table, f.ownFunctions()
	c = carrier{n, calltree.NoNode}
	for !is[t.Func[c.node]] {
		c = carrier{t.Parent[c.node], c.node}
		if c.node == calltree.NoNode {
			return carrier{n, calltree.NoNode}, false
		}
	}
	for up := t.Parent[c.node]; f.isNew(t.Func[c.node]) && up != calltree.NoNode && is[t.Func[up]]; up = t.Parent[up] {
		c = carrier{up, c.node}
	}
	return c, true
}

// isNew reports whether the history has no sample of a function or its callees.
func (f *fit) isNew(fn int32) bool {
	slot := f.space.at(functionTotal, fn)
	if slot == noRow {
		return false
	}
	sumA, _ := f.sums(slot)
	return sumA == 0
}

// headline names a change with places of one sign, and returns the node of the function.
// Node is the place of the whole.
func (f *fit) headline(places []*place, node int32) (*Headline, int32) {
	t := f.space.table
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
	if !ok || most < carrierShare*sum {
		if above, found := f.carrierOf(node); found {
			best, ok = above, true
		}
	}
	if !ok {
		return f.name(t.Func[node], noRow, false, sign), node
	}
	fn, calls := t.Func[best.node], noRow
	most = 0
	for call, d := range byCall {
		if call[0] == fn && (d > most || d == most && call[1] < calls) {
			most, calls = d, call[1]
		}
	}
	if calls == noRow && best.calls != calltree.NoNode {
		calls = t.Func[best.calls]
	}
	return f.name(fn, calls, true, sign), best.node
}

// name fills a headline with names, the place of the code, and the score of a change of a
// sign.
func (f *fit) name(fn, calls int32, isOwn bool, sign float64) *Headline {
	def := &f.space.table.Functions[fn]
	h := &Headline{Function: def.Name, File: sourceOf(def), Line: int(def.StartLine), New: f.isNew(fn), Own: isOwn}
	h.score = f.scoreOf(fn, sign)
	if calls != noRow {
		h.Calls = f.space.table.Functions[calls].Name
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
	slot := f.space.at(functionTotal, fn)
	switch {
	case slot == noRow || !f.isTested[slot]:
		return 0
	case !f.whole(slot):
		return sign * f.score[slot]
	case f.rate.exact && (len(f.head) == 1 || sign*f.rateScore() < carriedRate):
		return sign * f.rateScore()
	case len(f.head) > 1:
		return stat.MaxScore
	case !f.hasMetric:
		return 0
	}
	_, z := f.metricChange()
	return sign * z
}

// The minimum scores of the user's function, with all its callees, that carries a change in
// code that is not the user's: a probability of 5% for a new path, and for others that the
// function did not change the other way.
const (
	carriedNew  = 1.645
	carriedOld  = 0
	carriedRate = 1 // of the samples per operation of several runs
)

// carried reports whether a change in a library shows in the user's own code. Compilers
// inline a library's functions differently in each run: that makes new paths with any score,
// but the user's function that calls them takes as long as before.
func (f *fit) carried(p *place) bool {
	if f.ownFunctions()[f.space.function(p.slot)] {
		return true
	}
	least := float64(carriedOld)
	if p.isNew() {
		least = carriedNew
	}
	h, _ := f.headline([]*place{p}, p.node)
	return !h.Own || h.score >= least
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
	fn := r.space.table.Func[at]
	f.Headline = h
	if slot := r.space.at(functionTotal, fn); r.rate.exact && !r.isMain(h, fn) && slot != noRow && r.isTested[slot] {
		h.score = math.Min(h.score, math.Copysign(1, d)*r.score[slot])
	}
	if !r.measured(f, fn, d) {
		cost, level := r.net(fn, d), r.levelOf(fn)
		if slot := r.space.at(functionTotal, fn); slot != noRow && r.rate.exact {
			before, now := r.onSides(slot)
			cost, level = r.limited(cost, now-before), before
		}
		f.Delta = r.delta(cost, level, se)
	}
	if r.all > 0 {
		f.Delta.Gross = d / r.all
	}
}

// measured sets the amount of a finding to the change of its function's samples per
// operation, callees included: to all of the program's if the function is nearly all of it,
// or where other findings share it or are below it, to that of the callee called by it. It reports false
// where that tells less than the places: where its interval holds no change, and the change d
// of the places, which the machine's speed does not blur, is as large within its error; and
// where not every tested run shows the change of a callee beside the main one.
func (r *reporter) measured(f *Finding, fn int32, d float64) bool {
	if !r.rate.exact {
		return false
	}
	slot := r.space.at(functionTotal, fn)
	switch {
	case f.Headline.Calls == "":
	case r.carriers[fn] > 1:
		slot = r.edge(fn, f.Headline.Calls)
	case slices.Contains(r.aboveMain, fn):
		edge := r.edge(fn, f.Headline.Calls)
		if edge == noRow {
			break
		}
		if before, now := r.sums(edge); before > 0 && now > 0 { // no other name of one callee
			if slot = edge; !r.lastsAt(edge) {
				return false
			}
		}
	}
	if slot == noRow {
		return false
	}
	before, now := r.onSides(slot)
	if r.isMain(f.Headline, fn) && r.whole(slot) {
		before, now = r.rate.before, r.rate.now
	}
	net, se := now-before, r.rateError(before, now)
	if math.Abs(net) < r.interval()*se && math.Abs(d-net) < se {
		return false
	}
	f.Delta = r.delta(r.withoutMoved(net, before, now), before, se)
	return true
}

// withoutMoved bounds the cost of a function by what the program rose and gains elsewhere make
// up, if the rest of the program surely fell: what moved from there to the function is no cost.
func (r *reporter) withoutMoved(net, before, now float64) float64 {
	most := r.rate.now - r.rate.before
	restBefore, restNow := math.Max(0, r.rate.before-before), math.Max(0, r.rate.now-now)
	if most <= 0 || restBefore-restNow < r.interval()*r.rateError(restBefore, restNow) {
		return net
	}
	for _, p := range r.falls {
		most -= p.d
	}
	return math.Min(net, most)
}

// isMain reports whether a headline is that of the main change.
func (r *reporter) isMain(h *Headline, fn int32) bool { return r.main == call{fn, h.Calls} }

// addUp takes from the main change, which has the change of the program, what other findings are of
// it: costs and gains add up.
func (r *reporter) addUp(list []Finding) {
	others := 0.0
	var main *Finding
	for i := range list {
		f := &list[i]
		if h := f.Headline; main == nil && h != nil && r.main.fn != noRow && f.Delta.Whole() &&
			h.Function == r.space.table.Functions[r.main.fn].Name && h.Calls == r.main.calls {
			main = f
		} else {
			others += f.Delta.Samples
		}
	}
	if main == nil || others == 0 {
		return
	}
	if d := r.rate.now - r.rate.before - others; sameSign(d, main.Delta.Samples) {
		gross := main.Delta.Gross
		main.Delta = r.delta(d, r.rate.before, r.rateError(r.rate.before, r.rate.now))
		main.Delta.Gross = gross
	}
}

// onSides returns the samples of a row in a mean run of the history, and in as many operations
// of the tested runs.
func (r *reporter) onSides(slot int32) (before, now float64) {
	x := r.space.values(slot)
	return r.perOperation(r.rate.operations, func(t int) float64 { return x[t] })
}

// limited bounds a cost by the measured rise in samples per operation: that of its function,
// or of the program if that is larger. If neither rose, the cost stays as it is.
func (r *reporter) limited(cost, rise float64) float64 {
	if most := math.Max(rise, r.rate.now-r.rate.before); most > 0 {
		return math.Min(cost, most)
	}
	return cost
}

// wholeFunction reports whether a function with its callees is nearly all of the program.
func (f *fit) wholeFunction(fn int32) bool {
	slot := f.space.at(functionTotal, fn)
	return slot != noRow && f.whole(slot)
}

// edge returns the total row of a callee called by a function.
func (r *reporter) edge(fn int32, callee string) int32 {
	found := noRow
	for _, n := range r.space.functions[fn] {
		r.children(n, func(c int32) {
			if r.space.table.Functions[r.space.table.Func[c]].Name == callee {
				found = r.space.at(edgeTotal, r.space.edgeOf[c])
			}
		})
	}
	return found
}

// levelOf returns the level of a function with its callees in the history, in samples.
func (r *reporter) levelOf(fn int32) float64 {
	slot := r.space.at(functionTotal, fn)
	if slot == noRow {
		return 0
	}
	return r.mean(slot, r.base)
}

// netError is the standard error of a function's whole change, relative to the change of
// its places, up to which the former is the cost: a function that is most of the program
// has more noise than the change.
const netError = 0.25

// net returns what a change d of some places costs the function that carries them: the
// difference of the function with all its callees, if that is known well enough.
func (r *reporter) net(fn int32, d float64) float64 {
	slot := r.space.at(functionTotal, fn)
	if slot == noRow || !r.isTested[slot] || r.whole(slot) || r.stdErr[slot] > netError*math.Abs(d) || !sameSign(r.diff[slot], d) {
		return d
	}
	return r.diff[slot]
}

// oneCarrier joins changes that one function of the user's own carries, if they are most
// of its cost or of one callee, or if it is the program, whose cost is known. A reader needs
// both together.
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
		fn := r.space.table.Func[node]
		at := slices.IndexFunc(keys, func(k key) bool {
			return k.fn == fn && h.Own
		})
		if at >= 0 && (keys[at].calls == h.Calls || r.levelOf(fn) <= mergeLevel*math.Abs(kept[at].d+c.d) || r.rate.known && r.wholeFunction(fn)) {
			kept[at].node, kept[at].merged = node, true
			kept[at].add(c)
			continue
		}
		kept = append(kept, c)
		keys = append(keys, key{fn, h.Calls})
	}
	return kept
}
