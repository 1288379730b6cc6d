package diff

import (
	"math"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
)

// Inline is a function that vanished and whose work its caller does itself.
type Inline struct{ Callee, Caller profile.Function }

// Inlined finds functions that a compiler inlined, as the values are compared: they have no
// samples on the head side, and the self value of the caller rose by theirs, within 30% of it
// or the sampling noise. What vanished functions call among themselves is their caller's. A
// profiler that records inlined frames has no such functions.
//
// Code that was moved into its caller by hand looks the same.
func (d *Diff) Inlined() []Inline {
	m := d.newRenamer()
	type caller struct {
		callee int64 // self of the vanished functions, on the base side
		self   Pair
		gone   []int32 // functions
		nodes  map[int32]bool
		has    map[int32]bool // those in gone
	}
	callers := map[int32]*caller{}
	for n := range int32(d.Len()) {
		if !m.gone[d.Func[n]] {
			continue
		}
		at := d.Parent[n]
		for at != calltree.NoNode && m.gone[d.Func[at]] {
			at = d.Parent[at]
		}
		if at == calltree.NoNode || d.Head.Total[at] == 0 {
			continue
		}
		c := callers[d.Func[at]]
		if c == nil {
			c = &caller{nodes: map[int32]bool{}, has: map[int32]bool{}}
			callers[d.Func[at]] = c
		}
		c.callee += d.Base.Self[n]
		if !c.has[d.Func[n]] {
			c.has[d.Func[n]] = true
			c.gone = append(c.gone, d.Func[n])
		}
		if !c.nodes[at] {
			c.nodes[at] = true
			c.self.Base += d.Base.Self[at]
			c.self.Head += d.Head.Self[at]
		}
	}
	var list []Inline
	for fn := range int32(len(d.Functions)) {
		c := callers[fn]
		if c == nil || c.callee == 0 || !m.enough(Pair{Base: c.callee}) || d.Delta(c.self) <= d.Noise(c.self) {
			continue
		}
		both := Pair{c.self.Base + c.callee, c.self.Head}
		if math.Abs(d.Delta(both)) > max(renameChange*d.Larger(Pair{Base: c.callee}), d.Noise(both)) {
			continue
		}
		for _, callee := range c.gone {
			list = append(list, Inline{Callee: d.Functions[callee], Caller: d.Functions[fn]})
		}
	}
	return list
}
