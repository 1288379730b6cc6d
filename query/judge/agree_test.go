package judge

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/analysis/metrics"
	"github.com/dendroprof/dendro/query/trees"
	"github.com/dendroprof/dendro/report"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/table"
	"github.com/dendroprof/dendro/test/runtest"
)

// TestOneSize: the size of a change is the same in the finding, in the numbers of its chart, and in
// the diff of the compared runs, also where runs did different numbers of operations; and so is the
// change of the program in the diff and the benchmark.
func TestOneSize(t *testing.T) {
	for seed := range uint64(5) {
		r := rand.New(rand.NewPCG(seed, 1))
		var runs []runtest.Run
		for i := range 12 {
			operations := 100 + r.IntN(80)
			slow, branch := 1.0, "main"
			if i >= 8 {
				slow, branch = 2.5, "pr"
			}
			of := func(perOperation float64) int {
				return int(perOperation * float64(operations) * (1 + 0.02*r.NormFloat64()))
			}
			runs = append(runs, runtest.Run{Benchmark: "b", Branch: branch, Operations: float64(operations),
				Stacks: fmt.Sprintf("main;load;parse %d, main;load;read %d, main;plan %d, main;join %d", of(10*slow), of(10), of(20), of(15))})
		}
		st := runtest.Store(t, runs...)
		doc, err := Report(t.Context(), st, withDefaults[ReportRequest](t, map[string]string{"base": "main", "head": "pr"}))
		if err != nil {
			t.Fatal(err)
		}
		if len(doc.Changes) != 1 || doc.Changes[0].Function != "parse" {
			t.Fatalf("seed %d: %+v", seed, doc.Changes)
		}
		f := &doc.Changes[0]
		candidate := doc.Benchmarks[0].Evidence.Candidates[0]
		if math.Abs(candidate.Diff/f.Delta.Share-1) > 1e-9 {
			t.Errorf("seed %d: the finding is %+.4f of the program, the step of its chart %+.4f", seed, f.Delta.Share, candidate.Diff)
		}
		diff, err := trees.DiffFunctions(t.Context(), st, &trees.DiffRequest{Sides: trees.Named{Base: []string{"main"}, Head: []string{"pr"}}})
		if err != nil {
			t.Fatal(err)
		}
		if program := doc.Benchmarks[0].Analyses[0].Program.Value; math.Abs(*diff.RootTotal.Relative/program-1) > 1e-9 {
			t.Errorf("seed %d: the program changed by %+.4f, in the diff by %+.4f", seed, program, *diff.RootTotal.Relative)
		}
		for row := range diff.Rows.All() {
			if share := row.Total.Delta.Value() / diff.RootTotal.Base.Value(); row.Function == f.Headline.Function &&
				math.Abs(share/f.Delta.Share-1) > 1e-9 {
				t.Errorf("seed %d: %s is %+.4f of the program in the diff, %+.4f in the finding", seed, row.Function, share, f.Delta.Share)
			}
		}
	}
}

// TestDiffOfEachChange: the diff of the sides of a change has the size of its row, also of a second
// change on top of the first; without operations it is the diff against the history.
func TestDiffOfEachChange(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 1))
	var runs []runtest.Run
	for i := range 24 {
		operations, slow := 100+r.IntN(80), 1.0
		switch {
		case i >= 16:
			slow = 6
		case i >= 8:
			slow = 2.5
		}
		of := func(perOperation float64) int {
			return int(perOperation * float64(operations) * (1 + 0.01*r.NormFloat64()))
		}
		runs = append(runs, runtest.Run{Benchmark: "b", Operations: float64(operations),
			Stacks: fmt.Sprintf("main;load;parse %d, main;load;read %d, main;plan %d, main;join %d, main;sort %d, main;scan %d", of(10*slow), of(10), of(20), of(15), of(12), of(18))})
	}
	list, err := Regressions(t.Context(), runtest.Store(t, runs...), withDefaults[RegressionsRequest](t, nil))
	if err != nil || len(list.Findings) != 2 {
		t.Fatalf("%+v %v", list, err)
	}
	for i, f := range list.Findings { // newest first
		s := f.Sides
		if s == nil || s.Against != "" || s.Head[0] != f.Change.Onset.Run || slices.Contains(s.Base, s.Head[0]) || len(s.Head) != 8 ||
			i == 0 && s.Base[0] != list.Findings[1].Change.Onset.Run {
			t.Fatalf("%+v", s)
		}
		diff, err := trees.DiffFunctions(t.Context(), runtest.Store(t, runs...),
			&trees.DiffRequest{Base: trees.Side{Runs: s.Base}, Head: trees.Side{Runs: s.Head}})
		if err != nil {
			t.Fatal(err)
		}
		for row := range diff.Rows.All() {
			if share := row.Total.Delta.Value() / diff.RootTotal.Base.Value(); row.Function == f.Headline.Function &&
				math.Abs(share/f.Delta.Share-1) > 1e-9 {
				t.Errorf("%s is %+.4f of the program in the diff, %+.4f in the row", row.Function, share, f.Delta.Share)
			}
		}
	}
	for i := range runs {
		runs[i].Operations = 0
	}
	list, err = Regressions(t.Context(), runtest.Store(t, runs...), withDefaults[RegressionsRequest](t, nil))
	if err != nil || len(list.Findings) == 0 || list.Findings[0].Sides.Against != "history" {
		t.Errorf("%+v %v", list, err)
	}
}

// TestStateRestsOnShares: no state says what would have been seen where only shares were compared
// and the samples per run, or those of two functions, changed. One of four functions that is slower by
// half is a change, also if runs last a fixed time.
func TestStateRestsOnShares(t *testing.T) {
	for name, c := range map[string]struct {
		one, all  float64
		functions int
		fixed     bool // so many samples in each run
		want      string
	}{
		"as before":                {1, 1, 4, false, "unchanged: would have seen "},
		"everything":               {1, 1.5, 4, false, "unknown: samples per run rose by 49.9%"},
		"one of four":              {1.5, 1, 4, false, "slower (1 open change)"},
		"one of four, fixed time":  {1.5, 1, 4, true, "slower (1 open change)"},
		"one of three, fixed time": {1.5, 1, 3, true, "slower (1 open change)"},
		"one of two":               {1.5, 1, 2, false, "unknown: samples per run rose by 2"},
		"one of two, fixed time":   {1.5, 1, 2, true, "unknown: a share rose by 10"},
		"two as before":            {1, 1, 2, true, "unchanged: would have seen "},
	} {
		r := rand.New(rand.NewPCG(3, 1))
		var runs []runtest.Run
		for i := range 14 {
			n, sum := make([]float64, c.functions), 0.0
			for k := range n {
				n[k] = 1500 * (1 + 0.01*r.NormFloat64())
				if i >= 10 { // several nights ago
					n[k] *= c.all
				}
				if i >= 10 && k == 0 {
					n[k] *= c.one
				}
				sum += n[k]
			}
			var stacks []string
			for k, name := range []string{"parse", "read", "plan", "join"}[:c.functions] {
				if c.fixed {
					n[k] *= 6000 / sum
				}
				stacks = append(stacks, fmt.Sprintf("main;%s %d", name, int(n[k])))
			}
			runs = append(runs, runtest.Run{Benchmark: "b", Stacks: strings.Join(stacks, ", ")})
		}
		st := runtest.Store(t, runs...)
		list, err := Regressions(t.Context(), st, withDefaults[RegressionsRequest](t, nil))
		slower := strings.HasPrefix(c.want, "slower")
		if err != nil || (len(list.Findings) == 1) != slower || slower && list.Findings[0].Function != "parse" ||
			!strings.HasPrefix(list.Benchmarks[0].Outcome.Says, c.want) {
			t.Errorf("%s: %+v %+v %v", name, list.Benchmarks[0].Outcome, list.Findings, err)
		}
		check, err := Check(t.Context(), st, withDefaults[CheckRequest](t, nil))
		if err != nil || check.Benchmarks[0].Outcome.Says != list.Benchmarks[0].Outcome.Says {
			t.Errorf("%s: check says %+v, %v", name, check.Benchmarks[0].Outcome, err)
		}
	}
}

// TestNotRunAtHead: a comparison calls no benchmark steady that the head did not run, also if an older
// commit of the head's branch did; and its numbers do not depend on what is listed.
func TestNotRunAtHead(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 2))
	var runs []runtest.Run
	add := func(benchmark, run, branch string, times float64) {
		n := func(of float64) int { return int(of * (1 + 0.01*r.NormFloat64())) }
		runs = append(runs, runtest.Run{Benchmark: benchmark, Key: run, Branch: branch, Commit: run + "c0ffee00000",
			Stacks: fmt.Sprintf("main;parse %d, main;read %d, main;plan %d, main;join %d", n(1500*times), n(1400), n(1600), n(1500))})
	}
	for i := range 8 {
		for _, benchmark := range []string{"a", "b", "c"} {
			add(benchmark, fmt.Sprintf("main-%d", i), "main", 1)
		}
	}
	add("b", "pr-0", "pr", 1.45) // at the older commit
	add("a", "pr-1", "pr", 1)
	add("d", "pr-1", "pr", 1)
	st := runtest.Store(t, runs...)
	want := []report.Count{{Status: report.Unchanged, Says: "unchanged", Benchmarks: 1},
		{Status: "not run at HEAD", Says: "not run at pr-1c0ffee", Benchmarks: 2}, {Status: "new", Says: "new", Benchmarks: 1}}
	for _, changed := range []bool{false, true} {
		doc, err := Report(t.Context(), st, withDefaults[ReportRequest](t, map[string]string{
			"base": "main", "head": "pr", "changed": strconv.FormatBool(changed)}))
		if err != nil || !slices.Equal(doc.Counts, want) {
			t.Fatalf("changed %v: %+v, %v", changed, doc.Counts, err)
		}
		for i := range doc.Benchmarks {
			if b := &doc.Benchmarks[i]; b.Benchmark.Benchmark.Name == "b" && b.Outcome.Says != "not run at pr-1c0ffee" {
				t.Errorf("%+v", b.Outcome)
			}
		}
	}
}

// TestStateSaysTheMetric: no state says that a benchmark is unchanged where a report of it has the
// metric significantly worse; and what all code took longer is said with its factor.
func TestStateSaysTheMetric(t *testing.T) {
	for name, c := range map[string]struct {
		operations float64
		want       string
	}{"waiting": {100, ", but m +25.0%, p 0.022"}, "machine": {0, "machine: all code took 1.23 times as long"}} {
		r := rand.New(rand.NewPCG(5, 1))
		var runs []runtest.Run
		for i := range 14 {
			of := func(n float64) int { return int(n * (1 + 0.01*r.NormFloat64())) }
			metric := 100 + 0.01*float64(i%3)
			if i >= 12 {
				metric *= 1.25
			}
			runs = append(runs, runtest.Run{Benchmark: "b", Metric: metric, Operations: c.operations,
				Stacks: fmt.Sprintf("main;parse %d, main;read %d, main;plan %d, main;join %d, main;sort %d, main;scan %d", of(1500), of(1500), of(2000), of(1000), of(800), of(700))})
		}
		st := runtest.Store(t, runs...)
		list, err := Regressions(t.Context(), st, withDefaults[RegressionsRequest](t, nil))
		if err != nil || len(list.Findings) > 0 || !strings.HasSuffix(list.Benchmarks[0].Outcome.Says, c.want) {
			t.Errorf("%s: %+v %v", name, list, err)
			continue
		}
		for _, parameters := range []map[string]string{nil, {"candidates": "0", "max-depth": "0", "changed": "true"}} {
			doc, err := Report(t.Context(), st, withDefaults[ReportRequest](t, parameters))
			if err != nil || doc.Headline() != "no finding in 1 benchmark, but 1 metric worse" ||
				len(doc.Benchmarks) > 0 && doc.Benchmarks[0].Outcome.Says != list.Benchmarks[0].Outcome.Says {
				t.Errorf("%s: the report says %q, %+v, %v", name, doc.Headline(), doc.Benchmarks, err)
			}
		}
	}
}

// TestRunsThatDiffer: where runs of the base differ by a large factor per operation, every statement that
// nothing changed says so: smaller changes do not show.
func TestRunsThatDiffer(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var runs []runtest.Run
	for i := range 12 {
		level := []float64{0.5, 2.8, 1.2, 1}[i%4]
		of := func(n float64) int { return int(n * level * (1 + 0.01*r.NormFloat64())) }
		runs = append(runs, runtest.Run{Benchmark: "b", Operations: 100,
			Stacks: fmt.Sprintf("main;parse %d, main;read %d, main;plan %d, main;join %d, main;sort %d, main;scan %d", of(1500), of(1500), of(2000), of(1000), of(800), of(700))})
	}
	st := runtest.Store(t, runs...)
	var said []string
	list, err := Regressions(t.Context(), st, withDefaults[RegressionsRequest](t, nil))
	if err != nil || len(list.Findings) > 0 {
		t.Fatal(list, err)
	}
	said = append(said, list.Benchmarks[0].Outcome.Says)
	overview, err := Overview(t.Context(), st, withDefaults[OverviewRequest](t, nil))
	if err != nil {
		t.Fatal(err)
	}
	said = append(said, overview.Benchmarks[0].Outcome.Says)
	for _, parameters := range []map[string]string{nil, {"candidates": "0", "max-depth": "0"}} {
		doc, err := Report(t.Context(), st, withDefaults[ReportRequest](t, parameters))
		if err != nil {
			t.Fatal(err)
		}
		said = append(said, doc.Benchmarks[0].Outcome.Says)
	}
	check, err := Check(t.Context(), st, withDefaults[CheckRequest](t, nil))
	if err != nil {
		t.Fatal(err)
	}
	var brief strings.Builder
	if err := check.Text(report.Detail{}).Print(&table.Output{W: &brief}); err != nil {
		t.Fatal(err)
	}
	said = append(said, check.Benchmarks[0].Outcome.Says, brief.String())
	for i, text := range said {
		if !strings.Contains(text, "runs of the base differ by a factor of 5.") || i < 5 && text != said[0] {
			t.Errorf("statement %d: %s", i, text)
		}
	}
}

// TestTwoTypesAreOneBenchmark: a change that two value types of a benchmark show is in one benchmark, and
// the report begins with that of the list.
func TestTwoTypesAreOneBenchmark(t *testing.T) {
	st := mem.New()
	for i := range 14 {
		for typ, most := range map[string]int{"cpu-samples": 2, "wall": 3} {
			plan := 200 + i%3
			if i >= 10 {
				plan *= most
			}
			runtest.PutRun(t, st, i+1, runtest.Run{Benchmark: "b", Type: typ, Operations: 100,
				Stacks: fmt.Sprintf("main;load 1000, main;plan %d, main;join 700, main;sort 500", plan)})
		}
	}
	list, err := Regressions(t.Context(), st, withDefaults[RegressionsRequest](t, nil))
	if err != nil || len(list.Findings) != 2 || list.Findings[0].Type != "wall" {
		t.Fatal(list, err)
	}
	doc, err := Report(t.Context(), st, withDefaults[ReportRequest](t, nil))
	if err != nil || len(doc.Changes) != 1 || doc.Changes[0].ID != list.Findings[0].ID {
		t.Fatal(doc, err)
	}
	var text strings.Builder
	if err := doc.Text(report.Detail{}).Print(&table.Output{W: &text}); err != nil || strings.Contains(text.String(), "2 benchmarks") {
		t.Errorf("%s %v", &text, err)
	}
}

// TestMetricsOfChanges: the table of metrics of a report compares the runs that the open change of a benchmark
// compares, so that it does not deny a change whose newest two runs alone tell nothing; others have the newest runs.
func TestMetricsOfChanges(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 1))
	var runs []runtest.Run
	for i := range 16 {
		for _, benchmark := range []string{"changed", "same"} {
			of := func(n float64) int { return int(n * (1 + 0.01*r.NormFloat64())) }
			parse, metric := 1500.0, 100+5*r.NormFloat64()
			if benchmark == "changed" && i >= 9 {
				parse, metric = 3000, metric+15
			}
			if i >= 14 { // busy nights
				metric = 107 + float64(i-14)
			}
			runs = append(runs, runtest.Run{Benchmark: benchmark, Key: fmt.Sprintf("n%02d", i), Metric: metric,
				Stacks: fmt.Sprintf("main;parse %d, main;read %d, main;plan %d, main;join %d, main;sort %d, main;scan %d", of(parse), of(1500), of(2000), of(1000), of(800), of(700))})
		}
	}
	st := runtest.Store(t, runs...)
	doc, err := Report(t.Context(), st, withDefaults[ReportRequest](t, nil))
	if err != nil || len(doc.Changes) != 1 || len(doc.Metrics.Rows) != 2 || len(doc.Changes[0].Sides.Head) != 7 {
		t.Fatalf("%+v %+v %v", doc.Changes, doc.Metrics, err)
	}
	for _, row := range doc.Metrics.Rows {
		if changed := row.Benchmark == "changed"; row.Significant != changed || changed && (row.Head.Runs != 7 || row.Base.Runs != 9) ||
			!changed && (row.Head.Runs != 2 || row.Base.Runs != 14) {
			t.Errorf("%+v", row)
		}
	}
	var text strings.Builder
	if err := doc.Text(report.Detail{}).Print(&table.Output{W: &text}); err != nil || strings.Contains(text.String(), "/changed  ~") {
		t.Errorf("%v\n%s", err, &text)
	}
	newest, err := Report(t.Context(), st, withDefaults[ReportRequest](t, map[string]string{"last": "2"}))
	if err != nil || slices.ContainsFunc(newest.Metrics.Rows, func(row metrics.Row) bool { return row.Significant }) {
		t.Errorf("the newest two alone tell: %+v, %v", newest.Metrics, err)
	}
}
