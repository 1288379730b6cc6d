package store_test

import (
	"math"
	"testing"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

func TestMeasure(t *testing.T) {
	wall := testrun.Metric{Name: "time/op", Mean: 9, Unit: "ns/op", Primary: true}
	measured := testrun.Metric{Name: testrun.CPUTimeMetric, Mean: 7, Unit: "ns/op"}
	given := testrun.Metric{Name: testrun.CPUMetric, Mean: 5, Unit: "ns/op"}
	operations, bytes := testrun.NewOperations(10, false), testrun.Metric{Name: "B/op", Mean: 3, Unit: "B/op"}
	cpu := profile.ValueType{Name: profile.CPU, Unit: "nanoseconds"}
	counts := profile.ValueType{Name: profile.CPUSamples, Unit: "count", Period: 10, PeriodUnit: "milliseconds"}
	for name, tt := range map[string]struct {
		of     profile.ValueType
		parts  []string
		stored []testrun.Metric
		first  string
		mean   float64
	}{
		"nothing":         {of: cpu},
		"only operations": {of: profile.ValueType{Name: profile.Alloc}, stored: []testrun.Metric{operations}},
		"CPU time":        {of: cpu, stored: []testrun.Metric{wall, operations}, first: "cpu/op", mean: 20},
		"in tenths": {of: profile.ValueType{Name: profile.CPU, Unit: "nanoseconds", Scale: 1},
			stored: []testrun.Metric{operations}, first: "cpu/op", mean: 2},
		"samples with a period": {of: counts, stored: []testrun.Metric{wall, operations}, first: "cpu/op", mean: 2e8},
		"samples without": {of: profile.ValueType{Name: profile.CPUSamples, Unit: "count"},
			stored: []testrun.Metric{wall, operations}, first: "time/op", mean: 9},
		"derived again":     {of: cpu, stored: []testrun.Metric{wall, given, operations}, first: "cpu/op", mean: 20},
		"given by the user": {of: cpu, stored: []testrun.Metric{wall, given}, first: "cpu/op", mean: 5},
		"of another type": {of: profile.ValueType{Name: profile.Wall, Unit: "nanoseconds"},
			stored: []testrun.Metric{wall, given, operations}, first: "time/op", mean: 9},
		"measured by the benchmark": {of: cpu, stored: []testrun.Metric{wall, measured, operations}, first: testrun.CPUTimeMetric, mean: 7},
		"a sum, whose parts have theirs": {of: cpu, parts: []string{"a", "b"}, stored: []testrun.Metric{wall, operations}, first: "time/op",
			mean: 9},
		"allocations": {of: profile.ValueType{Name: profile.Alloc}, stored: []testrun.Metric{wall, bytes, operations}, first: "B/op", mean: 3},
	} {
		p := store.Profile{Type: tt.of, Sum: 200, Parts: tt.parts}
		p.Measure(tt.stored)
		if m, ok := p.Metric(); m.Name != tt.first || m.Mean != tt.mean || ok != (tt.first != "") {
			t.Errorf("%s: %+v, want %s of %v", name, m, tt.first, tt.mean)
		}
		if n, _ := p.Operations(); n > 0 && p.Metrics[len(p.Metrics)-1].Name != testrun.OperationsMetric {
			t.Errorf("%s: operations are not the last metric: %v", name, p.Metrics)
		}
	}
}

// TestCovered: the samples of a sampler that counts waits for a processor stand for as many operations
// as would take their time, so that a value per operation is a share of the measured CPU time, less what waiting adds.
func TestCovered(t *testing.T) {
	operations := testrun.NewOperations(10, false)
	process := testrun.Metric{Name: testrun.ProcessTimeMetric, Mean: 2, Unit: "s"}
	perOp := testrun.Metric{Name: testrun.CPUTimeMetric, Mean: 0.2e9, Unit: "ns/op"}
	ns := func(name string) profile.ValueType { return profile.NamedType(name) }
	for name, tt := range map[string]struct {
		of       profile.ValueType
		profiler string
		sum      int64
		metrics  []testrun.Metric
		want     float64
	}{
		"waits":            {ns(profile.Runnable), "py-spy", 12e9, []testrun.Metric{process, operations}, 60 * math.Exp(0.25*5/6)},
		"by the benchmark": {ns(profile.Runnable), "py-spy", 12e9, []testrun.Metric{perOp, operations}, 60 * math.Exp(0.25*5/6)},
		"no CPU time":      {ns(profile.Runnable), "py-spy", 12e9, []testrun.Metric{operations}, 10},
		"no operations":    {ns(profile.Runnable), "py-spy", 12e9, []testrun.Metric{process}, 0},
		"V8":               {ns(profile.Unclocked), "V8", 3000, []testrun.Metric{process, operations}, 15},
		"a count with a period": {profile.ValueType{Name: profile.WallSamples, Unit: "count", Period: 10, PeriodUnit: "milliseconds"},
			"phpspy", 400, []testrun.Metric{process, operations}, 20},
		"wall of one thread":     {ns(profile.Wall), "pyinstrument", 4e9, []testrun.Metric{process, operations}, 20},
		"wall of all threads":    {ns(profile.Wall), "async-profiler", 4e9, []testrun.Metric{process, operations}, 10},
		"without short threads":  {ns(profile.CPU), "async-profiler", 1e9, []testrun.Metric{process, operations}, 5},
		"a clock of the process": {ns(profile.CPU), "pprof", 4e9, []testrun.Metric{process, operations}, 10},
	} {
		p := store.Profile{Type: tt.of, Profiler: tt.profiler, Sum: tt.sum, Metrics: tt.metrics}
		if n, _ := p.Covered(); math.Abs(n-tt.want) > 1e-9 {
			t.Errorf("%s: %v operations, want %v", name, n, tt.want)
		}
	}
}
