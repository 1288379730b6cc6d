package fleet

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
)

// Late is something that is opened when it answers, which may be later than what needs it starts. It is
// safe for concurrent use.
type Late[T io.Closer] struct {
	open   func(context.Context) (T, error)
	isDown func(error) bool
	mu     sync.Mutex
	opened atomic.Pointer[T]
}

// OpenLate opens something now, unless the error is that it is down.
func OpenLate[T io.Closer](ctx context.Context, isDown func(error) bool, open func(context.Context) (T, error)) (*Late[T], error) {
	l := &Late[T]{open: open, isDown: isDown}
	if err := l.try(ctx); err != nil && !isDown(err) {
		return nil, err
	}
	return l, nil
}

// try opens it, unless it is open.
func (l *Late[T]) try(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.opened.Load() != nil {
		return nil
	}
	opened, err := l.open(ctx)
	if err == nil {
		l.opened.Store(&opened)
	}
	return err
}

// now returns it, if it is open; nil never is.
func (l *Late[T]) now() (opened T, ok bool) {
	if l == nil || l.opened.Load() == nil {
		return opened, false
	}
	return *l.opened.Load(), true
}

// Close closes it, if it is open.
func (l *Late[T]) Close() error {
	if opened, ok := l.now(); ok {
		return opened.Close()
	}
	return nil
}
