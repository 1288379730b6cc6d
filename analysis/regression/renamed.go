package regression

import (
	"math"
	"slices"

	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/analysis/regression/internal/row"
	"github.com/dendroprof/dendro/calltree"
)

// renamedNote begins the notes of renamed functions.
const renamedNote = "renamed "

// known returns which functions were renamed, or inlined into a caller.
func (v *verdict) known() (k history.Known) {
	t := v.space.Table
	name := func(fn int32) string { return t.Functions[fn].Name }
	for _, p := range v.moved {
		if p.d <= 0 {
			continue
		}
		if from, to, ok := v.renamedAbove(p.node); ok {
			r := history.Rename{Base: name(t.Func[from]), Head: name(t.Func[to])}
			if !slices.Contains(k.Renamed, r) {
				k.Renamed = append(k.Renamed, r)
			}
		} else if callee, ok := v.inlined(p); ok && v.expected(v.space.At(row.FunctionTotal, callee)) >= leastSamples {
			in := history.Inline{Caller: name(v.space.Function(p.slot)), Callee: name(callee)}
			if !slices.Contains(k.Inlined, in) {
				k.Inlined = append(k.Inlined, in)
			}
		}
	}
	return k
}

// inlined returns the function whose work a rise took, if it vanished and the rise's function
// called it.
func (f *fit) inlined(rise *place) (callee int32, ok bool) {
	slot := rise.from
	if rise.with != nil {
		slot = rise.with.slot
	}
	if slot == row.None {
		return calltree.NoNode, false
	}
	t, callee := f.space.Table, f.space.Function(slot)
	called := slices.ContainsFunc(f.space.Functions[callee], func(n int32) bool {
		return t.Parent[n] != calltree.NoNode && t.Func[t.Parent[n]] == f.space.Function(rise.slot)
	})
	return callee, called && f.presence(callee) == Vanished
}

// expected returns how many samples of a row the tested runs have if nothing changed.
func (f *fit) expected(slot int32) float64 {
	before, _ := f.sums(slot)
	return before * f.headFactors / f.baseFactors
}

// presence tells whether a function, in all contexts, is on one side only.
func (f *fit) presence(fn int32) Presence {
	switch sumA, sumB := f.sums(f.space.At(row.FunctionTotal, fn)); {
	case sumA == 0 && sumB > 0:
		return New
	case sumB == 0 && sumA > 0:
		return Vanished
	}
	return ""
}

// renamedAbove returns the outermost new function on the path to a node, and the function
// that its caller called before instead: that vanished, and took as much.
func (f *fit) renamedAbove(n int32) (from, to int32, ok bool) {
	t := f.space.Table
	for to = calltree.NoNode; n != calltree.NoNode; n = t.Parent[n] {
		if f.presence(t.Func[n]) == New {
			to = n
		}
	}
	if to == calltree.NoNode || t.Parent[to] == calltree.NoNode {
		return 0, 0, false
	}
	slot, gap := f.space.At(row.NodeTotal, to), math.Inf(1)
	f.children(t.Parent[to], func(c int32) {
		old := f.space.At(row.NodeTotal, c)
		if slot == row.None || old == row.None || f.presence(t.Func[c]) != Vanished ||
			t.Functions[t.Func[c]].Package() != t.Functions[t.Func[to]].Package() || !f.surelyGone(t.Func[c], t.Func[to]) {
			return
		}
		g := math.Abs(f.diff[slot] + f.diff[old])
		if g < gap && g <= f.tolerance(slot, old, f.diff[slot]) {
			from, gap, ok = c, g, true
		}
	})
	return from, to, ok
}

// surelyGone reports whether chance hardly explains that one function has no sample in the
// tested runs, and the other none in the history.
func (f *fit) surelyGone(vanished, appeared int32) bool {
	_, now := f.sums(f.space.At(row.FunctionTotal, appeared))
	return f.expected(f.space.At(row.FunctionTotal, vanished)) >= leastSamples && now*f.baseFactors/f.headFactors >= leastSamples
}
