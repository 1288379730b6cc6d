package merged_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"sync"
	"testing"
	"time"

	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/continuous/merged"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/storetest"
)

// spread is a merged store that puts each series into one of its parts.
type spread struct {
	merged.Store
	parts []continuous.Store
	lines *mem.Store
}

// Unwrap implements store.Wrapper: lines are not merged.
func (s *spread) Unwrap() store.Reader { return s.lines }

func newSpread(n int) *spread {
	s, turn := &spread{lines: mem.New()}, new(sync.Mutex)
	for range n {
		s.parts = append(s.parts, inTurn{mem.New(), turn})
	}
	s.Parts = func(context.Context) ([]continuous.Store, error) { return s.parts, nil }
	return s
}

// inTurn answers one query after the other, because the suite counts what a query does, and none
// whose context has ended.
type inTurn struct {
	continuous.Store
	turn *sync.Mutex
}

func next[A any](ctx context.Context, turn *sync.Mutex, answer func() (A, error)) (a A, err error) {
	turn.Lock()
	defer turn.Unlock()
	if err = ctx.Err(); err == nil {
		a, err = answer()
	}
	return a, err
}

func (s inTurn) Series(ctx context.Context, q continuous.Query) ([]continuous.Series, error) {
	return next(ctx, s.turn, func() ([]continuous.Series, error) { return s.Store.Series(ctx, q) })
}

func (s inTurn) Totals(ctx context.Context, q continuous.Query, step time.Duration) (*continuous.Totals, error) {
	return next(ctx, s.turn, func() (*continuous.Totals, error) { return s.Store.Totals(ctx, q, step) })
}

func (s inTurn) Tree(ctx context.Context, q continuous.Query) (*continuous.Merged, error) {
	return next(ctx, s.turn, func() (*continuous.Merged, error) { return s.Store.Tree(ctx, q) })
}

func (s inTurn) Function(ctx context.Context, q continuous.Query, name string, step time.Duration) (*continuous.Amounts, error) {
	return next(ctx, s.turn, func() (*continuous.Amounts, error) { return s.Store.Function(ctx, q, name, step) })
}

func (s *spread) PutWindows(ctx context.Context, list []*continuous.Window) ([]continuous.Outcome, error) {
	for _, w := range list {
		if err := w.Check(); err != nil {
			return nil, err
		}
	}
	outcomes := []continuous.Outcome{}
	for _, w := range list {
		sum, _ := w.Series.Sum(continuous.InstanceLabels) // what is summed up is in one store
		key, hash := sum.Key(), fnv.New64a()
		hash.Write(key[:])
		one, err := s.parts[hash.Sum64()%uint64(len(s.parts))].PutWindows(ctx, []*continuous.Window{w})
		if err != nil {
			return nil, err
		}
		outcomes = append(outcomes, one...)
	}
	return outcomes, ctx.Err()
}

func (s *spread) RollUp(ctx context.Context, now time.Time, p continuous.Policy) (all continuous.Rolled, err error) {
	for _, part := range s.parts {
		rolled, err := part.RollUp(ctx, now, p)
		if err != nil {
			return all, err
		}
		all.Made, all.Expired, all.Swept = all.Made+rolled.Made, all.Expired+rolled.Expired, all.Swept+rolled.Swept
	}
	return all, nil
}

// TestSpread: windows in several stores answer like windows in one.
func TestSpread(t *testing.T) {
	for _, n := range []int{1, 3} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			storetest.RunWindows(t, storetest.WindowEngine{Open: func(testing.TB) continuous.Store { return newSpread(n) }})
		})
	}
}

// absent is a store that cannot answer.
type absent struct {
	continuous.Store
	err error
}

func (a absent) Series(context.Context, continuous.Query) ([]continuous.Series, error) {
	return nil, a.err
}

func TestMissing(t *testing.T) {
	m := storetest.NewWindowMaker()
	s := newSpread(2)
	w := m.Window("shop", time.UnixMilli(1_790_000_000_000), nil, storetest.Sample{Stack: []string{"main"}, Value: 1})
	if _, err := s.PutWindows(t.Context(), []*continuous.Window{w}); err != nil {
		t.Fatal(err)
	}
	s.parts = append(s.parts, absent{err: fmt.Errorf("one: %w", merged.ErrMissing)})
	if list, err := s.Series(t.Context(), continuous.Query{}); err != nil || len(list) != 1 {
		t.Errorf("without a part: %v, %v", list, err)
	}
	broken := errors.New("the disk is broken")
	s.parts = append(s.parts, absent{err: broken})
	if list, err := s.Series(t.Context(), continuous.Query{}); !errors.Is(err, broken) {
		t.Errorf("with a broken part: %v, %v", list, err)
	}
	if _, err := (&s.Store).PutWindows(t.Context(), nil); !errors.Is(err, merged.ErrReadOnly) {
		t.Error(err)
	}
}
