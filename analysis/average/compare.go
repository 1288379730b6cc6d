package average

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/analysis/stat"
	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
)

// Comparison compares one or several runs with the band of others.
type Comparison struct {
	Band    *Band
	Runs    []store.Profile
	Changes []Change // of every node of Band.Table, which includes the paths of the runs
	// Significant is the number of significant changes.
	Significant int
	Warnings    []string // of the band too
}

// Change is the value of one call node in the run, compared with the band.
type Change struct {
	Self, Total float64 // of the run, or the mean of the runs, scaled as the band is
	// Score is the distance of the total from its expectation, in standard deviations
	// of a normal distribution; 0 if it cannot be tested.
	Score float64
	// Significant: of all significant changes, one in twenty is expected to be chance.
	Significant bool
}

// falseDiscoveries is the expected share of chance among significant changes.
const falseDiscoveries = 0.05

// leastSamples is the minimum number of samples of a tested node.
const leastSamples = 5

// Compare averages the history and compares the selected run with it. If the query
// selects several runs, it compares their mean, which detects smaller changes and
// tolerates one bad run. Selected runs are removed from the history.
//
// ByShare scales every run to the same sum: a longer run is no change, but if one
// function uses more, all others seem to use less. An empty weight corrects for that:
// every run is divided by its size, as findings have it (regression.Sizes), or, where that is
// unknown, the run is scaled once more, so that most of its functions are unchanged (align). Where operations
// are known, the amounts are then per operation (level).
func Compare(ctx context.Context, st store.Reader, run, hist store.Query, weight store.Weight) (*Comparison, error) {
	runs, err := store.Select(ctx, st, run)
	if err != nil {
		return nil, fmt.Errorf("the run to compare: %w", err)
	}
	isRun := store.IDSet(runs)
	before, err := store.Select(ctx, st, hist)
	if err != nil {
		return nil, fmt.Errorf("the history: %w", err)
	}
	var q store.Query
	for i := range before {
		if !isRun[before[i].ID] {
			q.Profiles = append(q.Profiles, before[i].ID)
		}
	}
	if len(q.Profiles) == 0 {
		return nil, fmt.Errorf("the history: %w besides the run itself", store.ErrNothing)
	}
	return compare(ctx, st, isRun, q, weight)
}

func compare(ctx context.Context, st store.Reader, isRun map[store.ProfileID]bool, hist store.Query, weight store.Weight) (*Comparison,
	error) {
	unchanged := weight == ""
	if unchanged {
		weight = store.ByShare
	}
	both := store.Query{Profiles: slices.AppendSeq(slices.Clone(hist.Profiles), maps.Keys(isRun))}
	set, err := st.Trees(ctx, both, store.TreeOptions{})
	if err != nil {
		return nil, err
	}
	if err := store.Addable(set.Profiles, both); err != nil {
		return nil, err
	}
	b := &Band{Table: set.Table, Type: set.Profiles[0].Type, weight: weight}
	c := &Comparison{Band: b, Changes: make([]Change, b.Len())}
	place := make([]int, len(set.Profiles)) // in the band; -1: a run
	samples := false
	for i := range set.Profiles {
		p := &set.Profiles[i]
		if isRun[p.ID] {
			place[i] = -1
			c.Runs = append(c.Runs, *p)
			samples = samples || p.Sum > 0
			continue
		}
		place[i] = len(b.Profiles)
		b.Profiles = append(b.Profiles, *p)
	}
	if len(c.Runs) == 0 || len(b.Profiles) == 0 {
		return nil, fmt.Errorf("%w: profiles were deleted during the comparison", store.ErrNothing)
	}
	b.measure()
	if unchanged {
		if b.sizes, err = sizes(ctx, st, b.Profiles, c.Runs); err != nil {
			return nil, err
		}
	}
	l := newLoading(b)
	for v, err := range set.Vectors {
		if err != nil {
			return nil, err
		}
		if place[v.Profile] < 0 {
			c.addRun(&set.Profiles[v.Profile], v.Vector)
			continue
		}
		l.add(place[v.Profile], v.Vector)
	}
	n := len(b.Profiles)
	b.Self, b.Total = l.self.spreads(n), l.total.spreads(n)
	b.unit = history.SampleUnit(b.Type, l.common)
	aligned := 1.0
	if unchanged && b.sizes == nil {
		aligned = c.align()
	}
	c.Warnings = b.Warnings
	switch {
	case n < LeastRuns:
		c.Warnings = append(c.Warnings, fmt.Sprintf("the history has %d of %d runs needed: no change is significant", n, LeastRuns))
	case !samples:
		c.Warnings = append(c.Warnings, "the run has no samples")
	default:
		c.judge()
	}
	if unchanged && b.sizes == nil && !b.Type.Momentary() {
		c.level(aligned)
	}
	return c, nil
}

// level gives both sides, which were scaled to one sum and aligned, the samples per operation of their
// median runs, as findings and a plain diff have them, where the operations of all runs are known.
func (c *Comparison) level(aligned float64) {
	var rates [2]float64
	for side, list := range [][]store.Profile{c.Band.Profiles, c.Runs} {
		var of []float64
		for i := range list {
			n, _ := list[i].Operations()
			if n <= 0 || list[i].Benchmark != c.Runs[0].Benchmark {
				return
			}
			of = append(of, float64(list[i].Sum)/n)
		}
		rates[side] = stat.Median(of)
	}
	if rates[0] <= 0 || rates[1] <= 0 {
		return
	}
	c.Band.Operations = c.Band.whole / rates[0]
	c.scale(aligned * rates[1] / rates[0])
}

// scale multiplies the values of the run.
func (c *Comparison) scale(by float64) {
	for n := range c.Changes {
		c.Changes[n].Self *= by
		c.Changes[n].Total *= by
	}
}

// sizes returns the size of each run, by which its values are divided: that of findings on these
// runs (regression.Sizes), so that a comparison has their amounts; nil if they are of several
// benchmarks, show one moment, or are too few, and where operations are known (level).
func sizes(ctx context.Context, st store.Reader, before, runs []store.Profile) (map[store.ProfileID]float64, error) {
	all := slices.Concat(before, runs)
	s := &history.Series{Benchmark: all[0].Benchmark, Type: all[0].Type, Profiles: all}
	if all[0].Type.Momentary() || slices.ContainsFunc(all, func(p store.Profile) bool { return p.Benchmark != s.Benchmark || p.Sum <= 0 }) {
		return nil, nil
	}
	if !slices.ContainsFunc(all, func(p store.Profile) bool { n, _ := p.Operations(); return n <= 0 }) {
		return nil, nil
	}
	m, err := history.Load(ctx, st, s)
	if err != nil {
		return nil, err
	}
	var sides [2][]int
	for i := range all {
		side := 0
		if i >= len(before) {
			side = 1
		}
		sides[side] = append(sides[side], i)
	}
	of := regression.Sizes(s, m, sides[0], sides[1], regression.Options{})
	if of == nil {
		return nil, nil
	}
	by := make(map[store.ProfileID]float64, len(all))
	for i := range all {
		by[all[i].ID] = of[i]
	}
	return by, nil
}

// addRun adds a run to the mean.
func (c *Comparison) addRun(p *store.Profile, v calltree.Vector) {
	self := make([]int64, c.Band.Len())
	for i, n := range v.Nodes {
		self[n] = v.Self[i]
	}
	t := calltree.NewTree(c.Band.Table, c.Band.Type, self)
	f := c.Band.factor(p) / float64(len(c.Runs))
	for n := range self {
		c.Changes[n].Self += float64(t.Self[n]) * f
		c.Changes[n].Total += float64(t.Total[n]) * f
	}
}

// align needs alignFunctions functions with alignSamples samples each.
const (
	alignSamples   = 8
	alignFunctions = 5
)

// align scales the run by the weighted median of the ratios of functions' self values,
// so that half of the program, weighted by the history, uses more than before and half
// less. This restores the shares that a growing function takes from the others. It returns by what it
// divided the values.
func (c *Comparison) align() float64 {
	b := c.Band
	now, mean := make([]float64, len(b.Functions)), make([]float64, len(b.Functions))
	for n, f := range b.Func {
		now[f] += c.Changes[n].Self
		mean[f] += b.Self[n].Mean
	}
	var ratios []stat.Weighted
	for f := range now {
		if mean[f] >= alignSamples*b.unit {
			ratios = append(ratios, stat.Weighted{Value: now[f] / mean[f], Weight: mean[f]})
		}
	}
	if len(ratios) < alignFunctions {
		return 1
	}
	by := stat.WeightedMedian(ratios)
	if !(by > 0) {
		return 1
	}
	c.scale(1 / by)
	return by
}

// judge scores the totals: a t-test of new observations, in samples, with the variances
// of all nodes shrunk towards their common trend (Smyth 2004), because a few runs do
// not measure the variance of one node well. Increases of few samples must also pass a
// test of counts. The significant ones are chosen by Benjamini and Hochberg (1995).
func (c *Comparison) judge() {
	b := c.Band
	n, k := float64(len(b.Profiles)), float64(len(c.Runs))
	dof := n - 1
	spreads := make([]stat.Spread, 0, b.Len())
	for i := range b.Total {
		if s := &b.Total[i]; s.Mean > 0 {
			spreads = append(spreads, stat.Spread{Mean: s.Mean / b.unit, Variance: s.Deviation * s.Deviation / b.unit / b.unit})
		}
	}
	trend := stat.FitTrend(spreads, dof)
	var ratios []float64
	for _, s := range spreads {
		if s.Mean >= 8 && s.Variance > 0 {
			ratios = append(ratios, s.Variance/trend.Variance(s.Mean))
		}
	}
	prior := math.Min(stat.PriorStrength(ratios, dof), dof)
	var tested []int
	for i := range c.Changes {
		mean, now := b.Total[i].Mean/b.unit, c.Changes[i].Total/b.unit
		if mean < leastSamples && now < leastSamples || mean < 0 || now < 0 {
			continue
		}
		expected := (mean*n + .5) / n // a node without samples may still exist
		deviation := b.Total[i].Deviation / b.unit
		variance := (prior*trend.Variance(expected) + dof*deviation*deviation) / (prior + dof)
		score := stat.StudentScore((now-mean)/math.Sqrt(variance*(1/k+1/n)), prior+dof)
		if now > mean && expected*k < 200 {
			over := math.Max(0, variance-expected) / expected / expected
			score = math.Min(score, math.Max(0, stat.NegativeBinomialScore(now*k, expected*k, 1/(over/k+1/(mean*n+.5)))))
		}
		c.Changes[i].Score = math.Max(-stat.MaxScore, math.Min(stat.MaxScore, score))
		tested = append(tested, i)
	}
	slices.SortStableFunc(tested, func(x, y int) int {
		return -cmp.Compare(math.Abs(c.Changes[x].Score), math.Abs(c.Changes[y].Score))
	})
	for rank := len(tested); rank > 0; rank-- {
		p := 2 * stat.NormalTail(math.Abs(c.Changes[tested[rank-1]].Score))
		if p <= falseDiscoveries*float64(rank)/float64(len(tested)) {
			for _, i := range tested[:rank] {
				c.Changes[i].Significant = true
			}
			c.Significant = rank
			return
		}
	}
}

// NoisePerValue returns the factors of the sampling noise of a change from the history to
// the run, as diff.Diff.NoisePerValue.
func (c *Comparison) NoisePerValue() [2]float64 {
	k := stat.Interval95 * stat.Interval95 * c.Band.unit
	return [2]float64{k / float64(len(c.Runs)), k / float64(len(c.Band.Profiles))}
}

// Trees returns the band as the tree of a statistic, and the run, scaled like the band,
// over the same table: the two sides of a diff.
func (c *Comparison) Trees(what Statistic) (band, run *calltree.Tree) {
	band = c.Band.Tree(what)
	_, by := c.Band.scale()
	self := make([]int64, c.Band.Len())
	for n := range self {
		self[n] = int64(math.Round(c.Changes[n].Self * by))
	}
	return band, calltree.NewTree(c.Band.Table, band.Type, self)
}

// Profile returns both sides as one profile with the value types base and head, for
// encoders of differential formats.
func (c *Comparison) Profile(what Statistic) *profile.Profile {
	base, run := c.Trees(what)
	for name, t := range map[string]*calltree.Tree{profile.Base: base, profile.Head: run} {
		t.Type = profile.ValueType{Name: name, Unit: t.Type.Unit, Scale: t.Type.Scale}
	}
	return base.Profile(run)
}
