// Package stat has the statistics of Dendro's analyses: tails of distributions and their
// scores, robust estimates, shrinkage of variances, intervals, tests and correlation.
//
// All functions are deterministic and know no profiles. Comments tell what a function
// returns for undefined input, such as an empty list; no function returns NaN for finite
// input.
//
// A score z is a quantile of the standard normal distribution: the normal tail beyond z
// equals the tail of the statistic. Scores are within ±MaxScore, where double precision
// ends.
package stat

import "math"

// MaxScore bounds scores: the normal tail beyond it is below the smallest
// positive double.
const MaxScore = 37

// NormalTail returns P(Z > z) of the standard normal distribution, exact to
// double precision in relative terms.
func NormalTail(z float64) float64 { return math.Erfc(z/math.Sqrt2) / 2 }

// ScoreOfTail returns the z with NormalTail(z) = p; p outside (0, 1) gives the
// bound on its side.
func ScoreOfTail(p float64) float64 {
	switch {
	case p <= 0:
		return MaxScore
	case p >= 1:
		return -MaxScore
	case p > 0.5:
		return -ScoreOfTail(1 - p)
	}
	return ScoreOfLogTail(math.Log(p))
}

// ScoreOfLogTail returns the z with log NormalTail(z) = logP, for tails that a
// double cannot hold as well. LogP above log 1/2 gives a negative score.
//
// Start: the asymptotic expansion -2 log p - 2 log z - log 2π = z². Then Newton's
// method on the logarithm of the tail, which is concave and nearly a parabola:
// three or four steps.
func ScoreOfLogTail(logP float64) float64 {
	if logP >= 0 {
		return -MaxScore
	}
	if logP > math.Log(0.5) {
		return -ScoreOfLogTail(math.Log(-math.Expm1(logP)))
	}
	z := 0.0
	if logP < -2 {
		z = math.Sqrt(-2 * logP)
		for range 2 {
			z = math.Sqrt(math.Max(0.01, -2*logP-2*math.Log(z)-math.Log(2*math.Pi)))
		}
	}
	for range 20 {
		if z > MaxScore {
			return MaxScore
		}
		tail := NormalTail(z)
		hazard := math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) / tail
		step := (math.Log(tail) - logP) / hazard
		z += step
		if math.Abs(step) < 1e-12*(1+z) {
			break
		}
	}
	return math.Min(z, MaxScore)
}

// StudentScore returns the score of a t statistic with nu degrees of freedom by the
// approximation of Wallace (1959), whose error is at most 0.02 for nu ≥ 3 and any t. nu
// above 1e5 counts as infinite.
func StudentScore(t, nu float64) float64 {
	if nu > 1e5 {
		return clampScore(t)
	}
	z := (8*nu + 1) / (8*nu + 3) * math.Sqrt(nu*math.Log1p(t*t/nu))
	return clampScore(math.Copysign(z, t))
}

// StudentOfScore returns the t statistic with nu degrees of freedom whose StudentScore is z.
func StudentOfScore(z, nu float64) float64 {
	if nu > 1e5 {
		return z
	}
	u := z * (8*nu + 3) / (8*nu + 1)
	return math.Copysign(math.Sqrt(nu*math.Expm1(u*u/nu)), z)
}

func clampScore(z float64) float64 { return math.Max(-MaxScore, math.Min(MaxScore, z)) }
