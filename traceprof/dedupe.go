package traceprof

import (
	"cmp"
	"slices"
)

// Dedupe sorts snapshots by Sequence and keeps only the first of each sequence number,
// as Store.Snapshots returns them.
func (s *Snapshots) Dedupe() {
	ascending := true
	for i := 1; i < s.Len() && ascending; i++ {
		ascending = s.Sequence[i-1] < s.Sequence[i]
	}
	if ascending {
		return
	}
	rows := make([]int, s.Len())
	for i := range rows {
		rows[i] = i
	}
	slices.SortStableFunc(rows, func(a, b int) int { return cmp.Compare(s.Sequence[a], s.Sequence[b]) })
	s.Keep(slices.CompactFunc(rows, func(a, b int) bool { return s.Sequence[a] == s.Sequence[b] }))
}

// Keep keeps some rows, in the order in which they are given. The columns are new ones.
func (s *Snapshots) Keep(rows []int) {
	s.Sequence, s.Time, s.Path = pick(s.Sequence, rows), pick(s.Time, rows), pick(s.Path, rows)
	if s.Language == GoProfiles {
		s.Count, s.Nanos = pick(s.Count, rows), pick(s.Nanos, rows)
	}
}

// pick returns some rows of a column.
func pick[T any](column []T, rows []int) []T {
	out := make([]T, len(rows))
	for i, row := range rows {
		out[i] = column[row]
	}
	return out
}
