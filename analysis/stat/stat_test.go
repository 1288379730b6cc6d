package stat

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > tolerance*math.Max(1, math.Abs(want)) {
		t.Errorf("%s = %.12g, want %.12g", what, got, want)
	}
}

// Values of tables: Abramowitz and Stegun 26.1, 26.10, and R's qnorm.
func TestNormal(t *testing.T) {
	near(t, "NormalTail(0)", NormalTail(0), 0.5, 1e-15)
	near(t, "NormalTail(1.96)", NormalTail(Interval95), 0.025, 1e-12)
	near(t, "ScoreOfTail(0.001)", ScoreOfTail(0.001), 3.090232306167813, 1e-12)
	near(t, "ScoreOfTail(1e-20)", ScoreOfTail(1e-20), 9.262340089798408, 1e-12)
	near(t, "ScoreOfTail(0.9)", ScoreOfTail(0.9), -1.2815515655446004, 1e-12)
	if ScoreOfTail(0) != MaxScore || ScoreOfTail(1) != -MaxScore || ScoreOfLogTail(-1e9) != MaxScore {
		t.Error("scores are not held within their bounds")
	}
}

func TestScoreInvertsTail(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		z := rapid.Float64Range(-8, 36).Draw(t, "z")
		p := NormalTail(z)
		tolerance := 1e-9
		if z < -5 { // 1-p keeps few digits there
			tolerance = 1e-2
		}
		if got := ScoreOfTail(p); math.Abs(got-z) > tolerance*math.Max(1, math.Abs(z)) {
			t.Errorf("ScoreOfTail(NormalTail(%v)) = %v", z, got)
		}
	})
}

// The naive reference: a binomial tail is an incomplete beta function.
func TestLogBetaIncIsBinomialTail(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 60).Draw(t, "n")
		k := rapid.IntRange(1, n).Draw(t, "k")
		p := rapid.Float64Range(0.001, 0.999).Draw(t, "p")
		sum := 0.0
		for i := k; i <= n; i++ {
			sum += math.Exp(logChoose(n, i) + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
		}
		got := math.Exp(LogBetaInc(float64(k), float64(n-k+1), p))
		if math.Abs(got-sum) > 1e-10*math.Max(sum, 1e-3) {
			t.Errorf("I_%v(%d, %d) = %v, want %v", p, k, n-k+1, got, sum)
		}
	})
}

func logChoose(n, k int) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return a - b - c
}

// The naive reference: the sum of the probabilities.
func TestNegativeBinomialScore(t *testing.T) {
	for _, c := range []struct{ x, mean, size float64 }{{5, 2, 3}, {30, 10, 8}, {12, 1, 0.5}, {40, 20, 1e6}, {3, 0.2, 1e7}} {
		below := 0.0
		for i := range int(c.x) {
			k := float64(i)
			a, _ := math.Lgamma(k + c.size)
			b, _ := math.Lgamma(k + 1)
			d, _ := math.Lgamma(c.size)
			below += math.Exp(a - b - d + c.size*math.Log(c.size/(c.size+c.mean)) + k*math.Log(c.mean/(c.size+c.mean)))
		}
		near(t, "NegativeBinomialScore", NegativeBinomialScore(c.x, c.mean, c.size), ScoreOfTail(1-below), 1e-5)
	}
	if NegativeBinomialScore(0, 1, 1) != -MaxScore || NegativeBinomialScore(1, 0, 1) != MaxScore {
		t.Error("certain and impossible counts are not at the bounds")
	}
}

// studentTail returns P(T > t) of Student's distribution with nu > 0 degrees of freedom.
func studentTail(t, nu float64) float64 {
	p := math.Exp(LogBetaInc(nu/2, 0.5, nu/(nu+t*t))) / 2
	if t < 0 {
		return 1 - p
	}
	return p
}

func TestStudent(t *testing.T) {
	near(t, "studentTail(2.262, 9)", studentTail(2.2621571628540993, 9), 0.025, 1e-9)
	near(t, "studentTail(-1, 5)", studentTail(-1, 5), 1-studentTail(1, 5), 1e-12)
	for _, nu := range []float64{3, 9, 29, 200} {
		for _, x := range []float64{0.5, 2, 5, 12} {
			near(t, "StudentScore", StudentScore(x, nu), ScoreOfTail(studentTail(x, nu)), 0.02)
			near(t, "StudentScore of -t", StudentScore(-x, nu), -StudentScore(x, nu), 1e-12)
		}
	}
	if StudentScore(1e300, 5) > MaxScore || StudentScore(3, 1e6) != 3 {
		t.Error("StudentScore at its ends")
	}
}

func TestTrigamma(t *testing.T) {
	near(t, "Trigamma(1)", Trigamma(1), math.Pi*math.Pi/6, 1e-12)
	near(t, "Trigamma(0.5)", Trigamma(0.5), math.Pi*math.Pi/2, 1e-12)
	rapid.Check(t, func(t *rapid.T) {
		x := math.Exp(rapid.Float64Range(-12, 12).Draw(t, "log x"))
		if got := TrigammaInverse(Trigamma(x)); math.Abs(got-x) > 1e-5*x {
			t.Errorf("TrigammaInverse(Trigamma(%v)) = %v", x, got)
		}
	})
}

func TestRobust(t *testing.T) {
	near(t, "Median of four", Median([]float64{4, 1, 3, 2}), 2.5, 0)
	near(t, "Median of nothing", Median(nil), 0, 0)
	m, d := MedianDeviation([]float64{1, 2, 3, 4, 100})
	near(t, "median", m, 3, 0)
	near(t, "deviation", d, 1, 0)
	near(t, "WeightedMedian", WeightedMedian([]Weighted{{3, 1}, {1, 1}, {2, 5}}), 2, 0)
	near(t, "WeightedMedian at half", WeightedMedian([]Weighted{{1, 2}, {2, 2}}), 1, 0)
	near(t, "Variance", Variance([]float64{2, 4, 4, 4, 5, 5, 7, 9}), 32.0/7, 1e-12)
	near(t, "Variance of one", Variance([]float64{2}), 0, 0)
}

// Few large series are heard beside many small ones that vary as a whole.
func TestFitTrendOfFewLarge(t *testing.T) {
	var series []Spread
	for i := range 8 {
		m := 6 + 0.1*float64(i)
		series = append(series, Spread{m, m * m})
	}
	for _, m := range []float64{400, 440, 580, 720} {
		series = append(series, Spread{m, m})
	}
	const most = 0.15 * 440 // in place of 440, if large series varied as the small ones do
	if got := math.Sqrt(FitTrend(series, 15).Variance(440)); got > most {
		t.Errorf("a series of 440 has a deviation of %.0f, at most %.0f expected", got, most)
	}
}

// Series drawn from a known trend give it back.
func TestFitTrend(t *testing.T) {
	var series []Spread
	for i := range 400 {
		m := math.Exp(1.2 + 6*float64(i)/400)
		// Median of variance/mean under a chi-squared with 29 degrees of freedom.
		series = append(series, Spread{m, m * (1.5 + 0.004*m) * math.Pow(1-2.0/(9*29), 3)})
	}
	got := FitTrend(series, 29)
	near(t, "F0", got.F0, 1.5, 0.05)
	near(t, "F1", got.F1, 0.004, 0.05)
	if got := FitTrend(nil, 29); got != (Trend{1, 0.0025}) {
		t.Errorf("trend of nothing is %v", got)
	}
	for i := range series {
		series[i].Variance = 0
	}
	if got := FitTrend(series, 29); got.F0 != 1 || got.F1 != leastF1 {
		t.Errorf("trend of series that never change is %v", got)
	}
}

func TestPriorStrength(t *testing.T) {
	if got := PriorStrength(make([]float64, 3), 20); got != 4 {
		t.Errorf("of three ratios: %v", got)
	}
	equal := make([]float64, 50)
	for i := range equal {
		equal[i] = 1
	}
	if got := PriorStrength(equal, 20); got != 60 {
		t.Errorf("of equal ratios: %v, want the most", got)
	}
	for i := range equal {
		equal[i] = math.Exp(float64(i%7) * 2)
	}
	if got := PriorStrength(equal, 20); got != 2 {
		t.Errorf("of wild ratios: %v, want the least", got)
	}
}

func TestPearson(t *testing.T) {
	near(t, "of a line", Pearson([]float64{1, 2, 3}, []float64{2, 4, 6}), 1, 1e-12)
	near(t, "of a falling line", Pearson([]float64{1, 2, 3}, []float64{3, 2, 1}), -1, 1e-12)
	near(t, "of a constant", Pearson([]float64{1, 2, 3}, []float64{5, 5, 5}), 0, 0)
}

func TestNothingIsNaN(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64Range(0, 1e9).Draw(t, "x")
		mean := rapid.Float64Range(0, 1e9).Draw(t, "mean")
		size := rapid.Float64Range(1e-9, 1e7).Draw(t, "size")
		if z := NegativeBinomialScore(x, mean, size); math.IsNaN(z) || math.Abs(z) > MaxScore {
			t.Errorf("score %v", z)
		}
		if z := StudentScore(x-mean, size+1e-9); math.IsNaN(z) || math.Abs(z) > MaxScore {
			t.Errorf("score %v", z)
		}
	})
}

// TestSortWeighted expects the order that comparing items gives, also of equal values, of
// values that differ in their last bits, and of negative ones.
func TestSortWeighted(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for n := range 200 {
		items := make([]Weighted, n)
		for i := range items {
			items[i] = Weighted{rnd.NormFloat64(), rnd.Float64()}
			switch rnd.IntN(40 * (1 + n%3)) {
			case 0:
				items[i].Value = 0
			case 1:
				items[i].Value = math.Nextafter(items[rnd.IntN(i+1)].Value, 9)
			}
		}
		want := slices.Clone(items)
		slices.SortFunc(want, func(a, b Weighted) int { return cmp.Compare(a.Value, b.Value) })
		sortWeighted(items)
		if !slices.Equal(items, want) {
			t.Fatalf("%v\nwant %v", items, want)
		}
	}
}
