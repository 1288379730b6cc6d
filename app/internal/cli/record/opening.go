package record

import (
	"context"

	"github.com/dendroprof/dendro/store"
)

// opening is a store that opens while an import reads its first files: for small ones that
// takes as long as opening. Its methods wait until it is open.
type opening struct {
	done chan struct{} // closed when the others are set

	st    store.Destination
	close func() error
	err   error
}

// openWhile opens a store in the background, and calls failed with the error if it cannot.
func openWhile(open func() (store.Destination, func() error, error), failed func(error)) *opening {
	o := &opening{done: make(chan struct{})}
	go func() {
		defer close(o.done)
		if o.st, o.close, o.err = open(); o.err != nil {
			failed(o.err)
		}
	}()
	return o
}

// Close waits for the store and closes it. It returns why it could not be opened.
func (o *opening) Close() error {
	if <-o.done; o.err != nil {
		return o.err
	}
	return o.close()
}

// Info implements store.Destination.
func (o *opening) Info(ctx context.Context) (store.Info, error) {
	if <-o.done; o.err != nil {
		return store.Info{}, o.err
	}
	return o.st.Info(ctx)
}

// Profiles implements store.Destination.
func (o *opening) Profiles(ctx context.Context, q store.Query) ([]store.Profile, error) {
	if <-o.done; o.err != nil {
		return nil, o.err
	}
	return o.st.Profiles(ctx, q)
}

// Put implements store.Destination.
func (o *opening) Put(ctx context.Context, files []*store.File, opts store.PutOptions) ([]store.Outcome, error) {
	if <-o.done; o.err != nil {
		return nil, o.err
	}
	return o.st.Put(ctx, files, opts)
}
