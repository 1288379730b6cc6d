package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestHotellingPublished: the psychological tests of 32 men and 32 women in Rencher, Methods
// of Multivariate Analysis, example 5.4.2: T² = 97.6 of the rounded means and covariances,
// far above the critical value 15.373 of p = 0.01 for 4 variables.
func TestHotellingPublished(t *testing.T) {
	d := []float64{15.97 - 12.34, 15.91 - 13.91, 27.19 - 16.66, 22.75 - 21.94}
	cov := [][]float64{{7.164}, {6.047, 15.89}, {5.693, 8.492, 29.36}, {4.701, 5.856, 13.98, 22.32}}
	h, ok := hotelling(d, cov, 32, 32)
	if !ok || math.Abs(h.T2-97.6015) > 0.1 || h.D1 != 4 || h.D2 != 59 || !(h.P < 1e-10) {
		t.Errorf("%+v", h)
	}
	// The critical value is the T² whose probability is 0.01.
	scale := math.Sqrt(15.373 / h.T2)
	for i := range d {
		d[i] *= scale
	}
	if h, _ = hotelling(d, cov, 32, 32); math.Abs(h.P-0.01) > 2e-4 {
		t.Errorf("p %.5f of T² %.3f, want 0.01", h.P, h.T2)
	}
}

// TestHotellingByHand: of one variable it is Student's t; two variables by hand.
func TestHotellingByHand(t *testing.T) {
	a, b := [][]float64{{1}, {2}, {3}, {4}}, [][]float64{{3}, {5}, {7}}
	// Means 2.5 and 5; squares 5 and 8 over 5 degrees of freedom: variance 2.6.
	h, ok := HotellingT2(a, b)
	want := 2.5 * 2.5 / 2.6 * 12 / 7
	if !ok || math.Abs(h.T2-want) > 1e-12 || math.Abs(h.F-want) > 1e-12 || math.Abs(h.P-2*studentTail(math.Sqrt(want), 5)) > 1e-9 {
		t.Errorf("%+v, want T² %g", h, want)
	}
	// Two variables whose covariance matrix is ((2, 1), (1, 2)) and d = (1, 0): d'S⁻¹d = 2/3.
	h, _ = hotelling([]float64{1, 0}, [][]float64{{2}, {1, 2}}, 6, 3)
	if math.Abs(h.T2-2.0/3*18/9) > 1e-12 || math.Abs(h.F-h.T2*6/14) > 1e-12 || h.D1 != 2 || h.D2 != 6 {
		t.Errorf("%+v", h)
	}
}

// TestHotellingDependent: what others say already, and what is constant, changes nothing.
func TestHotellingDependent(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	sample := func(n int, shift float64) (plain, more [][]float64) {
		for range n {
			x, y := rnd.NormFloat64()+shift, 3*rnd.NormFloat64()
			plain = append(plain, []float64{x, y})
			more = append(more, []float64{7, x, 2*x - y + 1, y, 1 - x - y})
		}
		return plain, more
	}
	a, aMore := sample(12, 0)
	b, bMore := sample(5, 1)
	want, _ := HotellingT2(a, b)
	got, ok := HotellingT2(aMore, bMore)
	if !ok || !slices.Equal(got.Kept, []int{1, 2}) || math.Abs(got.T2-want.T2) > 1e-9 || got.D2 != want.D2 {
		t.Errorf("%+v, want %+v", got, want)
	}
	if _, ok := HotellingT2(a[:1], b[:1]); ok {
		t.Error("one observation of each sample has a result")
	}
	if _, ok := HotellingT2([][]float64{{.1}, {.1}, {.1}}, [][]float64{{.1}}); ok {
		t.Error("constants have a result")
	}
	if _, ok := HotellingT2(nil, b); ok {
		t.Error("no observations have a result")
	}
}

// TestHotellingLevel: without a difference one in twenty has p < 0.05, also for one tested run.
func TestHotellingLevel(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for _, n := range [][2]int{{20, 1}, {10, 10}} {
		below := 0
		const trials = 4000
		for range trials {
			var samples [2][][]float64
			for s := range samples {
				for range n[s] {
					x, y := rnd.NormFloat64(), rnd.NormFloat64()
					samples[s] = append(samples[s], []float64{x, x + y, rnd.NormFloat64() - y})
				}
			}
			if h, ok := HotellingT2(samples[0], samples[1]); ok && h.P < 0.05 {
				below++
			}
		}
		if share := float64(below) / trials; share < 0.038 || share > 0.062 {
			t.Errorf("%v: p < 0.05 in %.3f of the trials", n, share)
		}
	}
}
