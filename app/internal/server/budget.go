package server

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// ErrBusy is wrapped by errors about a budget that is used up.
var ErrBusy = errors.New("the server is busy: try again")

// Budget limits something that requests share: bytes in memory, or places. A client may hold
// a part of it, so that one client cannot lock out the others. It is safe for concurrent use.
type Budget struct {
	what         string // for errors
	total, share int64
	wait         time.Duration // of a request for bytes

	mu   sync.Mutex
	used int64
	held map[string]int64 // by client
	wake chan struct{}    // closed by Release; nil: nobody waits

	growing map[string]growing // by client
}

// growing are numbers of requests that have units and may need more.
type growing struct{ all, waiting int }

// NewBudget returns a budget of which one client may hold a share at most.
func NewBudget(what string, total, share int64) *Budget {
	return &Budget{what: what, total: total, share: max(share, 1), wait: budgetWait, held: map[string]int64{}, growing: map[string]growing{}}
}

// Acquire reserves n units for a client. It waits until they are free, for a maximum time,
// and then returns an error that wraps ErrBusy.
func (b *Budget) Acquire(ctx context.Context, client string, n int64, wait time.Duration) error {
	if n <= 0 {
		return nil
	}
	var late <-chan time.Time
	for {
		b.mu.Lock()
		refused := b.refusal(client, n)
		if refused == nil {
			b.used += n
			b.held[client] += n
			b.mu.Unlock()
			return nil
		}
		if wait <= 0 || n > b.share || n > b.total {
			b.mu.Unlock()
			return refused
		}
		if b.wake == nil {
			b.wake = make(chan struct{})
		}
		wake := b.wake
		b.mu.Unlock()
		if late == nil {
			timer := time.NewTimer(wait)
			defer timer.Stop()
			late = timer.C
		}
		select {
		case <-wake:
		case <-late:
			return refused
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// refusal returns why a client cannot have n units now, or nil. The caller holds the lock.
func (b *Budget) refusal(client string, n int64) error {
	switch {
	case b.used+n > b.total:
		return fmt.Errorf("%w (%s: the maximum is %d)", ErrBusy, b.what, b.total)
	case b.held[client]+n > b.share:
		return fmt.Errorf("%w (%s: the maximum of one client is %d)", ErrBusy, b.what, b.share)
	}
	return nil
}

// shareUsed reports whether a client has all of its share.
func (b *Budget) shareUsed(client string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held[client] >= b.share
}

// transfer gives a unit of one client to another.
func (b *Budget) transfer(from, to string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held[to]++
	if b.held[from]--; b.held[from] <= 0 {
		delete(b.held, from)
	}
}

// Release frees n units of a client.
func (b *Budget) Release(client string, n int64) {
	if n <= 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= n
	if b.held[client] -= n; b.held[client] <= 0 {
		delete(b.held, client)
	}
	if b.wake != nil {
		close(b.wake)
		b.wake = nil
	}
}

// Used returns the number of reserved units.
func (b *Budget) Used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// A holding is what one request has of a budget.
type holding struct {
	budget *Budget
	client string

	mu    sync.Mutex
	n     int64
	grows bool // it is one of Budget.growing
}

func (h *holding) acquire(ctx context.Context, n int64) error {
	if err := h.budget.Acquire(ctx, h.client, n, h.budget.wait); err != nil {
		return err
	}
	h.mu.Lock()
	h.n += n
	h.mu.Unlock()
	return nil
}

// more is acquire for a request whose needs become known while it is computed. It does not wait
// if all others of its client that have units do: they would wait for each other.
func (h *holding) more(ctx context.Context, n int64) error {
	if n <= 0 {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	err := h.budget.Acquire(ctx, h.client, n, 0)
	if err != nil && (!h.grows || h.budget.grow(h.client, 0, 1)) {
		err = h.budget.Acquire(ctx, h.client, n, h.budget.wait)
		if h.grows {
			h.budget.grow(h.client, 0, -1)
		}
	}
	if err != nil {
		return err
	}
	if h.n += n; !h.grows {
		h.grows = h.budget.grow(h.client, 1, 0)
	}
	return nil
}

// grow adds to what is known of the requests of a client that have units, unless all of them
// would wait then.
func (b *Budget) grow(client string, all, waiting int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	g := b.growing[client]
	g.all, g.waiting = g.all+all, g.waiting+waiting
	if waiting > 0 && g.waiting == g.all {
		return false
	}
	if b.growing[client] = g; g.all == 0 {
		delete(b.growing, client)
	}
	return true
}

// release frees n units, at most all.
func (h *holding) release(n int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	n = min(n, h.n)
	h.budget.Release(h.client, n)
	if h.n -= n; h.n == 0 && h.grows {
		h.grows = !h.budget.grow(h.client, -1, 0)
	}
}

// budgetWait is how long a request waits for bytes of a budget.
const budgetWait = 5 * time.Second
