package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/dendroprof/dendro/analysis/bottleneck"
	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

func (o *regressionsOptions) thesis(ctx context.Context, e *env, st store.Store, q store.Query) error {
	m, err := regression.ParseMeasure(o.measure)
	if err != nil {
		return usageError{err}
	}
	res, err := regression.Thesis(ctx, st, q, m, o.window)
	if err != nil {
		return err
	}
	for _, w := range res.Warnings {
		fmt.Fprintln(e.err, words.Clean(w))
	}
	tb := &table{columns: []column{{name: "score", right: true, text: func(v any) string { return fmt.Sprintf("%.4f", v) }}, {name: "expected", right: true, text: tenth},
		{name: "actual", right: true, text: tenth}, {name: "diff", right: true, text: tenth}, {name: "status"}, {name: "function"}, {name: "benchmark"}, {name: "run"}}}
	var list []ranked
	for _, r := range words.First(res.Rows, o.rows) {
		list = append(list, ofBenchmark(r.Group, r.Benchmark, r.Function, r.Score))
		tb.add(r.Score, r.Expected, r.Actual, r.Diff, r.Status, r.Function, testrun.Benchmark{Group: r.Group, Name: r.Benchmark}.String(), r.Run)
	}
	x, err := o.expandRanked(ctx, st, q, list)
	if err != nil {
		return err
	}
	return o.printRanked(e, tb, len(res.Rows), x)
}

func tenth(v any) string { return fmt.Sprintf("%.1f", v) }

func (o *regressionsOptions) correlation(ctx context.Context, e *env, st store.Store, q store.Query) error {
	res, err := bottleneck.Find(ctx, st, q, bottleneck.Options{Rank: bottleneck.Correlation, Correlating: o.correlating()})
	if err != nil {
		return err
	}
	for _, w := range res.Warnings {
		fmt.Fprintln(e.err, words.Clean(w))
	}
	list := res.Rows
	for _, r := range slices.Backward(res.Negative) {
		list = append(list, r)
	}
	tb := &table{columns: []column{{name: "score", right: true, text: func(v any) string { return fmt.Sprintf("%.3f", v) }}, {name: "benchmarks", right: true}, {name: "profiles", right: true}, {name: "function"}}}
	for _, r := range words.First(list, o.rows) {
		tb.add(r.Score, r.Benchmarks, r.Profiles, r.Function)
	}
	x, err := o.expandCorrelated(ctx, st, q, words.First(list, o.rows))
	if err != nil {
		return err
	}
	return o.printRanked(e, tb, len(list), x)
}
