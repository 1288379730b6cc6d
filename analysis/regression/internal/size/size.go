// Package size estimates the size of runs: the samples of one unit of unchanged work. Divided by it,
// runs compare although their lengths, their composition (one function grows, the shares of all others
// shrink) and the speed of their machine differ.
//
// Most functions agree on the size of a run, and those that changed lose their weight. Where operations
// are known, the size is their number, corrected by the machine's speed: that of the functions that did
// not change, within the spread of samples per operation.
package size

import (
	"math"

	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/analysis/regression/internal/row"
	"github.com/dendroprof/dendro/analysis/stat"
	"github.com/dendroprof/dendro/internal/column"
)

// Minimum numbers of rows, and of samples per run, for an estimate.
const (
	NoisyMean       = 8 // samples per run from which the noise of a row is more than counting
	leastRows       = 5 // minimum rows for the size of a base run; with fewer the sample totals are used
	leastRowsTested = 3 // the same for tested runs: one changes, two agree that they did not
	leastMeanTested = 4 // like NoisyMean, for tested runs, where rows are weighted by likelihood
)

// MetricFloor is the minimum relative standard deviation of a metric. SpeedLimit is the maximum factor
// between the speeds of a machine in two runs.
const (
	MetricFloor = 0.04
	SpeedLimit  = 1.5
)

// The constants of the sizes of base runs.
const (
	leastFactor  = 0.05 // minimum factor of a run with enough samples
	leastJitter  = 0.03 // minimum relative deviation of a row
	outlierLimit = 1.5  // standard deviations from the median
)

// Runs is the input of an estimate: the runs, their rows and their rates.
type Runs struct {
	Space      *row.Space
	Base, Head []int
	Rate       Rate
	Metric     bool    // every run has one
	Jitter     float64 // minimum relative deviation of a function
}

// sizing is an estimate in progress.
type sizing struct {
	*Runs
	baseRuns  float64
	meanTotal float64 // samples of a mean base run
	factor    []float64
}

// Factors returns the sizes of the runs, by run of the matrix, with mean about 1 over the base.
func (r *Runs) Factors() []float64 {
	s := &sizing{Runs: r, baseRuns: float64(len(r.Base)), factor: make([]float64, len(r.Space.Matrix.Runs))}
	s.totals()
	s.base()
	s.head()
	return s.factor
}

func (s *sizing) run(t int) *history.Run { return &s.Space.Matrix.Runs[t] }

// totals sets the sizes of all runs to their sample totals, or their operations.
func (s *sizing) totals() {
	mean := 0.0
	for _, t := range s.Base {
		mean += s.run(t).Total / s.baseRuns
	}
	s.meanTotal = math.Max(mean, 1)
	for _, list := range [][]int{s.Base, s.Head} {
		for _, t := range list {
			size := s.run(t).Total / s.meanTotal
			if s.Rate.Known {
				size = s.run(t).Operations / s.Rate.Operations
			}
			s.factor[t] = math.Max(leastFactor, size)
		}
	}
}

// base estimates the sizes of base runs: the weighted mean, without outliers, of the ratios of function
// selfs to their means, in two rounds.
func (s *sizing) base() {
	for range 2 {
		if !s.ratios() {
			break
		}
	}
	for _, t := range s.Base {
		if !(s.factor[t] > leastFactor) {
			s.factor[t] = leastFactor
		}
	}
}

// vote is a function self from which the size of runs is estimated.
type vote struct {
	x        []float64 // by run
	mean     float64
	relative float64 // variance ÷ mean²
}

// votes returns the function selfs whose mean over the history is at least least.
func (s *sizing) votes(least float64) []vote {
	var list []vote
	for slot := range s.Space.FunctionSelfs() {
		x := s.Space.Values(slot)
		mean, ss := 0.0, 0.0
		for _, t := range s.Base {
			mean += x[t] / s.factor[t]
		}
		if mean /= s.baseRuns; mean < least {
			continue
		}
		for _, t := range s.Base {
			d := x[t]/s.factor[t] - mean
			ss += d * d
		}
		list = append(list, vote{x, mean, ss / ((s.baseRuns - 1) * mean * mean)})
	}
	return list
}

// ratios sets the sizes of base runs from the ratios of function selfs to
// their means under the current factors. False: there are too few.
func (s *sizing) ratios() bool {
	votes := s.votes(NoisyMean)
	if len(votes) < leastRows {
		return false
	}
	weights := column.Of(votes, func(v vote) float64 { return 1 / math.Max(1/v.mean, v.relative+leastJitter*leastJitter) })
	next := make([]float64, len(s.Base))
	items := make([]stat.Weighted, len(votes))
	sum := 0.0
	for j, t := range s.Base {
		for i, v := range votes {
			items[i] = stat.Weighted{Value: v.x[t] / v.mean, Weight: weights[i]}
		}
		c := stat.WeightedMedian(items)
		next[j] = trimmedMean(items, c)
		sum += next[j]
	}
	if !(sum > 0) {
		return false
	}
	for j, t := range s.Base {
		s.factor[t] = next[j] * s.baseRuns / sum
	}
	return true
}

// trimmedMean is the weighted mean of the ratios that are close to c.
func trimmedMean(items []stat.Weighted, c float64) float64 {
	if c <= 0 {
		return c
	}
	var sum, weight float64
	for _, it := range items {
		if math.Abs(it.Value/c-1)*math.Sqrt(it.Weight) < outlierLimit {
			sum += it.Value * it.Weight
			weight += it.Weight
		}
	}
	if weight == 0 {
		return c
	}
	return sum / weight
}

// The constants of the size factor of a tested run.
const (
	searchBelow  = 1.6   // log range searched below the sample total, and below what the metric expects
	searchAbove  = 0.9   //
	searchStep   = 0.02  //
	searchEnd    = 0.001 // maximum error of the search; less, where more samples tell more
	outlierShare = 0.25  // of functions that changed by any factor
)

// head estimates the sizes of tested runs by maximum likelihood: every function self
// is either unchanged at this size, or an outlier of any size. A change of 40% moves a
// mean, but not the size on which most functions agree. The metric is a weak prior with
// heavy tails.
func (s *sizing) head() {
	votes := s.votes(leastMeanTested)
	least := leastRowsTested
	if s.Metric || s.Rate.Known { // which says whether shares fell or costs
		least--
	}
	if len(votes) < least {
		return
	}
	expected, prior := s.metricPrior()
	for _, t := range s.Head {
		total := s.run(t).Total
		if !(total > 0) {
			s.factor[t] = leastFactor
			continue
		}
		terms := make([]term, len(votes))
		for i, v := range votes {
			terms[i] = term{v.x[t], v.mean, math.Max(v.relative-1/v.mean, 0) + s.Jitter*s.Jitter, outlierShare / (3 * (v.mean + 5))}
		}
		like := func(g float64) float64 { return likelihood(terms, g) + prior(t, g) }
		c := math.Log(total / s.meanTotal)
		below := searchBelow + searchStep*math.Ceil(math.Max(0, c-expected(t))/searchStep)
		above := searchAbove
		if s.Rate.Exact {
			c = expected(t)
			below = SpeedLimit * s.Rate.Speed
			above = below
		}
		s.factor[t] = math.Exp(peakOf(like, c-below, int((below+above)/searchStep), len(terms), math.Min(searchEnd, 1/math.Sqrt(total))))
	}
}

// coarse is the number of steps of the search that its first pass does at once.
const coarse = 3

// peakOf returns where the likelihood of so many terms is largest: among so many steps from low on,
// and between them down to end. All steps are tried where one in three is as likely as the best of
// these within what a term can lose in one step.
func peakOf(like func(g float64) float64, low float64, steps, terms int, end float64) float64 {
	best, at := math.Inf(-1), low
	try := func(g float64) float64 {
		l := like(g)
		if l > best {
			best, at = l, g
		}
		return l
	}
	first := make([]float64, 0, steps/coarse+1)
	for i := 0; i <= steps; i += coarse {
		first = append(first, try(low+searchStep*float64(i)))
	}
	least := best - 2 - float64(terms)/2
	for k, l := range first {
		if l < least {
			continue
		}
		for _, i := range [3]int{k*coarse - 1, k*coarse + 1, k*coarse + 2} {
			if i >= 0 && i <= steps {
				try(low + searchStep*float64(i))
			}
		}
	}
	for h := searchStep / 2; h > end; h /= 2 {
		from := at
		try(from - h)
		try(from + h)
	}
	return at
}

// term is what a function self adds to the likelihood of a size factor.
type term struct{ x, mean, jitter, outlier float64 }

// farOff is where the density of the normal part is lost in the rounding of the other one.
const farOff = 60

// likelihood of the log size factor g of the terms of a run. It multiplies as long as
// numbers of float64 have room, because a logarithm takes most of the time of a term.
func likelihood(terms []term, g float64) float64 {
	const scale = (1 - outlierShare) / math.Sqrt2 / math.SqrtPi
	e, sum, product := math.Exp(g), 0.0, 1.0
	for i := range terms {
		v := &terms[i]
		m := v.mean * e
		variance := m + v.jitter*m*m
		d := v.x - m
		density := v.outlier
		if u := d * d; u < 2*farOff*variance {
			density += scale * expMinus(u/(2*variance)) / math.Sqrt(variance)
		}
		product *= density
		if product < 1e-200 || product > 1e200 {
			sum += math.Log(product)
			product = 1
		}
	}
	return sum + math.Log(product)
}

// expSteps is the number of values of expTable for one unit.
const expSteps = 16

var expTable = func() (t [farOff*expSteps + 1]float64) {
	for i := range t {
		t[i] = math.Exp(-float64(i) / expSteps)
	}
	return t
}()

// expMinus returns e to the power of -u, 0 ≤ u ≤ farOff, with a relative error below 1e-9. Searches
// ask for it hundreds of times per function and run.
func expMinus(u float64) float64 {
	i := int(u * expSteps)
	f := u - float64(i)/expSteps
	return expTable[i] * (1 - f*(1-f/2*(1-f/3*(1-f/4*(1-f/5)))))
}

// metricPrior returns the log size factor of run t that its operations or its metric
// expect, which is that samples per unit of work are unchanged, and the logarithm of the
// prior of another one, g. Without a metric in every run nothing is expected.
func (s *sizing) metricPrior() (expected func(t int) float64, prior func(t int, g float64) float64) {
	anything, none := func(int) float64 { return math.Inf(1) }, func(int, float64) float64 { return 0 }
	if s.Rate.Known {
		sd := s.Rate.Speed * math.Sqrt(1+1/s.baseRuns)
		expected = func(t int) float64 { return math.Log(s.run(t).Operations / s.Rate.Operations) }
		return expected, func(t int, g float64) float64 {
			u := (g - expected(t)) / sd
			return -u * u / 2
		}
	}
	if !s.Metric {
		return anything, none
	}
	runs := s.Space.Matrix.Runs
	diffs := make([]float64, 0, len(s.Base))
	for _, t := range s.Base {
		if !(runs[t].Total > 0) {
			return anything, none
		}
		diffs = append(diffs, math.Log(runs[t].Total/runs[t].Metric)-math.Log(s.factor[t]))
	}
	median, mad := stat.MedianDeviation(diffs)
	sd := math.Max(MetricFloor, stat.NormalDeviation*mad*math.Sqrt(1+1/s.baseRuns))
	expected = func(t int) float64 { return math.Log(runs[t].Total/runs[t].Metric) - median }
	return expected, func(t int, g float64) float64 {
		u := (g - expected(t)) / sd
		return -3 * math.Log1p(u*u/3)
	}
}
