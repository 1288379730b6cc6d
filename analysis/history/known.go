package history

import (
	"slices"

	"github.com/dendroprof/dendro/calltree"
)

// Known is what other benchmarks show of the functions of two versions of a program.
type Known struct {
	Renamed []Rename
	Inlined []Inline
}

// Rename is a function with another name in the newer version.
type Rename struct{ Base, Head string }

// Inline is a function that the newer version's compiler copied into a caller, so that its
// samples are the caller's.
type Inline struct{ Caller, Callee string }

// With applies renames and inlinings to the matrix: a renamed function gets one name, and the
// samples of an inlined call count for its caller. A rename applies if no run has the old name
// after the first run with the new one. An inlining applies if the callee has no samples in the
// tested runs, which are the last. With also returns the renames and inlinings that it applied,
// and m itself if there are none.
func (m *Matrix) With(k *Known, tested int) (*Matrix, Known) {
	held := Known{}
	for _, r := range k.Renamed {
		before, now := m.runsOf(r.Base), m.runsOf(r.Head)
		if len(before) > 0 && len(now) > 0 && before[len(before)-1] < now[0] {
			held.Renamed = append(held.Renamed, r)
		}
	}
	for _, in := range k.Inlined {
		before := m.runsOf(in.Callee)
		if len(before) > 0 && before[len(before)-1] < len(m.Runs)-tested && m.calls(in) {
			held.Inlined = append(held.Inlined, in)
		}
	}
	if len(held.Renamed)+len(held.Inlined) == 0 {
		return m, held
	}
	return m.rewritten(&held), held
}

// runsOf returns the runs with samples in or below a function, in order.
func (m *Matrix) runsOf(function string) (runs []int) {
	below := make([]bool, m.Table.Len())
	for n := range below {
		p := m.Table.Parent[n]
		below[n] = m.Table.Name(int32(n)) == function || p != calltree.NoNode && below[p]
	}
	for t := range m.Runs {
		if slices.ContainsFunc(m.Runs[t].Nodes, func(n int32) bool { return below[n] }) {
			runs = append(runs, t)
		}
	}
	return runs
}

// calls reports whether the caller calls the callee anywhere.
func (m *Matrix) calls(in Inline) bool {
	for n, p := range m.Table.Parent {
		if p != calltree.NoNode && m.Table.Name(int32(n)) == in.Callee && m.Table.Name(p) == in.Caller {
			return true
		}
	}
	return false
}

// rewritten sums the matrix over the functions as they are known.
func (m *Matrix) rewritten(k *Known) *Matrix {
	t, f := m.Table, &calltree.Forest{}
	name := map[string]string{}
	for _, r := range k.Renamed {
		name[r.Base] = r.Head
	}
	ids := make([]int32, len(t.Functions))
	for i, fn := range t.Functions {
		if to, ok := name[fn.Name]; ok {
			fn.Name = to
		}
		ids[i] = f.Function(fn)
	}
	path := make([]int32, t.Len())
	for n, p := range t.Parent {
		up := calltree.NoNode
		if p != calltree.NoNode {
			up = path[p]
			if slices.Contains(k.Inlined, Inline{t.Name(p), t.Name(int32(n))}) {
				path[n] = up
				continue
			}
		}
		path[n] = f.Path(up, ids[t.Func[n]])
	}
	tree := f.Whole()
	out := *m
	out.Table, out.Runs = tree.Table, slices.Clone(m.Runs)
	counts := make([]float64, out.Table.Len())
	for i := range out.Runs {
		r := &out.Runs[i]
		for j, n := range m.Runs[i].Nodes {
			at, _ := tree.Node(path[n])
			counts[at] += m.Runs[i].Count[j]
		}
		r.Nodes, r.Count = nil, nil
		for n, x := range counts {
			if x > 0 {
				r.Nodes, r.Count = append(r.Nodes, int32(n)), append(r.Count, x)
				counts[n] = 0
			}
		}
	}
	return &out
}
