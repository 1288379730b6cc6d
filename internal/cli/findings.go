package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/report"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// findingsAnswer is docs/schema/findings.md.
type findingsAnswer struct {
	Findings   []regression.Finding `json:"findings"`
	Benchmarks []benchmarkAnswer    `json:"benchmarks"`
	Expanded   []*expanded          `json:"expanded,omitempty"`
}

type benchmarkAnswer struct {
	Group     string `json:"group,omitempty"`
	Benchmark string `json:"benchmark"`
	Type      string `json:"type"`
	Verdict   bool   `json:"verdict"`
	Reason    string `json:"reason,omitempty"` // why there is none
	report.Compared
	Candidates []regression.Candidate `json:"candidates"`
}

func (o *regressionsOptions) find(ctx context.Context, e *env, st store.Store, q store.Query) error {
	req, err := o.request(q)
	if err != nil {
		return err
	}
	res, err := regression.Find(ctx, st, q, req)
	if err != nil {
		return err
	}
	var list []ranked
	for _, f := range words.First(res.Findings, o.rows) {
		list = append(list, ofBenchmark(f.Group, f.Benchmark, f.Function, f.Score))
	}
	x, err := o.expandRanked(ctx, st, q, list)
	if err != nil {
		return err
	}
	switch o.output {
	case "json":
		a := findingsJSON(res, o.rows)
		a.Expanded = x
		return e.writeJSON(a)
	case "md":
		return o.printTable(e, res)
	}
	o.printText(e, res)
	for _, x := range x {
		x.print(e.out)
	}
	return nil
}

func findingsJSON(res *regression.Result, rows int) findingsAnswer {
	a := findingsAnswer{Findings: report.Filled(words.First(res.Findings, rows)), Benchmarks: []benchmarkAnswer{}}
	for i := range res.Benchmarks {
		b := &res.Benchmarks[i]
		a.Benchmarks = append(a.Benchmarks, benchmarkAnswer{b.Benchmark.Group, b.Benchmark.Name, b.Type.Name, len(b.Analyses) > 0, b.Reason, report.NewCompared(b), report.Filled(b.Ranked)})
	}
	return a
}

// printTable prints a line per finding.
func (o *regressionsOptions) printTable(e *env, res *regression.Result) error {
	tb := &table{columns: []column{{name: "status"}, {name: "kind"}, {name: "share", right: true, text: signedPercent}, {name: "cost", right: true}, {name: "score", right: true},
		{name: "function"}, {name: "caller"}, {name: "benchmark"}, {name: "since"}}}
	for i := range words.First(res.Findings, o.rows) {
		f := &res.Findings[i]
		if o.all || report.Shown(f) {
			tb.add(statusText(f), string(f.Kind), f.Delta.Share, report.Cost(f), fmt.Sprintf("%.1f", f.Score), f.Function, f.Caller, benchmarkOf(f), f.Since.Run)
		}
	}
	return tb.print(e, o.output)
}

func benchmarkOf(f *regression.Finding) string {
	return testrun.Benchmark{Group: f.Group, Name: f.Benchmark}.String()
}

func statusText(f *regression.Finding) string {
	if f.Acknowledged != nil {
		return "acknowledged"
	}
	return string(f.Status)
}

// printText prints findings for people, by benchmark, and what could have been
// found.
func (o *regressionsOptions) printText(e *env, res *regression.Result) {
	printed, left, silent := 0, 0, 0
	for i := range res.Findings {
		f := &res.Findings[i]
		switch {
		case !o.all && !report.Shown(f):
			left++
		case o.rows > 0 && printed == o.rows:
			silent++
		default:
			_ = report.Finding(e.out, f)
			printed++
		}
	}
	if printed == 0 {
		fmt.Fprintln(e.out, "no findings")
	}
	quiet := 0
	for i := range res.Benchmarks {
		b := &res.Benchmarks[i]
		if len(b.Findings) == 0 && b.Reason == "" && len(b.Warnings) == 0 && len(res.Benchmarks) > 8 && !o.all {
			quiet++
			continue
		}
		e.printBenchmark(b)
	}
	if quiet > 0 {
		fmt.Fprintf(e.out, "%d more %s without findings (--all)\n", quiet, words.Plural(quiet, "benchmark"))
	}
	if left > 0 {
		fmt.Fprintf(e.err, "%d that moved or went away not shown (--all)\n", left)
	}
	if silent > 0 {
		fmt.Fprintf(e.err, "%d more findings (--rows)\n", silent)
	}
}

// printBenchmark says what was compared and what could have been found.
func (e *env) printBenchmark(b *regression.Benchmark) {
	name := words.Clean(b.Benchmark.String())
	if b.Reason != "" {
		fmt.Fprintf(e.out, "%s: no verdict: %s\n", name, words.Clean(b.Reason))
		for _, c := range words.First(b.Ranked, 5) {
			fmt.Fprintf(e.out, "    %s  %s\n", words.SignedPercent(c.Share), words.Clean(c.Function))
		}
	}
	for _, text := range report.Remarks(b) {
		fmt.Fprintf(e.out, "%s: %s\n", name, text)
	}
	for _, a := range words.First(b.Analyses, 2) {
		e.printPower(name, a)
	}
}

// printPower says how small a change a comparison finds, and what would make it
// smaller.
func (e *env) printPower(name string, a *regression.Analysis) {
	d := a.Detectable
	var sizes []string
	for _, c := range d.Changes {
		sizes = append(sizes, fmt.Sprintf("%s (function of %s)", words.Percent(c.Change), words.Percent(c.Share)))
	}
	fmt.Fprintf(e.out, "%s: %s against %d: finds in 4 of 5 cases a change of %s\n", name, words.Clean(strings.Join(a.Tested, " ")), len(a.History), strings.Join(sizes, ", "))
	if len(a.Tested) == 1 {
		fmt.Fprintf(e.out, "    at 5%%: with 4 times the samples %s, with one more run %s, with 3 runs %s\n", words.Percent(d.FourTimesTheSamples), words.Percent(d.OneMoreRun), words.Percent(d.ThreeRuns))
	}
}
