// Package calltree models call trees: sampled stacks merged by function.
//
// A call node is a function in one calling context; its call node path is the
// list of functions from the root to it. The shape of a tree is kept apart from
// its numbers:
//
//   - Table is the shape: one row per call node, depth first, parents before
//     children, siblings by function. Many trees may share one Table.
//   - Tree is a Table with numbers: self (samples whose stack ends in the node)
//     and total (self plus the totals of the children).
//   - Forest is a growing dictionary of call node paths in order of first
//     appearance, parents before children. Importers and stores keep one in
//     memory and cut a Table out of it for each answer.
//   - Vector is a sparse set of self values over a Table or a Forest: the values
//     of one profile.
//   - Viewer computes views of a profile: a View selects samples and frames
//     (threads, ranges, transforms, kinds, search, weights); Shown is the
//     resulting Tree with the samples behind it, for stack charts.
//   - Inverted is a Tree upside down, expanded on demand. Callers, Callees,
//     FunctionRows and Flame are other views of a Tree.
//
// Package diff compares trees, package callpath finds call paths (`A;**;B`).
//
// Everything is a pure value: no context, no I/O, no logging, and no recursion on
// the depth of a stack. All passes are linear in the number of nodes. Functions
// arrive under the name that identifies them; package normalize decides which names
// are equal.
package calltree

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"github.com/dendroprof/dendro/calltree/internal/ranges"
	"github.com/dendroprof/dendro/profile"
)

// NoNode is the parent of a root.
const NoNode = int32(-1)

// Table is the shape of call trees: 16 bytes per call node, 18 with categories.
//
// Invariants, verified by Check:
//
//	T1  rows are in depth-first order, so Parent[n] < n and the subtree of n is
//	    the rows [n, End[n]);
//	T2  roots have Parent NoNode and Depth 0; there may be several;
//	T3  siblings have strictly increasing Func.
//
// A Table is immutable once built and safe for concurrent use.
type Table struct {
	Functions []profile.Function // indexed by Func; their order breaks ties in display order

	Parent []int32
	Func   []int32
	Depth  []int32
	End    []int32

	// Categories is indexed by Category, the category of each node. Both are nil
	// when the samples have no categories.
	Categories []profile.Category
	Category   []profile.CategoryID
}

// Len returns the number of call nodes.
func (t *Table) Len() int { return len(t.Parent) }

// Name returns the function name of node n.
func (t *Table) Name(n int32) string { return t.Functions[t.Func[n]].Name }

// Path returns the function names from the root to node n.
func (t *Table) Path(n int32) []string {
	names := make([]string, t.Depth[n]+1)
	for ; n != NoNode; n = t.Parent[n] {
		names[t.Depth[n]] = t.Name(n)
	}
	return names
}

// Check returns an error if an invariant is violated.
func (t *Table) Check() error {
	if n := t.Len(); len(t.Func) != n || len(t.Depth) != n || len(t.End) != n {
		return fmt.Errorf("columns of %d, %d, %d and %d nodes", n, len(t.Func), len(t.Depth), len(t.End))
	}
	for n := range int32(t.Len()) {
		p := t.Parent[n]
		switch {
		case p < NoNode || p >= n, p == NoNode && t.Depth[n] != 0, p != NoNode && t.Depth[n] != t.Depth[p]+1:
			return fmt.Errorf("node %d: parent %d, depth %d", n, p, t.Depth[n])
		case t.End[n] <= n || int(t.End[n]) > t.Len() || p != NoNode && t.End[n] > t.End[p]:
			return fmt.Errorf("node %d: subtree ends at %d", n, t.End[n])
		case t.Func[n] < 0 || int(t.Func[n]) >= len(t.Functions):
			return fmt.Errorf("node %d: function %d of %d", n, t.Func[n], len(t.Functions))
		case t.End[n] > n+1 && t.Parent[n+1] != n:
			return fmt.Errorf("node %d: its subtree begins with a child of %d", n, t.Parent[n+1])
		}
		end := int32(t.Len())
		if p != NoNode {
			end = t.End[p]
		}
		if s := t.End[n]; s < end && (t.Parent[s] != p || t.Func[s] <= t.Func[n]) {
			return fmt.Errorf("node %d: next sibling %d has parent %d, function %d", n, s, t.Parent[s], t.Func[s])
		}
	}
	return nil
}

// Tree is a Table with the numbers of one value type.
type Tree struct {
	*Table
	Type  profile.ValueType
	Self  []int64 // in Type's unit
	Total []int64 // self plus the totals of the children
}

// NewTree returns the tree of self values, which it owns from then on, and adds totals.
func NewTree(t *Table, typ profile.ValueType, self []int64) *Tree {
	return &Tree{Table: t, Type: typ, Self: self, Total: totals(t, self)}
}

// totals sums self values over subtrees, as differences of running sums. Each part of
// the nodes is summed concurrently, which is enough for nodes whose subtree ends in the
// same part; crossing corrects the others, which are the callers of the first node of
// the next part.
func totals(t *Table, self []int64) []int64 {
	total := make([]int64, len(self)) // at first: the sum of the part's self values before each node
	list := ranges.Parts(len(self))
	sums := make([]int64, len(list)) // of the parts
	ranges.Each(list, func(i int, p ranges.Part) {
		var sum int64
		for n := p.Lo; n < p.Hi; n++ {
			total[n] = sum
			sum += self[n]
		}
		sums[i] = sum
	})
	crossing := t.crossing(list, total, sums)
	ranges.Each(list, func(i int, p ranges.Part) {
		for n := p.Lo; n < p.Hi; n++ {
			if end := int(t.End[n]); end < p.Hi {
				total[n] = total[end] - total[n] // end is not processed yet
			} else {
				total[n] = sums[i] - total[n] // wrong if it crosses
			}
		}
	})
	for n, v := range crossing {
		total[n] = v
	}
	return total
}

// crossing returns the totals of the nodes whose subtree ends after their part.
func (t *Table) crossing(list []ranges.Part, before, sums []int64) map[int32]int64 {
	if len(list) == 1 {
		return nil
	}
	start := make([]int64, len(list)+1) // the sum of all self values before each part
	for i, sum := range sums {
		start[i+1] = start[i] + sum
	}
	at := func(n int32) int64 { // the sum of all self values before n
		i := len(list)
		for ; i > 0 && int(n) < list[i-1].Hi; i-- {
		}
		if i == len(list) {
			return start[i]
		}
		return start[i] + before[n]
	}
	totals := map[int32]int64{}
	for _, p := range list[1:] {
		for _, n := range t.ancestors(int32(p.Lo)) {
			totals[n] = at(t.End[n]) - at(n)
		}
	}
	return totals
}

// RootTotal returns the sum over all nodes of the absolute self value: 100% of every
// share. Without negative values it is the sum of the roots' totals.
func (t *Tree) RootTotal() int64 {
	var sum int64
	for _, v := range t.Self {
		if v < 0 {
			v = -v
		}
		sum += v
	}
	return sum
}

// Shown reports for every node whether a tree view lists it: its total is not
// zero, or a child is shown.
func (t *Tree) Shown() []bool {
	return t.WithCallers(func(n int32) bool { return t.Total[n] != 0 })
}

// WithCallers marks the nodes for which is returns true, and all their callers.
func (t *Table) WithCallers(is func(n int32) bool) []bool {
	marked := make([]bool, t.Len())
	for n := int32(t.Len()) - 1; n >= 0; n-- {
		marked[n] = marked[n] || is(n)
		if p := t.Parent[n]; p != NoNode && marked[n] {
			marked[p] = true
		}
	}
	return marked
}

// ByFunction yields the children of n (NoNode: the roots) by function.
func (t *Table) ByFunction(n int32) iter.Seq[int32] {
	return func(yield func(int32) bool) {
		end := int32(t.Len())
		if n != NoNode {
			end = t.End[n]
		}
		for c := n + 1; c < end && yield(c); c = t.End[c] {
		}
	}
}

// Children appends the children of n (NoNode: the roots) to buf in display
// order: by absolute total descending, ties by function.
func (t *Tree) Children(n int32, buf []int32) []int32 {
	from := len(buf)
	buf = slices.AppendSeq(buf, t.ByFunction(n))
	slices.SortStableFunc(buf[from:], func(a, b int32) int { return cmp.Compare(abs(t.Total[b]), abs(t.Total[a])) })
	return buf
}

// Row is one line of a tree view, upright or inverted.
type Row struct {
	Node, Depth, Func int32
	Self, Total       int64
	Category          profile.CategoryID // -1 when there are none
}

// Row returns the line of node n.
func (t *Tree) Row(n int32) Row {
	r := Row{Node: n, Depth: t.Depth[n], Func: t.Func[n], Self: t.Self[n], Total: t.Total[n], Category: -1}
	if t.Category != nil {
		r.Category = t.Category[n]
	}
	return r
}

// Walk visits the shown nodes in display order, depth first. Visit returns false to
// skip the descendants of a node.
func (t *Tree) Walk(visit func(n int32) bool) {
	shown := t.Shown()
	Walk(t.Children, func(n int32) bool { return shown[n] && visit(n) })
}

// Walk visits nodes depth first, the first child first; visit returns false to skip
// the descendants of a node.
func Walk(children func(n int32, buf []int32) []int32, visit func(n int32) bool) {
	var pending []int32
	push := func(n int32) {
		from := len(pending)
		pending = children(n, pending)
		slices.Reverse(pending[from:])
	}
	for push(NoNode); len(pending) > 0; {
		n := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		if visit(n) {
			push(n)
		}
	}
}

func abs(v int64) int64 {
	if v < 0 {
		return -v
	}
	return v
}
