package stat

import (
	"maps"
	"math"
	"slices"

	"github.com/dendroprof/dendro/internal/column"
)

// Trend models the variance of counts as a function of their mean: the Fano factor
// variance/mean = F0 + F1·mean. F0 = 1 is Poisson noise; √F1 is the relative jitter of the
// counted quantity.
type Trend struct{ F0, F1 float64 }

// Variance returns the variance that the trend expects at a mean.
func (t Trend) Variance(mean float64) float64 { return mean * (t.F0 + t.F1*mean) }

// Spread is the mean and the sample variance of one series.
type Spread struct{ Mean, Variance float64 }

// The constants of the trend fit.
const (
	binWidth = 0.7  // of log mean
	binLeast = 4    // series in a bin
	leastF1  = 1e-5 // no machine has less noise
)

// FitTrend fits a Trend through the medians of bins of similar mean; dof are the
// degrees of freedom behind each variance. Medians, because a few series that
// jump between two levels must not set the noise of all others; the factor
// 1-2/(9 dof) cubed turns the median of a chi-squared variance into its mean
// (Wilson and Hilferty 1931). Bins of few series join the next smaller bin: large series
// are few, and the noise of small ones says little of theirs. Eight rounds of weighted
// least squares with the weights count/fit²; both coefficients are held above their floors.
// Without a bin of its own the result is Poisson noise with 5% jitter.
func FitTrend(series []Spread, dof float64) Trend {
	bins := trendBins(series, dof)
	t := Trend{1, 0.0025}
	if len(bins) == 0 {
		return t
	}
	for range 8 {
		t = refit(bins, t)
	}
	return t
}

// trendBin is one point that the trend is fitted through.
type trendBin struct{ mean, fano, count float64 }

func trendBins(series []Spread, dof float64) []trendBin {
	members := map[int][]Spread{}
	for _, s := range series {
		k := int(math.Floor(math.Log(s.Mean) / binWidth))
		members[k] = append(members[k], s)
	}
	var groups [][]Spread
	var open []Spread // of bins that have too few so far
	full := false
	for _, k := range slices.Backward(slices.Sorted(maps.Keys(members))) {
		full = full || len(members[k]) >= binLeast
		if open = append(open, members[k]...); len(open) >= binLeast {
			groups, open = append(groups, open), nil
		}
	}
	if !full {
		return nil
	}
	groups[len(groups)-1] = append(groups[len(groups)-1], open...)
	slices.Reverse(groups)
	var bins []trendBin
	for _, group := range groups {
		var means, fanos []float64
		for _, s := range group {
			means = append(means, s.Mean)
			fanos = append(fanos, s.Variance/s.Mean)
		}
		c := math.Pow(1-2/(9*dof), 3)
		bins = append(bins, trendBin{Median(means), Median(fanos) / c, float64(len(means))})
	}
	return bins
}

func refit(bins []trendBin, t Trend) Trend {
	var sw, sx, sy, sxx, sxy float64
	for _, b := range bins {
		fit := t.F0 + t.F1*b.mean
		w := b.count / (fit * fit)
		sw += w
		sx += w * b.mean
		sy += w * b.fano
		sxx += w * b.mean * b.mean
		sxy += w * b.mean * b.fano
	}
	if len(bins) == 1 {
		t.F0, t.F1 = 1, (sy-sw)/sx
	} else if det := sw*sxx - sx*sx; det > 0 {
		t.F1 = (sw*sxy - sx*sy) / det
		t.F0 = (sy - t.F1*sx) / sw
	}
	if t.F0 < 1 {
		t.F0, t.F1 = 1, (sxy-sx)/sxx
	}
	t.F1 = math.Max(t.F1, leastF1)
	return t
}

// PriorStrength returns the degrees of freedom of the trend as a prior, for series with dof
// of their own: the limma estimate (Smyth 2004) from the spread of
// log(variance/trend), given as ratios > 0, clipped to [2, 60]. Fewer than 10 ratios are not
// enough to tell: 4.
func PriorStrength(ratios []float64, dof float64) float64 {
	if len(ratios) < 10 {
		return 4
	}
	logs := column.Of(ratios, math.Log)
	q := Variance(logs) - Trigamma(dof/2)
	if q <= 0.02 {
		return 60
	}
	return math.Max(2, math.Min(60, 2*TrigammaInverse(q)))
}
