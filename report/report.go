// Package report turns findings into documents: text for a terminal, Markdown that
// fits a pull-request comment, JSON (docs/schema/report.md), SARIF 2.1.0 and JUnit
// XML.
//
//	regression.Result, gate.Changes ─┐
//	Evidence of every benchmark ─────┴─▶ Report ──▶ Text, Markdown, JSON, SARIF, JUnit
//
// A Report is plain data, most important first: what costs, what may cost, what got
// better; then each benchmark with its metric over the runs and the candidates that
// speak for or against; then the parameters, and what the columns mean. Every format
// has the same content as far as it has a place for it: JSON is complete, text and
// Markdown leave out and say so, SARIF has the changes that cost, JUnit the
// benchmarks.
//
// The same Report gives the same bytes. There is no date and no machine in it but
// those of the runs. Names come from the programs that were profiled and are treated
// as hostile in every format. The package sees no store, opens no file, and sends
// nothing anywhere.
package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/analysis/gate"
	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/testrun"
)

// Report is everything that is said.
type Report struct {
	Parameters []Parameter
	Verdict    *gate.Verdict // nil: nobody asked for one
	Changes    []Change      // in the order of gate.Group
	Benchmarks []Benchmark   // in the order of the result
	Notes      []string      // about the comparison as a whole
	Version    string        // of the program, for SARIF; may be empty
}

// Parameter is a line about what was compared and how.
type Parameter struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Change is a change and where its code is.
type Change struct {
	gate.Change
	Place
}

// Place is where the code of a change is, and who owns it. All of it may be unknown.
type Place struct {
	// At is the function whose code it is: that of the change, or the nearest caller
	// that is in the repository.
	At     string   `json:"at,omitempty"`
	File   string   `json:"file,omitempty"` // relative to the repository where that is known
	Line   int      `json:"line,omitempty"` // 1 is the first; 0: unknown
	Owners []string `json:"owners,omitempty"`
}

// Benchmark is what is said about one benchmark.
type Benchmark struct {
	*regression.Benchmark
	Evidence Evidence
}

// New makes a report. The evidence is that of the result's benchmarks, in their
// order; nil: there is none.
func New(res *regression.Result, ev []Evidence, changes []gate.Change, v *gate.Verdict) *Report {
	r := &Report{Verdict: v}
	for _, c := range changes {
		r.Changes = append(r.Changes, Change{Change: c})
	}
	for i := range res.Benchmarks {
		b := Benchmark{Benchmark: &res.Benchmarks[i]}
		if i < len(ev) {
			b.Evidence = ev[i]
		}
		r.Benchmarks = append(r.Benchmarks, b)
	}
	return r
}

// Locate asks for the place of every change that costs and names a function: by its
// heaviest path, from the function to the root.
func (r *Report) Locate(place func(path []string) Place) {
	for i := range r.Changes {
		if c := &r.Changes[i]; c.Kind.Costs() && c.Function != "" {
			c.Place = place(c.callers())
		}
	}
}

// Functions lists the functions that Locate asks for.
func (r *Report) Functions() []string {
	var list []string
	for i := range r.Changes {
		if c := &r.Changes[i]; c.Kind.Costs() && c.Function != "" {
			list = append(list, c.callers()...)
		}
	}
	return list
}

// callers is the change's function and those above it.
func (c *Change) callers() []string {
	list := slices.Clone(c.Path)
	slices.Reverse(list)
	if len(list) == 0 || list[0] != c.Function {
		list = append([]string{c.Function}, list...)
	}
	return list
}

// Costs lists the changes that cost and are still there, without those that are
// acknowledged.
func (r *Report) Costs() []*Change {
	var list []*Change
	for i := range r.Changes {
		if c := &r.Changes[i]; c.Kind.Costs() && c.Acknowledged == nil && c.Status != regression.WentAway {
			list = append(list, c)
		}
	}
	return list
}

// Shown reports whether a finding is in the documents for people: what only moved
// and what went away is for programs.
func Shown(f *regression.Finding) bool {
	return f.Status != regression.WentAway && f.Kind != regression.Moved
}

func (c *Change) shown() bool { return Shown(&c.Finding) }

// counts are the changes by what they mean.
type counts struct{ confirmed, suspects, slowdowns, acknowledged, improved int }

func (r *Report) count() counts {
	var n counts
	for i := range r.Changes {
		switch c := &r.Changes[i]; {
		case !c.shown():
		case c.Kind == regression.Improvement:
			n.improved++
		case !c.Kind.Costs():
		case c.Acknowledged != nil:
			n.acknowledged++
		case c.Kind == regression.Slowdown && c.Function == "":
			n.slowdowns++
		case c.Status == regression.Confirmed:
			n.confirmed++
		default:
			n.suspects++
		}
	}
	return n
}

// Headline says it in one line.
func (r *Report) Headline() string {
	n := r.count()
	var parts []string
	add := func(count int, one, many string) {
		switch {
		case count == 1:
			parts = append(parts, "1 "+one)
		case count > 1:
			parts = append(parts, fmt.Sprintf("%d %s", count, many))
		}
	}
	add(n.confirmed, "regression", "regressions")
	add(n.suspects, "suspect", "suspects")
	add(n.slowdowns, "slowdown of everything", "slowdowns of everything")
	add(n.acknowledged, "acknowledged", "acknowledged")
	add(n.improved, "improvement", "improvements")
	judged := 0
	for i := range r.Benchmarks {
		if r.Benchmarks[i].Reason == "" {
			judged++
		}
	}
	text := "no change found"
	if len(parts) > 0 {
		text = strings.Join(parts, ", ")
	}
	text += fmt.Sprintf(" in %d %s", judged, words.Plural(judged, "benchmark"))
	if judged == 0 {
		text = "no verdict"
	}
	if left := len(r.Benchmarks) - judged; left > 0 {
		text += fmt.Sprintf("; %d without enough history", left)
	}
	switch {
	case r.Verdict == nil:
		return text
	case r.Verdict.Failed:
		return "failed: " + text
	}
	return "passed: " + text
}

// what says how sure a change is and of which kind: "confirmed regression".
func (c *Change) what() string {
	switch {
	case c.Acknowledged != nil:
		return "acknowledged " + string(c.Kind)
	case c.Kind.Costs() || c.Kind == regression.Improvement:
		return string(c.Status) + " " + string(c.Kind)
	}
	return string(c.Kind)
}

// label names a change: its function, else its note.
func (c *Change) label() string {
	name := words.Clean(c.Function)
	if name == "" {
		name = words.Clean(c.Note)
	}
	if c.Presence != "" {
		name += " (" + string(c.Presence) + ")"
	}
	return name
}

// benchmarks lists where a change shows, the leading place first.
func (c *Change) benchmarks() []string {
	var list []string
	for _, f := range c.All() {
		list = append(list, words.Clean(testrun.Benchmark{Group: f.Group, Name: f.Benchmark}.String()))
	}
	return list
}

// where names the leading place of a change, and counts the others.
func (c *Change) where() (benchmark string, more int) {
	list := c.benchmarks()
	return list[0], len(list) - 1
}

// since says when the change came.
func (c *Change) since() string {
	s := words.Clean(c.Since.Run)
	if c.Since.Commit != "" {
		s += " (" + words.Commit(words.Clean(c.Since.Commit)) + ")"
	}
	return s
}

// code says where the code of a change is: file:line, and of what if it is a
// caller's.
func (c *Change) code() (place, of string) {
	if c.File == "" {
		return "", ""
	}
	place = words.Clean(c.File)
	if c.Line > 0 {
		place = fmt.Sprintf("%s:%d", place, c.Line)
	}
	if c.At != c.Function {
		of = words.Clean(c.At)
	}
	return place, of
}

// name returns group/name of the benchmark, and its value type if the report has
// several.
func (r *Report) name(b *Benchmark) string {
	name := words.Clean(b.Benchmark.Benchmark.String())
	for i := range r.Benchmarks {
		if r.Benchmarks[i].Type.Name != b.Type.Name {
			return name + " " + words.Clean(b.Type.Name)
		}
	}
	return name
}

// tested returns how many runs at the end are under test.
func (b *Benchmark) tested() int {
	n := 0
	for i := range b.Evidence.Runs {
		if b.Evidence.Runs[i].Tested {
			n++
		}
	}
	return n
}
