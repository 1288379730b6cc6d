package mem

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"github.com/dendroprof/dendro/continuous"
)

// PutLines implements continuous.LineStore.
func (s *windows) PutLines(ctx context.Context, list []*continuous.Lines, room continuous.LineRoom) error {
	for _, l := range list {
		if err := l.Check(); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range list {
		own := *l
		own.Series = continuous.Series{Service: l.Series.Service, Type: l.Series.Type, Labels: slices.Clone(l.Series.Labels)}
		own.Day, own.Profile = l.Day.UTC(), bytes.Clone(l.Profile)
		at, found := slices.BinarySearchFunc(s.lines, &own, func(a continuous.Lines, b *continuous.Lines) int { return a.Compare(b) })
		if found {
			s.lines[at] = own
		} else {
			s.lines = slices.Insert(s.lines, at, own)
		}
	}
	if room.Bytes <= 0 {
		return nil
	}
	left, of := room.Bytes, map[string]int64{}
	var kept []continuous.Lines
	for _, l := range slices.SortedFunc(slices.Values(s.lines), func(a, b continuous.Lines) int {
		return cmp.Or(b.Day.Compare(a.Day), cmp.Compare(b.Windows, a.Windows), a.Series.Compare(&b.Series))
	}) {
		n := int64(len(l.Profile))
		if of[l.Series.Service] += n; of[l.Series.Service] > room.Part() {
			continue // it takes no room of others
		}
		if left -= n; left >= 0 {
			kept = append(kept, l)
		}
	}
	slices.SortFunc(kept, func(a, b continuous.Lines) int { return a.Compare(&b) })
	s.lines = kept
	return nil
}

// Lines implements continuous.LineStore.
func (s *windows) Lines(ctx context.Context, q continuous.Query) (list []continuous.Lines, err error) {
	selection, err := q.Compile()
	if err != nil {
		return nil, err
	}
	s.mu.RLock()
	all := slices.Clone(s.lines)
	s.mu.RUnlock()
	first, last := q.Days()
	for i := range all {
		l := &all[i]
		if l.Day.Before(first) || !last.IsZero() && l.Day.After(last) {
			continue
		}
		matches, err := selection.Matches(ctx, &l.Series)
		if err != nil {
			return nil, err
		}
		if !matches {
			continue
		}
		if err := continuous.SpendLines(ctx, int64(len(l.Profile))); err != nil {
			return nil, err
		}
		own := *l
		own.Series.Labels, own.Profile = slices.Clone(l.Series.Labels), bytes.Clone(l.Profile)
		list = append(list, own)
	}
	return list, ctx.Err()
}
