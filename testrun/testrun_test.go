package testrun_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/testrun"
)

func TestParams(t *testing.T) {
	type params = []testrun.Param
	for _, c := range []struct {
		name, base string
		want       params
	}{
		// Tuples.
		{"029_(deployment,EMBEDDED)_(jdk,17)", "029", params{{"deployment", "EMBEDDED"}, {"jdk", "17"}}},
		{"029_(deployment,EMBEDDED)_(execution_mode,EXECUTE)_(host,m5d.large)", "029", params{{"deployment", "EMBEDDED"}, {"execution_mode", "EXECUTE"}, {"host", "m5d.large"}}},
		{"Read.one_(rows, 10,000)_(txState,true)", "Read.one", params{{"rows", "10,000"}, {"txState", "true"}}},
		{"Read.one_(size,10)_warm", "Read.one_warm", params{{"size", "10"}}},
		{"Read.one_(empty,)", "Read.one", params{{"empty", ""}}},
		// Go.
		{"Sort/size=1000/order=random-8", "Sort", params{{"size", "1000"}, {"order", "random"}, {"procs", "8"}}},
		{"Sort/size=1000", "Sort", params{{"size", "1000"}}},
		{"Sort/size=1000-16", "Sort", params{{"size", "1000"}, {"procs", "16"}}},
		{"Sort/stable/size=1000-8", "Sort/stable", params{{"size", "1000"}, {"procs", "8"}}},
		{"Sort/size=1000/stable-8", "Sort/stable-8", params{{"size", "1000"}}},
		{"Parse/file=a-b", "Parse", params{{"file", "a-b"}}},
		{"Parse/n=-8", "Parse", params{{"n", "-8"}}},
		{"Parse/n=", "Parse", params{{"n", ""}}},
		// Lists.
		{"Parser.parse:size=10,mode=fast", "Parser.parse", params{{"size", "10"}, {"mode", "fast"}}},
		{"Parser.parse:size=10, mode=fast", "Parser.parse", params{{"size", "10"}, {"mode", "fast"}}},
		{"search?q=10&mode=fast", "search", params{{"q", "10"}, {"mode", "fast"}}},
		// None.
		{"json.orders", "json.orders", nil},
		{"Sort-8", "Sort-8", nil},
		{"std::sort", "std::sort", nil},
		{"what?", "what?", nil},
		{"a:b", "a:b", nil},
		{"", "", nil},
	} {
		base, got := testrun.Benchmark{Name: c.name}.Params()
		if diff := cmp.Diff(c.want, got); diff != "" || base != c.base {
			t.Errorf("%s: base %s, want %s\n%s", c.name, base, c.base, diff)
		}
	}
}

func ExampleBenchmark_Params() {
	b := testrun.Benchmark{Group: "sorting", Name: "Sort/size=1000/order=random-8"}
	base, params := b.Params()
	fmt.Println(b)
	fmt.Println(base, params)
	// Output:
	// sorting/Sort/size=1000/order=random-8
	// Sort [{size 1000} {order random} {procs 8}]
}

func TestBenchmarkString(t *testing.T) {
	if s := (testrun.Benchmark{Name: "n"}).String(); s != "n" {
		t.Error(s)
	}
}

var day = time.Date(2024, 5, 17, 0, 0, 0, 0, time.UTC)

func TestRunMerge(t *testing.T) {
	full := testrun.Run{Key: "r", Date: day, Commit: "c", Branch: "b", Repository: "r", Machine: "m", Attributes: map[string]string{"x": "1"}}
	for _, c := range []struct {
		name       string
		a, b, want testrun.Run
	}{
		{"nothing known", testrun.Run{Key: "r"}, testrun.Run{Key: "r"}, testrun.Run{Key: "r"}},
		{"filled in", testrun.Run{Key: "r"}, full, full},
		{"stays", full, testrun.Run{Key: "r"}, full},
		{"the same", full, full, full},
		{"the same moment in another zone", full, func() testrun.Run { r := full; r.Date = day.In(time.FixedZone("", 7200)); return r }(), full},
		{"half and half", testrun.Run{Key: "r", Commit: "c", Attributes: map[string]string{"x": "1"}},
			testrun.Run{Key: "r", Branch: "b", Attributes: map[string]string{"y": "2"}},
			testrun.Run{Key: "r", Commit: "c", Branch: "b", Attributes: map[string]string{"x": "1", "y": "2"}}},
	} {
		got, err := c.a.Merge(c.b)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s:\n%s", c.name, diff)
		}
		if !got.Same(c.want) {
			t.Errorf("%s: not the same", c.name)
		}
	}
}

func TestRunMergeDisagreements(t *testing.T) {
	full := testrun.Run{Key: "r", Date: day, Commit: "c", Branch: "b", Repository: "r", Machine: "m",
		Attributes: map[string]string{"x": "1", "a": "1"}}
	for _, c := range []struct {
		change func(*testrun.Run)
		want   string
	}{
		{func(r *testrun.Run) { r.Key = "other" }, `runs "r" and "other" are not the same`},
		{func(r *testrun.Run) { r.Date = day.Add(time.Nanosecond) }, `run "r": conflicting values of date: "2024-05-17T00:00:00Z" and "2024-05-17T00:00:00.000000001Z"`},
		{func(r *testrun.Run) { r.Commit = "d" }, `run "r": conflicting values of commit: "c" and "d"`},
		{func(r *testrun.Run) { r.Branch = "d" }, `run "r": conflicting values of branch: "b" and "d"`},
		{func(r *testrun.Run) { r.Repository = "d" }, `run "r": conflicting values of repository: "r" and "d"`},
		{func(r *testrun.Run) { r.Machine = "d" }, `run "r": conflicting values of machine: "m" and "d"`},
		// the first of several, always
		{func(r *testrun.Run) { r.Attributes = map[string]string{"x": "2", "a": "2"} },
			`run "r": conflicting values of attribute a: "1" and "2"`},
	} {
		other := full
		c.change(&other)
		if _, err := full.Merge(other); err == nil || err.Error() != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
		if full.Same(other) {
			t.Errorf("the same in spite of: %s", c.want)
		}
	}
}

func TestRunMergeLeavesItsArgumentsAlone(t *testing.T) {
	a := testrun.Run{Key: "r", Attributes: map[string]string{"x": "1"}}
	b := testrun.Run{Key: "r", Attributes: map[string]string{"y": "2"}}
	if _, err := a.Merge(b); err != nil {
		t.Fatal(err)
	}
	if len(a.Attributes) != 1 || len(b.Attributes) != 1 {
		t.Errorf("%v, %v", a.Attributes, b.Attributes)
	}
}

func TestBeforeIsAnOrder(t *testing.T) {
	runs := []testrun.Run{{Key: "b"}, {Key: "a", Date: day}, {Key: "c", Date: day.Add(-1)}, {Key: "a"}, {Key: "b", Date: day}}
	slices.SortFunc(runs, func(a, b testrun.Run) int {
		switch {
		case a.Before(b):
			return -1
		case b.Before(a):
			return 1
		}
		return 0
	})
	var keys []string
	for _, r := range runs {
		keys = append(keys, r.Key)
	}
	if got := strings.Join(keys, " "); got != "a b c a b" {
		t.Errorf("%s: runs without a date come first, then by date, then by key", got)
	}
}

func TestBetterOf(t *testing.T) {
	for _, c := range []struct {
		better testrun.Better
		units  string
	}{
		{testrun.Lower, "ns;ms;s;ns/op;ms/op;s/op;B;bytes;B/op;allocs/op;count;%;;min;ms/iteration;ops;ps"},
		{testrun.Higher, "ops/s;op/s;ops/ms;MB/s;req/min;1/s;transactions/second;rows/h; OPS/S ;ops/us;x/µs;x/μs;ops/minute;ops/time;qps;tps;rps;reqps"},
	} {
		for unit := range strings.SplitSeq(c.units, ";") {
			want := c.better
			if unit == "ops" { // operations within a fixed time
				want = testrun.Higher
			}
			if got := testrun.BetterOf(unit); got != want {
				t.Errorf("%q is better %s, want %s", unit, got, want)
			}
		}
	}
}

func TestMetricCheck(t *testing.T) {
	for _, c := range []struct {
		m    testrun.Metric
		want string
	}{
		{testrun.Metric{Name: "time", Mean: 1.5, Unit: "ms"}, ""},
		{testrun.Metric{Name: "time", Mean: -1, Better: testrun.Lower}, ""},
		{testrun.Metric{Name: "rate", Better: testrun.Higher}, ""},
		{testrun.Metric{Mean: 1}, "a metric without a name"},
		{testrun.Metric{Name: "time", Mean: math.NaN()}, `metric "time": mean NaN is not a number`},
		{testrun.Metric{Name: "time", Mean: math.Inf(-1)}, `metric "time": mean -Inf is not a number`},
		{testrun.Metric{Name: "time", Better: "more"}, `metric "time": better is "more"; want lower or higher`},
	} {
		got := ""
		if err := c.m.Check(); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%+v: %q, want %q", c.m, got, c.want)
		}
	}
}

func TestSamples(t *testing.T) {
	s := testrun.NewSamples([]float64{1.5, 2e-300, 3})
	text, err := json.Marshal(testrun.Metric{Name: "time", Samples: s, Error: 2})
	if want := `{"name":"time","mean":0,"unit":"","samples":[1.5,2e-300,3],"error":2}`; err != nil || string(text) != want {
		t.Fatalf("%s, %v; want %s", text, err, want)
	}
	var m testrun.Metric
	if err := json.Unmarshal(text, &m); err != nil || m.Samples != s {
		t.Errorf("read as %+v, %v", m, err)
	}
	if got := testrun.Samples("1 x NaN 2").Values(); !slices.Equal(got, []float64{1, 2}) {
		t.Errorf("values %v", got)
	}
	if one, many := testrun.NewSamples([]float64{1}), testrun.NewSamples(make([]float64, 5000)); one != "" || len(many.Values()) != 1000 {
		t.Errorf("%q of one value, %d of 5,000", one, len(many.Values()))
	}
	for _, bad := range []float64{-1, math.NaN(), math.Inf(1)} {
		if (testrun.Metric{Name: "time", Error: bad}).Check() == nil {
			t.Errorf("an error of %v is accepted", bad)
		}
	}
}

func TestIsTime(t *testing.T) {
	for unit, want := range map[string]bool{"ns/op": true, "cpu ns/op": true, "user-ns": true, "ms": true, "µs": true, "MB/s": true,
		"ops/s": true, "cycles/op": true, "": true,
		"nanoseconds": true, "allocs/op": false, "B/op": false, "bytes": false, "lines": false, "items/op": false} {
		if got := testrun.IsTime(unit); got != want {
			t.Errorf("%q: %t", unit, got)
		}
	}
}
