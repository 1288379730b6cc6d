// Package row sums the samples of the call nodes of runs to rows: the sums that may change as one.
//
// A row is self or total of a function, of a call node, or of a pair of caller and callee; total
// counts recursion once. Rows that matter in some run have a slot, the others none. A Space has the
// rows of a matrix of runs, and tells which nodes a row has and which of its roots has a node.
// The package knows no noise and no change.
package row

import (
	"iter"
	"math"
	"slices"

	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/bitset"
)

// Kind is one of the six ways to sum self samples, in the order of row indexes,
// which decides ties.
type Kind uint8

const (
	FunctionSelf  Kind = iota // a function, wherever it is called
	FunctionTotal             // with all its callees; recursion counts once
	NodeSelf                  // a call node: a function in one context
	NodeTotal                 // with its callees
	EdgeTotal                 // one function called by another, with its callees
	EdgeSelf                  // without callees
	Kinds                     // their number
)

// Class orders kinds from fine to coarse: a pursuit goes down to a finer class, or
// within one.
func (k Kind) Class() int {
	switch k {
	case FunctionTotal:
		return 2
	case NodeTotal, EdgeTotal:
		return 1
	}
	return 0
}

// Total reports whether the row holds whole subtrees.
func (k Kind) Total() bool { return k.Class() > 0 }

// None is the row of all that is too small in every run to be kept: it has no nodes and no samples.
const None int32 = iota

// Space is all rows of a matrix: sums of self samples that may change as one. A row is
// a number (slot) in the order of the row index of the method: function selfs, function
// totals, node selfs, node totals, then total and self of every pair of caller and
// callee. Rows that are too small in every run have no slot. A space is immutable and
// serves every choice of tested runs.
type Space struct {
	Matrix *history.Matrix // of the samples
	Table  *calltree.Table

	EdgeOf   []int32 // of a node: the pair (function of the parent, function); NoNode for a root
	EdgeNode []int32 // of a pair: its first node
	// Whether a node has no ancestor with its function, or with its pair.
	OuterFunction, OuterEdge []bool
	Functions                [][]int32
	edges                    [][]int32 // nodes of a pair, ascending
	// The same without those below another one.
	outerFunctions, outerEdges [][]int32

	slot    []int32 // of a row by index, or None
	Kind    []Kind
	Item    []int32   // of a slot: function, node or pair
	Samples []float64 // by slot, then run
}

// leastPeak is the minimum count that a row must reach in some run, in samples of a run
// of mean length, to be kept. Rows are tested from 5 per unit of size factor on, so a
// smaller row could matter only in a run whose size factor is below 0.3 of its share of
// the samples.
const leastPeak = 1.5

// NewSpace sums the rows of a matrix: two passes over the call nodes of all runs.
func NewSpace(m *history.Matrix) *Space {
	s := &Space{Matrix: m, Table: m.Table}
	s.pairs()
	s.outerFunctions, s.OuterFunction = s.outermost(s.Functions)
	s.outerEdges, s.OuterEdge = s.outermost(s.edges)
	rows := 2*len(s.Functions) + 2*s.Table.Len() + 2*len(s.EdgeNode)
	scale := s.lengths()
	peak := make([]float64, rows)
	w := &summing{sums: make([]float64, rows), used: bitset.New(s.Table.Len())}
	for t := range m.Runs {
		s.sum(t, w)
		for _, r := range w.rows {
			if v := w.sums[r] * scale[t]; v > peak[r] {
				peak[r] = v
			}
		}
	}
	s.slot, s.Kind, s.Item = make([]int32, rows), []Kind{Kinds}, []int32{calltree.NoNode}
	for r := range rows {
		if kind, item := s.rowOf(r); peak[r] >= leastPeak {
			s.slot[r] = int32(len(s.Kind))
			s.Kind = append(s.Kind, kind)
			s.Item = append(s.Item, item)
		}
	}
	n := len(m.Runs)
	s.Samples = make([]float64, len(s.Kind)*n)
	for t := range m.Runs {
		s.sum(t, w)
		for _, r := range w.rows {
			if at := s.slot[r]; at != None {
				s.Samples[int(at)*n+t] = w.sums[r]
			}
		}
	}
	return s
}

// pairs numbers the pairs of caller and callee by their first node, and lists
// the nodes of functions and pairs.
func (s *Space) pairs() {
	t := s.Table
	s.EdgeOf = make([]int32, t.Len())
	s.Functions = make([][]int32, len(t.Functions))
	ids := map[[2]int32]int32{}
	for n := range int32(t.Len()) {
		s.Functions[t.Func[n]] = append(s.Functions[t.Func[n]], n)
		p := t.Parent[n]
		if p == calltree.NoNode {
			s.EdgeOf[n] = calltree.NoNode
			continue
		}
		key := [2]int32{t.Func[p], t.Func[n]}
		e, ok := ids[key]
		if !ok {
			e = int32(len(s.EdgeNode))
			ids[key] = e
			s.EdgeNode = append(s.EdgeNode, n)
			s.edges = append(s.edges, nil)
		}
		s.EdgeOf[n] = e
		s.edges[e] = append(s.edges[e], n)
	}
}

// lengths returns for each run the factor to a run of mean length.
func (s *Space) lengths() []float64 {
	mean := 0.0
	for i := range s.Matrix.Runs {
		mean += s.Matrix.Runs[i].Total
	}
	mean /= math.Max(1, float64(len(s.Matrix.Runs)))
	scale := make([]float64, len(s.Matrix.Runs))
	for i := range scale {
		if n := s.Matrix.Runs[i].Total; n > 0 {
			scale[i] = mean / n
		}
	}
	return scale
}

// Row indexes; summing.choose knows them, too.

func (s *Space) row(k Kind, item int32) int {
	f, n := len(s.Functions), s.Table.Len()
	switch k {
	case FunctionSelf:
		return int(item)
	case FunctionTotal:
		return f + int(item)
	case NodeSelf:
		return 2*f + int(item)
	case NodeTotal:
		return 2*f + n + int(item)
	case EdgeTotal:
		return 2*f + 2*n + 2*int(item)
	}
	return 2*f + 2*n + 2*int(item) + 1
}

func (s *Space) rowOf(r int) (Kind, int32) {
	f, n := len(s.Functions), s.Table.Len()
	switch {
	case r < f:
		return FunctionSelf, int32(r)
	case r < 2*f:
		return FunctionTotal, int32(r - f)
	case r < 2*f+n:
		return NodeSelf, int32(r - 2*f)
	case r < 2*f+2*n:
		return NodeTotal, int32(r - 2*f - n)
	}
	r -= 2*f + 2*n
	if r%2 == 0 {
		return EdgeTotal, int32(r / 2)
	}
	return EdgeSelf, int32(r / 2)
}

// At returns the slot of a row, or None.
func (s *Space) At(k Kind, item int32) int32 {
	if item < 0 {
		return None
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
func (w *summing) choose(s *Space, r *history.Run) {
	all := s.Table.Len()
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
		for ; n != calltree.NoNode && w.used.Add(n); n = s.Table.Parent[n] {
		}
	}
	w.nodes, w.rows = w.used.Append(w.nodes[:0]), w.rows[:0]
	clear(w.used)
	functions, edges := int32(len(s.Functions)), int32(s.row(EdgeTotal, 0))
	for _, n := range w.nodes {
		f, e, self := s.Table.Func[n], s.EdgeOf[n], 2*functions+n
		w.rows = append(w.rows, f, functions+f, self, self+int32(all))
		if e != calltree.NoNode {
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
func (s *Space) sum(run int, w *summing) {
	t, nodes, sums := s.Table, s.Table.Len(), w.sums
	r := &s.Matrix.Runs[run]
	w.choose(s, r)
	self := sums[s.row(NodeSelf, 0):][:nodes]
	total := sums[s.row(NodeTotal, 0):][:nodes]
	for i, n := range r.Nodes {
		self[n] = r.Count[i]
		total[n] = r.Count[i]
		sums[t.Func[n]] += r.Count[i]
		if e := s.EdgeOf[n]; e != calltree.NoNode {
			sums[s.row(EdgeSelf, e)] += r.Count[i]
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
		if s.OuterFunction[n] {
			sums[s.row(FunctionTotal, t.Func[n])] += v
		}
		if s.OuterEdge[n] {
			sums[s.row(EdgeTotal, s.EdgeOf[n])] += v
		}
	}
}

// outermost lists the nodes of functions, or of pairs, without those below another one of theirs, and tells
// which nodes these are.
func (s *Space) outermost(lists [][]int32) (outer [][]int32, is []bool) {
	outer, is = make([][]int32, len(lists)), make([]bool, s.Table.Len())
	for i, nodes := range lists {
		for _, n := range nodes {
			if last := len(outer[i]) - 1; last < 0 || n >= s.Table.End[outer[i][last]] {
				outer[i], is[n] = append(outer[i], n), true
			}
		}
	}
	return outer, is
}

// Values returns the samples of a slot in every run.
func (s *Space) Values(slot int32) []float64 {
	n := len(s.Matrix.Runs)
	return s.Samples[int(slot)*n:][:n]
}

// SumOver sums the values of some runs.
func SumOver(x []float64, runs []int) (sum float64) {
	for _, t := range runs {
		sum += x[t]
	}
	return sum
}

// NodesOf visits the nodes whose self samples make up a row, in ascending order.
func (s *Space) NodesOf(slot int32, visit func(n int32)) {
	for _, root := range s.Roots(slot) {
		for n := root; n < s.End(slot, root); n++ {
			visit(n)
		}
	}
}

// Roots lists the outermost nodes of a row, ascending: the node, or those of the function or pair.
func (s *Space) Roots(slot int32) []int32 {
	switch kind, item := s.Kind[slot], s.Item[slot]; kind {
	case FunctionSelf:
		return s.Functions[item]
	case FunctionTotal:
		return s.outerFunctions[item]
	case EdgeSelf:
		return s.edges[item]
	case EdgeTotal:
		return s.outerEdges[item]
	case NodeSelf, NodeTotal:
		return []int32{item}
	}
	return nil
}

// End returns the node behind those of a row that begin with one of its roots.
func (s *Space) End(slot, root int32) int32 {
	if s.Kind[slot].Total() {
		return s.Table.End[root]
	}
	return root + 1
}

// RootOf returns the root of a row whose nodes have n, or NoNode.
func (s *Space) RootOf(slot, n int32) int32 {
	roots := s.Roots(slot)
	at, is := slices.BinarySearch(roots, n)
	if !is {
		at--
	}
	if at < 0 || n >= s.End(slot, roots[at]) {
		return calltree.NoNode
	}
	return roots[at]
}

// Depth returns the depth of the deepest root of a row.
func (s *Space) Depth(slot int32) int32 {
	d := int32(0)
	for _, n := range s.Roots(slot) {
		d = max(d, s.Table.Depth[n])
	}
	return d
}

// FunctionSelfs yields the slots of function selfs, which come first.
func (s *Space) FunctionSelfs() iter.Seq[int32] {
	return func(yield func(slot int32) bool) {
		for slot := None + 1; int(slot) < len(s.Kind) && s.Kind[slot] == FunctionSelf && yield(slot); slot++ {
		}
	}
}

// Function returns the function of a row; for an edge the callee.
func (s *Space) Function(slot int32) int32 {
	switch kind, item := s.Kind[slot], s.Item[slot]; kind {
	case FunctionSelf, FunctionTotal:
		return item
	case NodeSelf, NodeTotal:
		return s.Table.Func[item]
	default:
		return s.Table.Func[s.EdgeNode[item]]
	}
}
