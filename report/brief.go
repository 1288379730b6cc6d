package report

import (
	"bufio"
	"fmt"
	"io"
	"slices"

	"github.com/dendroprof/dendro/internal/words"
)

// Brief writes the report in a few lines: the headline, a row for each change and a
// line for each benchmark without a verdict. The caller tells where to find the rest.
func (r *Report) Brief(w io.Writer, d Detail) error {
	t := &text{bufio.NewWriter(w)}
	t.head(r)
	if shown, left := r.shown(d.Changes); len(shown) > 0 {
		g := grid{heads: []string{"share", "cost", "change", "benchmark", "since", "function"}, right: 2}
		for _, c := range shown {
			in, more := c.where()
			if more > 0 {
				in = fmt.Sprintf("%s and %d more", in, more)
			}
			g.add(words.SignedPercent(c.Delta.Share), Cost(&c.Finding), c.fail()+c.what(), in, c.since(), shorten(c.label()))
		}
		t.lines("", g.aligned())
		t.left(left)
	}
	var silent []*Benchmark
	for i := range r.Benchmarks {
		if b := &r.Benchmarks[i]; b.Reason != "" {
			silent = append(silent, b)
		}
	}
	for _, b := range words.First(silent, fewBenchmarks) {
		t.line("", "%s: %s", r.name(b), b.summary())
	}
	if n := len(silent) - fewBenchmarks; n > 0 {
		t.line("", "%d more %s without a verdict", n, words.Plural(n, "benchmark"))
	}
	return t.Flush()
}

// head writes headline and notes.
func (t *text) head(r *Report) {
	t.line("", "%s", r.Headline())
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
