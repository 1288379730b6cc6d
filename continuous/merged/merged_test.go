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
	s.Parts = func(context.Context) ([]continuous.Store, func(), error) { return s.parts, nil, nil }
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

// TestInstances: instances whose hours are in several stores are there once, and a label that hours
// lack is refused with the time from which on all stores have it.
func TestInstances(t *testing.T) {
	begin, make := time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC), storetest.NewWindowMaker()
	var parts []continuous.Store
	for i, pods := range []int{3, 2, 2} { // hours, hours and raw windows
		st := mem.New()
		var list []*continuous.Window
		for pod := range pods {
			list = append(list, make.Window("shop", begin.Add(time.Duration(i)*time.Hour), []string{"pod", fmt.Sprint("p", i, pod)},
				storetest.Sample{Stack: []string{"main"}, Value: 5}))
		}
		if _, err := st.PutWindows(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		policy := continuous.Policy{Keep: [3]time.Duration{time.Hour}, Instance: []string{"pod"}}
		if parts = append(parts, st); i == 2 {
			break
		}
		if _, err := st.RollUp(t.Context(), begin.Add(time.Duration(i+2)*time.Hour), policy); err != nil {
			t.Fatal(err)
		}
	}
	all := &merged.Store{Parts: func(context.Context) ([]continuous.Store, func(), error) { return parts, nil, nil }}
	tree, err := all.Tree(t.Context(), continuous.Query{})
	if err != nil || tree.Instances != 3 || len(tree.Series) != 3 || tree.Parts != 7 {
		t.Errorf("%d instances of %d series in %d windows (%v), want 3 of 3 in 7", tree.Instances, len(tree.Series), tree.Parts, err)
	}
	again, err := merged.Sum([]*continuous.Merged{tree, tree})
	if err != nil || again.Instances != 3 {
		t.Errorf("%d instances of the same again (%v), want 3", again.Instances, err)
	}
	var summed *continuous.SummedError
	_, err = all.Tree(t.Context(), continuous.Query{Matchers: []continuous.Matcher{{Name: "pod", Op: continuous.Equal, Value: "p20"}}})
	if !errors.As(err, &summed) || !summed.Since.Equal(begin.Add(2*time.Hour)) {
		t.Errorf("a pod: %v", err)
	}
	parts = append(parts, never{})
	_, err = all.Series(t.Context(), continuous.Query{})
	if !errors.As(err, &summed) || !summed.Since.IsZero() {
		t.Errorf("a label that no window of a store has: %v", err)
	}
}

// never has no window with a label.
type never struct{ continuous.Store }

func (never) Series(context.Context, continuous.Query) ([]continuous.Series, error) {
	return nil, &continuous.SummedError{Label: "pod"}
}
