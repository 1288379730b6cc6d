package query

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/dendroprof/dendro/analysis/evidence"
	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
	"github.com/dendroprof/dendro/traceprof"
)

// OverviewRequest asks what a store holds: its benchmarks, services and tasks.
type OverviewRequest struct {
	Selection `group:"Selection"`
	Points    int `param:"points" group:"Limit" arg:"n" min:"1" default:"30" help:"number of runs per benchmark in values" json:"points"`
	Rows      int `param:"rows" group:"Limit" arg:"n" min:"0" help:"maximum number of benchmarks (0: all)" json:"rows,omitempty"`
}

// OverviewResult lists the benchmarks of a selection, and the services that send traces.
type OverviewResult struct {
	Runs       int                 `json:"runs"`
	Profiles   int                 `json:"profiles"`
	Omitted    Omitted             `json:"omitted,omitzero"`
	Benchmarks []BenchmarkOverview `json:"benchmarks"` // by group and name
	Services   []Service           `json:"services"`
	Running    int                 `json:"running"` // tasks that accept samples
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
}

// MetricNewest is the primary metric of a benchmark: its newest values, and whether the
// last one is outside of the band of the runs before.
type MetricNewest struct {
	Name   string         `json:"name"`
	Unit   string         `json:"unit"`
	Better testrun.Better `json:"better,omitempty"`
	Values []*float64     `json:"values"` // by run, oldest first; null where a run has none
	Last   float64        `json:"last"`
	Mean   float64        `json:"mean"` // of the runs before
	// Deviation is the standard deviation of the runs before; 0 of fewer than two.
	Deviation float64 `json:"deviation"`
	// Status of the newest runs: slower or faster if the level changed in the last
	// recentRuns runs, or if the last value is more than two standard deviations from
	// the mean; else steady, and unknown with fewer than minHistory runs before.
	Status string `json:"status"`
}

// Bands of plots: the moving mean of bandRuns, a value outside of it is bandWidth
// deviations away. A status needs minHistory runs and covers recentRuns.
const (
	bandRuns   = 10
	bandWidth  = 2
	minHistory = 5
	recentRuns = 5
)

// Overview answers an OverviewRequest. It reads no tree.
func Overview(ctx context.Context, st store.Store, r *OverviewRequest) (*OverviewResult, error) {
	list, err := st.Profiles(ctx, r.Selection)
	if err != nil {
		return nil, err
	}
	out := &OverviewResult{Profiles: len(list), Benchmarks: []BenchmarkOverview{}, Services: []Service{}}
	runs := map[string]bool{}
	for i := range list {
		runs[list[i].Run.Key] = true
	}
	out.Runs = len(runs)
	var shown []*benchmarkRuns
	shown, out.Omitted = First(byBenchmark(list), r.Rows)
	for _, b := range shown {
		last := b.runs[len(b.runs)-1]
		out.Benchmarks = append(out.Benchmarks, BenchmarkOverview{Group: b.Group, Name: b.Name, Runs: len(b.runs), Profiles: b.profiles, Types: b.types,
			Last: last[0].Run, Metric: b.newest(r.Points)})
	}
	traces, ok := st.(traceprof.Store)
	if !ok {
		return out, nil
	}
	services, err := Services(ctx, traces, &ServicesRequest{})
	if err != nil {
		return nil, err
	}
	out.Services = filled(services.Rows)
	tasks, err := traces.Tasks(ctx, traceprof.TaskQuery{})
	for i := range tasks {
		if tasks[i].State(time.Now().UnixMilli()) == traceprof.Running {
			out.Running++
		}
	}
	return out, err
}

// benchmarkRuns is a benchmark with the profiles of each of its runs, oldest first.
type benchmarkRuns struct {
	testrun.Benchmark
	runs     [][]*store.Profile
	profiles int
	types    []string // by name
	mainType string   // the default of most of its profiles
}

// byBenchmark groups profiles, which are in the order of their runs, by benchmark and run.
func byBenchmark(list []store.Profile) []*benchmarkRuns {
	var all []*benchmarkRuns
	index := map[testrun.Benchmark]*benchmarkRuns{}
	for i := range list {
		p := &list[i]
		b := index[p.Benchmark]
		if b == nil {
			b = &benchmarkRuns{Benchmark: p.Benchmark}
			index[p.Benchmark] = b
			all = append(all, b)
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
		b.types = typesOf(own)
		b.mainType = b.types[0]
		slices.Sort(b.types)
	}
	slices.SortFunc(all, func(a, b *benchmarkRuns) int { return compareBenchmarks(a.Benchmark, b.Benchmark) })
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
		Mean: band[last].Mean, Deviation: band[last].Deviation, Status: newestStatus(values, band, evidence.Steps(values), m.Better)}
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

// newestStatus is the status of the newest runs; unknown of too few runs before.
func newestStatus(values []float64, band []evidence.Level, steps []evidence.Step, better testrun.Better) string {
	last, before := lastOf(values), 0
	for _, v := range values[:last] {
		if !math.IsNaN(v) {
			before++
		}
	}
	if before < minHistory {
		return "unknown"
	}
	if n := len(steps); n > 0 && steps[n-1].At > last-recentRuns {
		return status(steps[n-1].After, steps[n-1].Before, 0, better)
	}
	return status(values[last], band[last].Mean, band[last].Deviation, better)
}

// status compares a value with the band of the runs before.
func status(v, mean, deviation float64, better testrun.Better) string {
	switch {
	case math.Abs(v-mean) <= bandWidth*deviation || v == mean:
		return "steady"
	case v > mean == (better != testrun.Higher):
		return "slower"
	}
	return "faster"
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
