package transfer

import (
	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/store"
)

// vector codes self values over a table or forest of n nodes.
func (c *coder) vector(v *calltree.Vector, n int) {
	c.indexes(&v.Nodes, n)
	if column(c, &v.Self); len(v.Self) != len(v.Nodes) {
		c.fail("%d values of %d nodes", len(v.Self), len(v.Nodes))
	}
}

// modes codes the parts of a vector by compile mode.
func (c *coder) modes(v *[]store.ModeVector, n int) {
	size := c.count(len(*v))
	if c.reading {
		*v = nil
	}
	for i := 0; i < size && c.err == nil; i++ {
		if c.reading {
			*v = append(*v, store.ModeVector{})
		}
		code(c, &(*v)[i].Mode)
		c.vector(&(*v)[i].Vector, n)
	}
}

// table codes a table as its functions, and the functions and depths of its rows, which
// are in depth-first order: parents and ends follow from that.
func (c *coder) table(t *calltree.Table) {
	code(c, &t.Functions)
	c.funcs(&t.Func, len(t.Functions))
	column(c, &t.Depth)
	if !c.reading || c.err != nil {
		return
	}
	if len(t.Depth) != len(t.Func) {
		c.fail("%d depths of %d nodes", len(t.Depth), len(t.Func))
		return
	}
	t.Parent, t.End = make([]int32, len(t.Func)), make([]int32, len(t.Func))
	var open []int32 // the path to the current row
	for n, d := range t.Depth {
		if d < 0 || int(d) > len(open) {
			c.fail("node %d at depth %d below one at %d", n, d, len(open)-1)
			return
		}
		for _, closed := range open[d:] {
			t.End[closed] = int32(n)
		}
		t.Parent[n] = calltree.NoNode
		if d > 0 {
			t.Parent[n] = open[d-1]
		}
		open = append(open[:d], int32(n))
	}
	for _, n := range open {
		t.End[n] = int32(len(t.Func))
	}
	if err := t.Check(); err != nil {
		c.fail("%v", err)
	}
}

// funcs codes the functions of rows, which do not ascend as other indexes do.
func (c *coder) funcs(v *[]int32, limit int) {
	column(c, v)
	if !c.reading {
		return
	}
	for _, fn := range *v {
		if fn < 0 || int(fn) >= limit {
			c.fail("function %d of %d", fn, limit)
			return
		}
	}
}
