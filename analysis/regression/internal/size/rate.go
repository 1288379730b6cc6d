package size

import (
	"math"

	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/analysis/stat"
	"github.com/dendroprof/dendro/profile"
)

// Where runs say how many operations they cover, samples per operation are a measurement:
// of the whole program, and of every function with its callees. Nothing is estimated from
// the shares of other functions, so costs add up.

// RateDeviation is the prior of the relative deviation of the machine's speed between runs, by the recorded pairs of
// test/detection/public that chose the method: few runs say little about it. That of samples per operation, in
// which the slow moments of a run have a mean, is smaller by SpeedLimit.
const RateDeviation = 0.13

// PriorFreedom is the degrees of freedom of the prior of a deviation between runs.
const PriorFreedom = 3.0

// Rate is the samples per operation of the whole program on both sides.
type Rate struct {
	Known       bool
	Exact       bool    // it measures single functions too: not that of a service, whose load varies
	Operations  float64 // of a mean base run
	Before, Now float64 // samples of so many operations
	Speed       float64 // relative deviation of the machine's speed in a run
	Spread      float64 // relative deviation of a run
	Freedom     float64 // degrees of freedom of the spread

	mean               float64 // ratio of the means, which is tested
	baseRuns, headRuns float64
}

// RateOf measures the samples per operation; unknown unless every run has operations.
func RateOf(m *history.Matrix, base, head []int, service bool) (r Rate) {
	if !Every(func(t int) float64 { return m.Runs[t].Operations }, base, head) {
		return Rate{}
	}
	switch m.Runs[base[0]].Profile.Type.Name {
	case profile.Live, profile.LiveSamples, profile.Goroutines: // a state, whatever was done before
		return Rate{}
	}
	r.Known, r.Exact, r.baseRuns, r.headRuns = true, !service, float64(len(base)), float64(len(head))
	all := func(t int) float64 { return m.Runs[t].Total + m.Runs[t].Environment }
	_, samples := Each(base, all)
	_, r.Operations = Each(base, func(t int) float64 { return m.Runs[t].Operations })
	r.Before, r.Now = r.Operations*m.PerOperation(base, all), r.Operations*m.PerOperation(head, all)
	rate := func(t int) float64 { return m.Runs[t].Rate() }
	was, before := Squares(base, rate)
	now, after := Squares(head, rate)
	before, after = before/(was*was), after/(now*now)
	r.mean = now / was
	const usual = RateDeviation / SpeedLimit
	counting := 1 / math.Max(1, samples)
	r.Speed = math.Sqrt(math.Max((before+PriorFreedom*RateDeviation*RateDeviation)/(PriorFreedom+r.baseRuns-1), counting))
	r.Freedom = PriorFreedom + r.baseRuns + r.headRuns - 2
	r.Spread = math.Sqrt((before + after + PriorFreedom*math.Max(usual*usual, counting)) / r.Freedom)
	return r
}

// Squares returns the mean of a value of runs, and the sum of the squares of the differences from it.
func Squares(runs []int, value func(t int) float64) (mean, squares float64) {
	list, mean := Each(runs, value)
	return mean, stat.Variance(list) * float64(len(runs)-1)
}

// Rise is by how many samples the program rose.
func (r *Rate) Rise() float64 { return r.Now - r.Before }

// Change returns by how much the program's samples per operation changed, relative to the base.
func (r *Rate) Change() float64 { return r.Now/r.Before - 1 }

// Score returns the score of the change of the program's samples per operation.
func (r *Rate) Score() float64 {
	if !(r.Now > 0) {
		return 0
	}
	return stat.StudentScore(math.Log(r.mean)/(r.Spread*math.Sqrt(1/r.baseRuns+1/r.headRuns)), r.Freedom)
}

// Deviation is the standard error of the change of the program's samples: the noise of their counts is in the spread.
func (r *Rate) Deviation() float64 {
	return r.Now * r.Spread * math.Sqrt(1/r.baseRuns+1/r.headRuns)
}

// Error returns the standard error of a change of before to now samples: the spread of
// the runs at the level that was reached, and the noise of the counts.
func (r *Rate) Error(before, now float64) float64 {
	spread := now * r.Spread
	return math.Sqrt(spread*spread*(1/r.baseRuns+1/r.headRuns) + before/r.baseRuns + now/r.headRuns)
}
