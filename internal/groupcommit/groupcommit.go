// Package groupcommit commits what many senders put into batches: one batch after the other,
// on one goroutine, so that the senders of a batch share the milliseconds of its commit.
//
// A batch is due when its owner says so; Pace spaces commits by how long they take. The owner
// has the batches and the lock: the package does not know what a batch holds, nor where it is
// stored.
package groupcommit

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"
)

// Next returns the commit of a batch that is due; else nil and how long to wait for one, less
// than 0 until Nudge. Closed reports that no other batch will come.
type Next func(now time.Time) (commit func(context.Context), wait time.Duration, closed bool)

// Writer is the goroutine that commits.
type Writer struct {
	next Next
	wake chan struct{} // to look again
	done chan struct{} // closed when the goroutine has ended
	stop context.CancelFunc
}

// New starts a Writer. Close ends it.
func New(next Next) *Writer {
	ctx, stop := context.WithCancel(context.Background())
	w := &Writer{next: next, wake: make(chan struct{}, 1), done: make(chan struct{}), stop: stop}
	go w.run(ctx)
	return w
}

// Nudge makes the Writer ask Next again.
func (w *Writer) Nudge() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *Writer) run(ctx context.Context) {
	defer close(w.done)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		commit, wait, closed := w.next(time.Now())
		switch {
		case commit != nil:
			commit(ctx)
			continue
		case closed:
			return
		case wait < 0:
			<-w.wake
			continue
		}
		timer.Reset(wait)
		select {
		case <-w.wake:
		case <-timer.C:
		}
	}
}

// Close waits until everything is committed; Next must report closed from now on. If the
// context ends first, that of the commits ends too, and Close returns the error.
func (w *Writer) Close(ctx context.Context) error {
	w.Nudge()
	defer w.stop()
	select {
	case <-w.done:
		return nil
	case <-ctx.Done():
		w.stop()
		<-w.done
		return ctx.Err()
	}
}

// Guarded calls do, and returns a panic as an error: a store that panics must not end the
// process, which has the data of other senders.
func Guarded(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return do()
}

// unreadyFor is how long Err reports a failed commit. A server that is not ready gets no
// more data from a load balancer, so without an end it would never commit again.
const unreadyFor = 30 * time.Second

// Pace says when the next commit may begin and how the last one went. The owner's lock
// protects it.
type Pace struct {
	next   time.Time
	failed error
	tried  time.Time // when the last commit ended
}

// Committed notes a commit and its result.
func (p *Pace) Committed(start time.Time, took time.Duration, err error) {
	p.next, p.failed, p.tried = start.Add(4*took), err, time.Now()
}

// Due returns when a batch that begins to wait for a commit gets one: as soon as commits take
// at most a quarter of the time, and at last after the given time.
func (p *Pace) Due(last time.Time) time.Time {
	if p.next.Before(last) {
		return p.next
	}
	return last
}

// Err returns the error of the last commit if that failed less than 30 seconds ago.
func (p *Pace) Err() error {
	if time.Since(p.tried) > unreadyFor {
		return nil
	}
	return p.failed
}
