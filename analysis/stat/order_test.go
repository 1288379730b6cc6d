package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestRanks(t *testing.T) {
	if got, want := Ranks([]float64{10, 30, 10, 20, 30, 30}), []float64{1.5, 5, 1.5, 3, 5, 5}; !slices.Equal(got, want) {
		t.Errorf("ranks %v, want %v", got, want)
	}
	if got := Ranks(nil); len(got) != 0 {
		t.Errorf("ranks of nothing: %v", got)
	}
}

func TestQuantile(t *testing.T) {
	values := []float64{1, 2, 3, 4, 10}
	for _, c := range []struct{ q, want float64 }{{0, 1}, {.1, 1.4}, {.5, 3}, {.9, 7.6}, {1, 10}, {-1, 1}, {2, 10}} {
		if got := Quantile(values, c.q); got < c.want-1e-12 || got > c.want+1e-12 {
			t.Errorf("quantile %g is %g, want %g", c.q, got, c.want)
		}
	}
	if Quantile(nil, .5) != 0 || Quantile([]float64{7}, .9) != 7 {
		t.Error("quantile of nothing or of one value")
	}
}

// TestMannWhitney: the example of R's wilcox.test, whose one-sided p is 0.1272; small
// samples, with ties too, counted by hand.
func TestMannWhitney(t *testing.T) {
	for _, c := range []struct {
		a, b     []float64
		p, least float64
	}{
		{[]float64{0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46}, []float64{1.15, 0.88, 0.90, 0.74, 1.21}, 0.2544, 2.0 / 3003},
		{[]float64{1, 2, 3}, []float64{4, 5, 6}, 0.1, 0.1},
		{[]float64{4, 5, 6}, []float64{1, 2, 3}, 0.1, 0.1},
		{[]float64{1, 1}, []float64{2, 3, 3}, 0.2, 0.2},
		{[]float64{1, 3}, []float64{1, 2, 3}, 1, 0.2},
		{[]float64{5, 5}, []float64{5, 5, 5}, 1, 1},
		{nil, []float64{1}, 1, 1},
	} {
		if p, least := MannWhitney(c.a, c.b); math.Abs(p-c.p) > 5e-5 || math.Abs(least-c.least) > 1e-9 {
			t.Errorf("%v, %v: p %.5f, at least %.5f; want %.5f, %.5f", c.a, c.b, p, least, c.p, c.least)
		}
	}
	// The approximation is near the exact value where both can be computed.
	r := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		var a, b []float64
		for range 30 {
			a, b = append(a, math.Round(10*r.NormFloat64())), append(b, math.Round(10*r.NormFloat64()+5))
		}
		exact, _ := MannWhitney(a, b)
		twice, sum := []int{}, 0
		for i, rank := range Ranks(slices.Concat(a, b)) {
			twice = append(twice, int(2*rank))
			if i < len(a) {
				sum += int(2 * rank)
			}
		}
		if p := 2 * math.Min(normalRanks(twice, len(a))(sum)); math.Abs(p-exact) > 0.01*exact+0.002 {
			t.Errorf("exact %.5f, approximation %.5f", exact, p)
		}
	}
}

func TestMedianInterval(t *testing.T) {
	values := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
	for n, want := range map[int][2]float64{5: {}, 6: {1, 6}, 8: {1, 7}, 9: {2, 8}, 10: {2, 9}, 12: {3, 10}} {
		low, high, ok := MedianInterval(values[:n], 0.95)
		if got := [2]float64{low, high}; got != want || ok != (want[1] > 0) {
			t.Errorf("%d values: %v, %t; want %v", n, got, ok, want)
		}
	}
	covered, r := 0, rand.New(rand.NewPCG(3, 4))
	for range 4000 {
		list := make([]float64, 15)
		for i := range list {
			list[i] = r.ExpFloat64()
		}
		slices.Sort(list)
		if low, high, _ := MedianInterval(list, 0.95); low <= math.Ln2 && math.Ln2 <= high {
			covered++
		}
	}
	if share := float64(covered) / 4000; share < 0.945 || share > 0.975 {
		t.Errorf("%.3f of the intervals hold the median", share)
	}
}
