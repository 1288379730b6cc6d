package judge

import (
	"context"

	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/query/facts"
	"github.com/dendroprof/dendro/report"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// outcomes compares the newest runs of each benchmark of a selection with those before, as
// Regressions and Report do by default. It reads the profiles of the compared runs.
func outcomes(ctx context.Context, st store.Reader, q store.Query, f *facts.Facts) (map[testrun.Benchmark]report.Outcome, error) {
	var j Judging
	req, err := j.request(ctx, st, q.Last, f)
	if err != nil {
		return nil, err
	}
	q.Last, req.Memory = 0, store.MemoryOf(st)
	res, err := regression.Find(ctx, st, q, req)
	if err != nil {
		return nil, err
	}
	return report.Outcomes(res), nil
}
