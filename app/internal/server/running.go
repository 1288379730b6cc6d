package server

import (
	"context"
	"sync"
	"time"
)

// running are the HTTP requests that are being answered, by their contexts.
type running struct {
	mu   sync.Mutex
	list map[context.Context]bool
}

// begin adds a request; the result removes it.
func (r *running) begin(ctx context.Context) (end func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.list == nil {
		r.list = map[context.Context]bool{}
	}
	r.list[ctx] = true
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.list, ctx)
	}
}

// left reports whether there are requests, and the clients of all of them have left.
func (r *running) left() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for ctx := range r.list {
		if ctx.Err() == nil {
			return false
		}
	}
	return len(r.list) > 0
}

// whenLeft calls do if the clients of all running requests have left and the requests still
// run: nobody waits for them. It returns when the context ends.
func (r *running) whenLeft(ctx context.Context, do func()) {
	times := 0
	Every(ctx, 100*time.Millisecond, func(time.Time) {
		if times++; !r.left() {
			times = 0
		}
		if times == 10 { // they had a second to end by themselves
			do()
		}
	})
}
