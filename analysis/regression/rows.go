package regression

import (
	"math"
	"slices"

	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/bitset"
)

// rowKind is one of the six ways to sum self samples, in the order of row indexes,
// which decides ties.
type rowKind uint8

const (
	functionSelf  rowKind = iota // a function, wherever it is called
	functionTotal                // with all its callees; recursion counts once
	nodeSelf                     // a call node: a function in one context
	nodeTotal
	edgeTotal // one function called by another, with its callees
	edgeSelf
	rowKinds
)

// class orders kinds from fine to coarse: a pursuit goes down to a finer class, or
// within one.
func (k rowKind) class() int {
	switch k {
	case functionTotal:
		return 2
	case nodeTotal, edgeTotal:
		return 1
	}
	return 0
}

// total reports whether the row holds whole subtrees.
func (k rowKind) total() bool { return k.class() > 0 }

// prior is the weight of the kind of a row in the choice of the next place, in units of
// z²/2.
func (k rowKind) prior() float64 {
	switch k {
	case functionSelf:
		return 1.5
	case functionTotal, edgeTotal, edgeSelf:
		return 0.3
	case nodeTotal:
		return -0.5
	}
	return 0
}

// noRow stands for a row that is too small in every run to be kept.
const noRow = int32(-1)

// space is all rows of a matrix: sums of self samples that may change as one. A row is
// a number (slot) in the order of the row index of the method: function selfs, function
// totals, node selfs, node totals, then total and self of every pair of caller and
// callee. Rows that are too small in every run have no slot. A space is immutable and
// serves every choice of tested runs.
type space struct {
	matrix *history.Matrix
	table  *calltree.Table

	edgeOf   []int32 // of a node: the pair (function of the parent, function); noRow for a root
	edgeNode []int32 // of a pair: its first node
	// Whether a node has no ancestor with its function, or with its pair.
	outerFunction, outerEdge []bool
	functions                [][]int32
	edges                    [][]int32 // nodes of a pair, ascending

	slot    []int32 // of a row by index, or noRow
	kind    []rowKind
	item    []int32   // of a slot: function, node or pair
	samples []float64 // by slot, then run
}

// leastPeak is the minimum count that a row must reach in some run, in samples of a run
// of mean length, to be kept. Rows are tested from 5 per unit of size factor on, so a
// smaller row could matter only in a run whose size factor is below 0.3 of its share of
// the samples.
const leastPeak = 1.5

// newSpace sums the rows of a matrix: two passes over the call nodes of all runs.
func newSpace(m *history.Matrix) *space {
	s := &space{matrix: m, table: m.Table}
	s.pairs()
	s.outermost()
	rows := s.rowCount()
	scale := s.lengths()
	peak := make([]float64, rows)
	w := &summing{sums: make([]float64, rows), used: bitset.New(s.table.Len())}
	for t := range m.Runs {
		s.sum(t, w)
		for _, r := range w.rows {
			if v := w.sums[r] * scale[t]; v > peak[r] {
				peak[r] = v
			}
		}
	}
	s.slot = make([]int32, rows)
	for r := range rows {
		s.slot[r] = noRow
		if peak[r] >= leastPeak {
			kind, item := s.rowOf(r)
			s.slot[r] = int32(len(s.kind))
			s.kind = append(s.kind, kind)
			s.item = append(s.item, item)
		}
	}
	n := len(m.Runs)
	s.samples = make([]float64, len(s.kind)*n)
	for t := range m.Runs {
		s.sum(t, w)
		for _, r := range w.rows {
			if at := s.slot[r]; at != noRow {
				s.samples[int(at)*n+t] = w.sums[r]
			}
		}
	}
	return s
}

// pairs numbers the pairs of caller and callee by their first node, and lists
// the nodes of functions and pairs.
func (s *space) pairs() {
	t := s.table
	s.edgeOf = make([]int32, t.Len())
	s.functions = make([][]int32, len(t.Functions))
	ids := map[[2]int32]int32{}
	for n := range int32(t.Len()) {
		s.functions[t.Func[n]] = append(s.functions[t.Func[n]], n)
		p := t.Parent[n]
		if p == calltree.NoNode {
			s.edgeOf[n] = noRow
			continue
		}
		key := [2]int32{t.Func[p], t.Func[n]}
		e, ok := ids[key]
		if !ok {
			e = int32(len(s.edgeNode))
			ids[key] = e
			s.edgeNode = append(s.edgeNode, n)
			s.edges = append(s.edges, nil)
		}
		s.edgeOf[n] = e
		s.edges[e] = append(s.edges[e], n)
	}
}

// lengths returns for each run the factor to a run of mean length.
func (s *space) lengths() []float64 {
	mean := 0.0
	for i := range s.matrix.Runs {
		mean += s.matrix.Runs[i].Total
	}
	mean /= math.Max(1, float64(len(s.matrix.Runs)))
	scale := make([]float64, len(s.matrix.Runs))
	for i := range scale {
		if n := s.matrix.Runs[i].Total; n > 0 {
			scale[i] = mean / n
		}
	}
	return scale
}

// Row indexes; summing.choose knows them, too.

func (s *space) rowCount() int { return 2*len(s.functions) + 2*s.table.Len() + 2*len(s.edgeNode) }

func (s *space) row(k rowKind, item int32) int {
	f, n := len(s.functions), s.table.Len()
	switch k {
	case functionSelf:
		return int(item)
	case functionTotal:
		return f + int(item)
	case nodeSelf:
		return 2*f + int(item)
	case nodeTotal:
		return 2*f + n + int(item)
	case edgeTotal:
		return 2*f + 2*n + 2*int(item)
	}
	return 2*f + 2*n + 2*int(item) + 1
}

func (s *space) rowOf(r int) (rowKind, int32) {
	f, n := len(s.functions), s.table.Len()
	switch {
	case r < f:
		return functionSelf, int32(r)
	case r < 2*f:
		return functionTotal, int32(r - f)
	case r < 2*f+n:
		return nodeSelf, int32(r - 2*f)
	case r < 2*f+2*n:
		return nodeTotal, int32(r - 2*f - n)
	}
	r -= 2*f + 2*n
	if r%2 == 0 {
		return edgeTotal, int32(r / 2)
	}
	return edgeSelf, int32(r / 2)
}

// at returns the slot of a row, or noRow.
func (s *space) at(k rowKind, item int32) int32 {
	if item < 0 {
		return noRow
	}
	return s.slot[s.row(k, item)]
}

// summing is scratch for the sums of one run.
type summing struct {
	sums  []float64  // by row; zero but for those in rows
	nodes []int32    // with a total, or all, ascending
	rows  []int32    // those of nodes, some repeated
	used  bitset.Set // scratch; empty between sums
}

// fewNodes is the part of the table (1/fewNodes) below which it pays to list the nodes of
// a run: half of the call paths of some programs occur in one run only.
const fewNodes = 8

// choose lists the nodes of a run, or all if it has many of them, and their rows.
func (w *summing) choose(s *space, r *history.Run) {
	all := s.table.Len()
	if len(r.Nodes) >= all/fewNodes {
		clear(w.sums)
		if len(w.nodes) == all && len(w.rows) == len(w.sums) {
			return
		}
		w.nodes, w.rows = numbers(w.nodes, all), numbers(w.rows, len(w.sums))
		return
	}
	for _, row := range w.rows {
		w.sums[row] = 0
	}
	for _, n := range r.Nodes {
		for ; n != calltree.NoNode && w.used.Add(n); n = s.table.Parent[n] {
		}
	}
	w.nodes, w.rows = w.used.Append(w.nodes[:0]), w.rows[:0]
	clear(w.used)
	functions, edges := int32(len(s.functions)), int32(s.row(edgeTotal, 0))
	for _, n := range w.nodes {
		f, e, self := s.table.Func[n], s.edgeOf[n], 2*functions+n
		w.rows = append(w.rows, f, functions+f, self, self+int32(all))
		if e != noRow {
			w.rows = append(w.rows, edges+2*e, edges+2*e+1)
		}
	}
}

// numbers returns 0 … n-1, in the memory of list if it fits.
func numbers(list []int32, n int) []int32 {
	list = slices.Grow(list[:0], n)[:n]
	for i := range list {
		list[i] = int32(i)
	}
	return list
}

// sum computes the rows of one run.
func (s *space) sum(run int, w *summing) {
	t, nodes, sums := s.table, s.table.Len(), w.sums
	r := &s.matrix.Runs[run]
	w.choose(s, r)
	self := sums[s.row(nodeSelf, 0):][:nodes]
	total := sums[s.row(nodeTotal, 0):][:nodes]
	for i, n := range r.Nodes {
		self[n] = r.Count[i]
		total[n] = r.Count[i]
		sums[t.Func[n]] += r.Count[i]
		if e := s.edgeOf[n]; e != noRow {
			sums[s.row(edgeSelf, e)] += r.Count[i]
		}
	}
	for _, n := range slices.Backward(w.nodes) {
		if p := t.Parent[n]; p != calltree.NoNode {
			total[p] += total[n]
		}
	}
	for _, n := range w.nodes {
		v := total[n]
		if v == 0 {
			continue
		}
		if s.outerFunction[n] {
			sums[s.row(functionTotal, t.Func[n])] += v
		}
		if s.outerEdge[n] {
			sums[s.row(edgeTotal, s.edgeOf[n])] += v
		}
	}
}

// outermost finds the nodes without an ancestor of their function, and without one of
// their pair of caller and callee.
func (s *space) outermost() {
	s.outerFunction, s.outerEdge = make([]bool, s.table.Len()), make([]bool, s.table.Len())
	w := s.newWalk()
	for root := int32(0); int(root) < s.table.Len(); root = s.table.End[root] {
		w.walk(root, func(n int32, outerFunction, outerEdge bool) {
			s.outerFunction[n], s.outerEdge[n] = outerFunction, outerEdge
		})
	}
}

// walk is scratch for walks over subtrees.
type walk struct {
	*space
	// The number of times a function or a pair is on the path to the node.
	onPath, edgesOnPath []int32
	path                []int32
}

func (s *space) newWalk() *walk {
	return &walk{space: s, onPath: make([]int32, len(s.functions)), edgesOnPath: make([]int32, len(s.edges))}
}

// walk visits root and the nodes below in order, and reports of each whether no node
// above it, up to root, has its function, or its pair of caller and callee.
func (w *walk) walk(root int32, visit func(n int32, outerFunction, outerEdge bool)) {
	t := w.table
	leave := func() {
		last := w.path[len(w.path)-1]
		w.path = w.path[:len(w.path)-1]
		w.onPath[t.Func[last]]--
		if e := w.edgeOf[last]; e != noRow {
			w.edgesOnPath[e]--
		}
	}
	for n := root; n < t.End[root]; n++ {
		for len(w.path) > 0 && w.path[len(w.path)-1] != t.Parent[n] {
			leave()
		}
		e := w.edgeOf[n]
		visit(n, w.onPath[t.Func[n]] == 0, e != noRow && w.edgesOnPath[e] == 0)
		w.path = append(w.path, n)
		w.onPath[t.Func[n]]++
		if e != noRow {
			w.edgesOnPath[e]++
		}
	}
	for len(w.path) > 0 {
		leave()
	}
}

// values returns the samples of a slot in every run.
func (s *space) values(slot int32) []float64 {
	n := len(s.matrix.Runs)
	return s.samples[int(slot)*n:][:n]
}

// nodesOf visits the nodes whose self samples make up a row, in ascending order.
func (s *space) nodesOf(slot int32, visit func(n int32)) {
	kind, item := s.kind[slot], s.item[slot]
	switch kind {
	case nodeSelf:
		visit(item)
	case nodeTotal:
		for n := item; n < s.table.End[item]; n++ {
			visit(n)
		}
	case functionSelf, edgeSelf:
		for _, n := range s.roots(slot) {
			visit(n)
		}
	default:
		end := int32(-1) // of the subtree visited last: nodes inside are not outermost
		for _, n := range s.roots(slot) {
			if n < end {
				continue
			}
			end = s.table.End[n]
			for q := n; q < end; q++ {
				visit(q)
			}
		}
	}
}

// roots lists the nodes of a row, ascending: the node, or the nodes of the function or
// pair. Those of a total may be nested.
func (s *space) roots(slot int32) []int32 {
	switch kind, item := s.kind[slot], s.item[slot]; kind {
	case functionSelf, functionTotal:
		return s.functions[item]
	case edgeSelf, edgeTotal:
		return s.edges[item]
	default:
		return []int32{item}
	}
}

// above visits the slots of the rows that hold the self samples of node p: its self
// rows, then the totals along its path up to and including node top (NoNode: the root).
// It visits a row once; mark is scratch of one entry per slot that no other call has
// used with the same stamp.
func (s *space) above(p, top int32, mark []int32, stamp int32, visit func(slot int32)) {
	once := func(slot int32) {
		if slot != noRow && mark[slot] != stamp {
			mark[slot] = stamp
			visit(slot)
		}
	}
	t := s.table
	once(s.at(functionSelf, t.Func[p]))
	once(s.at(nodeSelf, p))
	once(s.at(edgeSelf, s.edgeOf[p]))
	for q := p; q != calltree.NoNode; q = t.Parent[q] {
		once(s.at(nodeTotal, q))
		once(s.at(edgeTotal, s.edgeOf[q]))
		once(s.at(functionTotal, t.Func[q]))
		if q == top {
			break
		}
	}
}

// depth returns the depth of the deepest root of a row.
func (s *space) depth(slot int32) int32 {
	d := int32(0)
	for _, n := range s.roots(slot) {
		d = max(d, s.table.Depth[n])
	}
	return d
}

// functionSelfs yields the slots of function selfs, which come first.
func (s *space) functionSelfs() []rowKind {
	n := 0
	for n < len(s.kind) && s.kind[n] == functionSelf {
		n++
	}
	return s.kind[:n]
}
