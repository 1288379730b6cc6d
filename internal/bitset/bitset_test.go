package bitset

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestSet compares sets with maps.
func TestSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		capacity := rapid.IntRange(1, 300).Draw(t, "capacity")
		var sets [2]Set
		var wants [2]map[int32]bool
		for k := range sets {
			sets[k], wants[k] = New(capacity), map[int32]bool{}
			for _, i := range rapid.SliceOf(rapid.Int32Range(0, int32(capacity-1))).Draw(t, "members") {
				if sets[k].Add(i) == wants[k][i] {
					t.Fatalf("Add(%d) says that it was there: %v", i, wants[k][i])
				}
				wants[k][i] = true
			}
		}
		check := func(s Set, want map[int32]bool) {
			t.Helper()
			if got := s.Members(); !slices.Equal(got, slices.Sorted(maps.Keys(want))) || s.Len() != len(want) {
				t.Fatalf("%d members, %v, want %v", s.Len(), got, want)
			}
			for i := range int32(capacity) {
				if s.Has(i) != want[i] {
					t.Fatalf("Has(%d) = %v", i, s.Has(i))
				}
			}
		}
		check(sets[0], wants[0])
		if got, want := sets[0].Includes(sets[1]), !slices.ContainsFunc(sets[1].Members(),
			func(i int32) bool { return !wants[0][i] }); got != want {
			t.Fatalf("%v includes %v: %v", sets[0].Members(), sets[1].Members(), got)
		}
		sets[0].Unite(sets[1])
		if !sets[0].Includes(sets[1]) {
			t.Fatal("a union does not include its part")
		}
		maps.Copy(wants[0], wants[1])
		check(sets[0], wants[0])
		n := rapid.IntRange(0, capacity).Draw(t, "n")
		sets[1].Fill(n)
		for i := range int32(n) {
			wants[1][i] = true
		}
		check(sets[1], wants[1])
		for i := range sets[0].All() {
			if i != slices.Min(slices.Collect(maps.Keys(wants[0]))) {
				t.Fatalf("the first member is %d", i)
			}
			break
		}
	})
}
