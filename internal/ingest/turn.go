package ingest

import (
	"context"
	"sync"
)

// turn says which source's results are being reported, and lets others wait for
// theirs. The zero turn is that of source 0.
type turn struct {
	mu      sync.Mutex
	index   int
	changed chan struct{} // closed when index changes; nil while nobody waits
}

// set makes it the turn of a source.
func (t *turn) set(index int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.index = index
	if t.changed != nil {
		close(t.changed)
		t.changed = nil
	}
}

// is reports whether it is the turn of a source.
func (t *turn) is(index int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.index == index
}

// wait returns true when it is the turn of a source, false when the context ends
// before.
func (t *turn) wait(ctx context.Context, index int) bool {
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
