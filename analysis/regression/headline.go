package regression

import (
	"math"
	"slices"

	"github.com/dendroprof/dendro/analysis/regression/internal/row"
	"github.com/dendroprof/dendro/calltree"
)

// setHeadline stores a headline and the amount of its function: the change d of the
// places, and the net change of the function with all its callees.
func (r *reporter) setHeadline(f *Finding, places []*place, node int32, d, se float64) {
	h, at := r.headline(places, node)
	fn := r.space.Table.Func[at]
	f.Headline = h
	if slot := r.space.At(row.FunctionTotal, fn); r.rate.Exact && !r.isMain(h, fn) && r.isTested[slot] {
		h.score = math.Min(h.score, math.Copysign(1, d)*r.of(slot).z)
	}
	if !r.measured(f, fn, d) {
		cost, level := r.net(fn, d), r.levelOf(fn)
		if r.rate.Exact {
			before, now := r.onSides(r.space.At(row.FunctionTotal, fn))
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
	if !r.rate.Exact {
		return false
	}
	slot := r.space.At(row.FunctionTotal, fn)
	switch {
	case f.Headline.Calls == "":
	case r.carriers[fn] > 1:
		slot = r.edge(fn, f.Headline.Calls)
	case slices.Contains(r.aboveMain, fn):
		edge := r.edge(fn, f.Headline.Calls)
		if before, now := r.sums(edge); before > 0 && now > 0 { // no other name of one callee
			if slot = edge; !r.lastsAt(edge) {
				return false
			}
		}
	}
	if slot == row.None {
		return false
	}
	before, now := r.onSides(slot)
	if r.isMain(f.Headline, fn) && r.whole(slot) {
		before, now = r.rate.Before, r.rate.Now
	}
	net, se := now-before, r.rate.Error(before, now)
	if !r.options.without("surer places") && math.Abs(net) < r.interval()*se && math.Abs(d-net) < se {
		return false
	}
	f.Delta = r.delta(r.withoutMoved(net, before, now), before, se)
	return true
}

// withoutMoved bounds the cost of a function by what the program rose and gains elsewhere make
// up, if the rest of the program surely fell: what moved from there to the function is no cost.
func (r *reporter) withoutMoved(net, before, now float64) float64 {
	most := r.rate.Rise()
	restBefore, restNow := math.Max(0, r.rate.Before-before), math.Max(0, r.rate.Now-now)
	if most <= 0 || restBefore-restNow < r.interval()*r.rate.Error(restBefore, restNow) {
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
		if h := f.Headline; main == nil && h != nil && r.main.fn != calltree.NoNode && f.Delta.Whole() &&
			h.Function == r.space.Table.Functions[r.main.fn].Name && h.Calls == r.main.calls {
			main = f
		} else {
			others += f.Delta.Samples
		}
	}
	if r.options.without("adds up") || main == nil || others == 0 {
		return
	}
	if d := r.rate.Rise() - others; sameSign(d, main.Delta.Samples) {
		gross := main.Delta.Gross
		main.Delta = r.delta(d, r.rate.Before, r.rate.Error(r.rate.Before, r.rate.Now))
		main.Delta.Gross = gross
	}
}

// onSides returns the samples of a row in a mean run of the history, and in as many operations
// of the tested runs.
func (r *reporter) onSides(slot int32) (before, now float64) {
	x := r.space.Values(slot)
	m, of := r.space.Matrix, func(t int) float64 { return x[t] }
	return r.rate.Operations * m.PerOperation(r.base, of), r.rate.Operations * m.PerOperation(r.head, of)
}

// limited bounds a cost by the measured rise in samples per operation: that of its function,
// or of the program if that is larger. If neither rose, the cost stays as it is.
func (r *reporter) limited(cost, rise float64) float64 {
	if r.options.without("bounded cost") {
		return cost
	}
	if most := math.Max(rise, r.rate.Rise()); most > 0 {
		return math.Min(cost, most)
	}
	return cost
}

// wholeFunction reports whether a function with its callees is nearly all of the program.
func (f *fit) wholeFunction(fn int32) bool {
	return f.whole(f.space.At(row.FunctionTotal, fn))
}

// edge returns the total row of a callee called by a function.
func (r *reporter) edge(fn int32, callee string) int32 {
	found := row.None
	for _, n := range r.space.Functions[fn] {
		r.children(n, func(c int32) {
			if r.space.Table.Functions[r.space.Table.Func[c]].Name == callee {
				found = r.space.At(row.EdgeTotal, r.space.EdgeOf[c])
			}
		})
	}
	return found
}

// levelOf returns the level of a function with its callees in the history, in samples.
func (r *reporter) levelOf(fn int32) float64 {
	return r.mean(r.space.At(row.FunctionTotal, fn), r.base)
}

// netError is the standard error of a function's whole change, relative to the change of
// its places, up to which the former is the cost: a function that is most of the program
// has more noise than the change.
const netError = 0.25

// net returns what a change d of some places costs the function that carries them: the
// difference of the function with all its callees, if that is known well enough.
func (r *reporter) net(fn int32, d float64) float64 {
	slot := r.space.At(row.FunctionTotal, fn)
	if r.options.without("net cost") || !r.isTested[slot] || r.whole(slot) ||
		r.of(slot).stdErr > netError*math.Abs(d) || !sameSign(r.diff[slot], d) {
		return d
	}
	return r.diff[slot]
}

// oneCarrier joins changes that one function of the user's own carries, if they are most
// of its cost or of one callee, or if it is the program, whose cost is known. A reader needs
// both together.
func (r *reporter) oneCarrier(changes []*change) []*change {
	var kept []*change
	var keys []call
	for _, c := range changes {
		if r.options.without("one headline") || c.wide {
			return changes
		}
		h, node := r.headline(c.places, c.node)
		fn := r.space.Table.Func[node]
		at := slices.IndexFunc(keys, func(k call) bool { return k.fn == fn && h.Own })
		if at >= 0 && (keys[at].calls == h.Calls || r.levelOf(fn) <= mergeLevel*math.Abs(kept[at].d+c.d) || r.rate.Known && r.wholeFunction(fn)) {
			kept[at].node, kept[at].merged = node, true
			kept[at].add(c)
			continue
		}
		kept = append(kept, c)
		keys = append(keys, call{fn, h.Calls})
	}
	return kept
}
