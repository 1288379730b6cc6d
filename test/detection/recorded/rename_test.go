package recorded

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/ingest"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/judge"
	"github.com/dendroprof/dendro/report"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// The functions of Jobs.
const (
	pushed  = "example.com/jobs.(*Heap).push"      // before
	pushes  = "example.com/jobs.(*Heap).pushValue" // its name now
	compare = "example.com/jobs.Less"              // slower
)

// slower are the benchmarks that call Less. The others have the rename only.
var slower = []string{"Fill", "Merge"}

// importJobs imports runs of the two sides of Jobs as `dendro bench --base main` does.
func importJobs(t *testing.T, base, head []int) store.Store {
	var sources []ingest.Source
	for i, side := range []string{"base", "head"} {
		for _, n := range [][]int{base, head}[i] {
			key := fmt.Sprintf("%s-%d", side, n)
			sources = append(sources, sourcesOf(t, filepath.Join("testdata", "rename", "runs", key), "example.com/jobs", testrun.Run{Key: key,
				Machine: "m", Branch: []string{"main", "change"}[i], Commit: strings.Repeat(fmt.Sprint(i+1), 40),
				Attributes: map[string]string{"side": side}, Date: time.Date(2026, 11, 23, n, i, 0, 0, time.UTC)})...)
		}
	}
	return stores(t, sources)
}

// sourcesOf returns the profiles in the folder of a run, with the results of their benchmarks.
func sourcesOf(t *testing.T, dir, group string, run testrun.Run) (sources []ingest.Source) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.cpu.pb.gz"))
	if err != nil || len(files) < 4 {
		t.Fatal(dir, files, err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "bench.txt"))
	if err != nil {
		t.Fatal(err)
	}
	results, err := ingest.ReadMetrics(dir, bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := strings.TrimPrefix(strings.TrimSuffix(filepath.Base(file), ".cpu.pb.gz"), "Benchmark")
		metrics, _ := results.Of(group, name)
		src := ingest.FileSource(file)
		src.Label = ingest.Label{Group: group, Benchmark: name, Metrics: metrics, Run: run}
		sources = append(sources, src)
	}
	return sources
}

// growth returns by how much the mean time per operation of each benchmark grew.
func growth(t *testing.T, st store.Store) map[string]float64 {
	t.Helper()
	list, err := st.Profiles(t.Context(), store.Query{Types: []string{"cpu"}})
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]*[2]float64{}
	for _, p := range list {
		at := slices.IndexFunc(p.Metrics, func(m testrun.Metric) bool { return m.Name == "time/op" })
		if at < 0 {
			t.Fatalf("%s of %s has no time", p.Benchmark, p.Run.Key)
		}
		if sums[p.Benchmark.Name] == nil {
			sums[p.Benchmark.Name] = &[2]float64{}
		}
		side := 0
		if p.Run.Attributes["side"] == "head" {
			side = 1
		}
		sums[p.Benchmark.Name][side] += p.Metrics[at].Mean
	}
	grew := map[string]float64{}
	for name, sum := range sums {
		grew[name] = sum[1]/sum[0] - 1
	}
	return grew
}

func checkJobs(t *testing.T, st store.Store) *report.Report {
	t.Helper()
	doc, err := judge.Check(t.Context(), st, &judge.CheckRequest{FailOn: "regression:0",
		ReportRequest: judge.ReportRequest{Method: "default", Sides: judge.Sides{Base: "attr.side=base", Head: "attr.side=head"}}})
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// aboutPush reports whether a finding says that push, or pushValue, costs or gains.
func aboutPush(f *regression.Finding) bool {
	if f.Kind == regression.Moved {
		return false
	}
	names := []string{f.Function}
	if f.Headline != nil {
		names = append(names, f.Headline.Function, f.Headline.Calls)
	}
	return slices.ContainsFunc(names, func(name string) bool { return name == pushed || name == pushes })
}

// power returns the change that the comparison of a benchmark is said to detect.
func power(t *testing.T, b *report.Benchmark) float64 {
	for _, a := range b.Analyses {
		for _, d := range a.Detectable.Changes {
			if d.Share == 0.05 {
				return d.Change
			}
		}
	}
	t.Fatalf("%s has no stated power", b.Benchmark.Benchmark)
	return 0
}

// sayOnlyRenamed requires what holds for any of the runs: push is no finding, and benchmarks
// that have only the rename are steady; nothing is confirmed that cannot be detected.
func sayOnlyRenamed(t *testing.T, doc *report.Report) {
	t.Helper()
	for i := range doc.Benchmarks {
		b := &doc.Benchmarks[i]
		name, detects := b.Benchmark.Benchmark.Name, power(t, b)
		if !slices.Contains(slower, name) && b.Outcome.Status != report.Unchanged {
			t.Errorf("%s has only the rename: %+v", name, b.Outcome)
		}
		for k := range b.Findings {
			f := &b.Findings[k]
			if aboutPush(f) {
				t.Errorf("%s: a rename is a finding: %+v", name, f)
			}
			if f.Kind.Costs() && f.Status == regression.Confirmed && f.Delta.Share < detects {
				t.Errorf("%s: confirmed %+.3f, below the %.3f that it can detect", name, f.Delta.Share, detects)
			}
		}
	}
	for i := range doc.Changes {
		if c := &doc.Changes[i]; c.Fails && (c.Headline == nil || c.Headline.Function != compare) {
			t.Errorf("it fails for %+v", c.Finding)
		}
	}
}

// TestRename checks a pull request that renames push to pushValue, and makes Less slower,
// which two of four benchmarks call: it fails for Less with the size that the benchmarks
// measured, and says of push that it was renamed.
func TestRename(t *testing.T) {
	all := []int{1, 2, 3, 4}
	st := importJobs(t, all, all)
	grew, doc := growth(t, st), checkJobs(t, st)
	if !doc.Verdict.Failed || doc.Verdict.Failing != 1 || doc.Verdict.Judged != 4 {
		t.Errorf("the verdict: %+v", doc.Verdict)
	}
	sayOnlyRenamed(t, doc)
	for i := range doc.Benchmarks {
		b := &doc.Benchmarks[i]
		name := b.Benchmark.Benchmark.Name
		said := 0
		for _, text := range b.Warnings {
			if strings.HasPrefix(text, "renamed "+pushed+" to "+pushes+", as ") {
				said++
			}
		}
		var changes []*regression.Finding
		for k := range b.Findings {
			switch f := &b.Findings[k]; {
			case f.Kind == regression.Moved && strings.HasPrefix(f.Note, "renamed "+pushed+" to "+pushes+" "):
				said++
			case f.Kind.Costs() || f.Kind == regression.Improvement:
				changes = append(changes, f)
			}
		}
		if said != 1 {
			t.Errorf("%s says %d times that push was renamed", name, said)
		}
		if !slices.Contains(slower, name) {
			continue // steady
		}
		if len(changes) != 1 {
			t.Errorf("%s: %d findings instead of one: %+v", name, len(changes), changes)
			continue
		}
		f := changes[0]
		if f.Kind != regression.Regression || f.Status != regression.Confirmed || f.Headline == nil || f.Headline.Function != compare ||
			f.Headline.Calls != "strings.ToLower" {
			t.Errorf("%s: %s %s, %+v", name, f.Status, f.Kind, f.Headline)
		}
		per := f.Delta.Share / f.Delta.Time.Value
		if math.Abs(f.Delta.Share-grew[name]) > 0.1*grew[name] || per*f.Delta.Time.Low > grew[name] || per*f.Delta.Time.High < grew[name] {
			t.Errorf("%s: %+.2f, %+v, the benchmark %+.2f", name, f.Delta.Share, f.Delta.Time, grew[name])
		}
		if b.Outcome.Status != report.Slower || b.Outcome.Share != f.Delta.Share {
			t.Errorf("%s: %+v", name, b.Outcome)
		}
	}
}

// TestRenameInFewRuns compares every three runs of the base with one run of the head, and
// with every two: Less fails, whatever the runs, and push never does.
func TestRenameInFewRuns(t *testing.T) {
	for _, base := range [][]int{{1, 2, 3}, {1, 2, 4}, {1, 3, 4}, {2, 3, 4}} {
		for _, head := range [][]int{{1}, {2}, {3}, {4}, {1, 2}, {1, 3}, {1, 4}, {2, 3}, {2, 4}, {3, 4}} {
			t.Run(fmt.Sprint(base, head), func(t *testing.T) {
				doc := checkJobs(t, importJobs(t, base, head))
				if !doc.Verdict.Failed {
					t.Errorf("the verdict: %+v", doc.Verdict)
				}
				sayOnlyRenamed(t, doc)
			})
		}
	}
}

// TestRenameOfOneBenchmark checks each benchmark alone: what the others of the two commits
// show holds for it too.
func TestRenameOfOneBenchmark(t *testing.T) {
	for _, base := range [][]int{{1, 2, 3}, {2, 3, 4}, {1, 2, 3, 4}} {
		for _, head := range [][]int{{1}, {4}, {3, 4}} {
			st := importJobs(t, base, head)
			all, err := judge.Regressions(t.Context(), st, &judge.RegressionsRequest{Sides: judge.Sides{Base: "attr.side=base",
				Head: "attr.side=head"}})
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range all.Benchmarks {
				q := query.Selection{Benchmarks: []string{b.Benchmark}}
				one, err := judge.Regressions(t.Context(), st,
					&judge.RegressionsRequest{Selection: q, Sides: judge.Sides{Base: "attr.side=base", Head: "attr.side=head"}})
				if err != nil {
					t.Fatal(err)
				}
				doc, err := judge.Check(t.Context(), st, &judge.CheckRequest{FailOn: "regression:0",
					ReportRequest: judge.ReportRequest{Selection: q, Method: "default",
						Sides: judge.Sides{Base: "attr.side=base", Head: "attr.side=head"}}})
				if err != nil {
					t.Fatal(err)
				}
				if len(one.Benchmarks) != 1 || len(doc.Benchmarks) != 1 {
					t.Fatalf("%d and %d benchmarks instead of one", len(one.Benchmarks), len(doc.Benchmarks))
				}
				sayOnlyRenamed(t, doc)
				for _, got := range []report.Outcome{one.Benchmarks[0].Outcome, doc.Benchmarks[0].Outcome} {
					if d := cmp.Diff(b.Outcome, got); d != "" {
						t.Errorf("%v %v %s: alone it differs from all together:\n%s", base, head, b.Benchmark, d)
					}
				}
			}
		}
	}
}
