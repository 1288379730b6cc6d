package mem

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/internal/column"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
)

// windows is the part of the store for continuous profiles: a plain list of windows of all
// levels over a forest of its own. Every call reads all of it.
type windows struct {
	mu           sync.RWMutex
	forest       *calltree.Forest
	translations calltree.Translations
	series       map[continuous.Key]*series
	list         []*window
	seq          int64
	progress     continuous.Progress
	cuts         continuous.Cuts
	lines        []continuous.Lines // in order
}

// series is a series and how to read its values.
type series struct {
	continuous.Series
	typ    profile.ValueType
	newest time.Time // start of the window that Facts describe
}

// window is a stored window. It does not change, but for sums, whose values are replaced.
type window struct {
	series *series
	continuous.Total
	self calltree.Vector
	hash profile.Hash
	seq  int64
}

// PutWindows implements continuous.Store.
func (s *windows) PutWindows(ctx context.Context, list []*continuous.Window) ([]continuous.Outcome, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for _, w := range list {
		if err := w.Check(); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return column.Of(list, s.put), nil
}

func (s *windows) put(w *continuous.Window) continuous.Outcome {
	start, length := time.UnixMilli(w.Start.UnixMilli()).UTC(), w.Length.Truncate(time.Millisecond)
	key := w.Series.Key()
	of := s.series[key]
	for _, old := range s.list {
		near := old.Start.Equal(start) || w.Untimed && old.Start.Sub(start).Abs() <= continuous.RepeatWithin
		if near && old.Level == continuous.Raw && old.hash == w.Hash && old.Length == length && old.series == of {
			return continuous.Repeated
		}
	}
	if of == nil {
		of = &series{Series: continuous.Series{Service: w.Series.Service, Type: w.Series.Type, Labels: slices.Clone(w.Series.Labels),
			First: start}, typ: w.Type}
		s.series[key] = of
	}
	if !start.Before(of.newest) {
		of.newest, of.Facts = start, slices.Clone(w.Series.Facts)
	}
	of.First, of.Last = continuous.Earlier(of.First, start), continuous.Later(of.Last, start.Add(length))
	s.seq++
	added := &window{series: of, hash: w.Hash, seq: s.seq,
		Total: continuous.Total{Start: start, Length: length, Covered: length, Parts: 1, Sum: w.Self.Sum(), Instances: 1}}
	if w.Self.Len() > 0 {
		added.self = s.translations.Of(w.Forest, interner{s.forest, nil}).Vector(w.Forest, w.Self)
	}
	s.list = append(s.list, added)
	return continuous.Stored
}

// selected returns the windows of a selection and, in order, the series they are of, with the
// lock for reading, which the caller releases. Patterns take time, so series are compared
// before it is taken: type, service and labels of a series never change.
func (s *windows) selected(ctx context.Context, q *continuous.Query, coarsest continuous.Level) (list []*window, of []*series, err error) {
	return s.selectedParts(ctx, q, coarsest,
		func(p continuous.Progress, l continuous.Level) []continuous.Part { return p.Parts(q.Range(), l) })
}

// selectedParts is selected of other parts, which are asked for under the lock, with the progress of
// the services of the selection.
func (s *windows) selectedParts(ctx context.Context, q *continuous.Query, coarsest continuous.Level,
	parts func(p continuous.Progress, coarsest continuous.Level) []continuous.Part) (list []*window, of []*series, err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	s.mu.RLock()
	all, summed := slices.Collect(maps.Values(s.series)), s.summed()
	s.mu.RUnlock()
	coarsest, without, label := q.Finest(summed, coarsest)
	matching, err := matched(ctx, q, all)
	if err != nil {
		return nil, nil, err
	}
	var doubtful map[*series]bool // whose sums may have some of what is selected
	if label != "" {
		if doubtful, err = matched(ctx, &without, all); err != nil {
			return nil, nil, err
		}
	}
	s.mu.RLock()
	has := map[*series]bool{}
	progress := s.progress
	for _, e := range all {
		if matching[e] || doubtful[e] {
			progress = progress.Of(s.cuts, e.Service)
		}
	}
	for _, part := range parts(progress, coarsest) {
		for _, w := range s.list {
			start := w.Start.UnixMilli()
			if w.Level != part.Level || start < part.From || start >= part.Until || part.Late && w.seq <= s.progress.Seq {
				continue
			}
			if w.Level != continuous.Raw && doubtful[w.series] && len(w.series.Summed) > 0 {
				defer s.mu.RUnlock()
				return nil, nil, &continuous.SummedError{Label: label, Since: time.UnixMilli(progress.Kept[continuous.Raw])}
			}
			if matching[w.series] {
				list, has[w.series] = append(list, w), true
			}
		}
	}
	of = slices.SortedFunc(maps.Keys(has), func(a, b *series) int { return a.Compare(&b.Series) })
	return list, of, nil
}

// matched returns the series that a query selects.
func matched(ctx context.Context, q *continuous.Query, all []*series) (map[*series]bool, error) {
	selection, err := q.Compile()
	if err != nil {
		return nil, err
	}
	matching := map[*series]bool{}
	for _, e := range all {
		matching[e], err = selection.Matches(ctx, &continuous.Series{Service: e.Service, Type: e.Type, Labels: e.Labels})
		if err != nil {
			return nil, err
		}
	}
	return matching, nil
}

// summed returns the labels that sums lack.
func (s *windows) summed() (names []string) {
	for _, e := range s.series {
		names = continuous.Summed(names, &e.Series)
	}
	return names
}

// describeSeries returns copies of series.
func describeSeries(of []*series) []continuous.Series {
	list := make([]continuous.Series, len(of))
	for i, series := range of {
		list[i] = series.Series
		list[i].Labels, list[i].Facts = slices.Clone(series.Labels), slices.Clone(series.Facts)
		list[i].Summed = slices.Clone(series.Summed)
	}
	return list
}

// Series implements continuous.Store.
func (s *windows) Series(ctx context.Context, q continuous.Query) ([]continuous.Series, error) {
	_, of, err := s.selected(ctx, &q, continuous.Raw)
	if err != nil {
		return nil, err
	}
	defer s.mu.RUnlock()
	return describeSeries(of), nil
}

// Totals implements continuous.Store.
func (s *windows) Totals(ctx context.Context, q continuous.Query, step time.Duration) (*continuous.Totals, error) {
	amounts, err := s.Function(ctx, q, "", step)
	if err != nil {
		return nil, err
	}
	totals := &continuous.Totals{Series: amounts.Series}
	for _, a := range amounts.Amounts {
		totals.Totals = append(totals.Totals, a.Total)
	}
	return totals, nil
}

// Function implements continuous.Store.
func (s *windows) Function(ctx context.Context, q continuous.Query, name string, step time.Duration) (*continuous.Amounts, error) {
	list, of, err := s.selected(ctx, &q, continuous.Coarsest(step))
	if err != nil {
		return nil, err
	}
	defer s.mu.RUnlock()
	index := map[*series]int32{}
	for i, series := range of {
		index[series] = int32(i)
	}
	amounts := &continuous.Amounts{Series: describeSeries(of)}
	for _, w := range list {
		a := continuous.Amount{Total: w.Total}
		a.Series = index[w.series]
		tree := s.tree(w.series.typ, w.self)
		for _, row := range tree.FunctionRows() {
			if tree.Functions[row.Func].Name == name {
				a.Self, a.Whole = row.Self, row.Total
			}
		}
		amounts.Amounts = append(amounts.Amounts, a)
	}
	slices.SortFunc(amounts.Amounts, func(a, b continuous.Amount) int { return a.Compare(&b.Total) })
	return amounts, nil
}

// Hours implements continuous.HourStore.
func (s *windows) Hours(ctx context.Context, q continuous.Query) (*continuous.Hours, error) {
	list, of, err := s.selectedParts(ctx, &q, continuous.Hour, func(continuous.Progress, continuous.Level) []continuous.Part {
		return []continuous.Part{{Level: continuous.Hour, Range: q.Range()}}
	})
	if err != nil {
		return nil, err
	}
	defer s.mu.RUnlock()
	hours := &continuous.Hours{Series: describeSeries(of), Forest: s.forest.Snapshot()}
	for _, e := range of {
		hours.Types = append(hours.Types, e.typ)
	}
	for _, w := range list {
		t := w.Total
		t.Series = int32(slices.Index(of, w.series))
		hours.Totals, hours.Self = append(hours.Totals, t), append(hours.Self, w.self)
	}
	hours.Sort()
	return hours, nil
}

// Made implements continuous.HourStore.
func (s *windows) Made(ctx context.Context) (time.Time, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.progress.Until(), ctx.Err()
}

// tree returns the tree of a vector.
func (s *windows) tree(typ profile.ValueType, v calltree.Vector) *calltree.Tree {
	cut := s.forest.Cut(v.Nodes)
	return calltree.NewTree(cut.Table, typ, cut.Self(v))
}

// Tree implements continuous.Store.
func (s *windows) Tree(ctx context.Context, q continuous.Query) (*continuous.Merged, error) {
	list, of, err := s.selected(ctx, &q, continuous.Day)
	if err != nil {
		return nil, err
	}
	defer s.mu.RUnlock()
	merged := &continuous.Merged{Series: describeSeries(of)}
	typ, err := continuous.OneType(merged.Series)
	if err != nil {
		return nil, err
	}
	var vectors []calltree.Vector
	count, place := continuous.NewInstances(merged.Series, s.summed()), map[*series]int32{}
	for i, series := range of {
		place[series] = int32(i)
	}
	sum, fits := int64(0), true
	for _, w := range list {
		merged.Windows++
		merged.Parts += w.Parts
		merged.Covered += w.Covered
		vectors = append(vectors, w.self)
		total := w.Total
		total.Series = place[w.series]
		count.Add(&total)
		if fits {
			sum, fits = store.AddAbsolute(sum, w.self.Self)
		}
	}
	if !fits {
		return nil, fmt.Errorf("%s: %w", typ, continuous.ErrTooLarge)
	}
	count.Tell(merged)
	valueType := profile.ValueType{}
	for _, series := range of {
		valueType = cmp.Or(valueType, series.typ).Plus(series.typ)
	}
	merged.Tree = s.tree(valueType, calltree.AddVectors(vectors...))
	return merged, nil
}

// WindowStats implements continuous.Store.
func (s *windows) WindowStats(ctx context.Context) (continuous.Stats, error) {
	if err := ctx.Err(); err != nil {
		return continuous.Stats{}, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	stats := continuous.Stats{Series: int64(len(s.series))}
	for _, w := range s.list {
		stats.Windows[w.Level]++
		stats.Bytes[w.Level] += w.bytes()
	}
	for _, series := range s.series {
		stats.First, stats.Last = continuous.Earlier(stats.First, series.First), continuous.Later(stats.Last, series.Last)
	}
	return stats, nil
}

func (w *window) bytes() int64 { return 12 * int64(w.self.Len()) }
