package stat

import (
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
