package evidence

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestSteps(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	level := func(n int, mean float64) []float64 {
		list := make([]float64, n)
		for i := range list {
			list[i] = mean * (1 + 0.01*random.NormFloat64())
		}
		return list
	}
	nan := math.NaN()
	for _, x := range []struct {
		name   string
		values []float64
		want   []int
	}{
		{"none", nil, nil},
		{"one value", []float64{1}, nil},
		{"constant", []float64{3, 3, 3, 3, 3, 3}, nil},
		{"noise", level(60, 5), nil},
		{"a step", slices.Concat(level(20, 5), level(20, 5.5)), []int{20}},
		{"the newest two runs", slices.Concat(level(16, 5), level(2, 6)), []int{16}},
		{"up and down", slices.Concat(level(15, 5), level(15, 6), level(15, 5)), []int{15, 30}},
		{"without noise", []float64{1, 1, 1, 2, 2, 2}, []int{3}},
		{"one outlier", slices.Concat(level(15, 5), []float64{9}, level(15, 5)), nil},
		{"missing values", slices.Concat(level(10, 5), []float64{nan, nan}, level(10, 6)), []int{12}},
	} {
		var got []int
		for _, s := range Steps(x.values) {
			got = append(got, s.At)
			if !(math.Abs(s.After-s.Before) > 0.04*s.Before) {
				t.Errorf("%s: step %+v", x.name, s)
			}
		}
		if !slices.Equal(got, x.want) {
			t.Errorf("%s: steps at %v, want %v", x.name, got, x.want)
		}
	}
	found := 0
	for range 500 {
		found += min(1, len(Steps(level(40, 1))))
	}
	if found > 15 {
		t.Errorf("%d of 500 series of one level have a step", found)
	}
}
