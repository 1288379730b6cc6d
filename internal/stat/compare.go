package stat

import "math"

// Interval95 is the half width of a 95% interval in standard errors.
const Interval95 = 1.959963984540054

// Pearson returns the correlation of two equally long series. It is 0 when the
// product of their deviations is at most 1e-8: too few points, or no variation.
func Pearson(x, y []float64) float64 {
	mx, my := Mean(x), Mean(y)
	var xx, yy, xy float64
	for i := range x {
		xx += (x[i] - mx) * (x[i] - mx)
		yy += (y[i] - my) * (y[i] - my)
		xy += (x[i] - mx) * (y[i] - my)
	}
	d := math.Sqrt(xx) * math.Sqrt(yy)
	if !(d > 1e-8) {
		return 0
	}
	return xy / d
}

// WelchScore returns the score of the difference mean(b) - mean(a) by the test of
// Welch (1947). A single value in b is a prediction from a: its variance is taken
// to be a's. Fewer than two values in a, or no variation at all, score 0.
func WelchScore(a, b []float64) float64 {
	if len(a) < 2 || len(b) == 0 {
		return 0
	}
	na, nb := float64(len(a)), float64(len(b))
	va := Variance(a)
	diff := Mean(b) - Mean(a)
	if len(b) == 1 {
		se := math.Sqrt(va * (1 + 1/na))
		if se == 0 {
			return 0
		}
		return StudentScore(diff/se, na-1)
	}
	vb := Variance(b)
	qa, qb := va/na, vb/nb
	se := math.Sqrt(qa + qb)
	if se == 0 {
		return 0
	}
	nu := (qa + qb) * (qa + qb) / (qa*qa/(na-1) + qb*qb/(nb-1))
	return StudentScore(diff/se, nu)
}
