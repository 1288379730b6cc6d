package query

import (
	"context"

	"github.com/dendroprof/dendro/store"
)

// View is one way to answer a request that has several: a query, and the type of its
// result. The names that users give to views and methods are read here, once.
type View[Request any] struct {
	// Answer calls the query.
	Answer func(ctx context.Context, st store.Store, r *Request) (any, error)
	// New returns an empty result, of the type that Answer returns, to decode a document
	// into.
	New func() any
}

// ViewOf makes a view of a query.
func ViewOf[Request, Result any](answer func(context.Context, store.Store, *Request) (*Result, error)) View[Request] {
	return viewBy(answer, func(r *Request) (*Request, error) { return r, nil })
}

// viewBy makes a view of a query with a request of its own, which is a part of the request.
func viewBy[Request, Part, Result any](answer func(context.Context, store.Store, *Part) (*Result, error), part func(*Request) (*Part, error)) View[Request] {
	return View[Request]{
		Answer: func(ctx context.Context, st store.Store, r *Request) (any, error) {
			own, err := part(r)
			if err != nil {
				return nil, err
			}
			result, err := answer(ctx, st, own)
			if err != nil {
				return nil, err // and no pointer to a result
			}
			return result, nil
		},
		New: func() any { return new(Result) },
	}
}

// TreeView returns the view that a TreeRequest names.
func TreeView(r *TreeRequest) View[TreeRequest] {
	switch {
	case r.comparesRuns(r.View):
		return ViewOf(Growth)
	case r.Select != "":
		return ViewOf(Node)
	}
	switch r.View {
	case viewFunctions:
		return ViewOf(Functions)
	case viewFlame:
		return ViewOf(Flame)
	case viewStackChart:
		return ViewOf(StackChart)
	case viewMarkers:
		return ViewOf(Markers)
	case viewLocks:
		return ViewOf(Locks)
	}
	return ViewOf(Tree)
}

// DiffView returns the view that a DiffRequest names.
func DiffView(r *DiffRequest) View[DiffRequest] {
	switch {
	case r.View == viewStackChart:
		return ViewOf(DiffChart)
	case r.Against != "" && r.listsBand():
		return ViewOf(Band)
	case r.Net && r.Select != "":
		return ViewOf(NetNode)
	case r.Net && r.View == viewFunctions:
		return ViewOf(NetFunctions)
	case r.Net && r.View == viewFlame:
		return ViewOf(NetFlame)
	case r.Net:
		return ViewOf(NetTree)
	case r.Select != "":
		return ViewOf(DiffNode)
	case r.View == viewFunctions:
		return ViewOf(DiffFunctions)
	case r.View == viewFlame:
		return ViewOf(DiffFlame)
	}
	return ViewOf(Diff)
}

// FindView returns the view that a FindRequest names.
func FindView(r *FindRequest) View[FindRequest] {
	if r.By == "profile" {
		return ViewOf(Find)
	}
	return ViewOf(FindSums)
}

// MethodView returns the method that a MethodRequest names.
func MethodView(r *MethodRequest) View[MethodRequest] {
	switch r.Method {
	case "thesis":
		return viewBy(Scores, func(r *MethodRequest) (*ScoresRequest, error) {
			return &ScoresRequest{r.Selection, r.Judging, r.Scored, r.Rows, r.Expand, r.Correlating, r.Facts}, nil
		})
	case "hotelling":
		return viewBy(Hotelling, func(r *MethodRequest) (*HotellingRequest, error) {
			if r.Expand.Expand != "" {
				return nil, usage("--expand needs a method that ranks functions, not --method hotelling")
			}
			return &HotellingRequest{r.Selection, r.Judging, r.Subtrees, r.Rows, r.Facts}, nil
		})
	case "correlation":
		return viewBy(Correlations, func(r *MethodRequest) (*CorrelationsRequest, error) {
			return &CorrelationsRequest{r.Selection, r.Correlating, r.Rows, r.Expand, r.Facts}, nil
		})
	}
	return viewBy(Regressions, func(r *MethodRequest) (*RegressionsRequest, error) {
		return &RegressionsRequest{r.Selection, r.Sides, r.Judging, r.Rows, r.Expand, r.Correlating, r.Facts}, nil
	})
}
