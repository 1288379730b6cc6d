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
