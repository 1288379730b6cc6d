package groupcommit

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

// owner has numbers to commit.
type owner struct {
	mu        sync.Mutex
	waiting   []int
	committed [][]int
	closed    bool
	hold      chan struct{} // commits wait for it; nil: they do not
}

func (o *owner) due(time.Time) (func(context.Context), time.Duration, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.waiting) == 0 {
		return nil, -1, o.closed
	}
	batch := o.waiting
	o.waiting = nil
	return func(ctx context.Context) {
		if o.hold != nil {
			select {
			case <-o.hold:
			case <-ctx.Done():
				return
			}
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		o.committed = append(o.committed, batch)
	}, 0, o.closed
}

func (o *owner) put(w *Writer, n int) {
	o.mu.Lock()
	o.waiting = append(o.waiting, n)
	o.mu.Unlock()
	w.Nudge()
}

func (o *owner) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
}

// TestClose commits all that was put before Close.
func TestClose(t *testing.T) {
	o := &owner{}
	w := New(o.due)
	for n := range 100 {
		o.put(w, n)
	}
	o.close()
	if err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, batch := range o.committed {
		for _, got := range batch {
			if got != n {
				t.Fatalf("%d is committed in place of %d", got, n)
			}
			n++
		}
	}
	if n != 100 {
		t.Errorf("%d of 100 are committed", n)
	}
}

// TestCloseInVain: a commit that does not end ends with the context of Close.
func TestCloseInVain(t *testing.T) {
	o := &owner{hold: make(chan struct{})}
	w := New(o.due)
	o.put(w, 1)
	o.close()
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer stop()
	if err := w.Close(ctx); !errors.Is(err, context.DeadlineExceeded) || len(o.committed) > 0 {
		t.Errorf("error %v, committed %v", err, o.committed)
	}
}

func TestGuarded(t *testing.T) {
	if err := Guarded(func() error { panic("boom") }); err == nil {
		t.Error("a panic is no error")
	}
}

func TestPace(t *testing.T) {
	var p Pace
	start, failed := time.Now(), errors.New("full")
	last := start.Add(50 * time.Millisecond)
	p.Committed(start, 5*time.Millisecond, failed)
	if due := p.Due(last); !due.Equal(start.Add(20 * time.Millisecond)) {
		t.Errorf("after a commit of 5 ms the next is due in %v", due.Sub(start))
	}
	if p.Committed(start, time.Second, failed); !p.Due(last).Equal(last) {
		t.Errorf("a slow commit delays the next one beyond its end: %v", p.Due(last).Sub(start))
	}
	if p.Err() != failed {
		t.Errorf("error %v", p.Err())
	}
	p.tried = time.Now().Add(-time.Minute)
	if p.Err() != nil {
		t.Errorf("after a minute: %v", p.Err())
	}
}
