package public

import (
	"math"
	"os"
	"testing"

	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/store"
)

// TestConservation: of all recorded pairs, and of their single runs and controls, the signed
// sum of costs and gains agrees with the change of the program per operation within the
// intervals of both, and no cost exceeds the rise of its function, but for one that has what the
// program rose beside all findings.
func TestConservation(t *testing.T) {
	pairs, err := Load(t.Context(), os.DirFS("testdata"))
	if err != nil {
		t.Fatal(err)
	}
	compared, found := 0, 0
	for _, p := range pairs {
		for _, side := range [][]store.Profile{p.Head, p.Control} {
			keys := runKeys(side)
			for i := range keys {
				for k := i + 1; k <= len(keys); k++ {
					head := ofRuns(side, keys[i:k]...)
					o, err := p.Measure(t.Context(), p.Base, head)
					if err != nil {
						t.Fatal(err)
					}
					compared++
					for b := range o.Result.Benchmarks {
						found += checkConservation(t, p, &o.Result.Benchmarks[b], keys[i:k])
					}
				}
			}
		}
	}
	if compared < 100 || found < 30 {
		t.Errorf("%d comparisons, %d with findings: too few to prove anything", compared, found)
	}
	t.Logf("%d comparisons, %d benchmarks with findings", compared, found)
}

// checkConservation checks the findings of a benchmark, and returns 1 if there are any.
func checkConservation(t *testing.T, p *Pair, b *regression.Benchmark, runs []string) int {
	t.Helper()
	if len(b.Analyses) == 0 || b.Analyses[0].Program == nil {
		t.Errorf("%s, %v: nothing was compared per operation", p.Name, runs)
		return 0
	}
	program := b.Analyses[0].Program
	sum, errors, n, whole := 0.0, math.Pow((program.High-program.Low)/2, 2), 0, 0
	for i := range b.Findings {
		f := &b.Findings[i]
		if !f.Kind.Costs() && f.Kind != regression.Improvement {
			continue
		}
		n++
		sum += f.Delta.Share
		if d := f.Delta.Time; d != nil && d.Value != 0 {
			errors += math.Pow((d.High-d.Low)/2*f.Delta.Share/d.Value, 2)
		}
		if f.Delta.Base > 1+1e-9 {
			t.Errorf("%s, %v: %s was %.3f of the program before", p.Name, runs, f.Function, f.Delta.Base)
		}
		if f.Kind.Costs() && f.Headline != nil {
			rise := riseOf(t, p, b, f.Headline.Function)
			if most := math.Max(rise, program.Value); most > 0 && f.Delta.Share > most+1e-9 {
				t.Errorf("%s, %v: %s costs %+.3f of the program; it rose by %+.3f at most", p.Name, runs, f.Headline.Function, f.Delta.Share, most)
			}
			if rise > 0 && f.Delta.Share > rise+1e-9 {
				whole++
			}
		}
	}
	if n == 0 {
		return 0
	}
	if whole > 1 {
		t.Errorf("%s, %v: %d findings have the rise of the program", p.Name, runs, whole)
	}
	if math.Abs(sum-program.Value) > math.Sqrt(errors) {
		t.Errorf("%s, %v: findings are %+.2f of the program, which changed by %+.2f (%+.2f … %+.2f)", p.Name, runs, sum, program.Value, program.Low, program.High)
	}
	return 1
}

// riseOf returns the change of the samples per operation in and below a function, as a share
// of the program's before.
func riseOf(t *testing.T, p *Pair, b *regression.Benchmark, function string) float64 {
	t.Helper()
	m, err := history.Load(t.Context(), p.Store, &history.Series{Benchmark: b.Benchmark, Type: b.Type, Profiles: b.Profiles})
	if err != nil {
		t.Fatal(err)
	}
	inside := make([]bool, m.Table.Len())
	for n := range inside {
		up := m.Table.Parent[n]
		inside[n] = m.Table.Name(int32(n)) == function || up != calltree.NoNode && inside[up]
	}
	var rate, all [2]float64
	for i := range m.Runs {
		r, side := &m.Runs[i], 0
		if i >= len(m.Runs)-b.Tested {
			side = 1
		}
		for j, n := range r.Nodes {
			if inside[n] {
				rate[side] += r.Count[j] / r.Operations / float64([2]int{len(m.Runs) - b.Tested, b.Tested}[side])
			}
		}
		all[side] += r.Rate() / float64([2]int{len(m.Runs) - b.Tested, b.Tested}[side])
	}
	return (rate[1] - rate[0]) / all[0]
}
