package traceprof

import (
	"cmp"
	"slices"
)

// Settle brings snapshots that lie in the order in which they were stored into
// the form in which a Store hands them out: in ascending order of Sequence, of
// those of one sequence the first only.
func (s *Snapshots) Settle() {
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
	rows = slices.CompactFunc(rows, func(a, b int) bool { return s.Sequence[a] == s.Sequence[b] })
	s.Sequence, s.Time, s.Path = taken(s.Sequence, rows), taken(s.Time, rows), taken(s.Path, rows)
	if s.Language == GoProfiles {
		s.Count, s.Nanos = taken(s.Count, rows), taken(s.Nanos, rows)
	}
}

// taken returns some rows of a column.
func taken[T any](column []T, rows []int) []T {
	out := make([]T, len(rows))
	for i, row := range rows {
		out[i] = column[row]
	}
	return out
}
