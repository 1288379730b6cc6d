// Package merged answers from several stores of windows as from one.
//
// Each window is in one of the stores. Answers are added up as a store adds up its own
// windows: series by service, type and labels, trees by path. Some of the stores may be
// missing (ErrMissing): the rest answers, and whoever made the store says what is not there.
// Any other error is that of the whole answer. The package knows no network and no engine, and
// changes nothing.
package merged

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/profile"
)

// ErrMissing is wrapped by the error of a store that cannot answer now.
var ErrMissing = errors.New("some windows are missing")

// ErrReadOnly is the error of changes: they are made in the stores that are merged.
var ErrReadOnly = errors.New("windows of several stores are read only")

// ReadOnly has the methods of a continuous.Store that change it.
type ReadOnly struct{}

// PutWindows implements continuous.Store.
func (ReadOnly) PutWindows(context.Context, []*continuous.Window) ([]continuous.Outcome, error) {
	return nil, ErrReadOnly
}

// RollUp implements continuous.Store.
func (ReadOnly) RollUp(context.Context, time.Time, continuous.Policy) (continuous.Rolled, error) {
	return continuous.Rolled{}, ErrReadOnly
}

// Store is a continuous.Store over others, for reading. It is safe for concurrent use.
type Store struct {
	ReadOnly
	// Parts returns the stores. The Store calls answered, unless it is nil, once they have answered.
	Parts func(context.Context) (parts []continuous.Store, answered func(), err error)
	// Missing reports whether an error, which does not wrap ErrMissing, is of a store that is; may
	// be nil.
	Missing func(error) bool
}

var _ continuous.Store = (*Store)(nil)

// ask returns the answers of all stores that can answer.
func ask[A any](ctx context.Context, s *Store, question func(context.Context, continuous.Store) (A, error)) ([]A, error) {
	parts, answered, err := s.Parts(ctx)
	if err != nil {
		return nil, err
	}
	if answered != nil {
		defer answered()
	}
	answers := make([]A, len(parts))
	errs := make([]error, len(parts))
	var asking sync.WaitGroup
	for i, part := range parts {
		asking.Go(func() { answers[i], errs[i] = question(ctx, part) })
	}
	asking.Wait()
	given := answers[:0]
	var refused *continuous.SummedError
	for i, err := range errs {
		var summed *continuous.SummedError
		switch {
		case err == nil:
			given = append(given, answers[i])
		case errors.As(err, &summed):
			refused = later(refused, summed)
		case !errors.Is(err, ErrMissing) && (s.Missing == nil || !s.Missing(err)):
			return nil, err
		}
	}
	if refused != nil {
		return nil, refused
	}
	return given, ctx.Err()
}

// later returns the error with the later time, from which on neither store refuses; none is latest.
func later(a, b *continuous.SummedError) *continuous.SummedError {
	if a == nil || !a.Since.IsZero() && (b.Since.IsZero() || b.Since.After(a.Since)) {
		return b
	}
	return a
}

// Series implements continuous.Store.
func (s *Store) Series(ctx context.Context, q continuous.Query) ([]continuous.Series, error) {
	answers, err := ask(ctx, s, func(ctx context.Context, st continuous.Store) ([]continuous.Series, error) { return st.Series(ctx, q) })
	if err != nil {
		return nil, err
	}
	list, _ := united(answers, func(list []continuous.Series) []continuous.Series { return list })
	return list, nil
}

// united returns the series of all answers in order, one each, and where those of each answer are.
func united[T any](answers []T, seriesOf func(T) []continuous.Series) (list []continuous.Series, at [][]int32) {
	places := map[continuous.Key]int{}
	for _, answer := range answers {
		for _, series := range seriesOf(answer) {
			key := series.Key()
			place, ok := places[key]
			if !ok {
				places[key] = len(list)
				list = append(list, series)
				continue
			}
			have := &list[place]
			if series.Last.After(have.Last) {
				have.Facts = series.Facts
			}
			have.Summed = slices.Sorted(slices.Values(continuous.Summed(slices.Clone(have.Summed), &series)))
			have.First, have.Last = continuous.Earlier(have.First, series.First), continuous.Later(have.Last, series.Last)
		}
	}
	slices.SortFunc(list, func(a, b continuous.Series) int { return a.Compare(&b) })
	for i := range list {
		places[list[i].Key()] = i
	}
	for _, answer := range answers {
		series := seriesOf(answer)
		of := make([]int32, len(series))
		for i := range series {
			of[i] = int32(places[series[i].Key()])
		}
		at = append(at, of)
	}
	return list, at
}

// Totals implements continuous.Store.
func (s *Store) Totals(ctx context.Context, q continuous.Query, step time.Duration) (*continuous.Totals, error) {
	answers, err := ask(ctx, s, func(ctx context.Context, st continuous.Store) (*continuous.Totals, error) {
		return st.Totals(ctx, q, step)
	})
	if err != nil {
		return nil, err
	}
	list, at := united(answers, func(a *continuous.Totals) []continuous.Series { return a.Series })
	all := &continuous.Totals{Series: list}
	for i, a := range answers {
		for _, t := range a.Totals {
			t.Series = at[i][t.Series]
			all.Totals = append(all.Totals, t)
		}
	}
	slices.SortFunc(all.Totals, func(a, b continuous.Total) int { return a.Compare(&b) })
	return all, nil
}

// Function implements continuous.Store.
func (s *Store) Function(ctx context.Context, q continuous.Query, name string, step time.Duration) (*continuous.Amounts, error) {
	answers, err := ask(ctx, s, func(ctx context.Context, st continuous.Store) (*continuous.Amounts, error) {
		return st.Function(ctx, q, name, step)
	})
	if err != nil {
		return nil, err
	}
	list, at := united(answers, func(a *continuous.Amounts) []continuous.Series { return a.Series })
	all := &continuous.Amounts{Series: list}
	for i, a := range answers {
		for _, amount := range a.Amounts {
			amount.Series = at[i][amount.Series]
			all.Amounts = append(all.Amounts, amount)
		}
	}
	slices.SortFunc(all.Amounts, func(a, b continuous.Amount) int { return a.Compare(&b.Total) })
	return all, nil
}

// Tree implements continuous.Store.
func (s *Store) Tree(ctx context.Context, q continuous.Query) (*continuous.Merged, error) {
	answers, err := ask(ctx, s, func(ctx context.Context, st continuous.Store) (*continuous.Merged, error) { return st.Tree(ctx, q) })
	if err != nil {
		return nil, err
	}
	return Sum(answers)
}

// Sum adds up answers that have no window in common.
func Sum(answers []*continuous.Merged) (*continuous.Merged, error) {
	if len(answers) == 1 {
		return answers[0], nil
	}
	answers = slices.DeleteFunc(answers, func(m *continuous.Merged) bool { return len(m.Series) == 0 })
	all := &continuous.Merged{}
	var trees []*calltree.Tree
	for _, a := range answers {
		all.Windows += a.Windows
		all.Parts += a.Parts
		all.Covered += a.Covered
		trees = append(trees, a.Tree)
	}
	all.Series, _ = united(answers, func(a *continuous.Merged) []continuous.Series { return a.Series })
	var summed []string
	for i := range all.Series {
		summed = continuous.Summed(summed, &all.Series[i])
	}
	count := continuous.NewInstances(all.Series, summed)
	for _, a := range answers {
		count.Join(a)
	}
	count.Tell(all)
	typ, err := continuous.OneType(all.Series)
	if err != nil {
		return nil, err
	}
	if all.Tree, err = calltree.Merge(trees...); errors.Is(err, profile.ErrMalformed) {
		err = fmt.Errorf("%s: %w", typ, continuous.ErrTooLarge)
	}
	return all, err
}

// WindowStats implements continuous.Store.
func (s *Store) WindowStats(ctx context.Context) (continuous.Stats, error) {
	answers, err := ask(ctx, s, func(ctx context.Context, st continuous.Store) (continuous.Stats, error) { return st.WindowStats(ctx) })
	var all continuous.Stats
	for _, a := range answers {
		all.Series += a.Series
		for level := range a.Windows {
			all.Windows[level] += a.Windows[level]
			all.Bytes[level] += a.Bytes[level]
		}
		all.First, all.Last = continuous.Earlier(all.First, a.First), continuous.Later(all.Last, a.Last)
	}
	return all, err
}
