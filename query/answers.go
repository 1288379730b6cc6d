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
	return ViewBy(answer, func(r *Request) (*Request, error) { return r, nil })
}

// ViewBy makes a view of a query with a request of its own, which is a part of the request.
func ViewBy[Request, Part, Result any](answer func(context.Context, store.Store, *Part) (*Result, error), part func(*Request) (*Part, error)) View[Request] {
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
