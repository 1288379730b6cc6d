package bottleneck

import "testing"

// TestOver: the score of a function over its benchmarks, by statistic and sign.
func TestOver(t *testing.T) {
	all := []float64{0.9, -0.2, 0.5, 0.4}
	for _, c := range []struct {
		over           string
		positive, with float64 // for positive and for negative correlations
	}{{"", 0.4, 0.4}, {"mean", 0.4, 0.4}, {"median", 0.45, 0.45}, {"max", 0.9, -0.2}, {"min", -0.2, 0.9}} {
		o := Correlating{Over: c.over}
		if p, n := round(o.Score(all, 1)), round(o.Score(all, -1)); p != c.positive || n != c.with {
			t.Errorf("%s: %v and %v, want %v and %v", c.over, p, n, c.positive, c.with)
		}
	}
	if all[0] != 0.9 {
		t.Error("the list was sorted in place")
	}
}
