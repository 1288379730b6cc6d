package regression

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/analysis/regression/internal/row"
	"github.com/dendroprof/dendro/analysis/regression/internal/size"
	"github.com/dendroprof/dendro/analysis/stat"
)

// Analysis is the result of one comparison of one benchmark.
type Analysis struct {
	Findings []Finding `json:"-"` // by kind, then score
	// Unstable lists rises no larger than those within the benchmark's own history, and,
	// of several tested runs, rises that not every run shows.
	Unstable []Finding `json:"unstable"`
	// Ranked lists at most 50 functions by score, whether found or not, for when nothing
	// is certain.
	Ranked []Candidate `json:"-"`

	History    []string   `json:"history"` // keys of the runs, oldest first
	Tested     []string   `json:"tested"`
	Threshold  float64    `json:"threshold"` // minimum score of a finding
	Blocks     int        `json:"blocks"`    // tests of the history against itself
	Noisy      int        `json:"noisy"`     // those of them with findings
	Detectable Detectable `json:"detectable"`
	// Common is the factor by which unchanged code takes longer; 0 without a metric.
	Common float64 `json:"common,omitempty"`
	Metric *Change `json:"metric,omitempty"` // nil without a metric
	// Program is the change of all samples per operation, as a share of those before, with
	// its 95% interval; nil where operations are unknown.
	Program *Estimate `json:"program,omitempty"`
	Untold

	known history.Known // what the comparison shows of functions
}

// Change is the change of the benchmark's metric as a time, and what the findings explain
// of it.
type Change struct {
	Base  float64 `json:"base"` // of the history
	Head  float64 `json:"head"`
	Found float64 `json:"found"` // sum of the costs and improvements
	Unit  string  `json:"unit"`
	Score float64 `json:"score"` // of the change of the metric alone
}

// Candidate is a line of the ranked list.
type Candidate struct {
	Function string  `json:"function"`
	Delta    float64 `json:"delta"` // samples per run, self
	Share    float64 `json:"share"` // of the program
	Score    float64 `json:"score"`
}

// mostRanked is the maximum length of Analysis.Ranked.
const mostRanked = 50

// Compare compares the tested runs with the history runs, both given as ascending
// indexes of Matrix.Runs. It needs three history runs and one tested run, or two of each
// that leave no doubt, all with samples; see Usable.
func (r *Rows) Compare(hist, tested []int, o Options) (*Analysis, error) {
	if !r.Comparable(hist, tested) {
		return nil, fmt.Errorf("%d history runs and %d tested runs: at least %d and 1 are needed", len(hist), len(tested), leastHistory)
	}
	for _, t := range slices.Concat(hist, tested) {
		if !r.Usable(t) {
			return nil, fmt.Errorf("run %s has no samples of the program", r.sp.Matrix.Runs[t].Profile.Run.Key)
		}
	}
	o = o.withDefaults()
	v := judge(r.sp, &o, hist, tested)
	rep := newReporter(v, r.series)
	a := &Analysis{Unstable: []Finding{}, Findings: rep.findings(), Threshold: v.threshold, Blocks: v.blocks, Noisy: v.noisy,
		Ranked: v.ranked(), Detectable: v.detectable()}
	for _, p := range slices.Concat(v.unstable, v.passing) {
		a.Unstable = append(a.Unstable, rep.place(Regression, p))
	}
	for _, list := range [][]Finding{a.Findings, a.Unstable} {
		for i := range list {
			list[i].setID()
		}
	}
	a.known = v.known()
	a.Untold = r.Untold(hist, tested, o)
	a.Metric, a.Program = rep.explained(a.Findings), rep.programChange()
	for to, runs := range map[*[]string][]int{&a.History: hist, &a.Tested: tested} {
		for _, t := range runs {
			*to = append(*to, v.run(t).Profile.Run.Key)
		}
	}
	if g, _, ok := v.commonFactor(); v.rate.Known {
		a.Common = v.machine()
	} else if ok {
		a.Common = g
	}
	return a, nil
}

// Untold is what the runs of a comparison leave open, because too little tells their size.
type Untold = size.Untold

// Untold returns what the runs of two sides leave open; nothing of a service, and of amounts at one moment.
func (r *Rows) Untold(hist, tested []int, o Options) Untold {
	if o.Service || r.series.Type.Momentary() {
		return Untold{}
	}
	return size.UntoldOf(r.sp, hist, tested)
}

// Comparable reports whether there are enough runs to compare.
func (r *Rows) Comparable(hist, tested []int) bool {
	return len(tested) > 0 && (len(hist) >= leastHistory || doubtless(r.sp.Matrix, hist, tested))
}

// ranked lists functions by the score of their self.
func (f *fit) ranked() []Candidate {
	var list []Candidate
	for _, slot := range f.tested {
		if f.space.Kind[slot] == row.FunctionSelf && f.diff[slot] > 0 {
			list = append(list, Candidate{f.space.Table.Functions[f.space.Item[slot]].Name, f.diff[slot], f.diff[slot] / math.Max(1, f.program),
				f.of(slot).z})
		}
	}
	slices.SortStableFunc(list, func(a, b Candidate) int {
		return cmp.Or(-cmp.Compare(a.Score, b.Score), -cmp.Compare(a.Delta, b.Delta))
	})
	return list[:min(len(list), mostRanked)]
}

// Detectable is the smallest change that such a comparison detects with a probability
// of 80%, as shares of the program.
type Detectable struct {
	Changes []DetectableChange `json:"changes"` // by share of the function
	// The change detected in a function of 5%, under other conditions.
	FourTimesTheSamples float64 `json:"fourTimesTheSamples"`
	OneMoreRun          float64 `json:"oneMoreRun"` // tested together with the newest
	ThreeRuns           float64 `json:"threeRuns"`
	// Whole is the change detected in all of the program, or a function that is nearly all of it, by its samples
	// per operation; 0: unknown.
	Whole float64 `json:"whole,omitempty"`
}

// DetectableChange is the smallest change detected in a function with a share.
type DetectableChange struct {
	Share  float64 `json:"share"`
	Change float64 `json:"change"`
}

// powerShare is the share of the function whose detectable change reports state.
const powerShare = 0.05

// Stated returns the change that reports state, in a function of 5%; 0: unknown.
func (d *Detectable) Stated() float64 {
	for _, c := range d.Changes {
		if c.Share == powerShare {
			return c.Change
		}
	}
	return 0
}

// powerScore is the amount by which the mean of a statistic must exceed its threshold
// for it to pass in 80% of cases; powerOfReleases in 90%: tests that follow lose a tenth.
const powerScore, powerOfReleases = 0.84, 1.28

// power returns how many standard errors a change must have to be found in 80% of cases if its score must
// exceed z, of k runs. Between few instances of releases it is that of a noncentral t (Johnson, Kotz and
// Balakrishnan, Continuous Univariate Distributions 2, 1995, 31.6: its normal approximation).
func (f *fit) power(z, k float64) float64 {
	if !f.countless() {
		return z + powerScore
	}
	nu := f.noise[0].prior + f.baseRuns - 1
	if k > 2 {
		nu += k - 1
	}
	t := stat.StudentOfScore(z, nu)
	return t*(1-1/(4*nu)) + powerOfReleases*math.Sqrt(1+t*t/(2*nu))
}

// smallestChange returns the change of so many standard errors in a function with share s of the
// program: max(errors·√((F0·s/N + φ·s²)(1/n + 1/k)), impact gate).
func (f *fit) smallestChange(s, samples, k, errors float64) float64 {
	if !(samples > 0) {
		return 1
	}
	trend := f.noise[0].trend
	return math.Max(errors*math.Sqrt((trend.F0*s/samples+trend.F1*s*s)*(1/f.baseRuns+1/k)), f.leastImpact(samples, k))
}

// reliablyFound returns the smallest change that reports print. Where operations are known, it
// adds to smallestChange the spread of the program's samples per operation, as far as that exceeds
// the usual RateDeviation: no size is more exact than this rate.
func (f *fit) reliablyFound(s, samples, k float64) float64 {
	change := f.smallestChange(s, samples, k, f.noise[0].width*f.power(f.leastScore(k), k))
	if excess := f.rate.Spread*f.rate.Spread - size.RateDeviation*size.RateDeviation; f.rate.Exact && excess > 0 {
		z := stat.ScoreOfTail(f.options.alpha(int(k)))
		change = math.Hypot(change, (z+powerScore)*s*math.Sqrt(excess*(1/f.baseRuns+1/k)))
	}
	return change
}

func (f *fit) detectable() Detectable {
	var d Detectable
	for _, s := range []float64{0.01, powerShare, 0.2} {
		d.Changes = append(d.Changes, DetectableChange{s, f.reliablyFound(s, f.program, f.headRuns)})
	}
	d.FourTimesTheSamples = f.reliablyFound(powerShare, 4*f.program, f.headRuns)
	d.OneMoreRun = f.reliablyFound(powerShare, f.program, f.headRuns+1)
	d.ThreeRuns = f.reliablyFound(powerShare, f.program, 3)
	if f.rate.Exact {
		t := stat.StudentOfScore(stat.ScoreOfTail(f.options.alpha(len(f.head))), f.rate.Freedom)
		d.Whole = math.Max(littleOf, math.Expm1((t+powerScore)*f.rate.Spread*math.Sqrt(1/f.baseRuns+1/f.headRuns)))
	}
	return d
}
