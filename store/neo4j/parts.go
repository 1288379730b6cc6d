package neo4j

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
)

// atOnce is how many rows or values of an answer are in memory at once. One that
// is not larger is read before the call returns; of a larger one the stream reads
// a part after the other, and ends with an error if a profile has changed since.
const atOnce = 4_000_000

// parts splits the selection into ranges of profiles of at most so many rows
// together, but at least one profile.
func parts(n, rows int, size func(i int) int) [][2]int {
	var list [][2]int
	for i, sum := 0, 0; i < n; i++ {
		if sum += size(i); len(list) == 0 || sum > rows {
			list, sum = append(list, [2]int{i, i}), size(i)
		}
		list[len(list)-1][1] = i + 1
	}
	return list
}

// A server answers a statement on one processor. A large question is therefore
// divided among as many transactions as the server has processors: fewProcessors
// if it does not say, and manyProcessors at most.
const (
	fewProcessors  = 2
	manyProcessors = 8
)

// helpers limits the transactions that help others with their parts. Without one,
// a question does all parts itself, so that many questions at once do not wait in
// a circle for the connections that the driver has.
const helpers = 32

// divided is what a graph knows of divided questions.
type divided struct {
	mu         sync.Mutex
	processors int           // that the server has, once it was asked
	helping    chan struct{} // holds a token per helper
}

func newDivided() *divided { return &divided{helping: make(chan struct{}, helpers)} }

// processors returns among how many transactions to divide a large question.
// Servers tell those who may ask.
func (g *graph) processors(ctx context.Context) int {
	g.divided.mu.Lock()
	defer g.divided.mu.Unlock()
	if g.divided.processors > 0 {
		return g.divided.processors
	}
	n := fewProcessors
	err := g.read(ctx, func(t *tx) error {
		r, err := t.one("CALL dbms.queryJmx('java.lang:type=OperatingSystem') YIELD attributes RETURN attributes.AvailableProcessors.value", nil)
		if err == nil {
			n = min(cmp.Or(int(r.int(0)), fewProcessors), manyProcessors)
		}
		return err
	})
	if err == nil || ctx.Err() == nil { // not to be asked again, then
		g.divided.processors = n
	}
	return n
}

// sideBySide calls f for the parts 0 to n-1 of a question, for several at once: for
// one after the other in t, and meanwhile for others in transactions of their own,
// which may see more than t does. An error ends all.
func (t *tx) sideBySide(n int, f func(t *tx, part int) error) error {
	workers := n
	if n > 1 {
		workers = min(n, t.graph.processors(t.ctx))
	}
	ctx, fail := context.WithCancelCause(t.ctx)
	defer fail(nil)
	var next atomic.Int64
	work := func(do func(f func(t *tx) error) error) {
		for ctx.Err() == nil {
			part := int(next.Add(1)) - 1
			if part >= n {
				return
			}
			if err := do(func(t *tx) error { return f(t, part) }); err != nil {
				fail(err)
			}
		}
	}
	var all sync.WaitGroup
	for range workers - 1 {
		select {
		case t.graph.divided.helping <- struct{}{}:
			all.Go(func() {
				work(func(f func(t *tx) error) error { return t.graph.read(ctx, f) })
				<-t.graph.divided.helping
			})
		default:
		}
	}
	work(func(f func(t *tx) error) error { return f(t) })
	all.Wait()
	return context.Cause(ctx)
}
