package profile

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestBound compares tables that are summed while they grow with sums in an array.
func TestBound(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, columns := range []int{0, 1, 3} {
		var s Samples
		number := func(stack StackID, t Tags) int {
			return ((int(stack)+1)*3+int(t.Thread))*6 + int(t.Labels)*2 + int(t.State)
		}
		want := make([]int64, 1000*18)
		const n = SumRows*3/2 + 17
		for range n {
			stack, tags := StackID(r.IntN(1000))-1, Tags{}
			if columns > 0 {
				tags.Thread = ThreadID(r.IntN(3))
			}
			if columns > 1 {
				tags.Labels, tags.State = LabelsID(r.IntN(3)), StateID(r.IntN(2))
			}
			v := int64(r.IntN(10)) - 2
			want[number(stack, tags)] += v
			s.Append(stack, v, 0, tags)
			s.Bound(Limits{})
			if s.Len() > SumRows {
				t.Fatalf("%d rows", s.Len())
			}
		}
		if !s.Bounded() || s.Count() != n || s.Len() > len(want) || (s.Thread != nil) != (columns > 0) || (s.State != nil) != (columns > 1) {
			t.Errorf("%d samples in %d rows, want %d", s.Count(), s.Len(), n)
		}
		got := make([]int64, len(want))
		for i := range s.Len() {
			if at := &got[number(s.Stack[i], s.Tags(i))]; *at != 0 && s.Value[i] != 0 {
				t.Fatal("two rows of equal stack and tags")
			} else {
				*at = s.Value[i]
			}
		}
		if !slices.Equal(want, got) {
			t.Error("the sums differ")
		}
	}
}

// TestBoundTimes keeps every row of a table with times unless only sums are needed.
func TestBoundTimes(t *testing.T) {
	for _, sums := range []bool{false, true} {
		var s Samples
		for i := range SumRows + 10 {
			s.Append(1, 1, int64(i+1), Tags{})
			s.Bound(Limits{Sums: sums})
		}
		if summed := s.Bounded(); summed != sums || (s.Time == nil) != sums || s.Total() != SumRows+10 || s.Count() != SumRows+10 {
			t.Errorf("sums %v: %d rows, %d times", sums, s.Len(), len(s.Time))
		}
	}
}
