package traceprof

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/dendroprof/dendro/calltree"
)

// elements holds the nodes of all trees of an analysis while they are built: the paths of
// the selected snapshots, numbered from 0 in order of first appearance, within one
// snapshot from the root down. So a parent has a lower number than its children, and
// siblings are in order of appearance.
type elements struct {
	stacks *calltree.Forest
	number numbering // of each path: its element plus 1; 0: none
	path   []int32   // of each element
	list   []element // set by link
	order  []int32   // elements in the order of the trees, one after the other; set by trees

	counted int64 // snapshots that are not empty; of CPU profiles the samples in them
}

// element is one node. It is a struct, not columns, because breadth-first order accesses
// the list at random.
type element struct {
	parent      int32 // element, or NoNode
	first, next int32 // first child and next sibling, plus 1; 0: none
	fork        int32 // nearest caller with several children or with snapshots that end in it, or NoNode
	function    int32
	count       int32 // snapshots that end here; after trees: also those that pass through
	self        int64 // time without the children, in ms; of samples in ns until scale
	total       int64 // set by trees: self and the totals of the children
}

func newElements(stacks *calltree.Forest) *elements {
	n := stacks.Paths.Len()
	return &elements{stacks: stacks, number: newNumbering(n), path: make([]int32, 0, min(n, 1<<12))}
}

// add adds the paths of the selected rows of a source.
func (e *elements) add(s *source) {
	up := e.stacks.Paths.Parent
	for _, part := range s.selected {
		for _, p := range s.Path[part.from:part.to] {
			if p == calltree.NoNode {
				continue
			}
			n := 0
			for q := p; q != calltree.NoNode && e.number.get(q) == 0; q = up[q] {
				n++
			}
			end := len(e.path) + n
			if end > cap(e.path) {
				e.path = slices.Grow(e.path, max(n, len(e.path))) // append grows by a quarter only
			}
			e.path = e.path[:end]
			for i := end - 1; i >= end-n; i-- {
				e.path[i] = p
				e.number.set(p, int32(i)+1)
				p = up[p]
			}
		}
	}
}

// link connects the elements after the last add, and counts the snapshots that end in
// each.
func (e *elements) link(sources []*source) error {
	paths := &e.stacks.Paths
	e.list = make([]element, len(e.path))
	for i, p := range e.path {
		el := &e.list[i]
		el.parent, el.function = calltree.NoNode, paths.Item[p]
		if up := paths.Parent[p]; up != calltree.NoNode {
			el.parent = e.number.get(up) - 1
		}
	}
	for i := len(e.list) - 1; i >= 0; i-- {
		if el := &e.list[i]; el.parent != calltree.NoNode {
			parent := &e.list[el.parent]
			el.next, parent.first = parent.first, int32(i)+1
		}
	}
	for _, s := range sources {
		if err := e.addCounts(s); err != nil {
			return err
		}
	}
	for i := range e.list {
		el := &e.list[i]
		el.fork = el.parent
		if el.parent == calltree.NoNode {
			continue
		}
		if parent := &e.list[el.parent]; parent.count == 0 && e.list[parent.first-1].next == 0 {
			el.fork = parent.fork
		}
	}
	return nil
}

// maxStep is the maximum time of one row, in its unit, so that sums cannot overflow.
const maxStep = 1 << 47

// addCounts adds the counts of a source, and the times of samples. For the times of
// dumps see addTimes.
func (e *elements) addCounts(s *source) error {
	for _, part := range s.selected {
		for i := part.from; i < part.to; i++ {
			if s.Path[i] == calltree.NoNode {
				continue
			}
			leaf, count := &e.list[e.number.get(s.Path[i])-1], int64(1)
			if s.Language == GoProfiles {
				if count = s.Count[i]; count < 0 || count > math.MaxInt32 || s.Nanos[i] < 0 || s.Nanos[i] > maxStep {
					return fmt.Errorf("segment %s: sample %d: %w", s.Segment, s.Sequence[i], ErrDuration)
				}
				leaf.self += s.Nanos[i]
			}
			if e.counted += count; e.counted > math.MaxInt32 {
				return fmt.Errorf("segment %s: %w", s.Segment, errCount)
			}
			leaf.count += int32(count)
		}
	}
	return nil
}

var errCount = errors.New("there are more samples than 32 bits can count")

// addTimes adds the time between each two consecutive dumps of a source to the innermost
// element that both have.
func (e *elements) addTimes(s *source) error {
	if s.Language != Dumps {
		return nil
	}
	last, leaf := -1, calltree.NoNode // the last dump that is not empty
	for _, part := range s.selected {
		for i := part.from; i < part.to; i++ {
			if s.Path[i] == calltree.NoNode {
				continue
			}
			n := e.number.get(s.Path[i]) - 1
			if last >= 0 && int64(s.Sequence[i]) == int64(s.Sequence[last])+1 {
				step := s.Time[i] - s.Time[last]
				if step > maxStep || step < -maxStep || (step < 0) != (s.Time[i] < s.Time[last]) {
					return fmt.Errorf("segment %s: from snapshot %d at %d to the next at %d: %w", s.Segment, s.Sequence[last], s.Time[last], s.Time[i],
						ErrDuration)
				}
				if c := e.common(leaf, n); c != calltree.NoNode {
					e.list[c].self += step
				}
			}
			last, leaf = i, n
		}
	}
	return nil
}

// common returns the innermost element that the paths of two leaves have in
// common, or NoNode. It is one of the two, or a fork.
func (e *elements) common(a, b int32) int32 {
	for a != b {
		if a > b {
			a = e.list[a].fork
		} else {
			b = e.list[b].fork
		}
	}
	return a
}

// trees computes totals and returns the trees. Times are in 1/unit ms.
func (e *elements) trees(unit int64) ([]StackTree, error) {
	for i := len(e.list) - 1; i >= 0; i-- {
		el := &e.list[i]
		el.total += el.self
		if el.parent != calltree.NoNode {
			e.list[el.parent].total += el.total
			e.list[el.parent].count += el.count
		}
	}
	if unit != 1 {
		e.scale(unit)
	}
	n := len(e.list)
	cols := make([]int32, 5*n)
	all := StackTree{cols[:n:n], cols[n : 2*n : 2*n], cols[2*n : 3*n : 3*n], cols[3*n : 4*n : 4*n], cols[4*n:]}
	order := make([]int32, 0, n)
	var trees []StackTree
	for root := range e.list {
		if e.list[root].parent != calltree.NoNode {
			continue
		}
		from := len(order)
		order = append(order, int32(root))
		for at := from; at < len(order); at++ {
			el := &e.list[order[at]]
			for c := el.first; c != 0; c = e.list[c-1].next {
				all.Parent[len(order)] = int32(at-from) + 1
				order = append(order, c-1)
			}
			if !fits(el.total) || !fits(el.self) {
				return nil, fmt.Errorf("%s: %w", e.stacks.Functions[el.function].Name, ErrDuration)
			}
			all.Function[at], all.Duration[at], all.Self[at], all.Count[at] = el.function, int32(el.total), int32(el.self), el.count
		}
		trees = append(trees, all.part(from, len(order)))
	}
	e.order = order
	return trees, nil
}

// dumps lists the selected rows of sources, each with its innermost element in trees.
func (e *elements) dumps(sources []*source, trees []StackTree) []Dump {
	type place struct{ tree, id int32 }
	places, at := make([]place, len(e.list)), 0
	for tree := range trees {
		for id := range trees[tree].Len() {
			places[e.order[at]] = place{int32(tree), int32(id) + 1}
			at++
		}
	}
	var list []Dump
	for _, s := range sources {
		for _, part := range s.selected {
			for i := part.from; i < part.to; i++ {
				if s.Path[i] != calltree.NoNode {
					p := places[e.number.get(s.Path[i])-1]
					list = append(list, Dump{s.Segment, s.Sequence[i], s.Time[i], p.tree, p.id})
				}
			}
		}
	}
	return list
}

// scale converts times from 1/unit ms to ms. It rounds the totals and derives self from
// them, so that rounding errors do not add up.
func (e *elements) scale(unit int64) {
	for i := range e.list {
		el := &e.list[i]
		el.total /= unit
		el.self = el.total
		if el.parent != calltree.NoNode {
			e.list[el.parent].self -= el.total
		}
	}
}

func fits(v int64) bool { return math.MinInt32 <= v && v <= math.MaxInt32 }

// part returns some rows as a tree.
func (t *StackTree) part(from, to int) StackTree {
	return StackTree{
		t.Parent[from:to:to], t.Function[from:to:to], t.Duration[from:to:to], t.Self[from:to:to], t.Count[from:to:to],
	}
}

// numbering is a sparse map from the paths of a large forest to numbers, in pages that
// are allocated on demand: an analysis uses few of a store's paths, mostly neighbours.
type numbering struct {
	page []int32 // of pageSize paths each: where their numbers begin in slab
	slab []int32 // the first page stays zero, for paths without numbers
}

const (
	pageBits = 6
	pageSize = 1 << pageBits
)

func newNumbering(paths int) numbering {
	return numbering{page: make([]int32, paths>>pageBits+1), slab: make([]int32, pageSize, min(paths/pageSize+2, 1<<6)*pageSize)}
}

func (n *numbering) get(p int32) int32 {
	return n.slab[n.page[p>>pageBits]+p&(pageSize-1)]
}

func (n *numbering) set(p, v int32) {
	at := &n.page[p>>pageBits]
	if *at == 0 {
		*at = int32(len(n.slab))
		if len(n.slab) == cap(n.slab) {
			n.slab = slices.Grow(n.slab, len(n.slab)) // append grows by a quarter only
		}
		n.slab = n.slab[:len(n.slab)+pageSize]
	}
	n.slab[*at+p&(pageSize-1)] = v
}
