package report

import (
	"fmt"
	"slices"

	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/table"
)

// Brief returns the report in a few lines, with at most so many changes (0: all): the headline, a
// row for each change, and a line for each benchmark without a verdict, or with a metric or
// samples that no finding explains.
func (r *Report) Brief(changes int) *table.Page {
	shown, left := r.shown(changes)
	t := &text{}
	t.head(r, r.hidden(shown)...)
	if len(shown) > 0 {
		rows := &table.Table{Columns: []table.Column{number("cost"), {Name: "change", Whole: true}, {Name: "benchmark"}, {Name: "since"},
			{Name: "function"}}}
		for _, c := range shown {
			what := table.Tinted{Text: c.fail() + c.what()}
			if c.Fails {
				what.Tint = table.Red
			}
			rows.Add(Amount(&c.Finding), what, In(c.Change), c.since(), Title(&c.Finding))
		}
		t.Table(rows)
	}
	if left > 0 {
		t.Line("%s (--rows)", words.Counted(left, "more change"))
	}
	var bumped []string
	for _, c := range shown {
		for _, line := range c.dependencies() {
			if !slices.Contains(bumped, line) {
				bumped = append(bumped, line)
				t.Line("bumped: %s", line)
			}
		}
	}
	t.metrics(r)
	var silent []string
	for i := range r.Benchmarks {
		if one := &r.Benchmarks[i]; one.Reason != "" || unplaced(one.Benchmark) || uncounted(one.Benchmark) != "" {
			silent = append(silent, r.name(one)+": "+r.summary(one))
		}
	}
	for _, line := range words.First(silent, fewBenchmarks) {
		t.Line("%s", line)
	}
	if n := len(silent) - fewBenchmarks; n > 0 {
		t.Line("%s without a verdict", words.Counted(n, "more benchmark"))
	}
	return &t.Page
}

// hidden notes what a few lines do not show, and which sizes they show are uncertain.
func (r *Report) hidden(shown []*Change) (notes []string) {
	all, _ := r.shown(0)
	if n := len(r.Changes) - len(all); n > 0 {
		notes = append(notes, fmt.Sprintf("%s not shown (-o json)", words.Counted(n, "moved or transient change")))
	}
	unsized := 0
	for _, c := range shown {
		if t := c.Delta.Time; t != nil && t.Low <= 0 && t.Value > 0 && c.Kind == regression.Regression {
			unsized++
		}
	}
	if unsized > 0 {
		notes = append(notes, fmt.Sprintf("the interval of %s includes 0: it costs more by the shares of functions, how much is uncertain (--full)", words.Counted(unsized, "change")))
	}
	return notes
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

// head adds headline, selection and notes.
func (t *text) head(r *Report, notes ...string) {
	tint := table.Plain
	if v := r.Verdict; v != nil && v.NotHead == "" && (v.Failed || v.Tested) {
		switch tint = table.Green; {
		case v.Failed:
			tint = table.Red
		case len(r.leading()) > 0:
			tint = table.Bold
		}
	}
	t.TintedLine(tint, "%s", r.Headline())
	if s := r.selected(); s != "" {
		t.Line("selected %s", s)
	}
	for _, n := range slices.Concat(r.verdictNotes(), r.Notes, notes) {
		t.Line("note: %s", words.Clean(n))
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
