package calltree

import (
	"cmp"
	"slices"

	"github.com/dendroprof/dendro/profile"
)

// overlayAll adds up the trees of one side of a diff, two at a time. Functions
// are united by the rules of matchFunctions, unlike in Merge, which knows them
// by name alone.
func overlayAll(trees []*Tree) *Tree {
	trees = slices.Clone(trees)
	for len(trees) > 1 {
		half := trees[:0]
		for i := 0; i < len(trees); i += 2 {
			if i+1 == len(trees) {
				half = append(half, trees[i])
				break
			}
			half = append(half, addTrees(trees[i], trees[i+1]))
		}
		trees = half
	}
	return trees[0]
}

func addTrees(a, b *Tree) *Tree {
	functions, fa, fb := matchFunctions(a.Functions, b.Functions)
	table, ra, rb := overlay(a.Table, b.Table, fa, fb, functions)
	self := gather(a.Self, ra)
	for i, n := range rb {
		if n != NoNode {
			self[i] += b.Self[n]
		}
	}
	return NewTree(table, mergeTypes(a.Type, b.Type), self)
}

// overlay lays two tables over each other: the result has every path of both.
// Functions are the result's; fa and fb give the functions of a and b their
// places in it. Ra and rb hold, for each row of the result, the row of a and of b
// that is the same path, or NoNode.
//
// It costs one visit per row and a sort of each list of siblings that the new
// order of functions puts out of order. Where one side is alone and its functions
// keep their order, whole subtrees are copied.
func overlay(a, b *Table, fa, fb []int32, functions []profile.Function) (t *Table, ra, rb []int32) {
	l := &overlayer{
		side: [2]overlaySide{{Table: a, fn: fa, sorted: slices.IsSorted(fa)}, {Table: b, fn: fb, sorted: slices.IsSorted(fb)}},
	}
	room := a.Len() + b.Len()
	cols := make([]int32, 6*room)
	col := func(i int) []int32 { return cols[i*room : i*room : (i+1)*room] }
	l.t = &Table{Functions: functions, Parent: col(0), Func: col(1), Depth: col(2)}
	l.row = [2][]int32{col(3), col(4)}
	l.pushChildren(NoNode, NoNode, NoNode, 0)
	for len(l.open) > 0 {
		p := l.open[len(l.open)-1]
		l.open = l.open[:len(l.open)-1]
		l.visit(p)
	}
	l.t.End = col(5)[:len(l.t.Parent)]
	subtreeEnds(l.t)
	return l.t, l.row[0], l.row[1]
}

// overlaySide is one of the two tables.
type overlaySide struct {
	*Table
	fn     []int32 // of each function, its place in the result
	sorted bool    // whether the functions keep their order
}

// overlaid is a pair of nodes of one path that waits for its row.
type overlaid struct {
	node   [2]int32 // in each side, or NoNode
	fn     int32    // in the result
	parent int32    // row in the result
	depth  int32
}

type overlayer struct {
	side [2]overlaySide
	t    *Table
	row  [2][]int32
	open []overlaid

	children [2][]sibling // of the node being visited; reused
}

type sibling struct{ fn, node int32 }

// visit gives p its row and queues its children.
func (l *overlayer) visit(p overlaid) {
	if p.node[1] == NoNode && l.side[0].sorted {
		l.copySubtree(0, p)
		return
	}
	if p.node[0] == NoNode && l.side[1].sorted {
		l.copySubtree(1, p)
		return
	}
	row := int32(len(l.t.Parent))
	l.t.Parent = append(l.t.Parent, p.parent)
	l.t.Func = append(l.t.Func, p.fn)
	l.t.Depth = append(l.t.Depth, p.depth)
	l.row[0] = append(l.row[0], p.node[0])
	l.row[1] = append(l.row[1], p.node[1])
	l.pushChildren(p.node[0], p.node[1], row, p.depth+1)
}

// pushChildren queues the children of two nodes of one path, united by function,
// so that the first comes off first. With parent NoNode they are the roots.
func (l *overlayer) pushChildren(a, b, parent, depth int32) {
	l.collect(0, a, parent == NoNode)
	l.collect(1, b, parent == NoNode)
	x, y := l.children[0], l.children[1]
	for len(x) > 0 || len(y) > 0 { // from the last
		p := overlaid{node: [2]int32{NoNode, NoNode}, fn: -1, parent: parent, depth: depth}
		if len(x) > 0 {
			p.fn = x[len(x)-1].fn
		}
		if len(y) > 0 {
			p.fn = max(p.fn, y[len(y)-1].fn)
		}
		if len(x) > 0 && x[len(x)-1].fn == p.fn {
			p.node[0] = x[len(x)-1].node
			x = x[:len(x)-1]
		}
		if len(y) > 0 && y[len(y)-1].fn == p.fn {
			p.node[1] = y[len(y)-1].node
			y = y[:len(y)-1]
		}
		l.open = append(l.open, p)
	}
}

// collect lists the children of a node of one side (of NoNode: the roots, or
// nothing) by function of the result.
func (l *overlayer) collect(s int, n int32, roots bool) {
	side, list := &l.side[s], l.children[s][:0]
	c, end := n+1, int32(0)
	if n != NoNode {
		end = side.End[n]
	} else if roots {
		end = int32(side.Len())
	}
	sorted := true
	for ; c < end; c = side.End[c] {
		fn := side.fn[side.Func[c]]
		sorted = sorted && (len(list) == 0 || list[len(list)-1].fn < fn)
		list = append(list, sibling{fn, c})
	}
	if !sorted {
		slices.SortFunc(list, func(a, b sibling) int { return cmp.Compare(a.fn, b.fn) })
	}
	l.children[s] = list
}

// copySubtree appends the subtree of p, which only side s has and whose order
// the result keeps.
func (l *overlayer) copySubtree(s int, p overlaid) {
	side, first := &l.side[s], p.node[s]
	row := int32(len(l.t.Parent))
	for n := first; n < side.End[first]; n++ {
		l.t.Parent = append(l.t.Parent, side.Parent[n]-first+row)
		l.t.Func = append(l.t.Func, side.fn[side.Func[n]])
		l.t.Depth = append(l.t.Depth, side.Depth[n])
		l.row[s] = append(l.row[s], n)
		l.row[1-s] = append(l.row[1-s], NoNode)
	}
	l.t.Parent[row] = p.parent
}

// subtreeEnds fills the End column, which must be zero, from the others.
func subtreeEnds(t *Table) {
	for n := t.Len() - 1; n >= 0; n-- {
		if t.End[n] == 0 {
			t.End[n] = int32(n) + 1
		}
		if up := t.Parent[n]; up != NoNode && t.End[up] == 0 {
			t.End[up] = t.End[n] // the last child ends where its parent does
		}
	}
}

// withCategories gives the nodes of an overlay the categories of the sides. Where
// these disagree on a node it gets what a node gets whose stacks disagree.
func withCategories(t *Table, side [2]*Table, row [2][]int32) *Table {
	if side[0].Category == nil && side[1].Category == nil {
		return t
	}
	ids := map[profile.Category]profile.CategoryID{{}: 0}
	t.Categories = []profile.Category{{}}
	var own [2][]profile.CategoryID // of each category of a side: the one of the overlay
	for s := range side {
		for _, c := range side[s].Categories {
			id, ok := ids[c]
			if !ok {
				id = profile.CategoryID(len(t.Categories))
				ids[c] = id
				t.Categories = append(t.Categories, c)
			}
			own[s] = append(own[s], id)
		}
	}
	kinds := newCategories(t.Categories)
	t.Category = make([]profile.CategoryID, t.Len())
	for s := range side {
		if side[s].Category == nil {
			continue
		}
		for n, at := range row[s] {
			if at == NoNode {
				continue
			}
			c := own[s][side[s].Category[at]]
			if s == 1 && row[0][n] != NoNode && side[0].Category != nil && kinds != nil {
				c = kinds.unite(t.Category[n], c)
			}
			t.Category[n] = c
		}
	}
	return t
}
