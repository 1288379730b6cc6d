package calltree

import (
	"slices"

	"github.com/dendroprof/dendro/profile"
)

// stacks is the prefix table from which call trees are built: one row per stack,
// callers before callees. A transform changes the parents and keeps the row numbers, so
// that a stack keeps its number through a list of transforms and the other columns are
// shared.
//
// A stacks value is immutable, but its cached layout makes it unsafe for concurrent
// use.
type stacks struct {
	parent   []int32              // of each stack: its caller, NoNode, or gone
	frame    []int32              // of each stack
	function []int32              // of each frame
	category []profile.CategoryID // of each stack; nil without categories
	kinds    *Categories          // what the categories mean; nil without

	functions []profile.Function

	table *Table  // a cache, see layout
	node  []int32 // of each stack its node in table, NoNode when gone
}

// gone is the parent of a stack that a transform removed. Its callees are removed or
// have another parent.
const gone = int32(-2)

func (s *stacks) len() int { return len(s.parent) }

// fn returns the function of a stack's innermost frame.
func (s *stacks) fn(st int) int32 { return s.function[s.frame[st]] }

// withParent returns the stacks with other parents.
func (s *stacks) withParent(parent []int32) *stacks {
	c := *s
	c.parent, c.table, c.node = parent, nil, nil
	return &c
}

// layout returns the call node table of the stacks and the node of every stack. The
// first call builds and caches them.
func (s *stacks) layout() (*Table, []int32) {
	if s.table == nil {
		s.table, s.node = s.build()
		if s.category != nil {
			s.table.Categories = s.kinds.list
			s.table.Category = s.nodeCategories()
		}
	}
	return s.table, s.node
}

// child is a stack in the list of its caller's callees. Zero ends a list: stack 0
// is a root.
type child struct{ first, next, fn int32 }

// opened is a node whose children are being laid out: those from cur to end of the
// pending stacks. The rows from top to row are the node and the callers above it that
// have no other child.
type opened struct{ top, row, depth, from, cur, end int32 }

// build groups the stacks into call nodes, depth first. A node is a set of stacks with
// one function whose callers are one node; the callees of all of them, sorted by
// function, are the stacks of its children. Every stack is visited twice: time and
// memory are linear, apart from sorting siblings.
func (s *stacks) build() (*Table, []int32) {
	n := s.len()
	children, roots, live := s.callees()
	t := newTable(live)
	t.Functions = s.functions
	node := make([]int32, n)
	row := int32(0)
	pending := make([]uint64, 0, 1024) // function and stack
	for r := roots; r >= 0; {
		pending = append(pending, uint64(children[r].fn)<<32|uint64(r))
		if r = children[r].next; r == 0 {
			break
		}
	}
	sortSiblings(pending)
	open := append(make([]opened, 0, 256), opened{row: NoNode, depth: -1, end: int32(len(pending))})
	for len(open) > 0 {
		above := &open[len(open)-1]
		if above.cur == above.end {
			t.close(above.top, above.row, row)
			pending, open = pending[:above.from], open[:len(open)-1]
			continue
		}
		o := opened{top: row, row: row, depth: above.depth + 1, from: int32(len(pending))}
		group := pending[above.cur:above.end]
		fn := group[0] >> 32
		for _, key := range group {
			if key>>32 != fn {
				break
			}
			above.cur++
			node[int32(key)] = row
			pending = appendCallees(pending, children, int32(key))
		}
		t.Parent[row], t.Func[row], t.Depth[row] = above.row, int32(fn), o.depth
		for int32(len(pending)) == o.from+1 {
			key := pending[o.from]
			pending = appendCallees(pending[:o.from], children, int32(key))
			o.row++
			o.depth++
			node[int32(key)] = o.row
			t.Parent[o.row], t.Func[o.row], t.Depth[o.row] = o.row-1, int32(key>>32), o.depth
		}
		row = o.row + 1
		if o.cur, o.end = o.from, int32(len(pending)); o.end > o.from {
			sortSiblings(pending[o.from:])
			open = append(open, o)
		} else {
			t.close(o.top, o.row, row)
		}
	}
	if live < n {
		for st, p := range s.parent {
			if p == gone {
				node[st] = NoNode
			}
		}
	}
	t.truncate(int(row))
	return t, node
}

// close sets the end of the subtrees of the rows from top to last.
func (t *Table) close(top, last, end int32) {
	for row := top; row <= last; row++ {
		t.End[row] = end
	}
}

// appendCallees appends the callees of a stack.
func appendCallees(list []uint64, children []child, st int32) []uint64 {
	for c := children[st].first; c != 0; c = children[c].next {
		list = append(list, uint64(children[c].fn)<<32|uint64(c))
	}
	return list
}

// callees lists the callees of every stack in ascending order, and returns the
// first root (or NoNode) and the number of stacks that are not gone.
func (s *stacks) callees() (lists []child, roots int32, live int) {
	lists = make([]child, s.len())
	roots = NoNode
	for st := len(lists) - 1; st >= 0; st-- {
		p := s.parent[st]
		if p == gone {
			continue
		}
		live++
		c := &lists[st]
		c.fn = s.fn(st)
		if p == NoNode {
			c.next = max(roots, 0)
			roots = int32(st)
			continue
		}
		c.next = lists[p].first
		lists[p].first = int32(st)
	}
	return lists, roots, live
}

// depthFirst calls enter for each stack that is not gone after its caller, and leave after all
// that it calls.
func (s *stacks) depthFirst(enter, leave func(st int32)) {
	lists, st, _ := s.callees()
	for st >= 0 {
		enter(st)
		next := lists[st].first
		for next == 0 {
			leave(st)
			if next = lists[st].next; next == 0 {
				if st = s.parent[st]; st < 0 {
					return
				}
			}
		}
		st = next
	}
}

// sortSiblings sorts by function, then by stack. Nearly all lists are short.
func sortSiblings(list []uint64) {
	if len(list) > 12 {
		slices.Sort(list)
		return
	}
	for i := 1; i < len(list); i++ {
		v := list[i]
		j := i
		for ; j > 0 && list[j-1] > v; j-- {
			list[j] = list[j-1]
		}
		list[j] = v
	}
}

// newTable returns a table with room for n nodes.
func newTable(n int) *Table {
	cols := make([]int32, 4*n)
	return &Table{Parent: cols[:n:n], Func: cols[n : 2*n : 2*n], Depth: cols[2*n : 3*n : 3*n], End: cols[3*n:]}
}

// truncate keeps the first n rows, in columns of their own when the old ones
// would waste memory.
func (t *Table) truncate(n int) {
	for _, col := range []*[]int32{&t.Parent, &t.Func, &t.Depth, &t.End} {
		if c := *col; n < len(c)*7/8 {
			*col = slices.Clone(c[:n])
		} else {
			*col = c[:n:n]
		}
	}
}
