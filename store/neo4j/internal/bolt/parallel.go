package bolt

import (
	"cmp"
	"context"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// A server runs a statement on one processor. A large query is therefore
// divided among as many transactions as the server has processors: fewProcessors
// if it does not report them, at most manyProcessors.
const (
	fewProcessors  = 2
	manyProcessors = 8
)

// helpers limits the transactions that help others with their parts. Without one,
// a query computes all parts itself, so that concurrent queries do not deadlock waiting
// for the driver's connections.
const helpers = 32

// ServerProcessors returns among how many transactions to divide a large query. Not
// every user may query the server's settings.
func (g *DB) ServerProcessors(ctx context.Context) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.processors > 0 {
		return g.processors
	}
	n := fewProcessors
	err := g.Read(ctx, func(t *Tx) error {
		r, err := t.One("CALL dbms.queryJmx('java.lang:type=OperatingSystem') YIELD attributes RETURN attributes.AvailableProcessors.value", nil)
		if err == nil {
			n = min(cmp.Or(int(r.Int(0)), fewProcessors), manyProcessors)
		}
		return err
	})
	if err == nil || ctx.Err() == nil { // do not ask again
		g.processors = n
	}
	return n
}

// Parallel calls f for the parts 0 to n-1 of a query, several at once: for some in t,
// and for others in transactions of their own, which may see more than t does. The
// first error ends all.
func (t *Tx) Parallel(n int, f func(t *Tx, part int) error) error {
	workers := n
	if n > 1 {
		workers = min(n, t.DB.ServerProcessors(t.Ctx))
	}
	group, ctx := errgroup.WithContext(t.Ctx)
	var next atomic.Int64
	work := func(do func(f func(t *Tx) error) error) error {
		for ctx.Err() == nil {
			part := int(next.Add(1)) - 1
			if part >= n {
				return nil
			}
			if err := do(func(t *Tx) error { return f(t, part) }); err != nil {
				return err
			}
		}
		return context.Cause(ctx)
	}
	for range workers - 1 {
		select {
		case t.DB.helping <- struct{}{}:
			group.Go(func() error {
				defer func() { <-t.DB.helping }()
				return work(func(f func(t *Tx) error) error { return t.DB.Read(ctx, f) })
			})
		default:
		}
	}
	err := work(func(f func(t *Tx) error) error { return f(t) })
	group.Go(func() error { return err })
	return group.Wait()
}
