package profile

import "testing"

func TestTaken(t *testing.T) {
	period := func(t ValueType, period int64, unit string) ValueType {
		t.Period, t.PeriodUnit = period, unit
		return t
	}
	for _, tt := range []struct {
		typ    ValueType
		values []int64
		want   int64
	}{
		{NamedType(CPUSamples), []int64{60, 40}, 100},
		{NamedType(Threads), []int64{1, 2}, 3},
		{period(NamedType(CPU), 10_000_000, "nanoseconds"), []int64{40_000_000, 60_000_000}, 10},
		{NamedType(CPU), []int64{40_000_000, 60_000_000}, 2},
		{NamedType("cycles"), []int64{1_000_000, 3_000_000}, 2},
		{period(NamedType(Alloc), 524288, "bytes"), []int64{16, 32}, 2},
		{period(NamedType(CPUSamples), 10_000_000, "nanoseconds"), []int64{7}, 7},
	} {
		s := Samples{Type: tt.typ}
		for i, v := range tt.values {
			s.Append(StackID(i+1), v, 0, Tags{})
		}
		if got := s.Taken(); got != tt.want {
			t.Errorf("%s %v: %d samples, want %d", tt.typ.Key(), tt.values, got, tt.want)
		}
	}
}
