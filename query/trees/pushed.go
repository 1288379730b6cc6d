package trees

import (
	"cmp"
	"context"

	"github.com/dendroprof/dendro/analysis/average"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/param"
	"github.com/dendroprof/dendro/store"
)

// ofRuns reports whether a request of pushed profiles needs runs, which are then blocks of
// time: what it asks of them is more than their sum.
func ofRuns(s *query.Selection, average string) bool {
	return average != "" || s.Last > 0 || len(s.Runs)+len(s.Profiles) > 0
}

// OfPushed makes the selected pushed profiles runs: one, or blocks of time if the request is
// about runs.
func (r *TreeRequest) OfPushed(ctx context.Context, st store.Store) (store.Store, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	return sumOf(ctx, st, &r.Selection, &r.Average, "")
}

// OfPushed is that of a TreeRequest.
func (r *ExportRequest) OfPushed(ctx context.Context, st store.Store) (store.Store, error) {
	switch {
	case len(r.Inputs) > 0:
		return nil, ErrOfFiles
	case r.RawNames:
		return nil, errRawNames
	case r.Lines:
		return query.PushedLines(ctx, st, &r.Selection)
	}
	return sumOf(ctx, st, &r.Selection, &r.Average, r.Against)
}

func sumOf(ctx context.Context, st store.Reader, s *query.Selection, a *Average, against string) (store.Store, error) {
	if ofRuns(s, cmp.Or(a.Average, against)) {
		return blocks(ctx, st, s, a, against)
	}
	return query.PushedSums(ctx, st, query.PushedSide{Run: "all", Selection: s})
}

// blocks makes blocks of time the runs of a request. Of several blocks of a state the mean is shown:
// their sum is no amount.
func blocks(ctx context.Context, st store.Reader, s *query.Selection, a *Average, against string) (store.Store, error) {
	one := s.Service != "" || len(s.Groups) == 1
	runs, err := query.PushedBlocks(ctx, st, s)
	if err == nil && runs.Gauge && a.Average == "" && against == "" {
		if !one {
			return nil, param.Errorf("a mean over time is that of one service: give --service")
		}
		a.Average = string(average.Mean)
	}
	return runs, err
}

// ErrOfFiles refuses pushed profiles beside files.
var ErrOfFiles = param.Errorf("--service and --labels select from a store, not files")

var errRawNames = param.Errorf("--raw-names needs runs: leave it out with --service and --labels")

// OfPushed makes the sides of a diff a run each, or all that is selected blocks of time if the
// sides are runs.
func (r *DiffRequest) OfPushed(ctx context.Context, st store.Store) (store.Store, error) {
	switch {
	case r.inputs():
		return nil, ErrOfFiles
	case r.RawNames:
		return nil, errRawNames
	case r.Base.Range != "" || r.Head.Range != "":
		return nil, param.Errorf("--base-range and --head-range need single samples; pushed profiles have --base-since, --base-until, --head-since and --head-until")
	case r.Against != "" || r.Sides.chosen() || ofRuns(&r.Selection, r.Average.Average) || len(r.Base.Runs)+len(r.Head.Runs) > 0:
		return blocks(ctx, st, &r.Selection, &r.Average, r.Against)
	case (!r.Base.chosen() || !r.Head.chosen()) && !r.twoTypes():
		return nil, param.Errorf("nothing to compare: give --base-labels and --head-labels, --base-since, --base-until and --head-since, or --last n")
	}
	base, head := r.Base.narrow(r.Selection), r.Head.narrow(r.Selection)
	runs, err := query.PushedSums(ctx, st, query.PushedSide{Run: sideName(0), Labels: r.Base.Labels, Selection: &base},
		query.PushedSide{Run: sideName(1), Labels: r.Head.Labels, Selection: &head})
	if err != nil {
		return nil, err
	}
	r.Pushed, r.only = store.Pushed{}, &[2]store.Query{base, head}
	r.Types = nil // runs have no pushed types: each side has one
	per := "second"
	if runs.Gauge {
		per = "value"
	}
	r.By = cmp.Or(r.By, per)
	return runs, nil
}
