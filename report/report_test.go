package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/dendroprof/dendro/analysis/change"
	"github.com/dendroprof/dendro/analysis/evidence"
	"github.com/dendroprof/dendro/analysis/expansion"
	"github.com/dendroprof/dendro/analysis/gate"
	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/analysis/metrics"
	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/table"
	"github.com/dendroprof/dendro/testrun"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// hostile is a name that means something in every format: a workflow command, an
// element, a table cell, a mention, a link, a terminal escape.
const hostile = "::error::x\n<b>|`code`|@team [l](http://x) \x1b[31m\u202e%0A]]>&amp;"

// sampleMetrics is a table with every form of row.
func sampleMetrics() *metrics.Table {
	side := func(n int, median, low, high float64) metrics.Side {
		return metrics.Side{Runs: n, Values: n, Median: median, Low: &low, High: &high}
	}
	few := metrics.Side{Runs: 1, Values: 1, Median: 7.2e6}
	row := func(benchmark, metric, unit string, base, head metrics.Side, p float64) metrics.Row {
		r := metrics.Row{Group: "shop", Benchmark: benchmark, Metric: metric, Unit: unit, Better: testrun.BetterOf(unit), Base: base, Head: head,
			P: p, Least: 1e-4, Significant: p < 0.01}
		if base.Median != 0 {
			r.Change = head.Median/base.Median - 1
		}
		return r
	}
	t := &metrics.Table{Level: 0.01, Means: []metrics.Mean{{Metric: "time/op", Unit: "ns/op", Benchmarks: 2, Base: 2.1e6, Head: 2.4e6,
		Change: 0.14}, {Metric: "B/op", Unit: "B/op", Benchmarks: 2, Change: 0.1}},
		Rows: []metrics.Row{
			row("checkout", "time/op", "ns/op", side(10, 6.6e6, 6.5e6, 6.8e6), side(7, 8.9e6, 8.7e6, 9.4e6), 0.0002),
			row("search", "time/op", "ns/op", side(10, 6.6e6, 6.5e6, 6.8e6), few, 0.2),
			row("checkout", "B/op", "B/op", side(10, 0, 0, 0), side(10, 48, 48, 48), 0.0001),
			row("search", "B/op", "B/op", side(10, 48, 48, 48), side(10, 48, 48, 48), 1),
			row("search", hostile, "rows/s", side(10, 1000, 990, 1010), side(10, 1200, 1190, 1210), 0.0001)}}
	t.Rows[1].Reason, t.Rows[1].Needed = metrics.TooFew, 3
	return t
}

// sample is a report with everything in it.
func sample() *Report {
	cpu := profile.ValueType{Name: "cpu", Unit: "nanoseconds"}
	find := func(benchmark string, kind regression.Kind, status regression.Status, function string, share, score float64) regression.Finding {
		return regression.Finding{ID: fmt.Sprintf("%016x", len(benchmark)+1000*len(function)+int(100*score)), Kind: kind, Status: status,
			Group: "shop", Benchmark: benchmark, Type: "cpu", Function: function,
			Path: []string{"main.main", "pricing.rule", function}, Paths: []regression.Path{}, Parts: []regression.Part{},
			RuledOut: []regression.RuledOut{},
			Delta:    regression.Delta{Samples: 300 * share, Share: share, Base: 0.02}, Score: score,
			Since: regression.Since{Run: "run-9", Commit: "579d7113d2aa", LastGood: "run-8"}}
	}
	big := find("checkout", regression.Regression, regression.Confirmed, "regexp.MustCompile", 0.265, 19.5)
	big.Presence, big.Caller = regression.New, "pricing.rule"
	big.Delta.Time = &regression.Estimate{Value: 1.94e6, Low: 1.49e6, High: 2.39e6, Unit: "ns/op"}
	big.Parts = []regression.Part{{Function: "regexp.parse",
		Path: []string{"main.main", "pricing.rule", "regexp.MustCompile", "regexp.parse"}, Delta: 48, Score: 9}}
	big.RuledOut = []regression.RuledOut{{Cause: "moved work", Evidence: "no place nearby fell by as much"}}
	accepted := find("checkout", regression.Regression, regression.Confirmed, "lex", 0.05, 8)
	accepted.Acknowledged = &regression.Excuse{Reason: "the new grammar", Until: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)}
	slow := find("search", regression.Slowdown, regression.Confirmed, "", 0.2, 6)
	slow.Path, slow.Note = nil, "everything takes 1.20 times as long as before: machine or environment, no single function"
	findings := []regression.Finding{big, find("search", regression.Regression, regression.Suspect, "regexp.MustCompile", 0.1, 5), accepted,
		slow,
		find("search", regression.Regression, regression.Suspect, hostile, 0.01, 4),
		find("search", regression.Improvement, regression.Confirmed, "sort.Sort", -0.1, -7),
		find("search", regression.Regression, regression.Transient, "gone", 0.1, 5),
		find("search", regression.Moved, regression.Confirmed, "moved", 0.1, 5)}
	analysis := &regression.Analysis{History: []string{"run-1", "run-2", "run-8"}, Tested: []string{"run-9"}, Threshold: 3.6, Blocks: 8,
		Noisy: 2, Unstable: []regression.Finding{},
		Detectable: regression.Detectable{Changes: []regression.DetectableChange{{Share: 0.05, Change: 0.085}}}}
	res := &regression.Result{Findings: findings, Benchmarks: []regression.Benchmark{
		{Benchmark: testrun.Benchmark{Group: "shop", Name: "checkout"}, Type: cpu, Findings: findings[:1],
			Analyses: []*regression.Analysis{analysis},
			LeftOut:  []history.LeftOut{{Reason: "another machine", Runs: 3}}, Warnings: []string{hostile},
			Ranked: []regression.Candidate{{Function: "regexp.MustCompile", Score: 19.5}}},
		{Benchmark: testrun.Benchmark{Group: "shop", Name: "new <&|\x00"}, Type: cpu, Reason: "too few runs: 1 before the tested run, at least 3 are needed"},
		{Benchmark: testrun.Benchmark{Group: "shop", Name: "search"}, Type: cpu, Findings: findings[4:6],
			Analyses: []*regression.Analysis{analysis}},
	}}
	step := func(name, status string, diff float64) expansion.Step {
		return expansion.Step{Function: name, Diff: diff, CandidateDiff: 5.55e8, CandidateScore: 55.5, Status: status}
	}
	levels := []float64{0, 0, 0, 0.196}
	ev := []evidence.Evidence{{
		Runs: []evidence.Run{{Key: "run-1"}, {Key: "run-2"}, {Key: "run-8"}, {Key: "run-9", Tested: true}},
		Metric: &evidence.Metric{Name: "time/op", Unit: "ns/op", Values: []float64{6.6e6, 0, 7.1e6, 8.9e6},
			Band: []evidence.Level{{Mean: 6.6e6}, {Mean: 6.6e6}, {Mean: 6.6e6}, {Mean: 6.85e6, Deviation: 0.2e6}}},
		Candidates: []evidence.Candidate{
			{Function: "regexp.MustCompile", Finding: big.ID, Actual: 0.196, Diff: 0.196, Score: 19.5, Status: "+", Levels: levels,
				Band: make([]evidence.Level, 4),
				Contexts: &expansion.Expansion{Function: "regexp.MustCompile",
					Children: []expansion.Trace{{step("regexp.MustCompile", "+", 5.55e8), step("regexp.parse", "+", 1.6e8)},
						{step("regexp.MustCompile", "", 1)}},
					Parents: []expansion.Trace{{step("regexp.MustCompile", "+", 5.55e8), step(hostile, "", 6.5e8)}}}},
			{Function: hostile, Self: true, Expected: 0.04, Actual: 0.05, Diff: 0.01, Score: 2.5, Levels: levels, Band: make([]evidence.Level, 4)},
		}}, {}, {}}
	changes := gate.Group(findings)
	r := New(res, ev, changes, gate.Judge(res, changes, gate.Policy{}))
	r.Metrics = sampleMetrics()
	r.Verdict.JudgeMetrics(r.Metrics, 0.05)
	r.Notes = []string{"the clone is shallow"}
	r.Parameters = []Parameter{{"selected", "12 profiles of 3 benchmarks"}, {"selection", "type cpu"}, {"base", "main`s"}}
	r.Version = "1.2.3"
	r.Locate(func(_ *Change, path []string) Place {
		if path[0] == "regexp.MustCompile" {
			return Place{At: "pricing.rule", File: "pricing/rule 1.go", Line: 29, Owners: []string{"@acme/pricing", "p@example.com", "@<b>"},
				Link: "https://github.com/acme/shop/blob/c2/pricing/rule%201.go#L29", Code: &Code{From: "c1", To: "c2", Link: "https://github.com/acme/shop/compare/c1...c2",
					Commits: []CodeCommit{{"579d7113d2aa", "A", hostile, ""}}, MoreCommits: 2, MoreLines: 3,
					Lines: []CodeLine{{"pricing/rule 1.go", 29, "-", "\tre := compiled"}, {"pricing/rule 1.go", 29, "+", "\t```" + hostile}}}}
		}
		return Place{At: path[0]}
	})
	return r
}

// formats are the documents by the name of their golden file.
func formats(r *Report) map[string]func(w *bytes.Buffer) error {
	return map[string]func(w *bytes.Buffer) error{
		"report.txt":   func(w *bytes.Buffer) error { return r.Text(Detail{Traces: 1}).Print(&table.Output{W: w}) },
		"report.md":    func(w *bytes.Buffer) error { return r.Markdown(w, Detail{Traces: 1}, CommentLimit) },
		"report.json":  func(w *bytes.Buffer) error { return r.JSON(w) },
		"report.sarif": func(w *bytes.Buffer) error { return r.SARIF(w) },
		"report.xml":   func(w *bytes.Buffer) error { return r.JUnit(w) },
	}
}

func TestGolden(t *testing.T) {
	for name, write := range formats(sample()) {
		var b, again bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(name, err)
		}
		if err := formats(sample())[name](&again); err != nil || !bytes.Equal(b.Bytes(), again.Bytes()) {
			t.Errorf("%s: the same report gives other bytes", name)
		}
		golden := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(golden, b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(b.Bytes(), want) {
			t.Errorf("%s differs (-update rewrites it):\n%s", name, b.String())
		}
	}
}

// TestHostileNames: names of functions are never commands, markup or escapes.
func TestHostileNames(t *testing.T) {
	for name, write := range formats(sample()) {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		if !utf8.Valid(b.Bytes()) || bytes.ContainsAny(b.Bytes(), "\x1b\x00") ||
			name != "report.json" && bytes.ContainsRune(b.Bytes(), '\u202e') {
			t.Errorf("%s holds characters that a terminal obeys", name)
		}
		for line := range strings.Lines(b.String()) {
			if strings.HasPrefix(strings.TrimSpace(line), "::") {
				t.Errorf("%s: a line is a workflow command: %q", name, line)
			}
			if name == "report.md" && strings.Contains(line, "<b>") && !inCode(line, "<b>") {
				t.Errorf("%s: a line holds an element: %q", name, line)
			}
		}
	}
	var b bytes.Buffer
	if err := sample().JUnit(&b); err != nil {
		t.Fatal(err)
	}
	if err := xml.Unmarshal(b.Bytes(), &junitSuites{}); err != nil {
		t.Error(err)
	}
	b.Reset()
	if err := sample().SARIF(&b); err != nil || !json.Valid(b.Bytes()) {
		t.Error(err)
	}
}

// inCode reports whether text stands between backticks in a line, or in a line of a
// code block, which has a frame or is indented.
func inCode(line, text string) bool {
	before, _, _ := strings.Cut(line, text)
	return strings.Contains(before, "`") || strings.HasPrefix(line, " ") ||
		!strings.HasPrefix(line, "|") && !strings.HasPrefix(line, "-") && !strings.HasPrefix(line, "<")
}

// TestMarkdownFits: whatever there is to say, the document fits a comment, is whole,
// and says that something is missing.
func TestMarkdownFits(t *testing.T) {
	r := sample()
	for i := range 400 {
		c := r.Changes[0]
		c.Function = fmt.Sprintf("pkg.function%d%s", i, strings.Repeat("x", i))
		r.Changes = append(r.Changes, c)
		b := r.Benchmarks[0]
		r.Benchmarks = append(r.Benchmarks, b)
	}
	for _, limit := range []int{2_000, 10_000, CommentLimit} {
		var b bytes.Buffer
		if err := r.Markdown(&b, Detail{}, limit); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		if len(text) > limit || !strings.Contains(text, "omitted to stay within") {
			t.Errorf("%d bytes of %d, or no word about what is left out", len(text), limit)
		}
		if strings.Count(text, "<details>") != strings.Count(text, "</details>") {
			t.Errorf("limit %d: details are not closed", limit)
		}
	}
}

func TestHeadline(t *testing.T) {
	res := &regression.Result{Benchmarks: []regression.Benchmark{{Reason: "too few runs"}}}
	if got := New(res, nil, nil, nil).Headline(); got != "nothing tested; 1 benchmark without a verdict" {
		t.Error(got)
	}
	if got := New(res, nil, nil, &gate.Verdict{}).Headline(); got != "no verdict: nothing tested; 1 benchmark without a verdict" {
		t.Error(got)
	}
	res.Benchmarks = append(res.Benchmarks, regression.Benchmark{Type: profile.ValueType{Name: "alloc"}, Reason: "too few runs"})
	if got := New(res, nil, nil, nil).Headline(); got != "nothing tested; 1 benchmark without a verdict" {
		t.Errorf("a benchmark of two value types: %s", got)
	}
	res.Benchmarks[0].Reason = ""
	if got := New(res, nil, nil, &gate.Verdict{Tested: true}).Headline(); got != "passed: no change found in 1 benchmark, 1 tested in part" {
		t.Error(got)
	}
	r := New(res, nil, nil, &gate.Verdict{Tested: true})
	side := metrics.Side{Median: 1}
	r.Metrics.Rows = []metrics.Row{{Metric: "ns/op", Benchmark: "b", Change: 0.7, Significant: true, Base: side},
		{Metric: "B/op", Change: -0.8, Significant: true}}
	if got := r.Headline(); got != "passed, but worse: ns/op of b +70.0%; no finding in 1 benchmark, 1 tested in part" {
		t.Error(got)
	}
	accepted := *r
	accepted.Changes = []Change{{Change: gate.Change{Finding: regression.Finding{Benchmark: "b", Kind: regression.Regression,
		Status: regression.Confirmed, Acknowledged: &regression.Excuse{}}}}}
	if got := accepted.Headline(); got != "passed: 1 acknowledged in 1 benchmark, 1 tested in part" {
		t.Error(got)
	}
	accepted.Changes[0].Benchmark = "another"
	if got := accepted.Headline(); got != "passed, but worse: ns/op of b +70.0%; 1 acknowledged in 1 benchmark, 1 tested in part" {
		t.Error(got)
	}
	limited := *r
	limited.Verdict = &gate.Verdict{Tested: true, FailOnMetric: 0.9}
	if got := limited.Headline(); got != "passed: no finding in 1 benchmark, but 1 metric worse, 1 tested in part" {
		t.Error(got)
	}
	r.Verdict.Judged, r.Verdict.HeadRuns = 1, [2]int{4, 4}
	if got := r.Brief(0).String(); !strings.Contains(got, "note: metrics that are worse do not fail: --fail-on-metric 5% makes them\n") {
		t.Error(got)
	}
	r.Verdict.NotHead = "5f3c0a112233445566"
	if got := r.Headline(); !strings.HasPrefix(got, "no verdict on 5f3c0a1122, which has no runs; others: no finding in 1 benchmark") {
		t.Error(got)
	}
	r.Verdict.NotHead, r.Steady = "", 4999
	r.Metrics.Rows = append(r.Metrics.Rows, metrics.Row{Metric: "allocs/op", Benchmark: "b", Change: 0.9, Significant: true})
	if got := r.Headline(); got != "passed, but worse: allocs/op of b from 0 and 1 more metric; no finding in 5,000 benchmarks, 1 tested in part" {
		t.Error(got)
	}
	if got := sample().Headline(); got != "failed: 1 regression, 1 suspect, 1 slowdown without a certain place, 1 acknowledged, 1 improvement, 2 metrics worse in 2 benchmarks; 1 benchmark without a verdict" {
		t.Error(got)
	}
}

func TestPlotBounds(t *testing.T) {
	for _, values := range [][]float64{{}, {1}, {1, 1}, {0, 0, 0}, {-1, 5, 1e300}, make([]float64, 500)} {
		p := plot{values: values, band: make([]evidence.Level, len(values)), tested: 1, label: words.Percent}
		for _, l := range p.lines() {
			if utf8.RuneCountInString(l) > 400 {
				t.Errorf("a line of %d characters", utf8.RuneCountInString(l))
			}
		}
		spark(values, func(v float64) bool { return v == 0 })
	}
}

// TestBandWidth: the band of a plot is as wide as it is asked for.
func TestBandWidth(t *testing.T) {
	band := func(width float64) (n int) {
		p := plot{values: []float64{0, 5, 5, 10}, band: []evidence.Level{{}, {Mean: 5, Deviation: 1}, {Mean: 5, Deviation: 1},
			{Mean: 5, Deviation: 1}}, width: width,
			label: func(float64) string { return "" }}
		for _, line := range p.lines() {
			n += strings.Count(line, "░")
		}
		return n
	}
	if narrow, wide := band(2), band(4); narrow == 0 || wide <= narrow {
		t.Errorf("%d marks of two standard deviations, %d of four", narrow, wide)
	}
}

// GitHub shows no result without a file, and rules without help as empty pages.
func TestSARIFForGitHub(t *testing.T) {
	r := sample()
	r.Module = "go.mod"
	var b bytes.Buffer
	if err := r.SARIF(&b); err != nil {
		t.Fatal(err)
	}
	var log sarifLog
	if err := json.Unmarshal(b.Bytes(), &log); err != nil {
		t.Fatal(err)
	}
	fallback := 0
	for _, res := range log.Runs[0].Results {
		if len(res.Locations) != 1 || res.Locations[0].Physical == nil || res.Locations[0].Physical.Artifact.URI == "" ||
			res.Locations[0].Physical.Region.StartLine < 1 {
			t.Errorf("%s: %+v", res.Message.Text, res.Locations)
		} else if res.Locations[0].Physical.Artifact.URI == "go.mod" {
			fallback++
		}
	}
	if fallback == 0 {
		t.Error("no result without a file")
	}
	for _, rule := range log.Runs[0].Tool.Driver.Rules {
		if rule.Help.Text == "" || rule.Help.Markdown == "" || rule.HelpURI == "" {
			t.Errorf("%s has no help", rule.ID)
		}
		if strings.EqualFold(rule.Name, rule.ID) { // Microsoft's rule SARIF1001
			t.Errorf("the name of rule %s is its id", rule.ID)
		}
	}
	for version, want := range map[string]string{"v1.2.0": "1.2.0", "0.3.1-5-gabc": "0.3.1-5-gabc", "development": "", "": ""} { // SARIF2005
		if got := sarifVersion(version); got != want {
			t.Errorf("version %q: %q, want %q", version, got, want)
		}
	}
}

// TestCommentOfSevenBenchmarks: a pull request comment has at most 20 KB, all changes in
// its table, and the rest folded.
func TestCommentOfSevenBenchmarks(t *testing.T) {
	r := sample()
	change, benchmark := r.Changes[0], r.Benchmarks[0]
	for len(change.Path) < 30 {
		change.Path = append([]string{fmt.Sprintf("github.com/acme/shop/internal/package%d.(*Service).method", len(change.Path))}, change.Path...)
	}
	r.Changes, r.Benchmarks = nil, nil
	for i := range 7 {
		change.Function = fmt.Sprintf("github.com/acme/shop/pricing.rule%d", i)
		change.Also, change.Code = nil, codeOf(20)
		r.Changes = append(r.Changes, change)
		benchmark.Benchmark = &regression.Benchmark{Benchmark: testrun.Benchmark{Group: "shop", Name: fmt.Sprint("benchmark", i)},
			Type: benchmark.Type, Findings: benchmark.Findings, Analyses: benchmark.Analyses}
		r.Benchmarks = append(r.Benchmarks, benchmark)
	}
	var b bytes.Buffer
	if err := r.Markdown(&b, Detail{Traces: 3}, CommentLimit); err != nil {
		t.Fatal(err)
	}
	open, _, _ := strings.Cut(b.String(), "<details>")
	if b.Len() > 20_000 || len(open) > 5_000 {
		t.Errorf("%d bytes, of which %d are not folded", b.Len(), len(open))
	}
	for i := range 7 {
		if !strings.Contains(open, fmt.Sprintf("rule%d", i)) {
			t.Errorf("change %d is not in the table", i)
		}
	}
}

// codeOf is changed code of n lines.
func codeOf(n int) *Code {
	c := &Code{From: "c1", To: "c2", Commits: []CodeCommit{{"579d7113d2aa", "A", "a subject", ""}}}
	for i := range n {
		c.Lines = append(c.Lines, CodeLine{"pricing/rule.go", i, "+", strings.Repeat("x", 80)})
	}
	return c
}

// TestSARIFStructure checks what the schema of SARIF 2.1.0 requires of the parts that are
// written; the golden file was validated against the schema itself.
func TestSARIFStructure(t *testing.T) {
	var b bytes.Buffer
	if err := sample().SARIF(&b); err != nil {
		t.Fatal(err)
	}
	var log struct {
		Version string
		Runs    []struct {
			Tool struct {
				Driver struct {
					Name  string
					Rules []struct {
						ID                   string
						DefaultConfiguration struct{ Level string }
					}
				}
			}
			Results []struct {
				RuleID, Level, BaselineState string
				RuleIndex                    int
				Message                      struct{ Text string }
				PartialFingerprints          map[string]string
				Suppressions                 []struct{ Kind string }
			}
		}
	}
	if err := json.Unmarshal(b.Bytes(), &log); err != nil || log.Version != "2.1.0" || len(log.Runs) != 1 ||
		log.Runs[0].Tool.Driver.Name == "" {
		t.Fatalf("%v: %.200s", err, b.String())
	}
	levels := []string{"none", "note", "warning", "error"}
	rules := log.Runs[0].Tool.Driver.Rules
	for _, rule := range rules {
		if !slices.Contains(levels, rule.DefaultConfiguration.Level) {
			t.Errorf("rule %s: level %q", rule.ID, rule.DefaultConfiguration.Level)
		}
	}
	metricResults := 0
	for _, res := range log.Runs[0].Results {
		ok := slices.Contains(levels, res.Level) && slices.Contains([]string{"new", "unchanged", "updated", "absent"}, res.BaselineState) &&
			res.RuleIndex >= 0 && res.RuleIndex < len(rules) && rules[res.RuleIndex].ID == res.RuleID && res.Message.Text != "" &&
			len(res.PartialFingerprints) == 1
		for _, s := range res.Suppressions {
			ok = ok && (s.Kind == "inSource" || s.Kind == "external")
		}
		if !ok {
			t.Errorf("%+v", res)
		}
		if res.RuleID == "metric" {
			metricResults++
		}
	}
	if metricResults != 2 {
		t.Errorf("%d metrics that fail, want 2", metricResults)
	}
}

// TestBriefHidden: a check says that it hides moved and transient changes.
func TestBriefHidden(t *testing.T) {
	r := sample()
	moved := r.Changes[0]
	moved.Kind = regression.Moved
	r.Changes = append(r.Changes, moved, moved)
	before, after := sample().Brief(0).String(), r.Brief(0).String()
	const note = "not shown (-o json)\n"
	if !strings.Contains(before, "note: 2 moved or transient changes "+note) ||
		!strings.Contains(after, "note: 4 moved or transient changes "+note) {
		t.Errorf("%s\nthen\n%s", before, after)
	}
}

// TestPassSaysWhatItSees: no change found says little if only a large one would have been.
func TestPassSaysWhatItSees(t *testing.T) {
	r := New(&regression.Result{}, nil, nil, &gate.Verdict{Tested: true, Judged: 2, HeadRuns: [2]int{3, 3}, BaseRuns: [2]int{3, 3}})
	for name, sees := range map[string]float64{"Sort": 0.043, "Parse": 0.462, "Slow": 0} {
		b := Benchmark{Benchmark: &regression.Benchmark{}, Outcome: Outcome{Status: Unchanged, Detectable: sees}}
		b.Benchmark.Benchmark.Name = name
		r.Benchmarks = append(r.Benchmarks, b)
	}
	const both = "note: detects changes of at least 4.3% of the program in a function that uses 5% of it; in Parse of 46.2%\n"
	if text := r.Brief(0).String(); !strings.Contains(text, both) {
		t.Errorf("%s\nwant %s", text, both)
	}
	for _, o := range []Outcome{{Status: Unchanged, Detectable: 0.0431}, {Status: Slower, Detectable: 0.462}} { // reads alike; does not pass
		for i := range r.Benchmarks {
			if b := &r.Benchmarks[i]; b.Benchmark.Benchmark.Name == "Parse" {
				b.Outcome = o
			}
		}
		const one = "note: detects changes of at least 4.3% of the program in a function that uses 5% of it\n"
		if text := r.Brief(0).String(); !strings.Contains(text, one) {
			t.Error(text)
		}
	}
}

// TestPassSaysFewSamples: a pass says in its first line that it rests on few samples; a benchmark
// has enough if one of its value types has.
func TestPassSaysFewSamples(t *testing.T) {
	r := New(&regression.Result{}, nil, nil, &gate.Verdict{Tested: true, Judged: 2, HeadRuns: [2]int{3, 3}, BaseRuns: [2]int{3, 3}})
	add := func(name string, few float64) {
		b := Benchmark{Benchmark: &regression.Benchmark{FewSamples: few}, Outcome: Outcome{Status: Unchanged}}
		b.Benchmark.Benchmark.Name = name
		r.Benchmarks = append(r.Benchmarks, b)
	}
	add("Sort", 0)
	add("Sort", 4)
	if text := r.Brief(0).String(); strings.Contains(text, "samples") {
		t.Error(text)
	}
	add("Parse", 9)
	text := r.Brief(0).String()
	if !strings.HasPrefix(text, "passed: no change found in 2 benchmarks, 1 with few samples\n") ||
		!strings.Contains(text, "note: Parse has 9 samples per run: only large changes show") {
		t.Error(text)
	}
}

// TestBriefColours: a failed check is red on a terminal, one that passed green, and a table fits.
func TestBriefColours(t *testing.T) {
	print := func(r *Report) string {
		var b strings.Builder
		if err := r.Brief(0).Print(&table.Output{W: &b, Colour: true, Width: 126}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	r := sample()
	r.Changes, r.Metrics.Rows = r.Changes[:1], nil
	r.Changes[0].Fails, r.Changes[0].Since.Run = true, "FAIL "
	r.Changes[0].Headline = &regression.Headline{Function: "a/package.of.many.parts.(*Type).method", Calls: "another.Function.of.a.long.name"}
	r.Verdict = &gate.Verdict{Failed: true}
	text := print(r)
	if strings.Count(text, "\x1b[31m") != 2 || !strings.HasPrefix(text, "\x1b[31mfailed") ||
		!strings.Contains(text, "\x1b[31mFAIL confirmed") {
		t.Errorf("%q", text)
	}
	_, row, _ := strings.Cut(strings.NewReplacer("\x1b[31m", "", "\x1b[0m", "").Replace(text), "function\n")
	if row, _, _ = strings.Cut(row, "\n"); utf8.RuneCountInString(row) != 126 || !strings.Contains(row, "…") {
		t.Errorf("%d columns: %s", utf8.RuneCountInString(row), row)
	}
	r.Verdict = &gate.Verdict{Tested: true}
	if text := print(r); !strings.HasPrefix(text, "\x1b[32mpassed") {
		t.Errorf("%q", text)
	}
	if text := r.Brief(0).String(); strings.Contains(text, "\x1b") {
		t.Errorf("%q", text)
	}
}

// TestFindingColours: a terminal sees how bad a finding is.
func TestFindingColours(t *testing.T) {
	for _, c := range []struct {
		f    regression.Finding
		want table.Tint
	}{
		{regression.Finding{Status: regression.Confirmed, Kind: regression.Regression}, table.Red},
		{regression.Finding{Status: regression.Confirmed, Kind: regression.Regression, Acknowledged: &regression.Excuse{}}, table.Bold},
		{regression.Finding{Status: regression.Suspect, Kind: regression.Regression}, table.Bold},
		{regression.Finding{Status: regression.Confirmed, Kind: regression.Improvement}, table.Green},
	} {
		var b strings.Builder
		if err := Finding(gate.Change{Finding: c.f}, false).Print(&table.Output{W: &b, Colour: true}); err != nil {
			t.Fatal(err)
		}
		head, rest, _ := strings.Cut(b.String(), "\n")
		if !strings.HasPrefix(head, "\x1b["+string(c.want)+"m") || !strings.HasSuffix(head, "\x1b[0m") || strings.Contains(rest, "\x1b") {
			t.Errorf("%v: %q", c.want, b.String())
		}
	}
}

// TestOnlyChanged: what is left out is still counted, also after a trip over HTTP.
func TestOnlyChanged(t *testing.T) {
	of := func(name, reason string, findings int) Benchmark {
		return Benchmark{Benchmark: &regression.Benchmark{Benchmark: testrun.Benchmark{Name: name}, Reason: reason,
			Findings: make([]regression.Finding, findings)}}
	}
	r := &Report{Benchmarks: []Benchmark{of("a", "", 0), of("a", "", 0), of("b", "", 1), of("c", "too few runs", 0), of("d", "", 0),
		of("worse", "", 0), of("few", "", 0), of("unsure", "", 0), of("b", "too few runs", 0)}, Verdict: &gate.Verdict{Tested: true},
		Metrics: &metrics.Table{Rows: []metrics.Row{{Metric: "a"}, {Metric: "b", Significant: true},
			{Metric: "c", Benchmark: "worse", Fails: true}}}}
	r.Benchmarks[6].FewSamples, r.Benchmarks[7].Outcome.Status = 7, Unknown
	const before = "passed: no change found in 6 benchmarks, 1 with few samples, 1 undecided, 1 tested in part; 1 benchmark without a verdict"
	if got := r.Headline(); got != before {
		t.Errorf("%q, want %q", got, before)
	}
	r.OnlyChanged()
	if r.Headline() != before || len(r.Benchmarks) != 6 || r.Steady != 2 || len(r.Metrics.Rows) != 2 {
		t.Errorf("%q, before %q; %d benchmarks, %d steady, %d metrics", r.Headline(), before, len(r.Benchmarks), r.Steady, len(r.Metrics.Rows))
	}
	var b strings.Builder
	if err := r.JUnit(&b); err != nil || !strings.Contains(b.String(), `failures="1"`) {
		t.Errorf("the metric that fails: %v\n%s", err, &b)
	}
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var back Report
	if err := json.Unmarshal(data, &back); err != nil || back.Headline() != before {
		t.Errorf("%q, %v", back.Headline(), err)
	}
}

func TestCalls(t *testing.T) {
	if got := calls([]string{"main.main", "a.com/x.walk", "a.com/x.walk", "a.com/x.walk", "b.leaf"}); got != "main.main → x.walk ×3 → b.leaf" {
		t.Error(got)
	}
}

// TestFirstRunsDiffer: a benchmark is not unchanged without a word if its first runs, too few to compare with, differ.
func TestFirstRunsDiffer(t *testing.T) {
	for before, want := range []string{"unchanged: would have seen 2.1% of the program in a function that uses 5% of it",
		"unchanged: would have seen 2.1% of the program in a function that uses 5% of it, but the first run differs from those after: a change needs 3 runs before it",
		"unchanged: would have seen 2.1% of the program in a function that uses 5% of it, but the first 2 runs differ from those after: a change needs 3 runs before it"} {
		s := Standing{Lines: []Line{{Standing: change.Standing{Status: Unchanged, Detectable: 0.021, Before: before}}}}
		if got := s.Outcome().Says; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
