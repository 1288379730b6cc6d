package cli

import (
	"context"

	"github.com/dendroprof/dendro/analysis/bottleneck"
	"github.com/dendroprof/dendro/analysis/expansion"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// ranked is a function that a method of regressions names, in one benchmark.
type ranked struct {
	benchmark testrun.Benchmark
	expansion.Candidate
}

// expandRanked searches the contexts of the first functions of a ranking, benchmark
// by benchmark; nil without --expand.
func (o *regressionsOptions) expandRanked(ctx context.Context, st store.Store, q store.Query, list []ranked) ([]*expanded, error) {
	if o.expand.selection == "" {
		return nil, nil
	}
	var benchmarks []testrun.Benchmark
	candidates := map[testrun.Benchmark][]expansion.Candidate{}
	seen := map[ranked]bool{}
	for _, r := range list {
		key := ranked{r.benchmark, expansion.Candidate{Function: r.Function}}
		if o.expand.top > 0 && len(seen) == o.expand.top || r.Function == "" || seen[key] {
			continue
		}
		seen[key] = true
		if candidates[r.benchmark] == nil {
			benchmarks = append(benchmarks, r.benchmark)
		}
		candidates[r.benchmark] = append(candidates[r.benchmark], r.Candidate)
	}
	selected, err := st.Profiles(ctx, q)
	if err != nil {
		return nil, err
	}
	all, err := st.Profiles(ctx, store.Query{Types: q.Types})
	if err != nil {
		return nil, err
	}
	out := []*expanded{}
	for _, b := range benchmarks {
		profiles := upToTested(all, selected, b)
		if len(profiles) == 0 {
			continue // a finding in several benchmarks has none of its own
		}
		x, err := o.expand.expand(ctx, st, profiles, candidates[b], o.correlating())
		if err != nil {
			return nil, err
		}
		x.Benchmark = b.String()
		out = append(out, x)
	}
	return out, nil
}

// correlating is what --method correlation and --expand correlation compare.
func (o *regressionsOptions) correlating() bottleneck.Correlating {
	return bottleneck.Correlating{Samples: o.x == "samples", Raw: o.y == "raw", Least: o.least}
}

// expandCorrelated searches the contexts of functions that were ranked over all
// benchmarks of the selection; nil without --expand.
func (o *regressionsOptions) expandCorrelated(ctx context.Context, st store.Store, q store.Query, list []bottleneck.Row) ([]*expanded, error) {
	if o.expand.selection == "" {
		return nil, nil
	}
	profiles, err := store.Select(ctx, st, q)
	if err != nil {
		return nil, err
	}
	candidates := make([]expansion.Candidate, len(list))
	for i := range list {
		candidates[i] = expansion.Candidate{Function: list[i].Function, Score: list[i].Score}
	}
	x, err := o.expand.expand(ctx, st, profiles, candidates, o.correlating())
	return []*expanded{x}, err
}

// printRanked prints a ranking and, behind it, the contexts of its first functions.
func (o *regressionsOptions) printRanked(e *env, tb *table, all int, list []*expanded) error {
	if o.output == "json" && list != nil {
		return e.writeJSON(map[string]any{"rows": tb.objects(), "expanded": list})
	}
	if err := tb.print(e, o.output); err != nil {
		return err
	}
	leftOut(e, o.output, all-len(tb.rows), "function")
	for _, x := range list {
		x.print(e.out)
	}
	return nil
}

// upToTested returns the newest selected run of a benchmark and all that came before
// it, selected or not, oldest first; nil if none is selected.
func upToTested(all, selected []store.Profile, b testrun.Benchmark) (list []store.Profile) {
	var tested *store.Profile
	for i := range selected {
		if selected[i].Benchmark == b {
			tested = &selected[i]
		}
	}
	for i := 0; tested != nil && i < len(all); i++ {
		p := &all[i]
		if p.Benchmark == b && p.Type.Key() == tested.Type.Key() {
			list = append(list, *p)
		}
		if p.ID == tested.ID {
			break
		}
	}
	return list
}

// ofBenchmark is a function that was ranked in a benchmark.
func ofBenchmark(group, benchmark, function string, score float64) ranked {
	return ranked{testrun.Benchmark{Group: group, Name: benchmark}, expansion.Candidate{Function: function, Score: score}}
}
