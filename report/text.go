package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/analysis/evidence"
	"github.com/dendroprof/dendro/analysis/expansion"
	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/analysis/stat"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/table"
)

// Detail bounds reports in text and Markdown; other formats have everything.
type Detail struct {
	Changes int  `param:"rows" arg:"n" min:"0" default:"25" help:"text and md: maximum number of changes (0: all)" json:"rows"`
	Traces  int  `param:"traces" arg:"n" min:"0" default:"3" help:"text and md: maximum contexts per candidate (0: all)" json:"traces"`
	All     bool `param:"all" help:"text and md: also print candidates of benchmarks without findings" json:"all,omitempty"`
}

// fewBenchmarks is the maximum number of benchmarks listed in full; of more, only those
// with findings or warnings are listed.
const fewBenchmarks = 8

// Text returns the report for a terminal.
func (r *Report) Text(d Detail) *table.Page {
	t := &text{full: true}
	t.head(r)
	shown, left := r.shown(d.Changes)
	for _, c := range shown {
		t.change(c)
	}
	if left > 0 {
		t.Line("\n%s not shown", words.Counted(left, "more change"))
	}
	if len(r.Metrics.Rows) > 0 {
		t.Line("\nmetrics: %s", r.metricsSummary())
		for _, m := range r.metricTables() {
			t.Line("")
			t.Table(m)
		}
	}
	quiet := 0
	for i := range r.Benchmarks {
		b := &r.Benchmarks[i]
		if len(r.Benchmarks) > fewBenchmarks && !d.All && len(b.Findings) == 0 && b.Reason == "" && len(b.remarks()) == 0 {
			quiet++
			continue
		}
		t.benchmark(r, b, d)
	}
	if quiet > 0 {
		t.Line("\n%s without findings", words.Counted(quiet, "more benchmark"))
	}
	t.Line("\nparameters")
	for _, p := range r.Parameters {
		t.Line("  %-12s %s", p.Name, words.Clean(p.Value))
	}
	return &t.Page
}

// text is a page about changes.
type text struct {
	table.Page
	full bool // with the evidence of what was ruled out
}

// shown reports whether text lists the candidates of the benchmark: those of findings, and
// rankings and functions that were requested.
func (b *Benchmark) shown(d Detail) bool {
	list := b.Evidence.Candidates
	return len(list) > 0 && (d.All || len(b.Findings) > 0 || list[0].Method != "" ||
		slices.ContainsFunc(list, func(c evidence.Candidate) bool { return c.Requested }))
}

func (t *text) benchmark(r *Report, b *Benchmark, d Detail) {
	t.Line("\n%s: %s", r.name(b), r.summary(b))
	for _, w := range slices.Concat(b.moved(), b.remarks()) {
		t.Line("    - %s", w)
	}
	if !b.shown(d) {
		return
	}
	if m := b.Evidence.Metric; m != nil {
		t.Line("    %s", words.Clean(m.Name))
		t.Lines("    ", b.metricPlot())
	}
	t.Table(b.candidateTable())
	for i := range b.Evidence.Candidates {
		t.candidate(b, &b.Evidence.Candidates[i], d)
	}
}

// candidate draws a candidate's share and contexts, unless it is only ranked by self.
func (t *text) candidate(b *Benchmark, c *evidence.Candidate, d Detail) {
	if c.Self && c.Method == "" && !d.All {
		return
	}
	t.Line("\n    candidate %s", candidateName(c))
	t.Lines("    ", b.candidatePlot(c))
	for _, context := range b.contexts(c, d, "    ", func(name string) string { return name }) {
		t.Page.Page(context)
	}
}

// contexts returns the traces of a candidate, one page each, in reading order: a child trace
// from the deepest callee up to the candidate, a parent trace from the candidate up to its
// outermost caller. The number of omitted traces follows the last one of a direction. Name
// formats the names of functions.
func (b *Benchmark) contexts(c *evidence.Candidate, d Detail, indent string, name func(string) string) (pages []*table.Page) {
	if c.Contexts == nil {
		return nil
	}
	for _, side := range []struct {
		title  string
		traces []expansion.Trace
		down   bool
	}{{"child trace", c.Contexts.Children, true}, {"parent trace", c.Contexts.Parents, false}} {
		shown := words.First(side.traces, d.Traces)
		for i, trace := range shown {
			t := &table.Table{Indent: indent + "│ ", Columns: []table.Column{{Name: side.title, Whole: true}, number("diff"),
				number("candidate diff"), number("candidate score"), number("")}}
			if trace = slices.Clone(trace); side.down {
				slices.Reverse(trace)
			}
			for _, s := range trace {
				t.Add(name(words.Clean(s.Function)), words.Difference(s.Diff, b.Type.Unit, b.Type.Scale),
					words.Difference(s.CandidateDiff, b.Type.Unit, b.Type.Scale), scoreOf(c, s.CandidateScore), s.Status)
			}
			p := &table.Page{}
			p.Table(t)
			if left := len(side.traces) - len(shown); left > 0 && i == len(shown)-1 {
				p.Line("%s%s", indent, words.Counted(left, "more "+side.title))
			}
			pages = append(pages, p)
		}
	}
	return pages
}

// candidateTable lists the candidates of a benchmark.
func (b *Benchmark) candidateTable() *table.Table {
	t := &table.Table{Indent: "    ", Columns: []table.Column{number("expected"), number("actual"), number("diff"), number("score"),
		markup(""), {Name: "code path", Whole: true, Markup: func(v any) string { return code(shorten(v.(string))) }}}}
	for i := range b.Evidence.Candidates {
		c := &b.Evidence.Candidates[i]
		level, difference := b.levels(c)
		t.Add(level(c.Expected), level(c.Actual), difference(c.Diff), scoreOf(c, c.Score), c.Status, candidateName(c))
	}
	return t
}

// candidateName returns the name of a candidate and whether its shares are of self.
func candidateName(c *evidence.Candidate) string {
	if c.Self {
		return words.Clean(c.Function) + " (self)"
	}
	return words.Clean(c.Function)
}

// summary returns the result of a benchmark in one line.
func (r *Report) summary(b *Benchmark) string {
	if b.Reason != "" {
		return "no verdict: " + words.Clean(b.Reason)
	}
	parts := []string{}
	if change := r.metricOf(b); change != "" {
		parts = append(parts, change)
	}
	parts = append(parts, b.found())
	if d := b.detectable(); d != "" {
		parts = append(parts, d)
	}
	return strings.Join(parts, "; ")
}

// found returns how many findings of a benchmark are shown and not accepted; if none, how many are accepted. It adds what
// only samples per run show.
func (b *Benchmark) found() string {
	if text := uncounted(b.Benchmark); text != "" {
		return b.findings() + "; " + text
	}
	return b.findings()
}

func (b *Benchmark) findings() string {
	n, accepted := 0, 0
	for i := range b.Findings {
		switch f := &b.Findings[i]; {
		case !Shown(f):
		case f.Acknowledged != nil:
			accepted++
		default:
			n++
		}
	}
	switch {
	case n > 0:
		return words.Counted(n, "finding")
	case accepted > 0:
		return words.Counted(accepted, "accepted change")
	case unplaced(b.Benchmark):
		return "nothing found, though the metric " + beyondHistory
	}
	return "nothing found"
}

// mostMoved is the maximum number of notes about moved work per benchmark.
const mostMoved = 3

// moved describes the work of a benchmark that only changed its place, if it is known
// where it was before.
func (b *Benchmark) moved() (notes []string) {
	for i := range b.Findings {
		f := &b.Findings[i]
		note := "no cost: " + words.Clean(f.Note)
		if f.Kind == regression.Moved && f.Status != regression.Transient && f.Note != "" && len(notes) < mostMoved &&
			!slices.Contains(notes, note) {
			notes = append(notes, note)
		}
	}
	return notes
}

// metricOf describes how the metric of the tested runs differs from that of the history: with
// the numbers of the table of metrics if it has them, which has a percentage only for what is
// no noise, and by medians like there; empty without one of them.
func (r *Report) metricOf(b *Benchmark) string {
	m := b.Evidence.Metric
	if m == nil {
		return ""
	}
	for i := range r.Metrics.Rows {
		row := &r.Metrics.Rows[i]
		if row.Of() == b.Benchmark.Benchmark && row.Metric == m.Name && row.Base.Median > 0 && row.Head.Median > 0 {
			text := words.Metric(row.Base.Median, row.Unit) + " → " + words.Metric(row.Head.Median, row.Unit)
			if row.Significant {
				text += " (" + words.SignedPercent(row.Change) + ")"
			}
			return text
		}
	}
	median := func(values []float64) float64 {
		return stat.Median(slices.DeleteFunc(slices.Clone(values), func(v float64) bool { return v == 0 }))
	}
	at := len(m.Values) - b.tested()
	was, now := median(m.Values[:at]), median(m.Values[at:])
	if was == 0 || now == 0 || math.IsNaN(was+now) {
		return ""
	}
	return fmt.Sprintf("%s → %s (%s)", words.Metric(was, m.Unit), words.Metric(now, m.Unit), words.SignedPercent(now/was-1))
}

// Explained tells how much of the change of the metric the findings of a comparison are,
// "+1.91 ms/op of +2.87 ms/op"; empty without a metric or without findings.
func Explained(a *regression.Analysis) string {
	if a == nil || a.Metric == nil || a.Metric.Found == 0 {
		return ""
	}
	m := a.Metric
	return fmt.Sprintf("%s of %s", words.SignedMetric(m.Found, m.Unit), words.SignedMetric(m.Head-m.Base, m.Unit))
}

// detectable returns the runs of both sides, and the smallest change that would have been
// detected.
func (b *Benchmark) detectable() string {
	a := regression.Most(b.Analyses)
	if a == nil || a.Detectable.Stated() == 0 {
		return ""
	}
	head, base := b.branches()
	return fmt.Sprintf("%s%s against %d%s: detects changes of at least %s", words.Counted(len(a.Tested), "run"), head,
		len(a.History), base, ofSmall(a.Detectable.Stated())+b.ofWhole())
}

// ofWhole says which change of all of the program would have been detected; empty if it is unknown.
func (b *Benchmark) ofWhole() string {
	a := regression.Most(b.Analyses)
	if a == nil || a.Detectable.Whole == 0 {
		return ""
	}
	return ", and of " + words.Percent(a.Detectable.Whole) + " in one that is nearly all of it"
}

// branches returns " of BRANCH" for both sides, for the head only if it is another one.
func (b *Benchmark) branches() (head, base string) {
	of := func(branch string) string {
		if branch == "" {
			return ""
		}
		return " of " + words.Clean(branch)
	}
	if b.Outcome.Branch == b.Outcome.Base {
		return "", of(b.Outcome.Base)
	}
	return of(b.Outcome.Branch), of(b.Outcome.Base)
}

func (b *Benchmark) remarks() []string {
	c := NewCompared(b.Benchmark)
	if b.Reason != "" {
		c.LeftOut = nil // the reason has them
	}
	return c.Remarks()
}

// Skipped says how many runs do not compare, and why.
func Skipped(l history.LeftOut) string {
	return fmt.Sprintf("%s skipped: %s", words.Counted(l.Runs, "run"), words.Clean(l.Reason))
}

// Remarks are warnings about the comparison of a benchmark.
func (c *Compared) Remarks() []string {
	list := words.CleanAll(c.Warnings)
	for _, l := range c.LeftOut {
		list = append(list, Skipped(l))
	}
	if len(c.Analyses) > 0 && c.Analyses[0].Differ > 0 {
		list = append(list, differing(c.Analyses[0].Differ)+": smaller changes do not show")
	}
	if len(c.Analyses) > 0 && c.Analyses[0].Noisy > 1 {
		a := c.Analyses[0]
		list = append(list, fmt.Sprintf("%d of %d comparisons within its history have findings: the threshold is raised to a score of %s", a.Noisy, a.Blocks, score(a.Threshold)))
	}
	return list
}
