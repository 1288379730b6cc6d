package diff

import (
	"cmp"
	"slices"

	"github.com/dendroprof/dendro/calltree"
)

// Inverted is a diff upside down: roots are the functions in which samples of
// either side end, children are their callers. It combines three inverted trees over
// the table of the diff: of base, of head, and of the larger of the two, which has a row
// wherever one of them has. Like Inverted it is expanded on demand, its nodes are
// handles, and it is not safe for concurrent use.
type Inverted struct {
	d     *Diff
	tree  [3]*calltree.Inverted // base, head, larger
	nodes []invertedPair
	roots []int32
	at    map[int32]int32 // of each expanded row of larger: its node here
}

type invertedPair struct {
	row      [3]int32 // in each tree, or NoNode
	expanded bool
	children []int32 // in display order
}

// Invert returns the diff upside down.
func (d *Diff) Invert() *Inverted {
	return d.invertedDiff(d.tree(&d.Base).Invert(), d.tree(&d.Head).Invert(), d.Widths().Invert())
}

// Callers returns the callers of the functions on both sides, see Tree.Callers.
func (d *Diff) Callers(functions []int32) *Inverted {
	return d.invertedDiff(d.tree(&d.Base).Callers(functions), d.tree(&d.Head).Callers(functions), d.Widths().Callers(functions))
}

// tree is a side alone, over the rows of both.
func (d *Diff) tree(s *Side) *calltree.Tree {
	return &calltree.Tree{Table: d.Table, Type: d.Type, Self: s.Self, Total: s.Total}
}

func (d *Diff) invertedDiff(base, head, larger *calltree.Inverted) *Inverted {
	v := &Inverted{d: d, tree: [3]*calltree.Inverted{base, head, larger}, at: map[int32]int32{}}
	v.roots = v.pairs([3]int32{calltree.NoNode, calltree.NoNode, calltree.NoNode}, true)
	return v
}

// pairs matches the children of a row of each tree by function.
func (v *Inverted) pairs(parent [3]int32, roots bool) []int32 {
	byFunc := map[int32]*[3]int32{}
	for i, t := range v.tree {
		if parent[i] == calltree.NoNode && !roots {
			continue
		}
		for _, c := range t.Children(parent[i], nil) {
			p := byFunc[t.Func(c)]
			if p == nil {
				p = &[3]int32{calltree.NoNode, calltree.NoNode, calltree.NoNode}
				byFunc[t.Func(c)] = p
			}
			p[i] = c
		}
	}
	var children []int32
	for _, row := range byFunc {
		n := int32(len(v.nodes))
		v.nodes = append(v.nodes, invertedPair{row: *row})
		if row[2] != calltree.NoNode {
			v.at[row[2]] = n
		}
		children = append(children, n)
	}
	slices.SortFunc(children, func(a, b int32) int {
		x, y := v.Row(a), v.Row(b)
		return cmp.Or(v.d.Order(x.Total, y.Total), cmp.Compare(x.Func, y.Func))
	})
	return children
}

// Children appends the children of a node (NoNode: the roots) to buf in display
// order: Diff.Order of their totals, ties by function.
func (v *Inverted) Children(n int32, buf []int32) []int32 {
	if n == calltree.NoNode {
		return append(buf, v.roots...)
	}
	if !v.nodes[n].expanded {
		children := v.pairs(v.nodes[n].row, false)
		v.nodes[n].children, v.nodes[n].expanded = children, true
	}
	return append(buf, v.nodes[n].children...)
}

// Row returns the line of a node.
func (v *Inverted) Row(n int32) Row {
	r := Row{Node: n}
	value := func(i int) (self, total int64) {
		h := v.nodes[n].row[i]
		if h == calltree.NoNode {
			return 0, 0
		}
		t := v.tree[i]
		r.Depth, r.Func = t.Depth(h), t.Func(h)
		return t.Self(h), t.Total(h)
	}
	value(2)
	r.Self.Base, r.Total.Base = value(0)
	r.Self.Head, r.Total.Head = value(1)
	return r
}

// CategoryName returns the name of the node's category.
func (v *Inverted) CategoryName(n int32) string {
	for i := len(v.tree) - 1; i >= 0; i-- {
		if h := v.nodes[n].row[i]; h != calltree.NoNode {
			return v.tree[i].CategoryName(h)
		}
	}
	return ""
}

// RootTotal returns 100% of each side.
func (v *Inverted) RootTotal() Pair { return Pair{v.tree[0].RootTotal(), v.tree[1].RootTotal()} }

// Walk visits and expands the nodes in display order, depth first. Visit returns false
// to skip the descendants of a node.
func (v *Inverted) Walk(visit func(n int32) bool) {
	calltree.Walk(v.Children, visit)
}

// Flame returns the boxes of the flame graph, by the rules of Diff.Flame.
func (v *Inverted) Flame(minWidth float64) []calltree.Box {
	boxes := v.tree[2].Flame(minWidth)
	for i := range boxes { // callees before callers, so the parent's node is known
		h := boxes[i].Node
		if _, ok := v.at[h]; !ok {
			v.Children(v.at[v.tree[2].Parent(h)], nil)
		}
		boxes[i].Node = v.at[h]
	}
	return boxes
}
