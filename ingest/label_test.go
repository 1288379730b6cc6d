package ingest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/testrun"
)

func TestFromPath(t *testing.T) {
	for _, tt := range []struct{ path, group, benchmark string }{
		{"shop/checkout.pb.gz", "shop", "checkout"},
		{"a/b/json.orders.collapsed.gz", "b", "json.orders"},
		{"cpu.folded", "", "cpu"},
		{"./cpu.folded", "", "cpu"},
		{"all.zip: nightly/sort.pb", "nightly", "sort"},
		{"stdin", "", "stdin"},
	} {
		for _, known := range []bool{false, true} {
			l := fromPath(tt.path, known)
			if l.Group != tt.group || l.Benchmark != tt.benchmark || l.Run.Key != "" {
				t.Errorf("%s: group %q, benchmark %q, run %q; want %q, %q", tt.path, l.Group, l.Benchmark, l.Run.Key, tt.group, tt.benchmark)
			}
		}
	}
	for path, want := range map[string]string{ // run, group, benchmark
		"history/001":                     "001  history",
		"history/shop/001.pb.gz":          "001 history shop",
		"history/run-7/checkout.pb.gz":    "run-7 history checkout",
		"run-7/shop/checkout.pb.gz":       "run-7 shop checkout",
		"h.tar: 2026-11-21/shop/sort.pb":  "2026-11-21 shop sort",
		"2026-11-21T10/checkout.pb.gz":    "2026-11-21T10  checkout",
		"shop/4f1c2ab04d/checkout.pb.gz":  "4f1c2ab04d shop checkout",
		"shop/defaced/checkout.pb.gz":     " defaced checkout", // a word
		"shop/rx-7/checkout.pb.gz":        " rx-7 checkout",
		"001":                             "  001",
		"history.zip: nightly-12/sort.pb": "nightly-12 history.zip sort",
	} {
		l := fromPath(path, false)
		if got := l.Run.Key + " " + l.Group + " " + l.Benchmark; got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	if l := fromPath("history/001.pb.gz", true); l.Benchmark != "001" || l.Group != "history" || l.Run.Key != "" {
		t.Errorf("the run is known: %+v", l)
	}
}

func TestJMHFolder(t *testing.T) {
	for folder, want := range map[string]string{
		"org.example.Parser.parse-Throughput":                        "org.example Parser.parse",
		"org.example.Parser.parse-AverageTime-size-10-mode-fast":     "org.example Parser.parse:mode=fast,size=10",
		"org.example.Parser.parse-SingleShotTime[size=10,mode=fast]": "org.example Parser.parse:mode=fast,size=10",
		"org.example.Parser.parse-SampleTime-mode-a-b":               "org.example Parser.parse:mode-a-b",
		"profiles": "", "Parser.parse-Throughput": "", "org.example.Parser.parse": "",
	} {
		l, ok := jmhFolder(folder)
		if got := strings.TrimSpace(l.Group + " " + l.Benchmark); got != want || ok != (want != "") {
			t.Errorf("%s: %q, want %q", folder, got, want)
		}
	}
}

func TestJMHReversed(t *testing.T) {
	for file, want := range map[string]bool{
		"prof/org.x.Parser.parse-Throughput/flame-cpu-reverse.html": true, "prof/org.x.Parser.parse-Throughput/flame-cpu-forward.html": false,
		"pages/flame-cpu-reverse.html": false, "prof/org.x.Parser.parse-Throughput/x-reverse.html": false,
	} {
		if got := jmhReversed(file); got != want {
			t.Errorf("%s: %v", file, got)
		}
	}
}

func TestLayout(t *testing.T) {
	for _, tt := range []struct {
		layout, path string
		want         Label
	}{
		{"{run}/{group}/{benchmark}.{ext}", "data/run-001/shop/json.orders.collapsed.gz",
			Label{Group: "shop", Benchmark: "json.orders", Run: testrun.Run{Key: "run-001"}}},
		{"{group}-{benchmark}/{date}_{*}.{ext}", "x/shop-cart/2026-11-20_42.pb.gz",
			Label{Group: "shop", Benchmark: "cart", Run: testrun.Run{Date: time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)}}},
		{"{branch}/{commit}/{benchmark}.{type}.{ext}", "main/abc123/sort.alloc.folded",
			Label{Benchmark: "sort", Type: "alloc", Run: testrun.Run{Branch: "main", Commit: "abc123"}}},
		{"{run}.zip/{benchmark}.{ext}", "r7.zip: sort.pb",
			Label{Benchmark: "sort", Run: testrun.Run{Key: "r7"}}},
	} {
		l, err := ParseLayout(tt.layout)
		if err != nil {
			t.Fatal(err)
		}
		got, err := l.Label(tt.path)
		if err != nil {
			t.Errorf("%s on %s: %v", tt.layout, tt.path, err)
		} else if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s on %s: %s", tt.layout, tt.path, d)
		}
	}
	l, _ := ParseLayout("{run}/{benchmark}.{ext}")
	if _, err := l.Label("a/b.txt.exe"); err == nil || !strings.Contains(err.Error(), "{run}/{benchmark}.{ext}") {
		t.Errorf("a path that does not fit: %v", err)
	}
	for _, bad := range []string{"", "no fields", "{nonsense}/{run}"} {
		if _, err := ParseLayout(bad); err == nil {
			t.Errorf("layout %q is accepted", bad)
		}
	}
}

func TestLabelPrecedence(t *testing.T) {
	flag := Label{Group: "flag", Run: testrun.Run{Commit: "c1", Attributes: map[string]string{"a": "1"}}}
	file := Label{Group: "file", Benchmark: "b", Run: testrun.Run{Commit: "c2", Branch: "main",
		Attributes: map[string]string{"a": "2", "b": "3"}},
		Metrics: []testrun.Metric{{Name: "time", Mean: 1}}}
	got := flag.Or(file)
	want := Label{Group: "flag", Benchmark: "b", Run: testrun.Run{Commit: "c1", Branch: "main",
		Attributes: map[string]string{"a": "1", "b": "3"}},
		Metrics: []testrun.Metric{{Name: "time", Mean: 1}}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if len(flag.Run.Attributes) != 1 {
		t.Error("Or changed its receiver")
	}
}

func TestManifestAndSidecar(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return p
	}
	write("a.folded", "x 1\n")
	write("a.folded.json", `{"run": "side", "metric": {"name": "time", "mean": 3, "unit": "ms"}}`)
	sources, err := Expand([]string{dir}, nil)
	if err != nil || len(sources) != 1 {
		t.Fatalf("%d sources, %v", len(sources), err)
	}
	l := sources[0].Label
	if l.Run.Key != "side" || len(l.Metrics) != 1 || l.Metrics[0].Better != testrun.Lower || !l.Metrics[0].Primary || sources[0].Named {
		t.Errorf("sidecar: %+v", sources[0])
	}

	m := write("m.json", `[{"file": "a.folded", "run": "r1", "date": "2026-01-02T03:04:05+01:00", "attributes": {"k": "v"}},
 {"run": "no file"}, {"file": "b", "date": "yesterday"}]`)
	sources, err = ReadManifest(m)
	if len(sources) != 1 || sources[0].Name != filepath.Join(dir, "a.folded") ||
		!sources[0].Label.Run.Date.Equal(time.Date(2026, 1, 2, 2, 4, 5, 0, time.UTC)) {
		t.Errorf("manifest: %+v", sources)
	}
	for _, want := range []string{"entry 2", "no file", "entry 3 (b)", "yesterday"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("manifest errors lack %q: %v", want, err)
		}
	}
	m = write("m.json", `[{"file": "a", "date": "x"}, {"file": "b", "date": "y"}, {"file": "c", "date": "x"}, {"file": "d", "date": "x"}]`)
	_, err = ReadManifest(m)
	lines := strings.Split(fmt.Sprint(err), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], "entry 1 (a)") || !strings.HasSuffix(lines[0], " … and 2 more of these") ||
		!strings.HasSuffix(lines[1], "or 2026-11-21)") {
		t.Errorf("a fault of several entries is one line: %v", err)
	}
	bad := write("bad.json", "[\n {\"file\": }\n]")
	if _, err := ReadManifest(bad); err == nil || !strings.Contains(err.Error(), "bad.json:2:") {
		t.Errorf("the place of a mistake is missing: %v", err)
	}
	if _, err := Expand([]string{filepath.Join(dir, "nowhere"), filepath.Join(dir, "*.folded")}, nil); err == nil {
		t.Error("a missing file is no error")
	}
}

// TestMetricWithoutMean: a misspelt key is no measurement of 0.
func TestMetricWithoutMean(t *testing.T) {
	for _, text := range []string{
		`{"metric": {"name": "time", "value": 3, "unit": "ms"}}`,
		`{"metrics": [{"name": "time", "mean": 3, "unit": "ms"}, {"name": "size", "unit": "B"}]}`,
	} {
		if _, err := ParseLabel("x.json", []byte(text)); err == nil || !strings.Contains(err.Error(), `has no "mean"`) {
			t.Errorf("%s: error %v", text, err)
		}
	}
	l, err := ParseLabel("x.json", []byte(`{"metric": {"name": "misses", "mean": 0, "unit": "misses"}}`))
	if err != nil || len(l.Metrics) != 1 || !l.Metrics[0].Primary {
		t.Errorf("a mean of 0: %+v, %v", l.Metrics, err)
	}
}

func TestParseMetric(t *testing.T) {
	for text, want := range map[string]testrun.Metric{
		"time=12.3ms":      {Name: "time", Mean: 12.3, Unit: "ms", Better: testrun.Lower},
		"rate=5000 ops/s":  {Name: "rate", Mean: 5000, Unit: "ops/s", Better: testrun.Higher},
		"size=-1e3":        {Name: "size", Mean: -1000, Better: testrun.Lower},
		"time/op=12 ns/op": {Name: "time/op", Mean: 12, Unit: "ns/op", Better: testrun.Lower},
		"allocs/op=5":      {Name: "allocs/op", Mean: 5, Unit: "allocs/op", Better: testrun.Lower},
		"B/op=5 kB":        {Name: "B/op", Mean: 5, Unit: "kB", Better: testrun.Lower},
	} {
		got, err := ParseMetric(text)
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, bad := range []string{"", "time", "=3", "time=", "time=fast", "time=1e999"} {
		if m, err := ParseMetric(bad); err == nil {
			t.Errorf("%q is accepted: %+v", bad, m)
		}
	}
}

func TestReadMetrics(t *testing.T) {
	goText := `goos: linux
BenchmarkSort/size=10-8   	 1000	  100 ns/op	  48 B/op	 1 allocs/op
BenchmarkSort/size=10-8   	 1000	  300 ns/op	  48 B/op	 1 allocs/op
PASS`
	jmh := `[{"benchmark": "org.x.Parser.parse", "mode": "thrpt", "params": {"size": "10"},
 "primaryMetric": {"score": 12.5, "scoreUnit": "ops/ms"}, "secondaryMetrics": {"gc": {"score": "NaN", "scoreUnit": "B"}}}]`
	csv := "\"Benchmark\",\"Mode\",\"Threads\",\"Samples\",\"Score\",\"Score Error (99.9%)\",\"Unit\"\n\"org.x.Parser.parse\",\"avgt\",1,5,3.5,0.1,\"us/op\"\n"
	forks := func(n int) string {
		return `[{"benchmark": "org.x.Parser.parse", "mode": "avgt", "primaryMetric": {"score": 2, "scoreError": 0.4, "scoreUnit": "us/op",
			"rawData": [` + strings.Repeat("[1.0, 3.0], ", n-1) + `[1, "NaN", 3]]}}]`
	}
	for _, tt := range []struct {
		name, text, benchmark string
		want                  []testrun.Metric
	}{
		{"go", goText, "Sort/size=10", []testrun.Metric{
			{Name: "time/op", Mean: 200, Unit: "ns/op", Better: testrun.Lower, N: 2, Primary: true, Samples: "100 300"},
			{Name: "B/op", Mean: 48, Unit: "B/op", Better: testrun.Lower, N: 2, Samples: "48 48"},
			{Name: "allocs/op", Mean: 1, Unit: "allocs/op", Better: testrun.Lower, N: 2, Samples: "1 1"},
			testrun.NewOperations(2000, false)}},
		{"jmh", jmh, "Parser.parse:size=10", []testrun.Metric{{Name: "thrpt", Mean: 12.5, Unit: "ops/ms", Better: testrun.Higher, N: 1,
			Primary: true}}},
		{"csv", csv, "parse", []testrun.Metric{{Name: "avgt", Mean: 3.5, Unit: "us/op", Better: testrun.Lower, N: 5, Primary: true, Error: 0.1}}},
		{"forks", forks(2), "parse", []testrun.Metric{{Name: "avgt", Mean: 2, Unit: "us/op", Better: testrun.Lower, N: 4, Primary: true,
			Samples: "1 3 1 3", Error: 0.4}}},
		{"more forks", forks(5), "parse", []testrun.Metric{{Name: "avgt", Mean: 2, Unit: "us/op", Better: testrun.Lower, N: 10, Primary: true,
			Samples: "2 2 2 2 2", Error: 0.4}}},
	} {
		m, err := ReadMetrics(tt.name, strings.NewReader(tt.text))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		got, _ := m.Of("", tt.benchmark)
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s: %s", tt.name, d)
		}
		if list, _ := m.Of("", "other"); list != nil {
			t.Errorf("%s: joined to another benchmark", tt.name)
		}
	}
	for name, text := range map[string]string{
		"empty": "", "prose": "hello\nworld\n", "json": `{"a": 1}`, "csv": "a,b\n1,2\n", "score": "benchmark,mean\nx,fast\n",
	} {
		if _, err := ReadMetrics(name, strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// TestSubBenchmarks: no result is lost because its name has more parts than the
// benchmark's.
func TestSubBenchmarks(t *testing.T) {
	m, err := ReadMetrics("bench.txt", strings.NewReader(`
BenchmarkSort/size=100-2     1000   100 ns/op    0 B/op   1 allocs/op
BenchmarkSort/size=1000-2    1000   400 ns/op    8 B/op   1 allocs/op
BenchmarkParse/fast-2        1000   7 ns/op
BenchmarkPrices-2            1000   9 ns/op
`))
	if err != nil {
		t.Fatal(err)
	}
	list, note := m.Of("", "Sort")
	text := ""
	for _, x := range list {
		text += fmt.Sprintf("%s %.4g %v\n", x.Name, x.Mean, x.Primary)
	}
	if want := `time/op 200 true
B/op 0 false
allocs/op 1 false
time/op Sort/size=100 100 false
B/op Sort/size=100 0 false
allocs/op Sort/size=100 1 false
time/op Sort/size=1000 400 false
B/op Sort/size=1000 8 false
allocs/op Sort/size=1000 1 false
`; text != want || !strings.Contains(note, "2 results (Sort/size=100, Sort/size=1000)") {
		t.Errorf("%s%s", text, note)
	}
	if list, note := m.Of("", "Sort/size=100"); len(list) != 4 || list[0].Mean != 100 || note != "" {
		t.Errorf("one of them: %v %s", list, note)
	}
	if list, note := m.Of("", "Parse"); len(list) != 2 || list[0].Mean != 7 || note != "" {
		t.Errorf("the only one: %v %s", list, note)
	}
	if list, _ := m.Of("", "Sort/size=5"); list != nil {
		t.Errorf("other parameters: %v", list)
	}
	results, benchmarks := m.Unmatched()
	if strings.Join(results, " ") != "Prices" || strings.Join(benchmarks, " ") != "Sort/size=5" {
		t.Errorf("results %q without a profile, benchmarks %q without a result", results, benchmarks)
	}
}

func TestMetricsOfParameters(t *testing.T) {
	m, err := ReadMetrics("jmh.json", strings.NewReader(`[
	{"benchmark": "org.example.Parser.parse", "mode": "avgt", "params": {"size": "10", "mode": "fast"}, "primaryMetric": {"score": 4, "scoreUnit": "ns/op"},
	 "secondaryMetrics": {"gc.alloc.rate.norm": {"score": 24, "scoreUnit": "B/op"}}},
	{"benchmark": "org.example.Parser.parse", "mode": "avgt", "params": {"size": "20", "mode": "fast"}, "primaryMetric": {"score": 9, "scoreUnit": "ns/op"}}]`))
	if err != nil {
		t.Fatal(err)
	}
	for benchmark, want := range map[string]float64{"Parser.parse:size=10,mode=fast": 4, "org.example.Parser.parse:mode=fast,size=20": 9,
		"Parser.parse": 6} {
		if list, _ := m.Of("", benchmark); len(list) == 0 || list[0].Mean != want {
			t.Errorf("%s: %v, want %v", benchmark, list, want)
		}
	}
	if list, _ := m.Of("", "Parser.parse:size=30,mode=fast"); list != nil {
		t.Errorf("other parameters: %v", list)
	}
	if list, _ := m.Of("", "parse:mode=fast,size=10"); len(list) != 2 || list[1].Unit != "B/op" {
		t.Errorf("secondary metrics: %v", list)
	}
}
