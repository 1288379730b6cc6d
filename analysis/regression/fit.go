package regression

import (
	"math"
	"slices"

	"github.com/dendroprof/dendro/analysis/regression/internal/row"
	"github.com/dendroprof/dendro/analysis/stat"
)

// noise is common to the rows of one group, self or total.
type noise struct {
	trend stat.Trend
	prior float64 // strength d₀
	width float64 // of the scores of all functions; see widen
}

// fit compares the runs b with the runs a. It holds the statistics of every tested row,
// by slot of the space; those of other rows are zero.
type fit struct {
	space              *row.Space
	options            *Options
	base, head         []int   // history and tested runs
	baseRuns, headRuns float64 // their numbers

	rate        rate
	hasMetric   bool
	meanTotal   float64   // samples of a mean history run
	factor      []float64 // size factor, by run
	baseFactors float64   // sum of the factors of base
	headFactors float64
	baseInverse float64 // mean of 1 ÷ factor over base
	poisson     float64 // Poisson part of the variance of D, per unit of level
	dof         float64

	tested         []int32 // slots, ascending
	isTested       []bool
	perKind        [row.Kinds]int
	noise          [2]noise  // of self rows, of total rows
	level          []float64 // μ: samples of a row in a mean history run
	diff           []float64 // D: mean of the tested runs less the level
	stdErr         []float64 // of diff
	overdispersion []float64 // part of the variance beyond Poisson's, relative to the level squared
	score          []float64 // z
	rawScore       []float64 // z before the test of small counts
	nodeD          []float64 // D and μ of the self samples of every node
	nodeMu         []float64
	program        float64 // ΣM: μ of all tested function selfs
	threshold      float64 // z*
	gate           float64 // minimum impact, as a share
	own            []bool  // by function; see ownFunctions
}

// newFit computes the statistics of all rows. It needs three history runs and
// one tested run, all with samples.
func newFit(sp *row.Space, o *Options, a, b []int) *fit {
	f := &fit{space: sp, options: o, base: a, head: b, baseRuns: float64(len(a)), headRuns: float64(len(b))}
	f.factor = make([]float64, len(sp.Matrix.Runs))
	f.hasMetric = true
	for _, list := range [][]int{a, b} {
		for _, t := range list {
			f.hasMetric = f.hasMetric && sp.Matrix.Runs[t].Metric > 0
		}
	}
	f.rate = f.rates()
	f.historyFactors()
	f.testedFactors()
	for _, t := range a {
		f.baseFactors += f.factor[t]
		f.baseInverse += 1 / f.factor[t] / f.baseRuns
	}
	invB := 0.0
	for _, t := range b {
		f.headFactors += f.factor[t]
		invB += 1 / f.factor[t] / f.headRuns
	}
	f.poisson = f.baseInverse/f.baseRuns + invB/f.headRuns
	f.dof = f.baseRuns - 1
	if f.headRuns > 2 {
		f.dof += f.headRuns - 1
	}
	f.levels()
	f.estimateNoise()
	for _, slot := range f.tested {
		f.scoreRow(slot)
	}
	if o.Service && f.program >= manySamples {
		f.widen()
	}
	f.nodeSums()
	f.limits()
	return f
}

// levels finds the tested rows, their means and their differences. It stores the sample
// variance in overdispersion for estimateNoise.
func (f *fit) levels() {
	rows := len(f.space.Kind)
	all := make([]float64, 6*rows)
	take := func() (v []float64) { v, all = all[:rows:rows], all[rows:]; return v }
	f.level, f.diff, f.stdErr, f.overdispersion, f.score, f.rawScore = take(), take(), take(), take(), take(), take()
	f.isTested = make([]bool, rows)
	for slot := range int32(rows) {
		x := f.space.Values(slot)
		sumA, sumB, mu, mb := 0.0, 0.0, 0.0, 0.0
		for _, t := range f.base {
			sumA += x[t]
			mu += x[t] / f.factor[t]
		}
		for _, t := range f.head {
			sumB += x[t]
			mb += x[t] / f.factor[t]
		}
		if !(sumA/f.baseFactors >= leastSamples || sumB/f.headFactors >= leastSamples) {
			continue
		}
		mu, mb = mu/f.baseRuns, mb/f.headRuns
		f.tested = append(f.tested, slot)
		f.isTested[slot] = true
		f.perKind[f.space.Kind[slot]]++
		f.level[slot], f.diff[slot] = mu, mb-mu
		f.overdispersion[slot] = f.variance(x, mu, mb)
		if f.space.Kind[slot] == row.FunctionSelf {
			f.program += mu
		}
	}
}

// variance returns the sample variance of a row, over the history and, from three
// tested runs on, also over these, scaled to the level of the history.
func (f *fit) variance(x []float64, mu, mb float64) float64 {
	ss := 0.0
	for _, t := range f.base {
		d := x[t]/f.factor[t] - mu
		ss += d * d
	}
	if f.headRuns > 2 {
		c := 1.0
		if mb > mu {
			c = mu / mb
		}
		for _, t := range f.head {
			d := (x[t]/f.factor[t] - mb) * c
			ss += d * d
		}
	}
	return ss / f.dof
}

// estimateNoise estimates trend and prior strength, from function selfs for all self
// rows and from function totals for all total rows.
func (f *fit) estimateNoise() {
	for group, kind := range []row.Kind{row.FunctionSelf, row.FunctionTotal} {
		var series []stat.Spread
		for _, slot := range f.tested {
			if f.space.Kind[slot] == kind && f.level[slot] >= leastMeanTrend {
				series = append(series, stat.Spread{Mean: f.level[slot], Variance: f.overdispersion[slot]})
			}
		}
		trend := stat.FitTrend(series, f.dof)
		var ratios []float64
		for _, s := range series {
			if s.Mean >= noisyMean && s.Variance > 0 {
				ratios = append(ratios, s.Variance/trend.Variance(s.Mean))
			}
		}
		f.noise[group] = noise{trend, stat.PriorStrength(ratios, f.dof), 1}
	}
}

// group returns the noise of a row's group.
func (f *fit) group(slot int32) *noise {
	if f.space.Kind[slot].Total() {
		return &f.noise[1]
	}
	return &f.noise[0]
}

// The limits of the negative binomial test.
const (
	smallCount  = 200.0 // expected in the tested runs; above, the normal score is accurate
	scoreOfNote = 2.0   // below, the test is skipped because it decides nothing
	sizeLimit   = 1e7   // of the negative binomial: Poisson
)

// score computes the z of a row's difference, on a scale on which the variance does not
// depend on the level. It replaces the sample variance in overdispersion by the real one.
func (f *fit) scoreRow(slot int32) {
	g := f.group(slot)
	sumA, sumB := f.sums(slot)
	level := (sumA + 0.5) / f.baseFactors // μ′: never zero
	shrunk := (g.prior*g.trend.Variance(level) + f.dof*f.overdispersion[slot]) / (g.prior + f.dof)
	over := math.Max(0, shrunk-level*f.baseInverse)
	ways := 1/f.baseRuns + 1/f.headRuns
	f.overdispersion[slot] = over * ways / (level * level)
	f.stdErr[slot] = math.Sqrt(f.poisson*level + over*ways)
	zh := f.scaled(slot, f.diff[slot])
	f.rawScore[slot], f.score[slot] = zh, zh
	expect := level * f.headFactors
	if f.options.without("small counts") || f.diff[slot] <= 0 || expect >= smallCount || zh < scoreOfNote && sumA >= leastSamples {
		return
	}
	size := math.Min(sizeLimit, 1/(over/(level*level*f.headRuns)+1/(sumA+0.5)))
	z := stat.NegativeBinomialScore(sumB, expect, size)
	if sumA < leastSamples || z < zh {
		f.score[slot] = z
	}
}

func (f *fit) sums(slot int32) (sumA, sumB float64) {
	x := f.space.Values(slot)
	return row.SumOver(x, f.base), row.SumOver(x, f.head)
}

// scaled returns the score of a difference d of a row: Student's t on the
// variance stabilising scale of an overdispersed count.
func (f *fit) scaled(slot int32, d float64) float64 {
	vb := f.overdispersion[slot]
	h := func(y float64) float64 {
		y = math.Max(0, y)
		if vb < 1e-9 {
			return 2 * math.Sqrt(y/f.poisson)
		}
		return 2 / math.Sqrt(vb) * math.Asinh(math.Sqrt(vb*y/f.poisson))
	}
	return stat.StudentScore((h(f.level[slot]+d)-h(f.level[slot]))/f.group(slot).width, f.group(slot).prior+f.dof)
}

// widen divides all scores by their spread over the functions, if that is larger than between runs of one
// side. Other requests and machines change the costs of most functions: what a quarter of them do, or a tenth,
// shows no change of one. (The empirical null of Efron, 2004; here of quantiles, never below the theoretical.)
func (f *fit) widen() {
	for group, kind := range []row.Kind{row.FunctionSelf, row.FunctionTotal} {
		var sizes []float64
		for _, slot := range f.tested {
			if f.space.Kind[slot] == kind {
				sizes = append(sizes, math.Abs(f.rawScore[slot]))
			}
		}
		if len(sizes) >= leastTests {
			slices.Sort(sizes)
			width := 1.0
			for _, q := range []float64{0.75, 0.9} { // of sizes of normal scores are below √2 erf⁻¹(q)
				width = math.Max(width, stat.Quantile(sizes, q)/(math.Sqrt2*math.Erfinv(q)))
			}
			f.noise[group].width = width
		}
	}
	for _, slot := range f.tested {
		width := f.group(slot).width
		f.score[slot] /= width
		f.rawScore[slot] /= width
		f.stdErr[slot] *= width
	}
}

// rest returns the score of the unexplained part d of a row's difference.
func (f *fit) rest(slot int32, d float64) float64 {
	whole := f.diff[slot]
	if d == whole {
		return f.score[slot]
	}
	z := f.scaled(slot, d)
	if whole > 0 && d > 0 && f.score[slot] != f.rawScore[slot] && f.rawScore[slot] != 0 {
		z *= f.score[slot] / f.rawScore[slot]
	}
	return z
}

// nodeSums computes D and μ of the self samples of every node.
func (f *fit) nodeSums() {
	f.nodeD = make([]float64, f.space.Table.Len())
	f.nodeMu = make([]float64, f.space.Table.Len())
	for _, t := range f.base {
		r := &f.space.Matrix.Runs[t]
		for i, n := range r.Nodes {
			f.nodeMu[n] += r.Count[i] / f.factor[t] / f.baseRuns
		}
	}
	for n, mu := range f.nodeMu {
		f.nodeD[n] = -mu
	}
	for _, t := range f.head {
		r := &f.space.Matrix.Runs[t]
		for i, n := range r.Nodes {
			f.nodeD[n] += r.Count[i] / f.factor[t] / f.headRuns
		}
	}
}

// leastTests is the minimum number of function selfs by which the error probability is
// divided.
const leastTests = 20

// tests returns the number by which the error probability is divided.
func (f *fit) tests() float64 { return math.Max(leastTests, float64(f.perKind[row.FunctionSelf])) }

// limits sets the threshold and the impact gate.
func (f *fit) limits() {
	f.threshold = stat.ScoreOfTail(f.options.alpha(len(f.head)) / f.tests())
	f.gate = f.options.MinShare
	if f.program > 0 {
		f.gate = math.Max(f.gate, f.options.Impact/math.Sqrt(f.program))
	}
	f.gate /= math.Sqrt(f.headRuns)
}

// passes reports whether a difference d of a row is large enough to matter.
func (f *fit) passes(slot int32, d float64) bool {
	d = math.Abs(d)
	return d >= f.gate*f.program && d >= f.options.MinGrowth*f.level[slot]
}

// whole reports whether a row is nearly all of the program and therefore not a place.
func (f *fit) whole(slot int32) bool { return f.level[slot] > f.options.MaxShare*f.program }

// mean returns the normalised samples of a row in a mean one of some runs.
func (f *fit) mean(slot int32, runs []int) float64 {
	sum, x := 0.0, f.space.Values(slot)
	for _, t := range runs {
		sum += x[t] / f.factor[t]
	}
	return sum / float64(len(runs))
}
