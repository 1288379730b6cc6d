package traceprof_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/dendroprof/dendro/traceprof"
)

// TestDedupe compares with the definition: the first row of each sequence, in
// their order.
func TestDedupe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := traceprof.Snapshots{Language: traceprof.Language(rapid.IntRange(0, 1).Draw(t, "language"))}
		first := map[int32]int64{}
		for i, sequence := range rapid.SliceOf(rapid.Int32Range(-3, 6)).Draw(t, "sequences") {
			row := int64(i)
			s.Sequence, s.Time, s.Path = append(s.Sequence, sequence), append(s.Time, row), append(s.Path, int32(row))
			if s.Language == traceprof.GoProfiles {
				s.Count, s.Nanos = append(s.Count, row), append(s.Nanos, row)
			}
			if _, ok := first[sequence]; !ok {
				first[sequence] = row
			}
		}
		s.Dedupe()
		if s.Len() != len(first) || !slices.IsSorted(s.Sequence) {
			t.Fatalf("sequences %v of %v", s.Sequence, first)
		}
		for i, sequence := range s.Sequence {
			row := first[sequence]
			if s.Time[i] != row || s.Path[i] != int32(row) || s.Language == traceprof.GoProfiles && (s.Count[i] != row || s.Nanos[i] != row) {
				t.Fatalf("sequence %d is not of row %d", sequence, row)
			}
		}
	})
}
