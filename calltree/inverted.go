package calltree

import (
	"cmp"
	"slices"

	"github.com/dendroprof/dendro/profile"
)

// Inverted is a call tree upside down: roots are the functions in which samples end,
// children are their callers. A node stands for all call nodes whose path ends in the
// node's path; its total is the sum of their self values. Self equals total in a root
// and is zero elsewhere.
//
// Invert only groups the call nodes by function, with one counting sort. Expanding an
// inverted node divides its group further, in time proportional to the group. Nodes are
// handles that stay valid.
//
// An Inverted is not safe for concurrent use.
type Inverted struct {
	tree  *Tree
	order []int32 // call nodes; those of an inverted node are adjacent
	nodes []invertedNode
	roots []int32

	count []int32 // scratch of expand: call nodes per function, zero between calls

	kinds    *Categories          // nil without categories, like the columns of functions
	category []profile.CategoryID // of a function's root
	uniform  []bool               // all call nodes of the function have one category
}

// invertedNode is one row of the inverted tree.
type invertedNode struct {
	parent, fn, depth int32
	from, to          int32 // its call nodes are order[from:to]
	total             int64
	category          profile.CategoryID
	deeper            bool // some call node with a self value has more callers
	expanded          bool
	deep              []int32 // of each call node: its ancestor at this row; nil for roots and once expanded
	children          []int32 // the shown ones, in display order
}

// Invert returns the tree upside down.
func (t *Tree) Invert() *Inverted {
	v := &Inverted{tree: t, count: make([]int32, len(t.Functions)), kinds: NewCategories(t.Categories)}
	mixed := v.categorize()
	rows := make([]invertedNode, len(t.Functions)) // of each function its root
	isRoot := make([]bool, len(t.Functions))
	var roots []int32 // functions, by their first call node with a self value
	var needed []int32
	for n, self := range t.Self {
		if self == 0 && (mixed == nil || !mixed[n]) {
			continue
		}
		needed = append(needed, int32(n))
		fn := t.Func[n]
		row := &rows[fn]
		row.to++
		if self == 0 {
			continue
		}
		row.total += self
		row.deeper = row.deeper || t.Depth[n] > 0
		if !isRoot[fn] {
			isRoot[fn] = true
			roots = append(roots, fn)
		}
	}
	v.group(needed, rows)
	for _, fn := range roots {
		row := rows[fn]
		row.parent, row.fn, row.category = NoNode, fn, -1
		if v.category != nil {
			row.category = v.category[fn]
		}
		v.roots = append(v.roots, int32(len(v.nodes)))
		v.nodes = append(v.nodes, row)
	}
	slices.SortStableFunc(v.roots, func(a, b int32) int { return cmp.Compare(abs(v.nodes[b].total), abs(v.nodes[a].total)) })
	return v
}

// group sorts call nodes by function, keeping their order, and sets the range of each
// row, whose length is known.
func (v *Inverted) group(nodes []int32, rows []invertedNode) {
	var sum int32
	next := make([]int32, len(rows))
	for fn := range rows {
		next[fn] = sum
		rows[fn].from, rows[fn].to = sum, sum+rows[fn].to
		sum = rows[fn].to
	}
	v.order = make([]int32, sum)
	for _, n := range nodes {
		fn := v.tree.Func[n]
		v.order[next[fn]] = n
		next[fn]++
	}
}

// categorize computes the category of every function's root. It returns the call nodes
// whose path has a function with call nodes of different categories: only these can
// change the category of a row without having a self value. Nil: there are none.
func (v *Inverted) categorize() []bool {
	t := v.tree
	if t.Category == nil {
		return nil
	}
	v.uniform, v.category = make([]bool, len(t.Functions)), make([]profile.CategoryID, len(t.Functions))
	for fn := range v.category {
		v.category[fn], v.uniform[fn] = -1, true
	}
	any := false
	for n, fn := range t.Func {
		switch c := t.Category[n]; {
		case v.category[fn] < 0:
			v.category[fn] = c
		case v.category[fn] != c:
			v.category[fn] = v.kinds.Unite(v.category[fn], c)
			v.uniform[fn], any = false, true
		}
	}
	if !any {
		return nil
	}
	mixed := make([]bool, t.Len())
	for n, fn := range t.Func {
		p := t.Parent[n]
		mixed[n] = !v.uniform[fn] || p != NoNode && mixed[p]
	}
	return mixed
}

// add appends a row below another one. Deep has the ancestor of each call node at this
// row.
func (v *Inverted) add(parent, fn, depth, from, to int32, deep []int32) {
	t := v.tree
	node := invertedNode{parent: parent, fn: fn, depth: depth, from: from, to: to, category: -1, deep: deep}
	for _, n := range v.order[from:to] {
		self := t.Self[n]
		node.total += self
		node.deeper = node.deeper || self != 0 && t.Depth[n] > depth
	}
	if t.Category != nil {
		node.category = t.Category[deep[0]]
		if !v.uniform[fn] {
			for _, d := range deep[1:] {
				node.category = v.kinds.Unite(node.category, t.Category[d])
			}
		}
	}
	v.nodes = append(v.nodes, node)
}

// expand divides the call nodes of a row by the functions of their next callers.
func (v *Inverted) expand(h int32) {
	t := v.tree
	row := v.nodes[h]
	deep := row.deep
	if deep == nil {
		deep = v.order[row.from:row.to]
	}
	// Count per function. Paths that end here belong to no child and come first.
	ended := int32(0)
	var functions []int32
	for _, d := range deep {
		p := t.Parent[d]
		if p == NoNode {
			ended++
			continue
		}
		fn := t.Func[p]
		if v.count[fn] == 0 {
			functions = append(functions, fn)
		}
		v.count[fn]++
	}
	slices.Sort(functions)
	place := ended
	for _, fn := range functions {
		n := v.count[fn]
		v.count[fn] = place
		place += n
	}
	order, callers := make([]int32, len(deep)), make([]int32, len(deep))
	ended = 0
	for i, d := range deep {
		n, p := v.order[row.from+int32(i)], t.Parent[d]
		if p == NoNode {
			order[ended] = n
			ended++
			continue
		}
		at := &v.count[t.Func[p]]
		order[*at], callers[*at] = n, p
		*at++
	}
	copy(v.order[row.from:row.to], order)
	from := ended
	var children []int32
	for _, fn := range functions {
		to := v.count[fn]
		v.count[fn] = 0
		v.add(h, fn, row.depth+1, row.from+from, row.from+to, callers[from:to:to])
		from = to
		if c := &v.nodes[len(v.nodes)-1]; c.total != 0 || c.deeper {
			children = append(children, int32(len(v.nodes)-1))
		} else {
			v.nodes = v.nodes[:len(v.nodes)-1]
		}
	}
	slices.SortStableFunc(children, func(a, b int32) int {
		return cmp.Compare(abs(v.nodes[b].total), abs(v.nodes[a].total))
	})
	n := &v.nodes[h]
	n.children, n.expanded, n.deep = children, true, nil
}

// shown returns the children of a row, or the roots, in display order.
func (v *Inverted) shown(h int32) []int32 {
	if h == NoNode {
		return v.roots
	}
	if !v.nodes[h].expanded {
		v.expand(h)
	}
	return v.nodes[h].children
}

// Children appends the children of a node (NoNode: the roots) to buf in display order:
// by absolute total descending, ties by function; roots of equal total by their first
// call node with a self value.
func (v *Inverted) Children(h int32, buf []int32) []int32 { return append(buf, v.shown(h)...) }

// Walk visits and expands the nodes in display order, depth first. Visit returns false
// to skip the descendants of a node.
func (v *Inverted) Walk(visit func(h int32) bool) {
	Walk(v.Children, visit)
}

// Row returns the line of a node.
func (v *Inverted) Row(h int32) Row {
	n := &v.nodes[h]
	return Row{Node: h, Depth: n.depth, Func: n.fn, Self: v.Self(h), Total: n.total, Category: n.category}
}

// Tree returns the original tree.
func (v *Inverted) Tree() *Tree { return v.tree }

// Parent returns the node's callee, NoNode for a root.
func (v *Inverted) Parent(h int32) int32 { return v.nodes[h].parent }

// Func returns the node's function, an index of the tree's Functions.
func (v *Inverted) Func(h int32) int32 { return v.nodes[h].fn }

// Name returns the name of the node's function.
func (v *Inverted) Name(h int32) string { return v.tree.Functions[v.nodes[h].fn].Name }

// Depth returns the number of nodes between the node and its root, 0 for a root.
func (v *Inverted) Depth(h int32) int32 { return v.nodes[h].depth }

// Total returns the sum of the self values of the call nodes whose paths end in
// the node's.
func (v *Inverted) Total(h int32) int64 { return v.nodes[h].total }

// Self returns the total of a root, else 0.
func (v *Inverted) Self(h int32) int64 {
	if v.nodes[h].parent == NoNode {
		return v.nodes[h].total
	}
	return 0
}

// RootTotal returns 100% of every share: the root total of the tree.
func (v *Inverted) RootTotal() int64 { return v.tree.RootTotal() }

// Category returns the node's category, -1 when there are none.
func (v *Inverted) Category(h int32) profile.CategoryID { return v.nodes[h].category }

// CategoryName returns the name of the node's category, without its subcategory.
func (v *Inverted) CategoryName(h int32) string {
	if v.tree.Category == nil {
		return ""
	}
	return v.tree.Categories[v.nodes[h].category].Name
}

// Node returns the shown node of a path of functions, leaf first.
func (v *Inverted) Node(path []int32) (int32, bool) {
	return v.descend(len(path), func(i int, fn int32) bool { return fn == path[i] })
}

// FindPath returns the node of a path of names, leaf first. Of several functions of one
// name it takes the first in display order.
func (v *Inverted) FindPath(names []string) (int32, bool) {
	path := pathNamed(v.tree.Functions, names)
	h, ok := v.descend(len(names), func(i int, fn int32) bool { return path.has(int32(i), fn) })
	if !ok && len(names) > 0 {
		return v.withoutSelf(path)
	}
	return h, ok
}

// descend is Table.descend, in display order.
func (v *Inverted) descend(steps int, selects func(step int, fn int32) bool) (int32, bool) {
	h := NoNode
	for step := range steps {
		children := v.shown(h)
		i := slices.IndexFunc(children, func(c int32) bool { return selects(step, v.nodes[c].fn) })
		if i < 0 {
			return NoNode, false
		}
		h = children[i]
	}
	return h, h != NoNode
}

// withoutSelf returns a row of total 0 for a path that is in the tree, but only in
// call nodes without a self value, which have no rows.
func (v *Inverted) withoutSelf(path functionPath) (int32, bool) {
	t := v.tree
	for leaf := range t.Func {
		n, found := int32(leaf), 0
		for ; found < len(path.steps) && n != NoNode && path.has(int32(found), t.Func[n]); found++ {
			n = t.Parent[n]
		}
		if found < len(path.steps) {
			continue
		}
		h, up := NoNode, int32(leaf)
		for depth := range int32(found) {
			v.nodes = append(v.nodes, invertedNode{parent: h, fn: t.Func[up], depth: depth, category: -1, expanded: true})
			h, up = int32(len(v.nodes)-1), t.Parent[up]
		}
		return h, h != NoNode
	}
	return NoNode, false
}
