package bottleneck

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/dendroprof/dendro/analysis/stat"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// Correlating selects the series to correlate and the method. The zero value means
// Pearson's r of a function's share of the program with the time of the benchmark,
// averaged over benchmarks.
type Correlating struct {
	// Samples uses a function's self instead of its share of the profile; with Raw, as
	// in appendix A.2 of the paper.
	Samples bool
	// Raw uses the stored metric instead of a time. The time of a rate M, which is
	// better higher, is 1/M.
	Raw   bool
	Ranks bool // Spearman's rank correlation; ties get their mean rank
	// Over says what the score of a function is of its r in all benchmarks: the mean (the
	// default), the median, the max (for Negative: the smallest), or the min (for Negative: the
	// largest), which all of them have.
	Over  string
	Least int // minimum number of runs of a benchmark with the function and a metric; default 2
}

// R returns the correlation of two series: Pearson's r, or of their ranks.
func (c *Correlating) R(x, y []float64) float64 {
	if c.Ranks {
		x, y = stat.Ranks(x), stat.Ranks(y)
	}
	return math.Max(-1, math.Min(1, stat.Pearson(x, y)))
}

// Score returns the score of a function from its r in all benchmarks; sign is 1 for positive
// correlations, -1 for negative ones.
func (c *Correlating) Score(all []float64, sign float64) float64 {
	all = slices.Sorted(slices.Values(all)) // for one order of addition
	switch {
	case c.Over == "median":
		return stat.Median(all)
	case c.Over == "max" && sign > 0, c.Over == "min" && sign < 0:
		return all[len(all)-1]
	case c.Over == "max" || c.Over == "min":
		return all[0]
	}
	return stat.Mean(all)
}

// leastRuns is the paper's minimum number of occurrences; with two runs every r is ±1
// or 0.
const leastRuns = 2

// leastProduct is the product of deviations up to which a correlation is 0, as in the
// paper, to avoid dividing by nearly nothing.
const leastProduct = 1e-8

// Metrics returns the primary metric of every profile, NaN if it has none. Unless raw
// it is a positive time (1/M of a metric that is better higher), relative to the
// largest of its benchmark, so that the limit for constant series does not depend on
// the unit.
func Metrics(profiles []store.Profile, raw bool) []float64 {
	y := make([]float64, len(profiles))
	largest := map[testrun.Benchmark]float64{}
	for i := range profiles {
		m, ok := profiles[i].Metric()
		v := m.Mean
		if !raw && m.Better == testrun.Higher {
			v = 1 / v
		}
		if !ok || math.IsInf(v, 0) || !raw && !(v > 0) {
			v = math.NaN()
		}
		y[i] = v
		if v > largest[profiles[i].Benchmark] {
			largest[profiles[i].Benchmark] = v
		}
	}
	if !raw {
		for i := range y {
			y[i] /= largest[profiles[i].Benchmark] // NaN stays
		}
	}
	return y
}

// correlate ranks functions by their correlations.
func (a *analysis) correlate(ctx context.Context) error {
	if a.o.Least <= 0 {
		a.o.Least = leastRuns
	}
	y := Metrics(a.profiles, a.o.Raw)
	if !a.warnOfMetrics(y) {
		return nil
	}
	c := &correlations{of: map[string]*correlation{}}
	// Moments of the stored metric are enough for Pearson's r, which does not depend on
	// the scale of y; the inverse of a rate is another series.
	var err error
	if a.o.Ranks || !a.stored(y) {
		err = a.fromSeries(ctx, c, y)
	} else {
		err = a.fromMoments(ctx, c)
	}
	if err != nil {
		return err
	}
	for name, f := range c.of {
		low, high := round(a.o.Score(f.r, -1)), round(a.o.Score(f.r, 1))
		if high == 0 && low == 0 {
			a.r.Zero++
		}
		if high > 0 || high == 0 && low == 0 {
			a.r.Rows = append(a.r.Rows, Row{Function: name, Score: high})
		}
		if low < 0 {
			a.r.Negative = append(a.r.Negative, Row{Function: name, Score: low})
		}
	}
	a.warnOfSeries(c)
	return nil
}

// warnOfMetrics warns about unusable metrics; false: too few are left.
func (a *analysis) warnOfMetrics(y []float64) bool {
	with := map[testrun.Benchmark]int{}
	constant := map[testrun.Benchmark]bool{}
	first := map[testrun.Benchmark]float64{}
	n := 0
	for i, v := range y {
		if math.IsNaN(v) {
			continue
		}
		n++
		b := a.profiles[i].Benchmark
		if with[b]++; with[b] == 1 {
			first[b], constant[b] = v, true
		}
		constant[b] = constant[b] && v == first[b]
	}
	if n < len(y) {
		a.r.warn("%d of %d profiles have no metric to use as a time and are ignored", len(y)-n, len(y))
	}
	usable, flat := 0, 0
	for b, k := range with {
		switch {
		case k < a.o.Least:
		case constant[b]:
			flat++
		default:
			usable++
		}
	}
	if few := len(with) - usable - flat; few > 0 {
		a.r.warn("%d of %d benchmarks have fewer than %d runs with a metric", few, len(with), a.o.Least)
	}
	if flat > 0 {
		a.r.warn("%d of %d benchmarks have the same metric in every run: nothing correlates with it", flat, len(with))
	}
	if usable == 0 {
		a.r.warn("no benchmark has at least %d runs with different metrics to correlate", a.o.Least)
	}
	return usable > 0
}

func (a *analysis) warnOfSeries(c *correlations) {
	if c.short > 0 {
		a.r.warn("%d of %d functions have series of only 2 runs, in which every correlation is 1, -1 or 0 (see --least-occurrences)", c.short, len(c.of))
	}
	if c.still > 0 {
		a.r.warn("%d of %d series of a function in a benchmark are constant and correlate with nothing", c.still, c.series)
	}
}

// stored reports whether the stored metrics are the times, apart from their unit.
func (a *analysis) stored(y []float64) bool {
	if a.o.Raw {
		return true
	}
	for i := range a.profiles {
		if m, ok := a.profiles[i].Metric(); ok && (m.Better == testrun.Higher || math.IsNaN(y[i])) {
			return false
		}
	}
	return true
}

// correlations collects r per function over benchmarks.
type correlations struct {
	of            map[string]*correlation
	series, still int // of a function in a benchmark; those that do not vary
	short         int // functions that have only series of two
}

// correlation has the correlations of one function.
type correlation struct {
	r    []float64 // of each benchmark
	long bool      // some series has more than two runs
}

// add adds the correlation of a function in one benchmark.
func (c *correlations) add(function string, n int, r float64, varies bool) {
	c.series++
	if !varies {
		c.still++
	}
	f := c.of[function]
	if f == nil {
		f = &correlation{}
		c.of[function] = f
		c.short++
	}
	f.r = append(f.r, r)
	if n > 2 && !f.long {
		f.long = true
		c.short--
	}
}

// fromMoments computes Pearson's r from moments computed by the engine.
func (a *analysis) fromMoments(ctx context.Context, c *correlations) error {
	set, err := store.FunctionMoments(ctx, a.st, a.q, store.Measure{Self: true, Share: !a.o.Samples})
	if err != nil {
		return err
	}
	largest := make([]float64, len(set.Benchmarks))
	var names []string
	for i, b := range store.BenchmarkIndex(set.Profiles, &names) {
		if m, ok := set.Profiles[i].Metric(); ok && !a.o.Raw {
			largest[b] = math.Max(largest[b], m.Mean)
		}
	}
	for i := range set.Rows {
		m := &set.Rows[i]
		if m.NY < int64(a.o.Least) {
			continue
		}
		product, scale := math.Sqrt(m.M2X)*math.Sqrt(m.M2Y), 1.0
		if !a.o.Raw {
			scale = largest[m.Benchmark]
		}
		r, varies := 0.0, product/scale > leastProduct
		if varies {
			r = math.Max(-1, math.Min(1, m.CovC/product))
		}
		c.add(set.Functions[m.Function].Name, int(m.NY), r, varies)
	}
	return nil
}

// fromSeries correlates series of function values, one benchmark at a time to bound
// memory.
func (a *analysis) fromSeries(ctx context.Context, c *correlations, y []float64) error {
	var names []string
	members := map[int32][]int{}
	for i, b := range store.BenchmarkIndex(a.profiles, &names) {
		if !math.IsNaN(y[i]) {
			members[b] = append(members[b], i)
		}
	}
	for b := range int32(len(names)) {
		if len(members[b]) < a.o.Least {
			continue
		}
		if err := a.benchmarkSeries(ctx, c, members[b], y); err != nil {
			return err
		}
	}
	return nil
}

// point is one run of a series.
type point struct {
	profile int32
	self    float64
}

func (a *analysis) benchmarkSeries(ctx context.Context, c *correlations, members []int, y []float64) error {
	var q store.Query
	metric := map[store.ProfileID]float64{}
	for _, i := range members {
		q.Profiles = append(q.Profiles, a.profiles[i].ID)
		metric[a.profiles[i].ID] = y[i]
	}
	set, err := a.st.Functions(ctx, q, nil)
	if err != nil {
		return err
	}
	of := make([][]point, len(set.Functions))
	for chunk, err := range set.Rows {
		if err != nil {
			return err
		}
		for i, f := range chunk.Function {
			of[f] = append(of[f], point{chunk.Profile[i], float64(chunk.Self[i])})
		}
	}
	whole, times := make([]float64, len(set.Profiles)), make([]float64, len(set.Profiles))
	for i := range set.Profiles {
		p := &set.Profiles[i]
		if whole[i], times[i] = 1, metric[p.ID]; !a.o.Samples {
			whole[i] = math.Max(1, float64(p.Sum))
		}
	}
	var xs, ys []float64
	for f, points := range of {
		if len(points) < a.o.Least {
			continue
		}
		slices.SortFunc(points, func(p, q point) int { return cmp.Compare(p.profile, q.profile) })
		xs, ys = xs[:0], ys[:0]
		for _, p := range points {
			xs, ys = append(xs, p.self/whole[p.profile]), append(ys, times[p.profile])
		}
		varies := stat.Variance(xs) > 0 && stat.Variance(ys) > 0
		c.add(set.Functions[f].Name, len(xs), a.o.R(xs, ys), varies)
	}
	return nil
}
