package server

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"
)

// Health is whether something answers that a part needs. It is safe for concurrent use.
type Health struct {
	Log     *slog.Logger
	failure atomic.Pointer[error]
}

// Set sets the error; nil: it answers.
func (h *Health) Set(err error) { h.failure.Store(&err) }

// Ready returns the error, as Part.Ready does.
func (h *Health) Ready(context.Context) error {
	if err := h.failure.Load(); err != nil {
		return *err
	}
	return nil
}

// The times between attempts, which double.
const (
	retryFirst = 200 * time.Millisecond
	retryMost  = 2 * time.Second
)

// Until tries something until it succeeds, and reports whether it did before the context ended. What
// says what failed, in the log.
func (h *Health) Until(ctx context.Context, what string, try func() error) bool {
	for wait := retryFirst; ; wait = min(2*wait, retryMost) {
		err := try()
		if h.Set(err); err == nil {
			return true
		}
		if ctx.Err() == nil {
			h.Log.Error(what+"; trying again", "error", err, "in", wait.String())
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return false
		}
	}
}
