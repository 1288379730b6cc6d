package report

import (
	"fmt"
	"slices"

	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/internal/words"
)

// Brief is a report in a few lines.
type Brief struct {
	Headline string
	Failed   bool
	Passed   bool // neither is set if nothing was tested
	Selected string
	Notes    []string
	Changes  []BriefChange
	More     int      // changes that are not listed
	Bumped   []string // packages of the changes that have another version
	Metrics  string   // how many changed; empty if no metric has enough values
	// MetricRows are those that changed significantly, by the columns MetricHeads.
	MetricRows  [][]string
	MoreMetrics int
	Silent      []string // a line for each benchmark without a verdict, or with a metric or samples that no finding explains
}

// BriefChange is a change in one line. Its texts are safe to print.
type BriefChange struct {
	Cost, Change, Benchmark, Since, Label string
}

// Brief returns the report in a few lines, with at most so many changes; 0: all.
func (r *Report) Brief(changes int) *Brief {
	b := &Brief{Headline: r.Headline(), Selected: r.selected(), Notes: words.CleanAll(slices.Concat(r.verdictNotes(), r.Notes))}
	if r.Verdict != nil {
		b.Failed, b.Passed = r.Verdict.Failed, r.Verdict.Tested && !r.Verdict.Failed
	}
	shown, left := r.shown(changes)
	b.More = left
	all, _ := r.shown(0)
	if n := len(r.Changes) - len(all); n > 0 {
		b.Notes = append(b.Notes, fmt.Sprintf("%d moved or transient %s not shown (-o json)", n, words.Plural(n, "change")))
	}
	unsized := 0
	for _, c := range shown {
		if t := c.Delta.Time; t != nil && t.Low <= 0 && t.Value > 0 && c.Kind == regression.Regression {
			unsized++
		}
	}
	if unsized > 0 {
		b.Notes = append(b.Notes, fmt.Sprintf("the interval of %d %s includes 0: it costs more by the shares of functions, how much is uncertain (--full)", unsized, words.Plural(unsized, "change")))
	}
	for _, c := range shown {
		in, more := c.where()
		if more > 0 {
			in = fmt.Sprintf("%s and %d more", in, more)
		}
		b.Changes = append(b.Changes, BriefChange{Amount(&c.Finding), c.fail() + c.what(), in, c.since(), c.label()})
	}
	for _, c := range shown {
		for _, line := range c.dependencies() {
			if !slices.Contains(b.Bumped, line) {
				b.Bumped = append(b.Bumped, line)
			}
		}
	}
	r.metricsBrief(b)
	var silent []string
	for i := range r.Benchmarks {
		if one := &r.Benchmarks[i]; one.Reason != "" || unplaced(one.Benchmark) || uncounted(one.Benchmark) != "" {
			silent = append(silent, r.name(one)+": "+r.summary(one))
		}
	}
	b.Silent = words.First(silent, fewBenchmarks)
	if n := len(silent) - fewBenchmarks; n > 0 {
		b.Silent = append(b.Silent, fmt.Sprintf("%d more %s without a verdict", n, words.Plural(n, "benchmark")))
	}
	return b
}

// selected says what was selected, in one line; empty if the report does not know.
func (r *Report) selected() string {
	for _, p := range r.Parameters {
		if p.Name == "selected" {
			return words.Clean(p.Value)
		}
	}
	return ""
}

// head writes headline, selection and notes.
func (t *text) head(r *Report) {
	t.line("", "%s", r.Headline())
	if s := r.selected(); s != "" {
		t.line("", "selected %s", s)
	}
	for _, n := range slices.Concat(r.verdictNotes(), r.Notes) {
		t.line("", "note: %s", words.Clean(n))
	}
}

// left writes the number of omitted changes.
func (t *text) left(n int) {
	if n > 0 {
		t.line("", "\n%d more %s not shown", n, words.Plural(n, "change"))
	}
}

// shown returns the changes for people, limited to most (0: all), and the number of the
// others.
func (r *Report) shown(most int) (list []*Change, left int) {
	for i := range r.Changes {
		if c := &r.Changes[i]; c.shown() {
			list = append(list, c)
		}
	}
	first := words.First(list, most)
	return first, len(list) - len(first)
}
