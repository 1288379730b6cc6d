package regression

import (
	"math"
	"slices"
	"testing"

	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/store"
)

// TestWithin: a comparison within a history has the means, variances and amounts of nodes that sums over
// its own runs give, at the sizes of the whole history.
func TestWithin(t *testing.T) {
	const runs = 12
	st := put(t, shop(7, runs, 0, nil))
	series, _, err := (&history.Tests{}).Series(t.Context(), st, store.Query{}, history.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := history.Load(t.Context(), st, &series[0])
	if err != nil {
		t.Fatal(err)
	}
	all := make([]int, runs)
	for i := range all {
		all[i] = i
	}
	base := all[:runs-1]
	o := Options{}.withDefaults()
	f := newFit(Prepare(&series[0], m).sp, &o, base, all[runs-1:])
	near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*(1+math.Abs(b)) }
	for _, block := range [][]int{{4}, {0, 1}, {8, 9, 10}} {
		rest := slices.DeleteFunc(slices.Clone(base), func(t int) bool { return slices.Contains(block, t) })
		g := f.within(block, rest)
		want := *f // of these runs, without the sums of the whole
		want.base, want.head, want.baseRuns, want.headRuns, want.dof = rest, block, g.baseRuns, g.headRuns, g.dof
		want.history, want.nodeD, want.nodeMu = nil, nil, nil
		want.sumHistory()
		want.levels()
		if len(g.tested) < 20 || !slices.Equal(g.tested, want.tested) {
			t.Fatalf("block %v: tested rows %v, want %v", block, g.tested, want.tested)
		}
		for _, slot := range g.tested {
			if !near(g.level[slot], want.level[slot]) || !near(g.diff[slot], want.diff[slot]) || !near(g.variance(slot), want.variance(slot)) {
				t.Errorf("block %v, row %d: mean %g, difference %g, variance %g, want %g, %g, %g", block, slot, g.level[slot], g.diff[slot],
					g.variance(slot), want.level[slot], want.diff[slot], want.variance(slot))
			}
		}
		d, mu := g.nodes()
		wantD, wantMu := want.nodes()
		for n := range d {
			if !near(d[n], wantD[n]) || !near(mu[n], wantMu[n]) {
				t.Errorf("block %v, node %d: %g, %g, want %g, %g", block, n, d[n], mu[n], wantD[n], wantMu[n])
			}
		}
	}
}
