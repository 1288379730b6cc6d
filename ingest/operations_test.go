package ingest

import (
	"strings"
	"testing"

	"github.com/dendroprof/dendro/testrun"
)

func TestOperationsOfGoText(t *testing.T) {
	for text, want := range map[string]float64{
		"45000 100 ns/op":                  45000,
		"1 2000000000 ns/op":               1,
		"20 100 ns/op":                     20,
		"10000 100 ns/op":                  10000, // by chance: the rounds before are 1% of it
		"8767 136868 ns/op":                0,     // sought: 1, 100, 8767
		"450 100 ns/op":                    450,
		"455 100 ns/op":                    0,
		"7 100 ns/op":                      0,
		"45000 100 ns/op\n45000 102 ns/op": 90000,
		"12345 100 ns/op\n12345 102 ns/op": 24690, // set: nothing is sought twice
		"12345 100 ns/op\n12346 102 ns/op": 0,
		"45000 100 ns/op\n46000 102 ns/op": 0,
	} {
		lines := "BenchmarkX-8 " + strings.ReplaceAll(text, "\n", "\nBenchmarkX-8 ")
		m, err := ReadMetrics("bench.txt", strings.NewReader(lines))
		if err != nil {
			t.Fatal(err)
		}
		list, _ := m.Of("", "X")
		if n, estimated := testrun.Operations(list); n != want || estimated {
			t.Errorf("%q: %v operations, estimated %t, want %v", text, n, estimated, want)
		}
	}
}

func TestOperationsOfJMH(t *testing.T) {
	for name, tt := range map[string]struct {
		mode, score, unit, more string
		want                    float64
	}{
		"throughput":      {"thrpt", "2.5", "ops/ms", `, "measurementIterations": 5, "measurementTime": "2 s", "threads": 4, "forks": 3`, 25000},
		"average":         {"avgt", "50", "us/op", `, "measurementIterations": 5, "measurementTime": "200 ms", "threads": 2`, 40000},
		"single shot":     {"ss", "50", "us/op", `, "measurementIterations": 5, "measurementTime": "single-shot", "measurementBatchSize": 10`, 50},
		"nothing is said": {"avgt", "50", "us/op", ``, 0},
		"unknown unit":    {"avgt", "50", "B", `, "measurementIterations": 5, "measurementTime": "1 s"`, 0},
	} {
		json := `[{"benchmark": "org.x.Parser.parse", "mode": "` + tt.mode + `"` + tt.more + `, "primaryMetric": {"score": ` + tt.score +
			`, "scoreUnit": "` + tt.unit + `"}}]`
		m, err := ReadMetrics("jmh.json", strings.NewReader(json))
		if err != nil {
			t.Fatal(err)
		}
		list, _ := m.Of("", "parse")
		if n, estimated := testrun.Operations(list); n != tt.want || estimated != (tt.want > 0) {
			t.Errorf("%s: %v operations, estimated %t, want %v", name, n, estimated, tt.want)
		}
	}
}

func TestOperationsOfLabels(t *testing.T) {
	l, err := ParseLabel("x.json", []byte(`{"operations": 5000, "metric": {"name": "time", "mean": 1, "unit": "ms"}}`))
	if n, estimated := testrun.Operations(l.Metrics); err != nil || n != 5000 || estimated {
		t.Errorf("%v operations, estimated %t, %v", n, estimated, err)
	}
	if l = (Label{}).WithOperations(7).Or(l); l.Metrics[0].Mean != 7 || len(l.Metrics) != 2 {
		t.Errorf("a sidecar overrides the flag: %v", l.Metrics)
	}
	if _, err := ParseLabel("x.json", []byte(`{"operations": -1}`)); err == nil {
		t.Error("-1 operations are accepted")
	}
	m, err := ReadMetrics("cpu.txt", strings.NewReader("BenchmarkX 5000 377327 ns/op 224000 cpu-ns/op\n"))
	list, _ := m.Of("", "X")
	if err != nil || len(list) != 3 || list[1].Name != testrun.CPUTimeMetric || list[1].Unit != "ns/op" {
		t.Errorf("%+v, %v", list, err)
	}
}
