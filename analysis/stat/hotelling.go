package stat

import "math"

// Hotelling is the result of Hotelling's two-sample T² test.
type Hotelling struct {
	T2   float64
	F    float64 // T² on the scale of an F distribution with D1 and D2 degrees of freedom
	D1   int     // variables
	D2   int
	P    float64 // probability of such a T² or a larger one without a difference
	Kept []int   // variables that count: neither constant nor a linear combination of earlier ones
}

// dependent is the part of a variable's variance that others do not explain, up to which it
// counts as their combination.
const dependent = 1e-8

// rounding is the variance of a constant that is not exact, relative to its square.
const rounding = 1e-24

// HotellingT2 tests whether two samples of several variables have the same mean, with
// their pooled covariance (Hotelling 1931; Rencher, Methods of Multivariate Analysis, 5.4.2).
// Each sample is a list of observations of the same variables. It needs at least two
// observations more than variables that count; with fewer it is false.
func HotellingT2(a, b [][]float64) (Hotelling, bool) {
	if len(a) == 0 || len(b) == 0 {
		return Hotelling{}, false
	}
	m := len(a[0])
	meanA, meanB := means(a, m), means(b, m)
	cov := make([][]float64, m)
	for i := range cov {
		cov[i] = make([]float64, m)
	}
	for _, sample := range []struct {
		rows [][]float64
		mean []float64
	}{{a, meanA}, {b, meanB}} {
		for _, x := range sample.rows {
			for i := range m {
				for k := range i + 1 {
					cov[i][k] += (x[i] - sample.mean[i]) * (x[k] - sample.mean[k])
				}
			}
		}
	}
	nu := len(a) + len(b) - 2
	d := make([]float64, m)
	for i := range m {
		d[i] = meanA[i] - meanB[i]
		for k := range i + 1 {
			cov[i][k] /= float64(max(nu, 1))
		}
		if cov[i][i] <= rounding*(meanA[i]*meanA[i]+meanB[i]*meanB[i]) {
			cov[i][i] = 0
		}
	}
	return hotelling(d, cov, len(a), len(b))
}

// hotelling is HotellingT2 of a difference of means and the lower triangle of a covariance.
func hotelling(d []float64, cov [][]float64, na, nb int) (Hotelling, bool) {
	var h Hotelling
	// Cholesky's decomposition, row by row, without the variables that add nothing: with
	// y = L⁻¹ d, T² is the sum of the squares of y, times n₁n₂/(n₁+n₂).
	var rows [][]float64
	var y []float64
	sum := 0.0
	for i := range d {
		row := make([]float64, len(rows)+1)
		rest, at := cov[i][i], d[i]
		for k, other := range h.Kept {
			v := cov[i][other]
			for c := range k {
				v -= row[c] * rows[k][c]
			}
			row[k] = v / rows[k][k]
			rest -= row[k] * row[k]
			at -= row[k] * y[k]
		}
		if !(rest > dependent*cov[i][i]) {
			continue
		}
		row[len(rows)] = math.Sqrt(rest)
		value := at / row[len(rows)]
		rows, y, h.Kept = append(rows, row), append(y, value), append(h.Kept, i)
		sum += value * value
	}
	p, nu := len(h.Kept), na+nb-2
	if p == 0 || nu-p+1 < 1 {
		return Hotelling{}, false
	}
	h.D1, h.D2 = p, nu-p+1
	h.T2 = sum * float64(na) * float64(nb) / float64(na+nb)
	h.F = h.T2 * float64(h.D2) / float64(nu*p)
	d1, d2 := float64(h.D1), float64(h.D2)
	h.P = math.Exp(LogBetaInc(d2/2, d1/2, d2/(d2+d1*h.F)))
	return h, true
}

func means(rows [][]float64, m int) []float64 {
	mean := make([]float64, m)
	for _, x := range rows {
		for i, v := range x {
			mean[i] += v / float64(len(rows))
		}
	}
	return mean
}
