package stat

import "math"

// Trigamma returns the second derivative of log Γ at x > 0: recurrence up to 20,
// then the asymptotic series.
func Trigamma(x float64) float64 {
	sum := 0.0
	for ; x < 20; x++ {
		sum += 1 / (x * x)
	}
	i := 1 / x
	i2 := i * i
	return sum + i + i2/2 + i*i2*(1.0/6-i2*(1.0/30-i2*(1.0/42-i2/30)))
}

// TrigammaInverse returns the x with Trigamma(x) = y, y > 0: Newton's method on
// 1/Trigamma, which is convex and nearly linear (Smyth 2004, appendix).
func TrigammaInverse(y float64) float64 {
	switch {
	case y > 1e7:
		return 1 / math.Sqrt(y)
	case y < 1e-6:
		return 1 / y
	}
	x := 0.5 + 1/y
	for range 50 {
		tri := Trigamma(x)
		step := tri * (1 - tri/y) / tetragamma(x)
		x += step
		if math.Abs(step) < 1e-10*x {
			break
		}
	}
	return x
}

// tetragamma is the derivative of Trigamma.
func tetragamma(x float64) float64 {
	sum := 0.0
	for ; x < 20; x++ {
		sum -= 2 / (x * x * x)
	}
	i := 1 / x
	i2 := i * i
	return sum - i2 - i*i2 - i2*i2*(0.5-i2*(1.0/6-i2*(1.0/6-i2*0.3)))
}
