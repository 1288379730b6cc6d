package fleet

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"
)

// health is whether something answers that a part needs.
type health struct {
	log     *slog.Logger
	failure atomic.Pointer[error]
}

// retryAfter is the time between attempts.
const retryAfter = time.Second

// set sets the error, nil if there is none.
func (h *health) set(err error) {
	if err == nil {
		h.failure.Store(nil)
		return
	}
	h.failure.Store(&err)
}

// ready returns the error.
func (h *health) ready() error {
	if err := h.failure.Load(); err != nil {
		return *err
	}
	return nil
}

// until tries something until it succeeds, and reports whether it did before the context ended. What
// says what failed, in the log.
func (h *health) until(ctx context.Context, what string, try func() error) bool {
	for {
		err := try()
		if h.set(err); err == nil {
			return true
		}
		if ctx.Err() == nil {
			h.log.Error(what+"; trying again", "error", err, "in", retryAfter.String())
		}
		select {
		case <-time.After(retryAfter):
		case <-ctx.Done():
			return false
		}
	}
}
