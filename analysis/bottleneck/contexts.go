package bottleneck

import (
	"cmp"
	"context"
	"slices"

	"github.com/dendroprof/dendro/calltree"
)

// Context is one call path to a function, and its part of the program.
type Context struct {
	Path  []string `json:"path"`  // from the root to the function
	Share float64  `json:"share"` // of the whole program
}

// contexts finds the heaviest call paths of the rows. A sample counts for the outermost
// node of the function that reaches it, so that the shares of all contexts of a
// function add up to its potential.
func (a *analysis) contexts(ctx context.Context, rows []*Row) error {
	if a.o.Contexts <= 0 || a.r.Value == 0 {
		return nil
	}
	w, err := a.sum(ctx)
	if err != nil {
		return err
	}
	byName := make(map[string]int32, len(w.Functions))
	for f := range w.Functions {
		byName[w.Functions[f].Name] = int32(f)
	}
	wanted := make([]bool, len(w.Functions))
	for _, r := range rows {
		if f, ok := byName[r.Function]; ok {
			wanted[f] = true
		}
	}
	var carried []float64
	switch {
	case a.o.Rank == Own:
		if _, carried, err = a.held(ctx); err != nil {
			return err
		}
	case a.o.Rank != Subtree:
		carried = w.self
	case a.o.Degree == Everything:
		carried = w.outermostTotals(wanted)
	default:
		carried = w.reached(wanted, a.o.Degree)
	}
	nodes := make([][]int32, len(w.Functions))
	for n, v := range carried {
		if f := w.Func[n]; wanted[f] && v != 0 {
			nodes[f] = append(nodes[f], int32(n))
		}
	}
	for _, list := range nodes {
		slices.SortStableFunc(list, func(x, y int32) int { return cmp.Compare(carried[y], carried[x]) })
	}
	for _, r := range rows {
		f, ok := byName[r.Function]
		if !ok {
			continue
		}
		for _, n := range nodes[f][:min(len(nodes[f]), a.o.Contexts)] {
			r.Contexts = append(r.Contexts, Context{Path: w.Path(n), Share: round(carried[n])})
		}
	}
	return nil
}

// reached returns for every node of a wanted function the self values within n calls
// below it that no outer node of the function reaches.
func (w *weighted) reached(wanted []bool, n int) []float64 {
	carried := make([]float64, len(w.self))
	last := make([]int32, len(w.Functions)) // 1 + the outermost node of the function so far
	var found []int32
	for x, v := range w.self {
		if v == 0 {
			continue
		}
		found = found[:0]
		at := int32(x)
		for d := 0; d <= n && at != calltree.NoNode; d++ {
			if f := w.Func[at]; wanted[f] {
				if last[f] == 0 {
					found = append(found, f)
				}
				last[f] = at + 1
			}
			at = w.Parent[at]
		}
		for _, f := range found {
			carried[last[f]-1] += v
			last[f] = 0
		}
	}
	return carried
}

// outermostTotals returns the totals of the nodes without an ancestor of the same
// function, in one pass.
func (w *weighted) outermostTotals(wanted []bool) []float64 {
	before := make([]float64, len(w.self)+1) // sum of the self values before each node
	for n, v := range w.self {
		before[n+1] = before[n] + v
	}
	carried := make([]float64, len(w.self))
	open := make([]int32, len(w.Functions)) // where the last outermost subtree ends
	for n := range w.self {
		if f := w.Func[n]; wanted[f] && int32(n) >= open[f] {
			open[f] = w.End[n]
			carried[n] = before[w.End[n]] - before[n]
		}
	}
	return carried
}
