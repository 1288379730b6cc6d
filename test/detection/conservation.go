package detection

import (
	"context"
	"fmt"
	"math"

	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/store"
)

// Conservation returns what is wrong with the amounts of the findings of a comparison per
// operation, and the number of findings: costs and gains add up to the change of the program
// within the intervals of both; no cost exceeds the rise of its function, but for one that has
// what the program rose beside all findings; and no gain may be none.
func Conservation(ctx context.Context, st store.Reader, b *regression.Benchmark) (wrong []string, findings int, err error) {
	if len(b.Analyses) == 0 || b.Analyses[0].Program == nil {
		return []string{"nothing was compared per operation"}, 0, nil
	}
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	program := b.Analyses[0].Program
	sum, errors, whole := 0.0, math.Pow((program.High-program.Low)/2, 2), 0
	for i := range b.Findings {
		f := &b.Findings[i]
		if !f.Kind.Costs() && f.Kind != regression.Improvement {
			continue
		}
		findings++
		sum += f.Delta.Share
		if d := f.Delta.Time; d != nil && d.Value != 0 {
			errors += math.Pow((d.High-d.Low)/2*f.Delta.Share/d.Value, 2)
			if f.Kind == regression.Improvement && d.High >= 0 {
				say("%s gains %+g … %+g %s", f.Function, d.Low, d.High, d.Unit)
			}
		}
		if f.Delta.Base > 1+1e-9 {
			say("%s was %.3f of the program before", f.Function, f.Delta.Base)
		}
		if f.Kind.Costs() && f.Headline != nil {
			rise, err := riseOf(ctx, st, b, f.Headline.Function)
			if err != nil {
				return nil, 0, err
			}
			if most := math.Max(rise, program.Value); most > 0 && f.Delta.Share > most+1e-9 {
				say("%s costs %+.3f of the program; it rose by %+.3f at most", f.Headline.Function, f.Delta.Share, most)
			}
			if rise > 0 && f.Delta.Share > rise+1e-9 {
				whole++
			}
		}
	}
	if whole > 1 {
		say("%d findings have the rise of the program", whole)
	}
	if findings > 0 && math.Abs(sum-program.Value) > math.Sqrt(errors) {
		say("findings are %+.2f of the program, which changed by %+.2f (%+.2f … %+.2f)", sum, program.Value, program.Low, program.High)
	}
	return wrong, findings, nil
}

// riseOf returns the change of the samples per operation in and below a function, as a share
// of the program's before.
func riseOf(ctx context.Context, st store.Reader, b *regression.Benchmark, function string) (float64, error) {
	m, err := history.Load(ctx, st, &history.Series{Benchmark: b.Benchmark, Type: b.Type, Profiles: b.Profiles})
	if err != nil {
		return 0, err
	}
	inside := make([]bool, m.Table.Len())
	for n := range inside {
		up := m.Table.Parent[n]
		inside[n] = m.Table.Name(int32(n)) == function || up != calltree.NoNode && inside[up]
	}
	below := make([]float64, len(m.Runs)) // samples in each run
	for i := range m.Runs {
		for j, n := range m.Runs[i].Nodes {
			if inside[n] {
				below[i] += m.Runs[i].Count[j]
			}
		}
	}
	var base, head []int
	for i := range m.Runs {
		if i < len(m.Runs)-b.Tested {
			base = append(base, i)
		} else {
			head = append(head, i)
		}
	}
	rate := func(runs []int) float64 { return m.PerOperation(runs, func(i int) float64 { return below[i] }) }
	all := m.PerOperation(base, func(i int) float64 { return m.Runs[i].Total + m.Runs[i].Environment })
	return (rate(head) - rate(base)) / all, nil
}
