package recorded

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/app"
)

var update = flag.Bool("update", false, "write the golden reports")

// change is an entry of truth.json.
type change struct {
	Benchmark, Kind string  // "regression", or "moved": no cost and no gain
	Function, Calls string  // of the headline
	File            string  // in the repository
	Share           float64 // of the benchmark before
	Note            string
	Open            string // how the analysis differs from the truth; empty: it agrees
}

func dendro(t *testing.T, args ...string) []byte {
	t.Helper()
	var out, errOut bytes.Buffer
	if status := app.Main(args, nil, &out, &errOut); status != 0 {
		t.Fatalf("dendro %s: status %d\n%s", strings.Join(args, " "), status, &errOut)
	}
	return out.Bytes()
}

// stored imports all runs as they were recorded and returns the arguments of a comparison of
// the two commits. The working directory is then the repository.
func stored(t *testing.T) []string {
	testdata, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	repository, store := filepath.Join(dir, "billing"), filepath.Join(dir, "dendro.duckdb")
	c, err := Billing.Repository(repository, testdata)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(repository)
	for i := range BaseRuns + HeadRuns {
		commit := c.Base
		if i >= BaseRuns {
			commit = c.Head
		}
		run := fmt.Sprintf("%03d", i+1)
		from := filepath.Join(testdata, "runs", run)
		dendro(t, "import", "--store", store, "--run", run, "--commit", commit, "--branch", "main", "--metrics",
			filepath.Join(from, "bench.txt"), from)
	}
	return []string{"--store", store, "--base", c.Base, "--head", c.Head}
}

// TestReports compares the reports of the two commits with golden ones. These show renamed
// and inlined functions without gain or cost, headlines in the user's code with file and
// line, net costs, lines that changed (of a dependency its version and its vendored copy),
// authors, owners and links, and how much findings explain.
func TestReports(t *testing.T) {
	golden, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	truth := readTruth(t, filepath.Join(golden, "truth.json"))
	sides := stored(t)
	for _, format := range []string{"text", "md"} {
		got := dendro(t, append([]string{"report", "-o", format, "--candidates", "2", "--traces", "1"}, sides...)...)
		name := filepath.Join(golden, "report."+format)
		if *update {
			if err := os.WriteFile(name, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s (go test -update writes it): -want +got\n%s", name, diff)
		}
	}
	type finding struct {
		Benchmark, Kind string
		Headline        *struct{ Function, Calls, File string }
		Delta           struct{ Share float64 }
		Also            []finding // the same change in other benchmarks
	}
	var doc struct{ Changes []finding }
	if err := json.Unmarshal(dendro(t, append([]string{"report", "-o", "json"}, sides...)...), &doc); err != nil {
		t.Fatal(err)
	}
	all := doc.Changes
	for _, f := range doc.Changes {
		all = append(all, f.Also...)
	}
	for _, want := range truth {
		if want.Open != "" {
			continue
		}
		found := false
		for _, f := range all {
			if f.Benchmark != want.Benchmark || f.Kind != "regression" && f.Kind != "improvement" {
				continue
			}
			h := f.Headline
			found = found || want.Kind == "moved" || f.Kind == want.Kind && h != nil && h.Function == want.Function && h.Calls == want.Calls &&
				strings.HasSuffix(h.File, want.File) &&
				f.Delta.Share > 0.7*want.Share && f.Delta.Share < 1.3*want.Share
		}
		if found != (want.Kind == "regression") {
			t.Errorf("%s: found %v, want %+v", want.Benchmark, found, want)
		}
	}
}

func readTruth(t *testing.T, name string) (list []change) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(data, &list)
	}
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestLeak checks heap profiles of the life of a process, recorded with package leak: the
// function that fills a session cache which loses nothing is a leak, in bytes; without the fault
// nothing grows.
func TestLeak(t *testing.T) {
	profiles, err := filepath.Abs(filepath.Join("testdata", "leak"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for _, kind := range []string{"leaks", "holds"} {
		address := kind + ".duckdb"
		for i := range 6 {
			run := fmt.Sprint(i + 1)
			dendro(t, "import", "--store", address, "--group", "svc", "--benchmark", "heap", "--run", run, "--date", "2026-01-0"+run, "--attr",
				"process=7",
				filepath.Join(profiles, kind, "heap-"+run+".pb.gz"))
		}
		var doc struct {
			Changes []struct {
				Kind, Status, Function, Type string
				Delta                        struct {
					Time struct {
						Value, Low, High float64
						Unit             string
					}
				}
			}
		}
		if err := json.Unmarshal(dendro(t, "report", "--store", address, "-o", "json"), &doc); err != nil {
			t.Fatal(err)
		}
		if kind == "holds" {
			if len(doc.Changes) > 0 {
				t.Errorf("without the fault: %+v", doc.Changes)
			}
			continue
		}
		const lost = 5 * 750 * 4 << 10 // bytes: sessions that stayed between the first snapshot and the last
		if len(doc.Changes) != 1 {
			t.Fatalf("%d changes: %+v", len(doc.Changes), doc.Changes)
		}
		c := doc.Changes[0]
		if c.Kind != "leak" || c.Status != "confirmed" || c.Type != "live" || c.Function != "main.(*sessions).start" ||
			c.Delta.Time.Unit != "bytes" || c.Delta.Time.Low > lost || lost > c.Delta.Time.High {
			t.Errorf("%+v", c)
		}
	}
}
