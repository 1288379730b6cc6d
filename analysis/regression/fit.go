package regression

import (
	"math"
	"slices"

	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/analysis/regression/internal/row"
	"github.com/dendroprof/dendro/analysis/regression/internal/size"
	"github.com/dendroprof/dendro/analysis/stat"
	"github.com/dendroprof/dendro/internal/column"
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

	rate        size.Rate
	hasMetric   bool
	factor      []float64 // size factor, by run
	baseFactors float64   // sum of the factors of base
	headFactors float64
	baseInverse float64 // mean of 1 ÷ factor over base
	poisson     float64 // Poisson part of the variance of D, per unit of level
	dof         float64

	tested    []int32 // slots, ascending
	isTested  []bool
	perKind   [row.Kinds]int
	noise     [2]noise         // of self rows, of total rows
	history   []moments        // by slot, over the base
	outer     *fit             // the comparison whose history this one is within; nil: none
	level     []float64        // μ: samples of a row in a mean history run
	diff      []float64        // D: mean of the tested runs less the level
	scores    map[int32]scored // of rows that were asked for; see of
	nodeD     []float64        // D and μ of the self samples of every node; see nodes
	nodeMu    []float64
	program   float64 // ΣM: μ of all tested function selfs
	threshold float64 // z*
	gate      float64 // minimum impact, as a share
	own       []bool  // by function; see ownFunctions
}

// moments are those of a row over runs: its samples, the mean of its samples by size factor, and the sum of
// their squared deviations.
type moments struct{ samples, mean, squares float64 }

// without leaves out y of one of n runs.
func (m moments) without(n, y float64) moments {
	mean := m.mean + (m.mean-y)/(n-1)
	return moments{m.samples, mean, math.Max(0, m.squares-(y-m.mean)*(y-mean))}
}

// scored is the noise of a row's difference.
type scored struct {
	stdErr         float64 // of the difference
	overdispersion float64 // part of its variance beyond Poisson's, relative to the level squared
	z, raw         float64 // score, and that before the test of small counts
}

// newFit computes the statistics of all rows. It needs three history runs and
// one tested run, all with samples.
func newFit(sp *row.Space, o *Options, a, b []int) *fit {
	f := &fit{space: sp, options: o, base: a, head: b, baseRuns: float64(len(a)), headRuns: float64(len(b))}
	f.hasMetric = size.Every(func(t int) float64 { return sp.Matrix.Runs[t].Metric }, a, b)
	f.rate = size.RateOf(sp.Matrix, a, b, o.Service)
	sizes := size.Runs{Space: sp, Base: a, Head: b, Rate: f.rate, Metric: f.hasMetric, Jitter: o.least().jitter}
	f.factor = sizes.Factors()
	f.sumHistory()
	f.compare()
	return f
}

// sumHistory computes the moments of every row.
func (f *fit) sumHistory() {
	f.history = make([]moments, len(f.space.Kind))
	y, inverse := make([]float64, len(f.base)), make([]float64, len(f.base))
	for i, t := range f.base {
		inverse[i] = 1 / f.factor[t]
	}
	for slot := range f.history {
		m, x := &f.history[slot], f.space.Values(int32(slot))
		for i, t := range f.base {
			y[i] = x[t] * inverse[i]
			m.samples += x[t]
			m.mean += y[i]
		}
		m.mean /= f.baseRuns
		for _, v := range y {
			m.squares += (v - m.mean) * (v - m.mean)
		}
	}
}

// within compares a block of the history with the rest of it, in time that does not depend on the number of
// runs: their sizes stay, and the block is taken out of the moments of each row.
func (f *fit) within(block, rest []int) *fit {
	g := &fit{outer: f, space: f.space, options: f.options, base: rest, head: block, baseRuns: float64(len(rest)),
		headRuns: float64(len(block)), factor: f.factor, hasMetric: f.hasMetric, history: f.history}
	g.rate = size.RateOf(f.space.Matrix, rest, block, f.options.Service)
	g.compare()
	return g
}

// compare computes the statistics of all rows from their moments over the history.
func (f *fit) compare() {
	for _, t := range f.base {
		f.baseFactors += f.factor[t]
		f.baseInverse += 1 / f.factor[t] / f.baseRuns
	}
	invB := 0.0
	for _, t := range f.head {
		f.headFactors += f.factor[t]
		invB += 1 / f.factor[t] / f.headRuns
	}
	f.poisson = f.baseInverse/f.baseRuns + invB/f.headRuns
	f.dof = f.baseRuns - 1
	if f.headRuns > 2 {
		f.dof += f.headRuns - 1
	}
	f.levels()
	if f.outer == nil {
		f.estimateNoise()
	} else {
		for group, n := range f.outer.noise {
			f.noise[group] = noise{n.trend, n.prior, 1}
		}
	}
	if f.countless() {
		f.widen()
	}
	f.threshold, f.gate = f.leastScore(f.headRuns), f.leastImpact(f.program, f.headRuns)
}

// levels finds the tested rows, their means and their differences.
func (f *fit) levels() {
	rows := len(f.space.Kind)
	f.tested = make([]int32, 0, rows)
	f.level, f.diff, f.isTested, f.scores = make([]float64, rows), make([]float64, rows), make([]bool, rows), map[int32]scored{}
	for slot := range int32(rows) {
		sumB, mb, x := 0.0, 0.0, f.space.Values(slot)
		for _, t := range f.head {
			sumB += x[t]
			mb += x[t] / f.factor[t]
		}
		sumA, mu := f.history[slot].samples, f.history[slot].mean
		if f.outer != nil {
			sumA, mu = sumA-sumB, (mu*f.outer.baseRuns-mb)/f.baseRuns
		}
		if mb /= f.headRuns; !(sumA >= leastSamples*f.baseFactors || sumB >= leastSamples*f.headFactors) {
			continue
		}
		f.tested = append(f.tested, slot)
		f.isTested[slot] = true
		f.perKind[f.space.Kind[slot]]++
		f.level[slot], f.diff[slot] = mu, mb-mu
		if f.space.Kind[slot] == row.FunctionSelf {
			f.program += mu
		}
	}
}

// variance returns the sample variance of a tested row, over the history and, from three
// tested runs on, also over these, scaled to the level of the history.
func (f *fit) variance(slot int32) float64 {
	m, x := f.history[slot], f.space.Values(slot)
	if f.outer != nil {
		for i, t := range f.head {
			m = m.without(f.outer.baseRuns-float64(i), x[t]/f.factor[t])
		}
	}
	if f.headRuns > 2 {
		mb, c := f.level[slot]+f.diff[slot], 1.0
		if f.diff[slot] > 0 {
			c = f.level[slot] / mb
		}
		for _, t := range f.head {
			d := (x[t]/f.factor[t] - mb) * c
			m.squares += d * d
		}
	}
	return m.squares / f.dof
}

// estimateNoise estimates trend and prior strength, from function selfs for all self
// rows and from function totals for all total rows.
func (f *fit) estimateNoise() {
	for group, kind := range []row.Kind{row.FunctionSelf, row.FunctionTotal} {
		var series []stat.Spread
		for _, slot := range f.tested {
			if f.space.Kind[slot] == kind && f.level[slot] >= leastMeanTrend {
				series = append(series, stat.Spread{Mean: f.level[slot], Variance: f.variance(slot)})
			}
		}
		trend := stat.FitTrend(series, f.dof)
		var ratios []float64
		for _, s := range series {
			if s.Mean >= size.NoisyMean && s.Variance > 0 {
				ratios = append(ratios, s.Variance/trend.Variance(s.Mean))
			}
		}
		prior := stat.PriorStrength(ratios, f.dof)
		if !f.countless() { // of few samples, counting makes all rows seem alike
			prior = math.Min(prior, f.dof)
		}
		f.noise[group] = noise{trend, prior, 1}
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
	smallCount = 200.0 // expected in the tested runs; above, the normal score is accurate
	sizeLimit  = 1e7   // of the negative binomial: Poisson
)

// of returns the noise of a tested row. It is computed when it is first asked for, as most rows differ too little.
func (f *fit) of(slot int32) scored {
	s, known := f.scores[slot]
	if !known && f.isTested[slot] {
		s = f.scoreRow(slot)
		f.scores[slot] = s
	}
	return s
}

// scoreRow computes the z of a row's difference, on a scale on which the variance does not
// depend on the level.
func (f *fit) scoreRow(slot int32) scored {
	g := f.group(slot)
	sumA, sumB := f.sums(slot)
	level := (sumA + 0.5) / f.baseFactors // μ′: never zero
	shrunk := (g.prior*g.trend.Variance(level) + f.dof*f.variance(slot)) / (g.prior + f.dof)
	over := math.Max(0, shrunk-level*f.baseInverse)
	ways := 1/f.baseRuns + 1/f.headRuns
	s := scored{overdispersion: over * ways / (level * level), stdErr: g.width * math.Sqrt(f.poisson*level+over*ways)}
	s.raw = f.scaled(slot, f.diff[slot], s.overdispersion)
	s.z = s.raw
	expect := level * f.headFactors
	if f.options.without("small counts") || f.diff[slot] <= 0 || expect >= smallCount || s.raw < scoreOf95 && sumA >= leastSamples {
		return s
	}
	size := math.Min(sizeLimit, 1/(over/(level*level*f.headRuns)+1/(sumA+0.5)))
	z := stat.NegativeBinomialScore(sumB, expect, size) / g.width
	if sumA < leastSamples || z < s.raw {
		s.z = z
	}
	return s
}

// jitter returns the variance of a row of a level between runs beyond that of counts, relative to the level squared.
func (f *fit) jitter(slot int32, level float64) float64 {
	if level >= size.NoisyMean {
		return f.of(slot).overdispersion / (1/f.baseRuns + 1/f.headRuns)
	}
	return f.group(slot).trend.F1
}

// sums returns the samples of a row on both sides.
func (f *fit) sums(slot int32) (sumA, sumB float64) {
	x := f.space.Values(slot)
	return row.SumOver(x, f.base), row.SumOver(x, f.head)
}

// scaled returns the score of a difference d of a row: Student's t on the
// variance stabilising scale of an overdispersed count.
func (f *fit) scaled(slot int32, d, over float64) float64 {
	g, now, before := f.group(slot), stable(f.level[slot]+d, f.poisson, over), stable(f.level[slot], f.poisson, over)
	return stat.StudentScore(now-before, g.prior+f.dof) / g.width
}

// stable is y on a scale on which its variance a·y + b·y² is 1 everywhere.
func stable(y, a, b float64) float64 {
	if y = math.Max(0, y); b < 1e-9 {
		return 2 * math.Sqrt(y/a)
	}
	return 2 / math.Sqrt(b) * math.Asinh(math.Sqrt(b*y/a))
}

// widen divides all scores by their spread over the functions, if that is larger than between runs of one
// side. Other requests and machines change the costs of most functions: what a quarter of them do, or a tenth,
// shows no change of one. (The empirical null of Efron, 2004; here of quantiles, never below the theoretical.)
func (f *fit) widen() {
	for group, kind := range []row.Kind{row.FunctionSelf, row.FunctionTotal} {
		var sizes []float64
		for _, slot := range f.tested {
			if f.space.Kind[slot] == kind {
				sizes = append(sizes, math.Abs(f.scoreRow(slot).raw))
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
}

// rest returns the score of the unexplained part d of a row's difference.
func (f *fit) rest(slot int32, d float64) float64 {
	s, whole := f.of(slot), f.diff[slot]
	if d == whole {
		return s.z
	}
	z := f.scaled(slot, d, s.overdispersion)
	if whole > 0 && d > 0 && s.raw != 0 {
		z *= s.z / s.raw
	}
	return z
}

// nodes returns D and μ of the self samples of every node.
func (f *fit) nodes() (d, mu []float64) {
	if f.nodeD != nil {
		return f.nodeD, f.nodeMu
	}
	add := func(to []float64, runs []int, part float64) {
		for _, t := range runs {
			r := &f.space.Matrix.Runs[t]
			for i, n := range r.Nodes {
				to[n] += part * r.Count[i] / f.factor[t]
			}
		}
	}
	f.nodeMu = make([]float64, f.space.Table.Len())
	if f.outer != nil {
		_, all := f.outer.nodes()
		for n, mu := range all {
			f.nodeMu[n] = mu * f.outer.baseRuns / f.baseRuns
		}
		add(f.nodeMu, f.head, -1/f.baseRuns)
	} else {
		add(f.nodeMu, f.base, 1/f.baseRuns)
	}
	f.nodeD = column.Of(f.nodeMu, func(mu float64) float64 { return -mu })
	add(f.nodeD, f.head, 1/f.headRuns)
	return f.nodeD, f.nodeMu
}

// leastTests is the minimum number of function selfs by which the error probability is
// divided.
const leastTests = 20

// tests returns the number by which the error probability is divided.
func (f *fit) tests() float64 { return math.Max(leastTests, float64(f.perKind[row.FunctionSelf])) }

// leastScore is the score that a change must exceed that k runs show, and leastImpact the share of a program of so many
// samples per run.
func (f *fit) leastScore(k float64) float64 {
	return stat.ScoreOfTail(f.options.alpha(int(k)) / f.tests())
}
func (f *fit) leastImpact(samples, k float64) float64 {
	return math.Max(f.options.MinShare, f.options.Impact/math.Sqrt(math.Max(1, samples))) / math.Sqrt(k)
}

// passes reports whether a difference d of a row is large enough to matter.
func (f *fit) passes(slot int32, d float64) bool {
	d = math.Abs(d)
	return d >= f.gate*f.program && d >= f.options.least().growth*f.level[slot]
}

// whole reports whether a row is nearly all of the program and therefore not a place.
func (f *fit) whole(slot int32) bool { return f.level[slot] > (1-littleOf)*f.program }

// mean returns the normalised samples of a row in a mean one of some runs.
func (f *fit) mean(slot int32, runs []int) float64 {
	sum, x := 0.0, f.space.Values(slot)
	for _, t := range runs {
		sum += x[t] / f.factor[t]
	}
	return sum / float64(len(runs))
}

// Sizes returns by what the samples of each run are divided so that runs of both sides compare: the
// size factors of Compare, with mean about 1 over the base. A diff that divides by them has the
// amounts of the findings. Nil if there are too few runs to compare.
func Sizes(s *history.Series, m *history.Matrix, base, head []int, o Options) []float64 {
	if len(base) < leastHistory || len(head) == 0 {
		return nil
	}
	for t := range m.Runs {
		if !(m.Runs[t].Total > 0) {
			return nil
		}
	}
	return newFit(Prepare(s, m).sp, &o, base, head).factor
}
