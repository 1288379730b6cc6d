package judge

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/dendroprof/dendro/analysis/bottleneck"
	"github.com/dendroprof/dendro/analysis/evidence"
	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/analysis/paper"
	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// ranking returns the method whose order of candidates is kept; empty: the default one.
func (r *ReportRequest) ranking() evidence.Ranking {
	if r.Method == "default" {
		return ""
	}
	return evidence.Ranking(r.Method)
}

// testedFunctions is the maximum number of functions of a test, as --variables has it.
const testedFunctions = 10

// rank replaces the ranking of each benchmark, and the runs that it shows, by those of the
// method, and returns what is to be said of it.
func (r *ReportRequest) rank(ctx context.Context, st store.Reader, q store.Query, res *regression.Result,
	req regression.Request) (notes []string, err error) {
	method := r.ranking()
	if method == "" {
		return nil, nil
	}
	for i := range res.Benchmarks {
		b := &res.Benchmarks[i]
		b.Ranked, b.Profiles, b.Tested = nil, nil, 0
	}
	of := func(k history.Key) *regression.Benchmark {
		for i := range res.Benchmarks {
			if b := &res.Benchmarks[i]; b.Key() == k {
				return b
			}
		}
		return &regression.Benchmark{} // there is none without runs
	}
	add := func(b *regression.Benchmark, function string, diff, score float64) {
		b.Ranked = append(b.Ranked, regression.Candidate{Function: function, Delta: diff, Score: score})
	}
	shown := func(list []history.Series, tested int) {
		for k := range list {
			b := of(list[k].Key())
			b.Profiles, b.Tested = list[k].Profiles, tested
		}
	}
	switch method {
	case evidence.Thesis:
		t, err := paper.Scores(ctx, st, q, paper.ScoreRequest{Tests: req.Since(), Measure: paper.Total})
		if err != nil {
			return nil, err
		}
		shown(t.Series, 1)
		for _, row := range t.Rows {
			add(of(row.Of), row.Function, row.Diff, row.Score)
		}
	case evidence.Correlation:
		list, err := store.Select(ctx, st, q)
		if err != nil {
			return nil, err
		}
		series := history.Choose(list, history.Options{AnyMachine: true, AnyProfiler: true, AnyBranch: true, Window: len(list)})
		shown(series, 1)
		for k := range series {
			c, err := bottleneck.Find(ctx, st, store.Query{Profiles: store.IDs(series[k].Profiles)},
				bottleneck.Options{Rank: bottleneck.Correlation, Rows: max(r.Candidates, 1), Correlating: r.Correlating.options()})
			if err != nil {
				return nil, err
			}
			for _, w := range c.Warnings {
				notes = append(notes, series[k].Benchmark.String()+": "+w)
			}
			for _, row := range c.Rows {
				if row.Score > 0 {
					add(of(series[k].Key()), row.Function, 0, row.Score)
				}
			}
		}
	case evidence.Hotelling:
		h, err := paper.Hotelling(ctx, st, q, paper.HotellingRequest{Tests: req.Since(), Subtrees: r.Functions, Variables: testedFunctions})
		if err != nil {
			return nil, err
		}
		shown(h.Series, max(req.K, 1))
		notes = h.Warnings
		for _, row := range h.Rows {
			b := of(history.Key{Benchmark: testrun.Benchmark{Group: row.Group, Name: row.Benchmark}, Type: row.Type})
			notes = append(notes, fmt.Sprintf("%s: T² %.3g of %s in %s, p %.2g", b.Benchmark, row.T2, words.Counted(len(row.Functions), "function"),
				cmp.Or(row.Subtree, "the program"), row.P))
			slices.SortStableFunc(row.Functions, func(x, y paper.HotellingFunction) int {
				return -cmp.Compare(math.Abs(x.Actual-x.Expected), math.Abs(y.Actual-y.Expected))
			})
			for _, f := range row.Functions {
				add(b, f.Function, f.Actual-f.Expected, row.Score)
			}
		}
	}
	return notes, nil
}
