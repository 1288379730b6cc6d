package regression

import (
	"cmp"
	"math"
	"slices"

	"github.com/dendroprof/dendro/analysis/regression/internal/row"
	"github.com/dendroprof/dendro/calltree"
)

// The constants of merging places into changes.
const (
	mergeDown   = 8    // levels from there to the other place
	mergeLevel  = 3    // maximum level of the common place, relative to the rise
	wideLeast   = 4    // minimum number of changes in a widespread one
	besideShare = 0.15 // of a function that only calls a library: what it does beside that
	blocksLeast = 2    // minimum blocks of the own history with findings to set a limit
)

// change is a finding in progress: places with one cause.
type change struct {
	places []*place // the largest first
	node   int32    // the place's node, or the common ancestor of several
	merged bool     // node is above the first place's
	wide   bool     // many changes without a main one
	d, z   float64
}

// single is the change of one place.
func single(p *place) *change { return &change{places: []*place{p}, node: p.node, d: p.d, z: p.z} }

// merge joins rises with one cause, largest first: callers with callees, and close
// places below a common one that rose as much as they did.
func (f *fit) merge(places []*place) []*change {
	free := slices.Clone(places)
	slices.SortStableFunc(free, func(a, b *place) int { return cmp.Or(-cmp.Compare(a.d, b.d), -cmp.Compare(a.z, b.z)) })
	var changes []*change
	for len(free) > 0 {
		c := single(free[0])
		free = free[1:]
		for joined := true; joined; {
			joined = false
			var left []*place
			for _, p := range free {
				if f.join(c, p) {
					joined = true
				} else {
					left = append(left, p)
				}
			}
			free = left
		}
		changes = append(changes, c)
	}
	slices.SortStableFunc(changes, func(a, b *change) int { return cmp.Or(-cmp.Compare(a.z, b.z), -cmp.Compare(a.d, b.d)) })
	for _, c := range changes {
		f.moveUp(c)
	}
	return f.widespread(changes)
}

// add adds the places of another change of the same sign.
func (c *change) add(other *change) {
	c.places = append(c.places, other.places...)
	slices.SortStableFunc(c.places, func(a, b *place) int { return -cmp.Compare(math.Abs(a.d), math.Abs(b.d)) })
	c.d += other.d
	if math.Abs(other.z) > math.Abs(c.z) {
		c.z = other.z
	}
}

// moveUp moves a change up a path that hardly existed before: the outermost of a chain
// of new functions is the one that somebody added to existing code. Pursuit found the
// deepest one that explains the change, because each of them does. For the same reason it
// moves a change in a library up to the user's function that does nothing else.
func (f *fit) moveUp(c *change) {
	t := f.space.Table
	if !f.ownFunctions()[t.Func[c.node]] {
		if at, ok := f.carrierOf(c.node); ok && f.doesOnly(t.Func[at.node], c) {
			c.node, c.merged = at.node, true
		}
	}
	for !f.options.without("new path") {
		up := t.Parent[c.node]
		if up == calltree.NoNode {
			return
		}
		slot := f.space.At(row.NodeTotal, up)
		if !f.isTested[slot] || f.whole(slot) || f.level[slot] >= littleOf*f.diff[slot] || f.diff[slot] < nearlyAll*c.d {
			return
		}
		c.node, c.merged = up, true
	}
}

// doesOnly reports whether the places of a change are nearly all that a function does,
// before and now.
func (f *fit) doesOnly(fn int32, c *change) bool {
	slot := f.space.At(row.FunctionTotal, fn)
	if f.options.without("only caller") || !f.isTested[slot] {
		return false
	}
	mu := 0.0
	for _, p := range c.places {
		mu += p.mu
	}
	before, rise := f.level[slot]-mu, f.diff[slot]-c.d // of the rest
	most := besideShare * (f.level[slot] + f.diff[slot])
	return before <= most && before+rise <= most
}

// join adds a place to a change if both have one cause.
func (f *fit) join(c *change, p *place) bool {
	node, ok := c.node, f.related(c.places[0], p)
	if !ok {
		if node, ok = f.common(c, p); !ok {
			return false
		}
		c.merged = c.merged || node != c.node
	}
	c.node = node
	c.places = append(c.places, p)
	c.d += p.d
	c.z = math.Max(c.z, p.z)
	return true
}

// caller returns the function that calls at a place, or NoNode where the place is
// a function in all contexts or a root.
func (f *fit) caller(p *place) int32 {
	t := f.space.Table
	n := calltree.NoNode
	switch kind, item := f.space.Kind[p.slot], f.space.Item[p.slot]; kind {
	case row.NodeSelf, row.NodeTotal:
		n = item
	case row.EdgeSelf, row.EdgeTotal:
		n = f.space.EdgeNode[item]
	default:
		return n
	}
	if t.Parent[n] == calltree.NoNode {
		return calltree.NoNode
	}
	return t.Func[t.Parent[n]]
}

func (f *fit) related(g, p *place) bool {
	if f.options.without("caller and callee") {
		return false
	}
	fg, fp := f.space.Function(g.slot), f.space.Function(p.slot)
	return fg == fp || f.caller(p) == fg || f.caller(g) == fp
}

// common returns the lowest call node above a change and a place, if it is near and its
// rise is the sum of theirs.
func (f *fit) common(c *change, p *place) (int32, bool) {
	if f.options.without("common caller") {
		return calltree.NoNode, false
	}
	t, sp := f.space.Table, f.space
	a := lowestCommon(t, c.node, p.node)
	if a == calltree.NoNode || t.Depth[c.places[0].node]-t.Depth[a] > nearFrames || t.Depth[p.node]-t.Depth[a] > mergeDown {
		return a, false
	}
	slot := sp.At(row.NodeTotal, a)
	if !f.isTested[slot] || f.whole(slot) {
		return a, false
	}
	sum, rise := c.d+p.d, math.Max(f.diff[slot], f.diff[sp.At(row.FunctionTotal, t.Func[a])])
	return a, f.level[slot] <= mergeLevel*sum && rise >= nearlyAll*sum
}

func lowestCommon(t *calltree.Table, a, b int32) int32 {
	for a != b {
		switch {
		case a == calltree.NoNode || b == calltree.NoNode:
			return calltree.NoNode
		case t.Depth[a] >= t.Depth[b]:
			a = t.Parent[a]
		default:
			b = t.Parent[b]
		}
	}
	return a
}

// widespread replaces many changes without a main one by a single change without a
// place.
func (f *fit) widespread(changes []*change) []*change {
	if f.options.without("widespread") || len(changes) < wideLeast {
		return changes
	}
	sum, largest := 0.0, 0.0
	for _, c := range changes {
		sum += c.d
		largest = math.Max(largest, c.d)
	}
	if largest >= halfOf*sum {
		return changes
	}
	w := &change{wide: true, node: calltree.NoNode, d: sum, z: changes[0].z}
	for _, c := range changes {
		w.places = append(w.places, c.places...)
	}
	return []*change{w}
}
