package ingest

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestJSONOfTools reads what benchmark tools other than JMH write as JSON.
func TestJSONOfTools(t *testing.T) {
	pytest, err := os.ReadFile(filepath.Join("testdata", "pytest.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, text, group, benchmark, want string }{
		{"pytest.json", string(pytest), "", "test_total", "time/op 2.01e+06 ns/op 3"},
		{"pytest, data", `{"benchmarks":[{"name":"test_a[2]","fullname":"t/x.py::test_a[2]","stats":{"median":2e-9,"rounds":3,"data":[1e-9,2e-9,4e-9]}}]}`, "", "test_a[2]", "time/op 2 ns/op 3 1 2 4"},
		{"google", `{"context":{"num_cpus":2},"benchmarks":[{"name":"BM_x/8","run_name":"BM_x/8","run_type":"iteration","iterations":10,"real_time":1.5,"cpu_time":1.25,"time_unit":"us"},
{"name":"BM_x/8_mean","run_name":"BM_x/8","run_type":"aggregate","aggregate_name":"mean","real_time":9,"cpu_time":9,"time_unit":"us"},{"name":"BM_bad","error_occurred":true,"real_time":0}]}`,
			"", "BM_x/8", "time/op 1500 ns/op 1, cpu-time/op 1250 ns/op 1"},
		{"google, aggregates", `{"benchmarks":[{"name":"BM_y_mean","run_name":"BM_y","run_type":"aggregate","aggregate_name":"mean","real_time":9},{"name":"BM_y_stddev","run_name":"BM_y","run_type":"aggregate","aggregate_name":"stddev","real_time":1}]}`,
			"", "BM_y", "time/op 9 ns/op 1"},
		{"dotnet", `{"Title":"X","Benchmarks":[{"DisplayInfo":"d","Namespace":"Shop","Type":"Cart","Method":"Total","Parameters":"N=10","FullName":"Shop.Cart.Total(N: 10)","Statistics":{"OriginalValues":[1,3],"N":2,"Mean":2},"Memory":{"BytesAllocatedPerOperation":48}}]}`,
			"", "Cart.Total:N=10", "time/op 2 ns/op 2 1 3, B/op 48 B/op 1"},
		{"pytest, numbers in quotes", `{"benchmarks":[{"name":"test_a","fullname":"t/x.py::test_a","stats":{"median":"2e-9","rounds":"3"}}]}`, "", "test_a", "time/op 2 ns/op 3"},
		{"JMH, numbers in quotes", `[{"benchmark":"a.Cart.total","mode":"avgt","primaryMetric":{"score":"2.0","scoreError":"NaN","scoreUnit":"us/op","rawData":[["1.5",2.5]]}}]`, "", "Cart.total", "avgt 2 us/op 2 1.5 2.5"},
		{"criterion", `{"reason":"benchmark-complete","id":"fib/20","iteration_count":[2,4],"measured_values":[4,12],"unit":"ns","typical":{"estimate":2.5,"unit":"ns"}}
{"reason":"group-complete","group_name":"fib"}`, "", "fib/20", "time/op 2.5 ns/op 2 2 3"},
		{"target/criterion/fib/20/new/estimates.json", `{"mean":{"point_estimate":3},"slope":{"point_estimate":2}}`, "", "fib/20",
			"time/op 2 ns/op 1"},
	} {
		m, err := ReadMetrics(tt.name, strings.NewReader(tt.text))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		list, _ := m.Of(tt.group, tt.benchmark)
		var got []string
		for _, x := range list {
			if math.IsNaN(x.Error) {
				t.Errorf("%s: %s has no error, not NaN", tt.name, x.Name)
			}
			got = append(got, strings.TrimSpace(fmt.Sprintf("%s %.4g %s %d %s", x.Name, x.Mean, x.Unit, x.N, x.Samples)))
		}
		if text := strings.Join(got, ", "); text != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, text, tt.want)
		}
	}
	for _, tt := range []struct{ name, text, says string }{
		{"a.json", `{"a":1}`, "JSON of JMH, pytest-benchmark, Google Benchmark, criterion and BenchmarkDotNet"},
		{"b.json", `[1,2]`, "b.json:1:3: the value is of type number, want object"},
		{"c.json", `{"benchmarks":3}`, `"benchmarks" is of type number, want array`},
		{"d.json", `{"benchmarks":[{"stats":{"median":"x"}}]}`, `"stats.median" is of type string, want number`},
		{"d2.json", "{\"benchmarks\":[\n{\"name\":\"a\"},\n{\"stats\":{\"median\":[1]}}]}", `d2.json:3:21: "stats.median" is of type array, want number`},
		{"e.json", `{"benchmarks":[`, "e.json"},
		{"estimates.json", `{"mean":{"point_estimate":3}}`, "target/criterion/NAME/new/estimates.json"},
	} {
		if _, err := ReadMetrics(tt.name, strings.NewReader(tt.text)); err == nil || !strings.Contains(err.Error(), tt.says) ||
			strings.Contains(err.Error(), "Go value") {
			t.Errorf("%s: %v", tt.text, err)
		}
	}
}

// TestPackages takes the result of the package that the group names, and none that may be
// another one's.
func TestPackages(t *testing.T) {
	m, err := ReadMetrics("bench.txt", strings.NewReader("pkg: example.com/shop/cache\nBenchmarkEncode-4 100 56 ns/op\nBenchmarkSet/a-4 100 1 ns/op\nPASS\n"+
		"pkg: example.com/shop/session\nBenchmarkEncode-4 100 4 ns/op\nBenchmarkEncode-4 100 6 ns/op\nBenchmarkOnly-4 100 7 ns/op\nBenchmarkSet/a-4 100 3 ns/op\n"))
	if err != nil {
		t.Fatal(err)
	}
	jmh, err := ReadMetrics("jmh.json", strings.NewReader(`[{"benchmark":"com.a.Sort.run","mode":"avgt","primaryMetric":{"score":1,"scoreUnit":"us/op"}},
{"benchmark":"com.b.Sort.run","mode":"avgt","primaryMetric":{"score":2,"scoreUnit":"us/op"}}]`))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		m                *Metrics
		group, benchmark string
		want             float64 // 0: none, and a note
	}{
		{m, "cache", "Encode", 56}, {m, "shop/session", "Encode", 5}, {m, "example.com/shop/cache", "Encode", 56}, {m, "", "Encode", 0},
		{m, "shop", "Encode", 0}, {m, "ache", "Encode", 0},
		{m, "anything", "Only", 7}, {m, "session", "Set", 3}, {m, "", "Set", 0},
		{jmh, "com.b.Sort", "run", 2}, {jmh, "", "com.a.Sort.run", 1}, {jmh, "", "Sort.run", 0}, {jmh, "", "run", 0},
	} {
		list, note := tt.m.Of(tt.group, tt.benchmark)
		switch {
		case tt.want == 0 && (list != nil || !strings.Contains(note, "results in 2 packages")):
			t.Errorf("%q %q: %v, %s", tt.group, tt.benchmark, list, note)
		case tt.want != 0 && (len(list) == 0 || list[0].Mean != tt.want || note != ""):
			t.Errorf("%q %q: %v, %s, want %v", tt.group, tt.benchmark, list, note, tt.want)
		}
	}
}

func FuzzReadMetrics(f *testing.F) {
	f.Add(`{"benchmarks":[{"name":"a","stats":{"median":1}},{"name":"b","real_time":1},{"Method":"c","Statistics":{"Mean":1}}]}`)
	f.Add(`{"reason":"benchmark-complete","id":"x","typical":{"estimate":1}}`)
	f.Add("pkg: a\nBenchmarkX 1 2 ns/op\n")
	f.Add(`[{"benchmark":"a.b","primaryMetric":{"score":1}}]`)
	f.Fuzz(func(t *testing.T, text string) {
		m, err := ReadMetrics("x.json", strings.NewReader(text))
		if err != nil {
			if strings.Contains(err.Error(), "Go value") {
				t.Error(err)
			}
			return
		}
		m.Of("g", "b")
		m.Unmatched()
	})
}
