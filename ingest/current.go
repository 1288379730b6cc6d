package ingest

import (
	"context"
	"sync"
)

// currentSource is the index of the source whose results are being reported; others
// wait for theirs. The zero value is source 0.
type currentSource struct {
	mu      sync.Mutex
	index   int
	changed chan struct{} // closed when index changes; nil without waiters
}

// set changes the current source.
func (t *currentSource) set(index int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.index = index
	if t.changed != nil {
		close(t.changed)
		t.changed = nil
	}
}

// is reports whether a source is the current one.
func (t *currentSource) is(index int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.index == index
}

// wait returns true once a source is the current one, false if the context ends before.
func (t *currentSource) wait(ctx context.Context, index int) bool {
	for {
		t.mu.Lock()
		if t.index == index {
			t.mu.Unlock()
			return true
		}
		if t.changed == nil {
			t.changed = make(chan struct{})
		}
		changed := t.changed
		t.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}
