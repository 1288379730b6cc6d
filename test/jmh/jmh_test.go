package jmh

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/test/program"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m.Run)) }

const small, large = "Prices.sorted:size=100", "Prices.sorted:size=1000"

func TestJMH(t *testing.T) {
	if os.Getenv("DENDRO_TEST_REAL") == "" {
		t.Skip("needs JMH: DENDRO_TEST_REAL=1 runs it, as make smoke-servers does")
	}
	dir := t.TempDir()
	if err := Build(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	library, err := AsyncProfiler(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("bench", func(t *testing.T) {
		out, errOut, status := program.Run(t, dir, "bench", "--store", "bench.duckdb", "--run", "r", "--", "java", "-jar", "benchmarks.jar")
		if status != 0 || !strings.Contains(out, "Prices.sorted") {
			t.Fatalf("status %d\n%s%s", status, out, errOut)
		}
		if strings.Contains(errOut, "guessed") || strings.Contains(errOut, "warning") {
			t.Error(errOut)
		}
		recorded(t, dir, "bench.duckdb", map[string]int{"r-1": 2, "r-2": 2})
	})
	if library == "" {
		return
	}
	t.Run("bench with async-profiler", func(t *testing.T) {
		program.Must(t, dir, "bench", "--store", "async.duckdb", "--run", "r", "--count", "1", "--profiler", "async-profiler="+library, "--",
			"java", "-jar", "benchmarks.jar")
		recorded(t, dir, "async.duckdb", map[string]int{"r": 2})
	})
	for _, output := range []string{"jfr", "collapsed", "flamegraph"} {
		t.Run("import of "+output, func(t *testing.T) {
			folder, err := filepath.Abs(filepath.Join(dir, output))
			if err != nil {
				t.Fatal(err)
			}
			c := exec.CommandContext(t.Context(), "java", "-jar", "benchmarks.jar", "-p", "size=100",
				"-prof", "async:libPath="+filepath.Join(dir, library)+";output="+output+";dir="+folder, "-rf", "json", "-rff", output+".json")
			c.Dir = dir
			program.Succeed(t, c)
			program.Must(t, dir, "import", "--store", output+".duckdb", "--run", "r", "--metrics", output+".json", output)
			recorded(t, dir, output+".duckdb", map[string]int{"r": 1})
		})
	}
}

// recorded wants so many benchmarks in each run, each with one profile of CPU samples and the
// time that JMH measured, and the benchmark's own function in them.
func recorded(t *testing.T, dir, store string, want map[string]int) {
	t.Helper()
	type key struct{ run, benchmark string }
	seen, runs := map[key]bool{}, map[string]int{}
	var list struct {
		Rows []struct {
			Run       struct{ Run string }
			Benchmark struct{ Group, Name string }
			Metrics   []struct {
				Name, Unit string
				Mean       float64
			}
		}
	}
	text := program.Must(t, dir, "runs", "--store", store, "--profiles", "--type", "cpu-samples", "-o", "json")
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatal(err)
	}
	for _, p := range list.Rows {
		k := key{p.Run.Run, p.Benchmark.Name}
		if k.benchmark != small && k.benchmark != large || p.Benchmark.Group != "shop" || seen[k] {
			t.Errorf("%+v", p)
		}
		seen[k] = true
		runs[k.run]++
		units, mean := map[string]string{}, 0.0
		for _, m := range p.Metrics {
			if units[m.Name] = m.Unit; m.Name == "avgt" {
				mean = m.Mean
			}
		}
		if units["avgt"] != "s/op" || !(mean > 1e-7 && mean < 1) || units["operations"] != "op, estimated" {
			t.Errorf("%+v of %v", p.Metrics, k)
		}
	}
	for run, n := range want {
		if runs[run] != n {
			t.Errorf("%d benchmarks in %s, want %d; all: %v", runs[run], run, n, runs)
		}
	}
	if len(runs) != len(want) {
		t.Errorf("runs %v, want %v", runs, want)
	}
	if text = program.Must(t, dir, "find", "--store", store, "shop.Prices.sorted", "--type", "cpu-samples", "--param", "size=100", "-o",
		"json"); len(program.Rows(t, text)) == 0 {
		t.Errorf("the benchmark's function is in no profile: %s", text)
	}
}
