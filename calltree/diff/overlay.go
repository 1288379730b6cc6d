package diff

import (
	"cmp"
	"slices"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/calltree/internal/ranges"
	"github.com/dendroprof/dendro/internal/intern"
	"github.com/dendroprof/dendro/profile"
)

// overlayAll adds the trees of one side of a diff, two by two. Functions are the same
// by the rules of matchFunctions, unlike in Merge, which compares names only.
func overlayAll(trees []*calltree.Tree) *calltree.Tree {
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

func addTrees(a, b *calltree.Tree) *calltree.Tree {
	functions, fa, fb, _ := matchFunctions(a.Functions, b.Functions)
	table, ra, rb := overlay(a.Table, b.Table, fa, fb, functions)
	self := calltree.Gather(a.Self, ra)
	for i, n := range rb {
		if n != calltree.NoNode {
			self[i] += b.Self[n]
		}
	}
	return calltree.NewTree(table, calltree.MergeTypes(a.Type, b.Type), self)
}

// overlay returns a table with every path of two tables. Functions are those of the
// result; fa and fb are the positions of the functions of a and b in it. Ra and rb
// are, for each row of the result, the row of a and of b with the same path, or
// calltree.NoNode.
//
// It costs one visit per row and a sort of each list of siblings whose order changes.
// Subtrees of one side only are copied as a whole if its functions keep their order.
//
// Large tables are laid on several cores: the rows are divided into chunks, whose
// rows are laid with gaps between the cores and then moved together.
func overlay(a, b *calltree.Table, fa, fb []int32, functions []profile.Function) (t *calltree.Table, ra, rb []int32) {
	room := a.Len() + b.Len()
	cols := make([]int32, 6*room)
	col := func(i int) []int32 { return cols[i*room : (i+1)*room : (i+1)*room] }
	l := overlayer{
		side: [2]overlaySide{{Table: a, fn: fa, sorted: slices.IsSorted(fa)}, {Table: b, fn: fb, sorted: slices.IsSorted(fb)}},
		t:    &calltree.Table{Functions: functions, Parent: col(0), Func: col(1), Depth: col(2), End: col(3)},
		row:  [2][]int32{col(4), col(5)},
	}
	cores := len(ranges.Parts(room))
	list := l.chunks(cores)
	shares := assign(list, cores)
	ranges.Each(shares, func(_ int, p ranges.Part) {
		core := overlayer{side: l.side, t: l.t, row: l.row}
		core.layAll(list[p.Lo:p.Hi])
	})
	n := l.join(list, shares)
	t = &calltree.Table{Functions: functions, Parent: l.t.Parent[:n], Func: l.t.Func[:n], Depth: l.t.Depth[:n], End: l.t.End[:n]}
	return t, l.row[0][:n], l.row[1][:n]
}

// overlaySide is one of the two tables.
type overlaySide struct {
	*calltree.Table
	fn     []int32 // of each function: its position in the result
	sorted bool    // the functions keep their order
}

// overlaid is a pair of nodes of one path whose row is not written yet.
type overlaid struct {
	node   [2]int32 // in each side, or calltree.NoNode
	fn     int32    // in the result
	parent int32    // row in the result
	depth  int32
}

// overlayer fills the columns of the result, which have room for the rows of both
// sides.
type overlayer struct {
	side [2]overlaySide
	t    *calltree.Table
	row  [2][]int32
	n    int32 // rows filled
	open []overlaid

	children [2][]sibling // of the node being visited; reused
}

type sibling struct{ fn, node int32 }

// visit writes the row of p, and of its descendants down to where the path branches;
// there it queues the children. Most nodes have one child and need no queue.
func (l *overlayer) visit(p overlaid) {
	for {
		if p.node[1] == calltree.NoNode && l.side[0].sorted {
			l.copySubtree(0, p)
			return
		}
		if p.node[0] == calltree.NoNode && l.side[1].sorted {
			l.copySubtree(1, p)
			return
		}
		row := l.put(p)
		a, b := l.side[0].onlyChild(p.node[0]), l.side[1].onlyChild(p.node[1])
		if a == calltree.NoNode && b == calltree.NoNode {
			return
		}
		next := overlaid{node: [2]int32{a, b}, parent: row, depth: p.depth + 1}
		switch {
		case a == several || b == several:
			l.pushChildren(p.node[0], p.node[1], row, p.depth+1)
			return
		case a == calltree.NoNode:
			next.fn = l.side[1].function(b)
		case b == calltree.NoNode:
			next.fn = l.side[0].function(a)
		default:
			if next.fn = l.side[0].function(a); next.fn != l.side[1].function(b) {
				l.pushChildren(p.node[0], p.node[1], row, p.depth+1)
				return
			}
		}
		p = next
	}
}

// put writes the next row.
func (l *overlayer) put(p overlaid) int32 {
	row := l.n
	l.n++
	l.t.Parent[row], l.t.Func[row], l.t.Depth[row] = p.parent, p.fn, p.depth
	l.row[0][row], l.row[1][row] = p.node[0], p.node[1]
	return row
}

// several stands for more than one child.
const several = int32(-2)

// onlyChild returns the only child of node n, calltree.NoNode if it has none or n is calltree.NoNode, or
// several.
func (s *overlaySide) onlyChild(n int32) int32 {
	if n == calltree.NoNode || s.End[n] == n+1 {
		return calltree.NoNode
	}
	if s.End[n+1] != s.End[n] {
		return several
	}
	return n + 1
}

// function returns the function of a node in the result.
func (s *overlaySide) function(n int32) int32 { return s.fn[s.Func[n]] }

// pushChildren queues the children of two nodes of one path, matched by function, so
// that the first is taken first. With parent calltree.NoNode these are the roots.
func (l *overlayer) pushChildren(a, b, parent, depth int32) {
	l.collect(0, a, parent == calltree.NoNode)
	l.collect(1, b, parent == calltree.NoNode)
	x, y := l.children[0], l.children[1]
	for len(x) > 0 || len(y) > 0 { // from the last
		p := overlaid{node: [2]int32{calltree.NoNode, calltree.NoNode}, fn: -1, parent: parent, depth: depth}
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

// collect lists the children of a node of one side by function of the result; for
// calltree.NoNode the roots or nothing.
func (l *overlayer) collect(s int, n int32, roots bool) {
	side, list := &l.side[s], l.children[s][:0]
	l.children[s] = list
	if n == calltree.NoNode && !roots {
		return
	}
	sorted := true
	for c := range side.ByFunction(n) {
		fn := side.function(c)
		sorted = sorted && (len(list) == 0 || list[len(list)-1].fn < fn)
		list = append(list, sibling{fn, c})
	}
	if !sorted {
		slices.SortFunc(list, func(a, b sibling) int { return cmp.Compare(a.fn, b.fn) })
	}
	l.children[s] = list
}

// copySubtree appends the subtree of p, which only side s has and whose order stays.
func (l *overlayer) copySubtree(s int, p overlaid) {
	side, first, row := &l.side[s], p.node[s], l.n
	size := side.End[first] - first
	l.n += size
	parent, fn, depth := l.t.Parent[row:l.n], l.t.Func[row:l.n], l.t.Depth[row:l.n]
	own, other := l.row[s][row:l.n], l.row[1-s][row:l.n]
	for i := range size {
		n := first + i
		parent[i] = side.Parent[n] - first + row
		fn[i] = side.function(n)
		depth[i] = side.Depth[n]
		own[i], other[i] = n, calltree.NoNode
	}
	parent[0] = p.parent
}

// ends fills the End column from row first on; the subtrees of these rows lie among
// them.
func (l *overlayer) ends(first int32) {
	parent, end := l.t.Parent, l.t.End
	for n := l.n - 1; n >= first; n-- {
		if end[n] == 0 {
			end[n] = n + 1
		}
		if up := parent[n]; up != calltree.NoNode && end[up] == 0 {
			end[up] = end[n] // the last child and its parent have the same end
		}
	}
}

// withCategories gives the nodes of an overlay the categories of the sides. If they
// differ, the node gets the category of a node whose stacks differ.
func withCategories(t *calltree.Table, side [2]*calltree.Table, row [2][]int32) *calltree.Table {
	if side[0].Category == nil && side[1].Category == nil {
		return t
	}
	ids := map[profile.Category]profile.CategoryID{{}: 0}
	t.Categories = []profile.Category{{}}
	var own [2][]profile.CategoryID // of each category of a side: the one of the overlay
	for s := range side {
		for _, c := range side[s].Categories {
			own[s] = append(own[s], intern.Number(ids, &t.Categories, c, c))
		}
	}
	kinds := calltree.NewCategories(t.Categories)
	t.Category = make([]profile.CategoryID, t.Len())
	for s := range side {
		if side[s].Category == nil {
			continue
		}
		for n, at := range row[s] {
			if at == calltree.NoNode {
				continue
			}
			c := own[s][side[s].Category[at]]
			if s == 1 && row[0][n] != calltree.NoNode && side[0].Category != nil && kinds != nil {
				c = kinds.Unite(t.Category[n], c)
			}
			t.Category[n] = c
		}
	}
	return t
}
