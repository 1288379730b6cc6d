package stat

import "math"

// LogBetaInc returns the logarithm of the regularised incomplete beta function
// I_x(a, b), for a, b > 0, whole or not. It keeps its relative precision where
// the function itself underflows. x ≤ 0 gives -Inf, x ≥ 1 gives 0.
//
// Continued fraction by the modified Lentz method (Numerical Recipes, 6.4), on
// the side on which it converges quickly: O(√max(a, b)) steps, 10,000 at most.
func LogBetaInc(a, b, x float64) float64 {
	switch {
	case x <= 0:
		return math.Inf(-1)
	case x >= 1:
		return 0
	}
	front := a*math.Log(x) + b*math.Log1p(-x) - logBeta(a, b)
	if x < (a+1)/(a+b+2) {
		return math.Min(0, front-math.Log(a)+math.Log(betaFraction(a, b, x)))
	}
	rest := math.Exp(front-math.Log(b)) * betaFraction(b, a, 1-x)
	if rest >= 1 {
		return math.Min(0, front-math.Log(a)+math.Log(betaFraction(a, b, x)))
	}
	return math.Log1p(-rest)
}

// logBeta returns log B(a, b). For a large b the difference of two logarithms of
// the gamma function cancels, so Stirling's series replaces it.
func logBeta(a, b float64) float64 {
	if a > b {
		a, b = b, a
	}
	lga, _ := math.Lgamma(a)
	if b < 1e3 {
		lgb, _ := math.Lgamma(b)
		lgab, _ := math.Lgamma(a + b)
		return lga + lgb - lgab
	}
	// log Γ(b) - log Γ(a+b), with log Γ(x) = (x-½)log x - x + ½log 2π + s(x).
	s := func(x float64) float64 { return (1 - 1/(30*x*x)) / (12 * x) }
	return lga + s(b) - s(a+b) + a - (b-0.5)*math.Log1p(a/b) - a*math.Log(a+b)
}

func betaFraction(a, b, x float64) float64 {
	const tiny = 1e-300
	nonzero := func(v float64) float64 {
		if math.Abs(v) < tiny {
			return tiny
		}
		return v
	}
	c := 1.0
	d := 1 / nonzero(1-(a+b)*x/(a+1))
	h := d
	for i := 1; i <= 10_000; i++ {
		m := float64(i)
		even := m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		d = 1 / nonzero(1+even*d)
		c = nonzero(1 + even/c)
		h *= d * c
		odd := -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		d = 1 / nonzero(1+odd*d)
		c = nonzero(1 + odd/c)
		h *= d * c
		if math.Abs(d*c-1) < 1e-14 {
			break
		}
	}
	return h
}

// NegativeBinomialScore returns the score of P(X ≥ x) for a negative binomial X
// with the given mean and size (variance = mean + mean²/size); x need not be
// whole. x ≤ 0 or a mean ≤ 0 give the bounds: certain, impossible.
func NegativeBinomialScore(x, mean, size float64) float64 {
	switch {
	case x <= 0:
		return -MaxScore
	case mean <= 0:
		return MaxScore
	}
	return ScoreOfLogTail(LogBetaInc(x, size, mean/(mean+size)))
}
