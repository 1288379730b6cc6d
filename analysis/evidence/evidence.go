// Package evidence collects the data behind findings: the benchmark's metric over its
// runs, and for each candidate its share of the program over the runs, its expected
// and actual share, and the contexts in which it changed.
//
//	regression.Result ──Gather──▶ one Evidence per benchmark of the result
//
// Terms: a candidate is a function in a finding or high in a ranking. Its level is its
// total (recursion counted once) or its self, whichever the finding or ranking is
// about: as a share of the program's samples in a run or, where operations are known, of its
// samples per operation in the history. Expected is the mean level of the history, in which
// a run without the function counts as 0. The band is the moving mean of the runs before, and
// their standard deviation, for plots.
//
// Scores come from the ranking, verdicts from package regression. Benchmarks without a
// verdict get no evidence. It queries the store once for the runs, and once or twice
// per benchmark for trees.
package evidence

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/dendroprof/dendro/analysis/bottleneck"
	"github.com/dendroprof/dendro/analysis/expansion"
	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// Options limit the evidence. The zero value means the defaults.
type Options struct {
	Candidates int // per benchmark; default 5, negative: none
	// Functions are candidates of every benchmark that has them, beyond the limit.
	Functions []string
	Window    int     // runs of a moving mean; default 10
	BandWidth float64 // of the evidence
	// Ranking is the method of the ranking in the result. By default the functions of findings
	// come first, then those of the ranking, by self.
	Ranking     Ranking
	Correlating bottleneck.Correlating // of contexts, if the ranking is Correlation
	// Contexts bounds the search for contexts of candidates of benchmarks with
	// findings. MaxDepth < 0: no search.
	Contexts expansion.Options
}

// Ranking is a method whose order of functions is kept.
type Ranking string

// The methods. Thesis and Correlation are by total.
const (
	Thesis      Ranking = "thesis"
	Correlation Ranking = "correlation" // scores are -1 to 1
	Hotelling   Ranking = "hotelling"   // the score of a function is that of its test
)

// total reports whether functions are ranked by their totals as stored.
func (r Ranking) total() bool { return r == Thesis || r == Correlation }

const (
	defaultCandidates = 5
	defaultWindow     = 10
)

// Gather returns the evidence for every benchmark of a result, in its order. It
// processes benchmarks in parallel, with the same result.
func Gather(ctx context.Context, st store.Reader, res *regression.Result, o Options) ([]Evidence, error) {
	o.Candidates = cmp.Or(o.Candidates, defaultCandidates)
	if o.Window <= 0 {
		o.Window = defaultWindow
	}
	list := make([]Evidence, len(res.Benchmarks))
	return list, regression.Parallel(ctx, len(list), func(ctx context.Context, i int) (err error) {
		b := &res.Benchmarks[i]
		g := gatherer{Benchmark: b, o: o}
		if list[i], err = g.gather(ctx, st); err != nil {
			err = fmt.Errorf("evidence for %s: %w", b.Benchmark, err)
		}
		return err
	})
}

// gatherer collects the evidence of one benchmark.
type gatherer struct {
	*regression.Benchmark
	o      Options
	matrix *history.Matrix // of the program's own stacks; nil: not loaded
}

func (g *gatherer) gather(ctx context.Context, st store.Reader) (Evidence, error) {
	out := Evidence{Runs: []Run{}, Candidates: g.candidates(), BandWidth: g.o.BandWidth}
	for i := range g.Profiles {
		r := &g.Profiles[i].Run
		out.Runs = append(out.Runs, Run{Key: r.Key, Commit: r.Commit, Date: r.Date, Tested: i >= len(g.Profiles)-g.Tested})
	}
	out.Metric, out.Others = g.metrics()
	if len(g.Profiles) == 0 || len(out.Candidates) == 0 {
		return out, nil
	}
	if err := g.levels(ctx, st, out.Candidates); err != nil {
		return out, err
	}
	out.Candidates = slices.DeleteFunc(out.Candidates, func(c Candidate) bool {
		return c.Requested && !slices.ContainsFunc(c.Levels, func(v float64) bool { return v != 0 })
	})
	return out, g.contexts(ctx, st, out.Candidates)
}

// metrics returns the metric over the runs, and the others that the newest run has.
func (g *gatherer) metrics() (main *Metric, others []Metric) {
	if len(g.Profiles) == 0 {
		return nil, nil
	}
	newest := &g.Profiles[len(g.Profiles)-1]
	compared, _ := history.Metric(newest)
	for _, m := range newest.Metrics {
		if m.Name == compared.Name {
			main = new(g.metric(m))
		} else {
			others = append(others, g.metric(m))
		}
	}
	return main, others
}

// metric returns a metric of the newest run over the runs.
func (g *gatherer) metric(newest testrun.Metric) Metric {
	m := Metric{Name: newest.Name, Unit: newest.Unit, Better: newest.Better, Values: make([]float64, len(g.Profiles))}
	for i := range g.Profiles {
		for _, v := range g.Profiles[i].Metrics {
			if v.Name == newest.Name && v.Unit == newest.Unit {
				m.Values[i] = v.Mean
			}
		}
	}
	m.Band = Band(m.Values, g.o.Window, func(v float64) bool { return v != 0 })
	return m
}

// candidates lists the functions of findings, then those of the ranking; none of releases of a
// service, whose runs are not in the store.
func (g *gatherer) candidates() []Candidate {
	list := []Candidate{}
	if len(g.Profiles) == 0 && g.Reason == "" {
		return list
	}
	have := func(name string) bool {
		return slices.ContainsFunc(list, func(c Candidate) bool { return c.Function == name })
	}
	if g.o.Ranking == "" {
		for i := range g.Findings {
			f := &g.Findings[i]
			function := f.Function
			if f.Headline != nil {
				function = f.Headline.Function
			}
			if len(list) < g.o.Candidates && function != "" && f.Status != regression.Transient && f.Kind != regression.Moved && !have(function) {
				list = append(list, Candidate{Function: function, Path: f.Path, Finding: f.ID, Score: f.Score})
			}
		}
	}
	for _, r := range g.Ranked {
		if len(list) < g.o.Candidates && !have(r.Function) {
			list = append(list, Candidate{Function: r.Function, Self: !g.o.Ranking.total(), Score: r.Score, Method: g.o.Ranking})
		}
	}
	for _, name := range g.o.Functions {
		if i := slices.IndexFunc(list, func(c Candidate) bool { return c.Function == name && !c.Self }); i >= 0 {
			list[i].Requested = true
		} else {
			list = append(list, Candidate{Function: name, Requested: true})
		}
	}
	return list
}

// leastContext is the least difference of a context, as a part of the largest finding.
const leastContext = 0.05

// largest returns the difference of the largest finding, in the value type's unit.
func (g *gatherer) largest() float64 {
	largest := 0.0
	for i := range g.Findings {
		largest = math.Max(largest, math.Abs(g.Findings[i].Delta.Samples))
	}
	return largest * g.matrix.Unit
}

// contexts searches the contexts of the candidates in which they changed.
func (g *gatherer) contexts(ctx context.Context, st store.Reader, list []Candidate) error {
	if len(g.Findings) == 0 && g.o.Ranking == "" || g.o.Contexts.MaxDepth < 0 || g.Tested == 0 || g.Tested == len(g.Profiles) {
		return nil
	}
	s := g.Series()
	if g.o.Ranking == Thesis {
		s = s.Newest(g.o.Window + 1)
	}
	var d *expansion.Data
	o := g.o.Contexts
	if !g.o.Ranking.total() && g.matrix != nil {
		d = expansion.Of(g.matrix, g.Tested)
		o.MinDiff = math.Max(d.SampleUnit(), leastContext*g.largest())
	} else {
		var err error
		if d, err = expansion.Load(ctx, st, []history.Series{*s}, g.Tested, false); err != nil {
			return err
		}
	}
	candidates := make([]expansion.Candidate, len(list))
	for i := range list {
		candidates[i] = expansion.Candidate{Function: list[i].Function, Score: list[i].Score}
	}
	sel := expansion.Greedy(expansion.Counting(d.SampleUnit()))
	switch g.o.Ranking {
	case Thesis:
		sel = expansion.Greedy(expansion.Deviation)
	case Correlation:
		sel = expansion.Correlated(d, g.o.Correlating, false)
	}
	found := expansion.Expand(d, candidates, sel, o)
	for i := range found {
		if len(found[i].Children)+len(found[i].Parents) > 0 {
			list[i].Contexts = &found[i]
		}
	}
	return nil
}

// Definitions returns file, line and kind of functions by name, as stored in the
// profiles. Unknown names are not in the result.
func Definitions(ctx context.Context, st store.Reader, names []string) (map[string]profile.Function, error) {
	if len(names) == 0 {
		return nil, nil
	}
	wanted := map[string]bool{}
	for _, n := range names {
		wanted[n] = true
	}
	all, err := st.FunctionNames(ctx)
	if err != nil {
		return nil, err
	}
	found := map[string]profile.Function{}
	for _, fn := range all {
		if wanted[fn.Name] {
			found[fn.Name] = fn
		}
	}
	return found, nil
}
