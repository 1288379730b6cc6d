package judge

import (
	"context"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/dendroprof/dendro/analysis/evidence"
	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/facts"
	"github.com/dendroprof/dendro/report"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
	"github.com/dendroprof/dendro/traceprof"
)

// OverviewRequest asks what a store holds: its benchmarks, services and tasks.
type OverviewRequest struct {
	query.Selection `group:"Selection"`
	Points          int  `param:"points" group:"Limit" arg:"n" min:"1" default:"30" help:"number of runs per benchmark in values" json:"points"`
	Rows            int  `param:"rows" group:"Limit" arg:"n" min:"0" help:"maximum number of benchmarks (0: all)" json:"rows,omitempty"`
	Quick           bool `param:"quick" group:"View" help:"omit outcomes: read no profile" json:"quick,omitempty"`
	facts.Facts     `json:"facts,omitzero"`
}

// OverviewResult lists the benchmarks of a selection, and the services that send traces.
type OverviewResult struct {
	Runs       int                 `json:"runs"`
	Profiles   int                 `json:"profiles"`
	Omitted    query.Omitted       `json:"omitted,omitzero"`
	Benchmarks []BenchmarkOverview `json:"benchmarks"` // by group and name
	Services   []query.Service     `json:"services"`
	Pushed     []query.PushedUse   `json:"pushed"`   // services that push profiles, by CPU time; empty with Quick
	Releases   []ReleaseOverview   `json:"releases"` // of services that push profiles, by service and type
	Running    int                 `json:"running"`  // tasks that accept samples
}

// BenchmarkOverview is a benchmark with its newest run.
type BenchmarkOverview struct {
	Group    string        `json:"group"`
	Name     string        `json:"benchmark"`
	Runs     int           `json:"runs"`
	Profiles int           `json:"profiles"`
	Types    []string      `json:"types"` // sorted
	Last     testrun.Run   `json:"last"`
	Metric   *MetricNewest `json:"metric"` // nil without a primary metric
	// Outcome is what a report says of the newest runs; nil with Quick.
	Outcome *report.Outcome `json:"outcome,omitempty"`
}

// ReleaseOverview is what a service pushed of one type, with its newest release.
type ReleaseOverview struct {
	Service  string         `json:"service"`
	Name     string         `json:"benchmark"` // name of the pushed type, which a finding has as its benchmark
	Type     string         `json:"type"`
	Releases int            `json:"releases"` // that were compared with those before
	Last     testrun.Run    `json:"last"`     // the newest: its name, as run and commit, and its first window
	Outcome  report.Outcome `json:"outcome"`
}

// MetricNewest is the newest values of the primary metric of a benchmark. They are as
// measured: whether they changed is a question for the Outcome.
type MetricNewest struct {
	Name   string         `json:"name"`
	Unit   string         `json:"unit"`
	Better testrun.Better `json:"better,omitempty"`
	Values []*float64     `json:"values"` // by run, oldest first; null where a run has none
	Last   float64        `json:"last"`
	Mean   float64        `json:"mean"` // of the runs before
	// Deviation is the standard deviation of the runs before; 0 of fewer than two.
	Deviation float64 `json:"deviation"`
}

// bandRuns is the number of runs of the moving mean in an overview.
const bandRuns = 10

// Overview answers an OverviewRequest. With Quick it reads no tree.
func Overview(ctx context.Context, st store.Store, r *OverviewRequest) (*OverviewResult, error) {
	list, err := query.Listed(ctx, st, &r.Selection)
	if err != nil {
		return nil, err
	}
	out := &OverviewResult{Profiles: len(list), Benchmarks: []BenchmarkOverview{}, Services: []query.Service{},
		Releases: []ReleaseOverview{}, Pushed: []query.PushedUse{}}
	runs := map[string]bool{}
	for i := range list {
		runs[list[i].Run.Key] = true
	}
	out.Runs = len(runs)
	var shown []testrun.Benchmark
	shown, out.Omitted = query.First(benchmarksOf(list), r.Rows)
	for _, b := range byBenchmark(list, shown) {
		last := b.runs[len(b.runs)-1]
		out.Benchmarks = append(out.Benchmarks, BenchmarkOverview{Group: b.Group, Name: b.Name, Runs: len(b.runs), Profiles: b.profiles,
			Types: b.types,
			Last:  last[0].Run, Metric: b.newest(r.Points)})
	}
	if !r.Quick {
		if err := out.addOutcomes(ctx, st, r, list); err != nil {
			return nil, err
		}
	}
	traces, ok := store.As[traceprof.Store](st)
	if !ok {
		return out, nil
	}
	services, err := query.Services(ctx, traces, &query.ServicesRequest{})
	if err != nil {
		return nil, err
	}
	out.Services = words.Filled(services.Rows)
	tasks, err := traces.Tasks(ctx, traceprof.TaskQuery{})
	for i := range tasks {
		if tasks[i].State(time.Now().UnixMilli()) == traceprof.Running {
			out.Running++
		}
	}
	return out, err
}

func (o *OverviewResult) addOutcomes(ctx context.Context, st store.Reader, r *OverviewRequest, selected []store.Profile) error {
	c, err := follow(ctx, st, r.Selection, selected, &r.Facts, true)
	if err != nil {
		return err
	}
	if fits := ofServices(&r.Selection); fits != nil {
		uses, err := query.PushedUses(ctx, st, fits, r.Until)
		if err != nil {
			return err
		}
		o.Pushed = words.Filled(uses)
	}
	of := c.outcomes()
	if err := againstBase(ctx, st, r.Selection, &r.Facts, of); err != nil {
		return err
	}
	for i := range c.lines {
		if s := &c.lines[i]; s.Service {
			o.Releases = append(o.Releases, ReleaseOverview{Service: s.Benchmark.Group, Name: s.Benchmark.Name, Type: s.Type.Name,
				Releases: len(s.Profiles), Last: *newest(s), Outcome: of[s.Benchmark]})
		}
	}
	for i := range o.Benchmarks {
		b := &o.Benchmarks[i]
		outcome, ok := of[testrun.Benchmark{Group: b.Group, Name: b.Name}]
		if !ok {
			outcome = report.Outcome{Status: report.Unknown}
		}
		b.Outcome = &outcome
	}
	return nil
}

// benchmarkRuns is a benchmark with the profiles of each of its runs, oldest first.
type benchmarkRuns struct {
	testrun.Benchmark
	runs     [][]*store.Profile
	profiles int
	types    []string // by name
	mainType string   // the default of most of its profiles
}

// benchmarksOf returns the benchmarks of profiles in order.
func benchmarksOf(list []store.Profile) []testrun.Benchmark {
	is := map[testrun.Benchmark]bool{}
	for i := range list {
		is[list[i].Benchmark] = true
	}
	return slices.SortedFunc(maps.Keys(is), testrun.Benchmark.Compare)
}

// byBenchmark groups those of the profiles, which are in the order of their runs, that are of some benchmarks, by
// benchmark and run.
func byBenchmark(list []store.Profile, of []testrun.Benchmark) []*benchmarkRuns {
	all := make([]*benchmarkRuns, len(of))
	index := make(map[testrun.Benchmark]*benchmarkRuns, len(of))
	for i, b := range of {
		all[i] = &benchmarkRuns{Benchmark: b}
		index[b] = all[i]
	}
	for i := range list {
		p := &list[i]
		b := index[p.Benchmark]
		if b == nil {
			continue
		}
		b.profiles++
		if n := len(b.runs); n > 0 && b.runs[n-1][0].Run.Key == p.Run.Key {
			b.runs[n-1] = append(b.runs[n-1], p)
		} else {
			b.runs = append(b.runs, []*store.Profile{p})
		}
	}
	for _, b := range all {
		var own []store.Profile
		for _, run := range b.runs {
			for _, p := range run {
				own = append(own, *p)
			}
		}
		b.types = query.TypesOf(own)
		b.mainType = b.types[0]
		slices.Sort(b.types)
	}
	return all
}

// metric returns the metric of a run by name, or its primary one without a name; false
// if the run has none in that unit. An empty unit is any.
func metric(run []*store.Profile, name, unit string) (testrun.Metric, bool) {
	for _, p := range run {
		for _, m := range p.Metrics {
			if m.Name == name && (unit == "" || m.Unit == unit) {
				return m, true
			}
		}
	}
	if name != "" {
		return testrun.Metric{}, false
	}
	main := run[max(0, slices.IndexFunc(run, func(p *store.Profile) bool { return p.Default }))]
	m, ok := main.Metric()
	return m, ok && (unit == "" || m.Unit == unit)
}

// values returns the metric of every run, NaN where one has none.
func (b *benchmarkRuns) values(name string) (m testrun.Metric, values []float64, ok bool) {
	for _, run := range slices.Backward(b.runs) {
		if m, ok = metric(run, name, ""); ok {
			break
		}
	}
	values = make([]float64, len(b.runs))
	for i, run := range b.runs {
		values[i] = math.NaN()
		if x, has := metric(run, m.Name, m.Unit); ok && has {
			values[i] = x.Mean
		}
	}
	return m, values, ok
}

// newest describes the last n values of the primary metric.
func (b *benchmarkRuns) newest(n int) *MetricNewest {
	m, values, ok := b.comparable().values("")
	if !ok {
		return nil
	}
	values = values[max(0, len(values)-max(n, bandRuns+1)):]
	band := evidence.Band(values, bandRuns, func(v float64) bool { return !math.IsNaN(v) })
	last := lastOf(values)
	if math.IsNaN(values[last]) {
		return nil // no recent run has it
	}
	return &MetricNewest{Name: m.Name, Unit: m.Unit, Better: m.Better, Values: optional(values[max(0, len(values)-n):]), Last: values[last],
		Mean: band[last].Mean, Deviation: band[last].Deviation}
}

// comparable keeps the runs that compare with the newest one.
func (b *benchmarkRuns) comparable() *benchmarkRuns {
	last := b.runs[len(b.runs)-1][0]
	runs := slices.DeleteFunc(slices.Clone(b.runs), func(run []*store.Profile) bool {
		i := slices.IndexFunc(run, func(p *store.Profile) bool { return p.Type.Name == last.Type.Name })
		return i < 0 || !history.Options{}.Compares(run[i], last)
	})
	return &benchmarkRuns{Benchmark: b.Benchmark, runs: runs}
}

// lastOf returns the index of the last value that is not missing.
func lastOf(values []float64) int {
	last := len(values) - 1
	for last > 0 && math.IsNaN(values[last]) {
		last--
	}
	return last
}

// directionOf says whether a program became slower or faster by a change, and if only a suspect says so.
func directionOf(f *regression.Finding) string {
	direction, suspect := report.Faster, ""
	if f.Kind.Costs() {
		direction = report.Slower
	}
	if f.Status == regression.Suspect {
		suspect = ", suspect"
	}
	return string(direction) + suspect
}

// optional makes missing values nil.
func optional(values []float64) []*float64 {
	out := make([]*float64, len(values))
	for i := range values {
		if !math.IsNaN(values[i]) {
			out[i] = &values[i]
		}
	}
	return out
}
