package size

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestPeak: the search in passes finds what a search of all steps finds, and the fast exponential is
// one.
func TestPeak(t *testing.T) {
	for u := 0.0; u <= farOff; u += 0.00317 {
		if got := expMinus(u) / math.Exp(-u); math.Abs(got-1) > 1e-9 {
			t.Fatalf("expMinus(%g) is %g times the exponential", u, got)
		}
	}
	r := rand.New(rand.NewPCG(1, 1))
	calls := 0
	const histories, low, steps = 300, -1.6, 125
	for range histories {
		size := 0.3 * r.NormFloat64()
		terms := make([]term, 2+r.IntN(80))
		for i := range terms {
			mean := 4 * math.Exp(6*r.Float64())
			x := mean * math.Exp(size)
			if r.IntN(4) == 0 {
				x *= math.Exp(r.NormFloat64())
			}
			terms[i] = term{math.Round(x + math.Sqrt(x)*r.NormFloat64()), mean, 0.0009 + 0.01*r.Float64()*r.Float64(),
				outlierShare / (3 * (mean + 5))}
		}
		like := func(g float64) float64 { return likelihood(terms, g) }
		got := peakOf(func(g float64) float64 { calls++; return like(g) }, low, steps, len(terms), searchStep) // no finer than the steps
		best, at := math.Inf(-1), 0.0
		for i := range steps + 1 {
			if l := like(low + searchStep*float64(i)); l > best {
				best, at = l, low+searchStep*float64(i)
			}
		}
		if got != at {
			t.Errorf("%d terms: the peak is at %g, not at %g", len(terms), at, got)
		}
	}
	if calls > histories*steps/2 {
		t.Errorf("%d of %d steps tried", calls, histories*steps)
	}
}
