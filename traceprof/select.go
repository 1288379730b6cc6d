package traceprof

import (
	"cmp"
	"context"
	"slices"
	"sort"
)

// source holds the snapshots of one segment by one task, and which of them are
// selected. Each task numbers its snapshots of a segment on its own.
type source struct {
	Snapshots
	windows  []window // in order of the ranges
	selected []rows   // ascending, disjoint
}

// window is a half-open range of sequence numbers, rows one of indices.
type window struct{ from, to int64 }

type rows struct{ from, to int }

// sourcesOf returns the sources of the ranges' segments by a task, or by all if it is
// empty, in the order in which the ranges name them, then of tasks.
func sourcesOf(ctx context.Context, st Store, task string, items []Range) ([]*source, error) {
	place := map[string]int{}
	var segments []string
	for _, r := range items {
		if _, ok := place[r.Segment]; !ok {
			place[r.Segment] = len(segments)
			segments = append(segments, r.Segment)
		}
	}
	if len(segments) == 0 {
		return nil, nil
	}
	q := SnapshotQuery{Segments: segments}
	if task != "" {
		q.Tasks = []string{task}
	}
	var list []*source
	for s, err := range st.Snapshots(ctx, q) {
		if err != nil {
			return nil, err
		}
		list = append(list, &source{Snapshots: s})
	}
	slices.SortStableFunc(list, func(a, b *source) int { return cmp.Compare(place[a.Segment], place[b.Segment]) })
	return list, nil
}

// selectBySequence selects the snapshots in the ranges, up to the limit, and returns how
// many sequence numbers the ranges span.
func selectBySequence(sources []*source, items []Range, limit int) (found int64) {
	bySegment := map[string][]*source{}
	for _, s := range sources {
		bySegment[s.Segment] = append(bySegment[s.Segment], s)
	}
	left := int64(limit)
	for _, r := range items {
		for _, s := range bySegment[r.Segment] {
			w, ok := s.window(r.Start, r.End)
			if !ok {
				continue
			}
			found += w.to - w.from
			if left > 0 {
				w.to = min(w.to, w.from+left)
				left -= w.to - w.from
				s.windows = append(s.windows, w)
			}
		}
	}
	for _, s := range sources {
		s.selectRows()
	}
	return found
}

// window returns the sequence numbers from the first snapshot in a range of time
// to the last.
func (s *source) window(start, end int64) (window, bool) {
	first, last := -1, -1
	for i, t := range s.Time {
		if start <= t && t <= end {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	if first < 0 {
		return window{}, false
	}
	return window{int64(s.Sequence[first]), int64(s.Sequence[last]) + 1}, true
}

// selectRows converts the windows into rows.
func (s *source) selectRows() {
	slices.SortFunc(s.windows, func(a, b window) int { return cmp.Compare(a.from, b.from) })
	at := func(sequence int64) int {
		return sort.Search(s.Len(), func(i int) bool { return int64(s.Sequence[i]) >= sequence })
	}
	for _, w := range s.windows {
		r := rows{at(w.from), at(w.to)}
		if n := len(s.selected); n > 0 {
			r.from = max(r.from, s.selected[n-1].to)
		}
		if r.from < r.to {
			s.selected = append(s.selected, r)
		}
	}
}

// selectByTime selects the samples whose times lie in a range. If all samples of a source
// have the same time, that of the profile, every range selects all of them.
func selectByTime(sources []*source, items []Range) {
	for _, s := range sources {
		if s.Len() == 0 || slices.Min(s.Time) == slices.Max(s.Time) {
			s.selected = []rows{{0, s.Len()}}
			continue
		}
		mine := slices.DeleteFunc(slices.Clone(items), func(r Range) bool { return r.Segment != s.Segment })
		for i, t := range s.Time {
			if slices.ContainsFunc(mine, func(r Range) bool { return r.Start <= t && t <= r.End }) {
				s.selected = append(s.selected, rows{i, i + 1})
			}
		}
	}
}
