//go:build !go1.26 || go1.27 || dendro_portable

package agent

import (
	"context"
	"runtime/pprof"
)

// newReader returns a reader.
func newReader() reader { return &portableReader{frames: frameCache{}} }

// keepLabels returns a function that gives the goroutine the labels of ctx: those
// it has, if all were set by pprof.Do.
func keepLabels(ctx context.Context) (restore func()) {
	return func() { pprof.SetGoroutineLabels(ctx) }
}
