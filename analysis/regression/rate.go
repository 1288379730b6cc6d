package regression

import (
	"math"

	"github.com/dendroprof/dendro/analysis/regression/internal/size"
	"github.com/dendroprof/dendro/analysis/stat"
	"github.com/dendroprof/dendro/profile"
)

// Where runs say how many operations they cover, samples per operation are a measurement:
// of the whole program, and of every function with its callees. Nothing is estimated from
// the shares of other functions, so costs add up.

// The prior of the relative deviation of samples per operation between runs of one
// commit: few runs say little about it. By the recorded pairs of test/detection/public
// that chose the method, see METHOD.md.
const (
	rateDeviation = 0.13
)

// rate is the samples per operation of the whole program on both sides.
type rate struct {
	known       bool
	exact       bool    // it measures single functions too: not that of a service, whose load varies
	operations  float64 // of a mean history run
	before, now float64 // samples of so many operations
	mean        float64 // ratio of the means, which is tested
	spread      float64 // relative deviation of a run
	dof         float64
}

// rates measures the samples per operation; unknown unless every run has operations.
func (f *fit) rates() (r rate) {
	for _, list := range [][]int{f.base, f.head} {
		for _, t := range list {
			if f.run(t).Operations <= 0 {
				return rate{}
			}
		}
	}
	switch f.run(f.base[0]).Profile.Type.Name {
	case profile.Live, profile.LiveSamples, profile.Goroutines: // a state, whatever was done before
		return rate{}
	}
	all := func(t int) float64 { return f.run(t).Total + f.run(t).Environment }
	_, samples := size.Each(f.base, all)
	_, r.operations = size.Each(f.base, func(t int) float64 { return f.run(t).Operations })
	r.known, r.exact = true, !f.options.Service
	r.before, r.now = f.perOperation(r.operations, all)
	rate := func(t int) float64 { return f.run(t).Rate() }
	before, was := size.Each(f.base, rate)
	_, now := size.Each(f.head, rate)
	r.mean = now / was
	ss := 0.0
	for _, v := range before {
		ss += (v/was - 1) * (v/was - 1)
	}
	r.dof = priorFreedom + f.baseRuns - 1
	r.spread = math.Sqrt(math.Max((ss+priorFreedom*rateDeviation*rateDeviation)/r.dof, 1/math.Max(1, samples)))
	return r
}

// perOperation returns a value of a history run and of a tested one, of so many operations.
func (f *fit) perOperation(operations float64, value func(t int) float64) (before, now float64) {
	m := f.space.Matrix
	return operations * m.PerOperation(f.base, value), operations * m.PerOperation(f.head, value)
}

// change returns by how much the program's samples per operation changed, relative to the
// history.
func (r *rate) change() float64 { return r.now/r.before - 1 }

// score returns the score of the change of the program's samples per operation.
func (f *fit) rateScore() float64 {
	r := &f.rate
	if !(r.now > 0) {
		return 0
	}
	return stat.StudentScore(math.Log(r.mean)/(r.spread*math.Sqrt(1/f.baseRuns+1/f.headRuns)), r.dof)
}

// rateError returns the standard error of a change of before to now samples: the spread of
// the runs at the level that was reached, and the noise of the counts.
func (f *fit) rateError(before, now float64) float64 {
	spread := now * f.rate.spread
	return math.Sqrt(spread*spread*(1/f.baseRuns+1/f.headRuns) + before/f.baseRuns + now/f.headRuns)
}

// machine returns the factor by which code that did not change takes more samples per
// operation.
func (f *fit) machine() float64 {
	_, mean := size.Each(f.head, func(t int) float64 { return math.Log(f.factor[t] * f.rate.operations / f.run(t).Operations) })
	return math.Exp(mean)
}
