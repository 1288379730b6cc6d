package query

import (
	"context"

	"github.com/dendroprof/dendro/store"
)

// View is a ViewIn a store.
type View[Request any] = ViewIn[store.Store, Request]

// ViewIn is one way to answer a request that has several: a query to a kind of store, and
// the type of its result. The names that users give to views and methods are read here, once.
type ViewIn[Store, Request any] struct {
	// Answer calls the query.
	Answer func(ctx context.Context, st Store, r *Request) (any, error)
	// New returns an empty result, of the type that Answer returns, to decode a document
	// into.
	New func() any
}

// ViewOf makes a view of a query.
func ViewOf[Store, Request, Result any](answer func(context.Context, Store, *Request) (*Result, error)) ViewIn[Store, Request] {
	return ViewIn[Store, Request]{
		Answer: func(ctx context.Context, st Store, r *Request) (any, error) {
			st, r, err := overStore(ctx, st, r)
			if err != nil {
				return nil, err
			}
			result, err := answer(ctx, st, r)
			if err != nil {
				return nil, err // and no pointer to a result
			}
			return result, nil
		},
		New: func() any { return new(Result) },
	}
}
