package bottleneck

import (
	"context"
	"fmt"
	"sync"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/store"
)

// weighted is the sum of the selected profiles over one table, every node's self as a
// share of the program: they add up to 1 unless some are negative.
type weighted struct {
	*calltree.Table
	self []float64
}

// sum returns the weighted sum of the selection and caches it.
func (a *analysis) sum(ctx context.Context) (*weighted, error) {
	if a.tree != nil {
		return a.tree, nil
	}
	var err error
	if a.o.Weight == store.BySamples {
		a.tree, err = a.sumOfSamples(ctx)
	} else {
		a.tree, err = a.sumOfShares(ctx)
	}
	return a.tree, err
}

func (a *analysis) sumOfSamples(ctx context.Context) (*weighted, error) {
	t, _, err := store.MergeTrees(ctx, a.st, a.q)
	if err != nil {
		return nil, err
	}
	w := &weighted{t.Table, make([]float64, t.Len())}
	for n, v := range t.Self {
		if v != 0 {
			w.self[n] = float64(v) / float64(a.r.Value)
		}
	}
	return w, nil
}

// sumOfShares weights all profiles with samples equally.
func (a *analysis) sumOfShares(ctx context.Context) (*weighted, error) {
	set, err := a.st.Trees(ctx, a.q, store.TreeOptions{})
	if err != nil {
		return nil, err
	}
	w := &weighted{set.Table, make([]float64, set.Table.Len())}
	n := 0
	for v, err := range set.Vectors {
		if err != nil {
			return nil, err
		}
		whole := float64(set.Profiles[v.Profile].Sum)
		if whole == 0 {
			continue
		}
		n++
		for i, node := range v.Nodes {
			w.self[node] += float64(v.Self[i]) / whole
		}
	}
	for node := range w.self {
		w.self[node] /= float64(max(n, 1))
	}
	return w, nil
}

// filled returns the number of profiles with samples.
func (a *analysis) filled() int {
	n := 0
	for i := range a.profiles {
		if a.profiles[i].Sum > 0 {
			n++
		}
	}
	return n
}

// fromSums ranks by the code path potential, Σ self of the function's nodes ÷ Σ self of all nodes, or by the subtree potential
// without a limit, which is the total. Engines compute the sums without trees.
func (a *analysis) fromSums(ctx context.Context, pick func(r *store.FunctionSum) (share float64, value int64)) error {
	if a.r.Value == 0 {
		return nil
	}
	sums, err := store.SumFunctions(ctx, a.st, a.q)
	if err != nil {
		return err
	}
	n := float64(a.filled())
	for i := range sums.Rows {
		share, value := pick(&sums.Rows[i])
		if a.o.Weight == store.BySamples {
			share = float64(value) / float64(a.r.Value)
		} else {
			share /= n
		}
		if share = round(share); share != 0 {
			a.r.Rows = append(a.r.Rows, Row{Function: sums.Functions[sums.Rows[i].Function].Name, Score: share})
		}
	}
	return nil
}

func (a *analysis) subtreePotentials(ctx context.Context) error {
	switch {
	case a.o.Degree == Everything:
		return a.fromSums(ctx, func(r *store.FunctionSum) (float64, int64) { return r.TotalShare, r.Total })
	case a.o.Degree < 0 || a.o.Degree > MaxDegree:
		return fmt.Errorf("subtree degree %d is not between 0 and %d", a.o.Degree, MaxDegree)
	}
	w, err := a.sum(ctx)
	if err != nil {
		return err
	}
	degrees := a.o.Degree + 1
	all := Potentials(w.Table, w.self, a.o.Degree)
	for f := range w.Functions {
		p := all[f*degrees : (f+1)*degrees]
		for d := range p {
			p[d] = round(p[d])
		}
		if score := p[a.o.Degree]; score != 0 {
			a.r.Rows = append(a.r.Rows, Row{Function: w.Functions[f].Name, Score: score, Potential: p})
		}
	}
	return nil
}

// Potentials returns the subtree potentials of degree 0 to n of every function of a
// table with the given self values. That of function f and degree d is at f·(n+1)+d.
//
// The paper defines them by recursion over nodes, p₀(u) = self(u), pₙ(u) = self(u) +
// Σ pₙ₋₁(children), minus what recursion would count twice, cₙ(u) = Σ pₙ₋d(v) over the
// recursion edges u→v of distance d ≤ n. An equivalent definition is
//
//	Pₙ(F) = Σ self(x) over the nodes x that have F among themselves and their
//	        n nearest ancestors
//
// which takes at most n steps up per node, counting every function at the smallest
// distance, and running sums over n. Time is nodes·n, memory functions·n for each of at
// most four parts of the nodes, which are processed concurrently. They depend on the
// number of nodes alone, so that sums are rounded alike on every machine.
func Potentials[N int64 | float64](t *calltree.Table, self []N, n int) []N {
	parts := make([][]N, max(1, min(4, len(self)>>16)))
	var wg sync.WaitGroup
	for i := range parts {
		wg.Go(func() {
			parts[i] = credits(t, self, i*len(self)/len(parts), (i+1)*len(self)/len(parts), n+1)
		})
	}
	wg.Wait()
	p := parts[0]
	for _, part := range parts[1:] {
		for i, v := range part {
			p[i] += v
		}
	}
	for i := range p {
		if i%(n+1) > 0 {
			p[i] += p[i-1]
		}
	}
	return p
}

// credits returns for each function and each number of steps below degrees the self of the
// nodes from lo to below hi from which the function is so far up.
func credits[N int64 | float64](t *calltree.Table, self []N, lo, hi, degrees int) []N {
	p := make([]N, len(t.Functions)*degrees)
	credited := make([]int32, len(t.Functions)) // 1 + the last node whose self it got
	for x := lo; x < hi; x++ {
		v := self[x]
		if v == 0 {
			continue
		}
		at := int32(x)
		for d := 0; d < degrees && at != calltree.NoNode; d++ {
			if f := t.Func[at]; credited[f] != int32(x)+1 {
				credited[f] = int32(x) + 1
				p[int(f)*degrees+d] += v
			}
			at = t.Parent[at]
		}
	}
	return p
}
