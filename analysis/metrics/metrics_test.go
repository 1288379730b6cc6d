package metrics_test

import (
	"encoding/csv"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/analysis/metrics"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// TestBenchstat compares with what benchstat (golang.org/x/perf, 2026-09-08) prints of the
// same files: benchstat -format csv old.txt new.txt.
func TestBenchstat(t *testing.T) {
	base, head := readBench(t, "testdata/old.txt"), readBench(t, "testdata/new.txt")
	var runs []metrics.Runs
	for _, name := range slices.Sorted(maps.Keys(base)) {
		runs = append(runs, metrics.Runs{Benchmark: testrun.Benchmark{Name: name}, Base: []store.Profile{{Metrics: base[name]}},
			Head: []store.Profile{{Metrics: head[name]}}})
	}
	table := metrics.Compare(runs)
	got := map[string]string{}
	percent := func(v float64) string { return fmt.Sprintf("%+.2f%%", 100*v) }
	for _, r := range table.Rows {
		change := "~"
		if r.P < 0.05 {
			change = percent(r.Change)
		}
		n := fmt.Sprintf("n=%d", r.Base.Values)
		if r.Head.Values != r.Base.Values {
			n += fmt.Sprintf("+%d", r.Head.Values)
		}
		got[r.Metric+" "+r.Benchmark] = fmt.Sprintf("%.6g %s %.6g %s %s p=%.3f %s", r.Base.Median, width(r.Base), r.Head.Median, width(r.Head),
			change, r.P, n)
	}
	for _, m := range table.Means {
		got[m.Metric+" geomean"] = fmt.Sprintf("%.6g %.6g %s", m.Base, m.Head, percent(m.Change))
	}
	want := readBenchstat(t, "testdata/benchstat.csv")
	if len(want) != 20 {
		t.Fatalf("%d rows of benchstat", len(want))
	}
	for name, row := range want {
		if got[name] != row {
			t.Errorf("%s\n     dendro %s\n  benchstat %s", name, got[name], row)
		}
	}
}

// width formats an interval as benchstat does: its larger half, relative to the median.
func width(s metrics.Side) string {
	if s.Low == nil {
		return "∞"
	}
	half := math.Max(s.Median-*s.Low, *s.High-s.Median)
	if half == 0 {
		return "0%"
	}
	return fmt.Sprintf("%.0f%%", 100*half/s.Median)
}

// readBenchstat reads rows of benchstat's CSV, by metric and benchmark.
func readBenchstat(t *testing.T, name string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	r := csv.NewReader(strings.NewReader(string(text)))
	r.FieldsPerRecord = -1
	rows := map[string]string{}
	metric, scale := "", 1.0
	for {
		f, err := r.Read()
		if err != nil {
			return rows
		}
		number := func(i int) float64 {
			v, _ := strconv.ParseFloat(f[i], 64)
			return v * scale
		}
		switch {
		case len(f) == 7 && f[0] == "" && f[1] != "" && f[2] == "CI":
			if metric, scale = f[1], 1; metric == "sec/op" {
				metric, scale = "ns/op", 1e9
			}
		case len(f) == 7 && f[0] == "geomean":
			rows[metric+" geomean"] = fmt.Sprintf("%.6g %.6g %s", number(1), number(3), f[5])
		case len(f) == 7 && f[0] != "":
			rows[metric+" "+f[0]] = fmt.Sprintf("%.6g %s %.6g %s %s %s", number(1), f[2], number(3), f[4], f[5], f[6])
		}
	}
}

// readBench reads the text of Go benchmarks: of each benchmark its metrics, whose samples
// are the lines.
func readBench(t *testing.T, name string) map[string][]testrun.Metric {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]map[string][]float64{}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		bench, ok := strings.CutPrefix(f[0], "Benchmark")
		for i := 2; ok && i+1 < len(f); i += 2 {
			v, err := strconv.ParseFloat(f[i], 64)
			if err != nil {
				t.Fatal(err)
			}
			if values[bench] == nil {
				values[bench] = map[string][]float64{}
			}
			values[bench][f[i+1]] = append(values[bench][f[i+1]], v)
		}
	}
	all := map[string][]testrun.Metric{}
	for bench, units := range values {
		for unit, list := range units {
			all[bench] = append(all[bench], testrun.Metric{Name: unit, Unit: unit, Samples: testrun.NewSamples(list), Primary: unit == "ns/op"})
		}
	}
	return all
}

// runs makes a run of each value of a metric.
func runs(name, unit string, values ...float64) (list []store.Profile) {
	for _, v := range values {
		list = append(list, store.Profile{Metrics: []testrun.Metric{{Name: name, Unit: unit, Mean: v, Primary: true}}})
	}
	return list
}

func TestSignificance(t *testing.T) {
	slow := []float64{100, 101, 99, 102, 98, 100.5, 99.5, 101.5, 98.5, 100.2}
	jmh := func(mean, half float64) []store.Profile {
		return []store.Profile{{Metrics: []testrun.Metric{{Name: "avgt", Unit: "us/op", Mean: mean, N: 25, Error: half}}}}
	}
	for name, c := range map[string]struct {
		base, head  []store.Profile
		significant bool
		reason      metrics.Reason
		needed      int
		worse       float64
	}{
		"clear":          {runs("time", "ns/op", slow...), runs("time", "ns/op", 110, 111, 112, 109), true, "", 0, 0.1039},
		"within noise":   {runs("time", "ns/op", slow...), runs("time", "ns/op", 100.1, 99.2, 101.2, 98.9), false, "", 0, -0.0045},
		"one run":        {runs("time", "ns/op", slow...), runs("time", "ns/op", 200), false, metrics.TooFew, 2, 0.998},
		"three of three": {runs("time", "ns/op", slow[:3]...), runs("time", "ns/op", 200, 201, 202), false, metrics.TooFew, 4, 1.01},
		"throughput":     {runs("rate", "rows/s", slow...), runs("rate", "rows/s", 50, 51, 52, 49), true, "", 0, 0.4960},
		"never varied":   {runs("allocs/op", "allocs/op", 7, 7, 7, 7, 7), runs("allocs/op", "allocs/op", 8), true, metrics.Constant, 0, 0.1429},
		"in turns":       {runs("allocs/op", "allocs/op", 7, 7, 7, 7), runs("allocs/op", "allocs/op", 8, 8, 8, 8), true, metrics.Constant, 0, 0.1429},
		"still the same": {runs("allocs/op", "allocs/op", 7, 7, 7, 7, 7), runs("allocs/op", "allocs/op", 7, 7), false, "", 0, 0},
		"from nothing": {runs("allocs/op", "allocs/op", 0, 0, 0, 0, 0), runs("allocs/op", "allocs/op", 2, 2), true, metrics.Constant, 0,
			math.MaxFloat64},
		"jmh's intervals": {jmh(10, 0.5), jmh(12, 0.7), true, metrics.Intervals, 0, 0.2},
		"they overlap":    {jmh(10, 0.5), jmh(11, 0.7), false, metrics.TooFew, 4, 0.1},
	} {
		t.Run(name, func(t *testing.T) {
			table := metrics.Compare([]metrics.Runs{{Base: c.base, Head: c.head}})
			if len(table.Rows) != 1 || len(table.Means) != 0 {
				t.Fatalf("%+v", table)
			}
			r := table.Rows[0]
			if r.Significant != c.significant || r.Reason != c.reason || r.Needed != c.needed ||
				math.Abs(r.Worse()/c.worse-1) > 1e-3 && r.Worse() != c.worse {
				t.Errorf("significant %t, %q, needed %d, worse %.4g (p %.3g, level %.3g)\nwant %t, %q, %d, %.4g", r.Significant, r.Reason, r.Needed, r.Worse(), r.P, table.Level,
					c.significant, c.reason, c.needed, c.worse)
			}
		})
	}
}

// TestCorrection: the more tests could be significant, the lower the level of each;
// others do not count.
func TestCorrection(t *testing.T) {
	varied := []float64{1, 2, 3, 4, 5, 6}
	var list []metrics.Runs
	for i := range 20 {
		head := varied
		if i >= 10 {
			head = varied[:1] // cannot be significant
		}
		list = append(list, metrics.Runs{Benchmark: testrun.Benchmark{Name: fmt.Sprint("b", i)}, Base: runs("time", "ns", varied...),
			Head: runs("time", "ns", head...)})
	}
	if table := metrics.Compare(list); table.Level != 0.05/10 || len(table.Means) != 1 || table.Means[0].Benchmarks != 20 {
		t.Errorf("level %g, means %+v", table.Level, table.Means)
	}
	if empty := metrics.Compare(nil); empty.Rows == nil || empty.Means == nil {
		t.Errorf("%+v", empty)
	}
}

// TestNeeded: with the number of runs that a table asks for, every metric can be significant, however many there are.
func TestNeeded(t *testing.T) {
	suite := func(benchmarks, n int) *metrics.Table {
		var list []metrics.Runs
		for i := range benchmarks {
			var of [2][]float64
			for k := range n {
				of[0], of[1] = append(of[0], 100+float64(k)), append(of[1], 200+float64(k))
			}
			list = append(list, metrics.Runs{Benchmark: testrun.Benchmark{Name: fmt.Sprint("b", i)}, Base: runs("time", "ns", of[0]...),
				Head: runs("time", "ns", of[1]...)})
		}
		return metrics.Compare(list)
	}
	for benchmarks, want := range map[int]int{2: 5, 6: 5, 10: 6, 23: 6, 24: 7, 300: 8} {
		rows, needed, side := suite(benchmarks, 4).Few()
		if rows != benchmarks || needed != want || side != "each side" {
			t.Errorf("%d benchmarks, 4 runs: %d with too few, which need %d of %s; want %d", benchmarks, rows, needed, side, want)
		}
		if rows, _, _ := suite(benchmarks, needed).Few(); rows > 0 {
			t.Errorf("%d benchmarks, the %d runs that they need: %d with too few", benchmarks, needed, rows)
		}
	}
	if rows, _, _ := suite(1, 4).Few(); rows > 0 {
		t.Error("one benchmark has too few values in 4 runs")
	}
}

// TestFewRuns: measurements within a run count only if both sides have few runs.
func TestFewRuns(t *testing.T) {
	run := store.Profile{Metrics: []testrun.Metric{{Name: "time", Unit: "ns", Mean: 2, Samples: "1 2 3"}}}
	for n, want := range map[int]int{1: 3, 3: 9, 4: 4} {
		base := make([]store.Profile, n)
		for i := range base {
			base[i] = run
		}
		r := metrics.Compare([]metrics.Runs{{Base: base, Head: base[:1]}}).Rows[0]
		if r.Base.Values != want || r.Base.Runs != n {
			t.Errorf("%d runs: %d values, want %d", n, r.Base.Values, want)
		}
	}
}

// TestMeanFromZero: a metric that was 0 has no relative change, and so has the mean of several;
// it is not "0%".
func TestMeanFromZero(t *testing.T) {
	of := func(name string, base, head float64) metrics.Runs {
		return metrics.Runs{Benchmark: testrun.Benchmark{Name: name}, Base: runs("allocs/op", "allocs/op", base, base, base, base, base),
			Head: runs("allocs/op", "allocs/op", head, head, head, head, head)}
	}
	if m := metrics.Compare([]metrics.Runs{of("a", 2, 5), of("b", 0, 11)}).Means; len(m) != 0 {
		t.Errorf("a mean of 2 → 5 and 0 → 11: %+v", m)
	}
	if m := metrics.Compare([]metrics.Runs{of("a", 2, 8), of("b", 0, 0)}).Means; len(m) != 1 || math.Abs(m[0].Change-1) > 1e-9 {
		t.Errorf("a mean of 2 → 8 and 0 → 0: %+v", m)
	}
}
