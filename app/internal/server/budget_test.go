package server

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestMore: of requests that need more and more, together more than there is, the last that
// would wait is refused, not all of them, and nobody waits for those that wait.
func TestMore(t *testing.T) {
	b := NewBudget("units", 600, 300)
	b.wait = time.Minute
	began := time.Now()
	var all sync.WaitGroup
	var full, refused atomic.Int64
	var first sync.WaitGroup
	first.Add(12)
	for range 12 {
		all.Go(func() {
			h := &holding{budget: b, client: "a"}
			defer h.release(1000)
			if err := h.more(t.Context(), 20); err != nil {
				t.Error(err)
			}
			first.Done()
			first.Wait()
			for range 80 {
				if err := h.more(t.Context(), 1); errors.Is(err, ErrBusy) {
					refused.Add(1)
					return
				} else if err != nil {
					t.Error(err)
				}
			}
			full.Add(1)
		})
	}
	all.Wait()
	if full.Load() < 1 || refused.Load() > 11 || full.Load()+refused.Load() != 12 {
		t.Errorf("%d had all, %d were refused", full.Load(), refused.Load())
	}
	if took := time.Since(began); took > b.wait/2 {
		t.Errorf("they waited for each other: %s", took)
	}
	if b.Used() != 0 || len(b.growing) != 0 {
		t.Errorf("left: %d, %v", b.Used(), b.growing)
	}
}
