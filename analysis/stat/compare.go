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
