package traceprof

import (
	"context"
	"sync"

	"github.com/dendroprof/dendro/internal/groupcommit"
)

// journal appends lines to the logs of a store in groups: lines that arrive while one
// group is written form the next. A thousand instances that receive a task within a
// second cause few writes, and each waits for at most two.
type journal struct {
	store Store

	mu      sync.Mutex
	next    *lineGroup // of the next write; nil: empty
	writing bool
}

type lineGroup struct {
	lines []Log
	done  chan struct{} // closed when err is set
	err   error
}

// append returns when the lines are stored, or an error.
func (j *journal) append(ctx context.Context, lines ...Log) error {
	j.mu.Lock()
	if j.next == nil {
		j.next = &lineGroup{done: make(chan struct{})}
	}
	g := j.next
	g.lines = append(g.lines, lines...)
	if !j.writing {
		j.writing = true
		go j.write(context.WithoutCancel(ctx)) // others may wait for it too
	}
	j.mu.Unlock()
	select {
	case <-g.done:
		return g.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// write writes groups until there are none.
func (j *journal) write(ctx context.Context) {
	for {
		j.mu.Lock()
		g := j.next
		j.next, j.writing = nil, g != nil
		j.mu.Unlock()
		if g == nil {
			return
		}
		g.err = groupcommit.Guarded(func() error { return j.store.AppendLog(ctx, g.lines...) })
		close(g.done)
	}
}
