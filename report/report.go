// Package report turns findings into documents: text for a terminal, Markdown that
// fits a pull-request comment, JSON (docs/schema/findings.md), SARIF 2.1.0 and JUnit
// XML.
//
//	regression.Result, gate.Changes ─┐
//	Evidence of every benchmark ─────┴─▶ Report ──▶ Text, Markdown, JSON, SARIF, JUnit
//
// A Report is plain data, most important first: regressions, suspects, improvements;
// then each benchmark with its metric over the runs and its candidates; then the
// parameters and the meaning of the columns. JSON is complete, text and Markdown
// truncate long lists and say so, SARIF has the regressions, JUnit the benchmarks.
//
// Equal Reports give equal bytes. Names come from profiled programs and are escaped in
// every format.
package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/analysis/evidence"
	"github.com/dendroprof/dendro/analysis/gate"
	"github.com/dendroprof/dendro/analysis/metrics"
	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/testrun"
)

// Report is the content of all formats.
type Report struct {
	Parameters []Parameter
	Verdict    *gate.Verdict // nil: no gate
	Changes    []Change      // in the order of gate.Group
	Benchmarks []Benchmark   // in the order of the result
	Counts     []Count       // all benchmarks by status; nil: not counted
	Steady     int           // benchmarks that OnlyChanged left out, in all their value types
	Metrics    *metrics.Table
	Notes      []string // about the comparison as a whole
	Version    string   // of the program, for SARIF; may be empty
	// Module is the file of the repository that describes the module. SARIF names it
	// where the file of a change is unknown; empty: the config file.
	Module   string
	Attached []Attachment // for pages; other formats ignore them

	// Definitions are the functions of changes by name, and Commits those of the compared
	// runs by key: with them the code of a change is found in a repository.
	Definitions map[string]profile.Function
	Commits     map[string]string
}

// Attachment is an answer of the API that a page shows beside the report.
type Attachment struct {
	Title string          `json:"title"`
	Path  string          `json:"path"`  // of its address
	Query string          `json:"query"` // of its address
	Body  json.RawMessage `json:"body"`
}

// Parameter is one setting of the comparison.
type Parameter struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Change is a change and where its code is.
type Change struct {
	gate.Change
	Place
}

// Place is the place and the owners of the code of a change. Everything may be unknown.
type Place struct {
	// At is the function of the code: that of the change, or its nearest caller in the
	// repository.
	At     string   `json:"at,omitempty"`
	File   string   `json:"file,omitempty"` // relative to the repository if it is known
	Line   int      `json:"line,omitempty"` // of the call if the headline has it, else of the declaration; 0: unknown
	Owners []string `json:"owners,omitempty"`
	Link   string   `json:"link,omitempty"` // a web page of the file
	Code   *Code    `json:"code,omitempty"` // nil: unknown, or unchanged
}

// Code is what changed between the last good and the first bad commit in the files of
// the functions of a change.
type Code struct {
	From    string       `json:"from"`
	To      string       `json:"to"`
	Link    string       `json:"link,omitempty"` // a web page of the difference
	Commits []CodeCommit `json:"commits"`        // newest first
	// MoreCommits and MoreLines are the numbers of those that are not listed.
	MoreCommits int        `json:"moreCommits,omitempty"`
	Lines       []CodeLine `json:"lines"`
	MoreLines   int        `json:"moreLines,omitempty"`
	// Dependencies are the packages of the functions of the change that have another
	// version, by the files of the repository that pin them.
	Dependencies []Dependency `json:"dependencies,omitempty"`
}

// Dependency is a package in two versions.
type Dependency struct {
	Name string `json:"name"`           // of the package: a module of Go, group:artifact of Maven, …
	Base string `json:"base,omitempty"` // version; empty: new
	Head string `json:"head,omitempty"` // version; empty: gone
	File string `json:"file"`           // of the repository
}

// CodeCommit is a commit that touches the files.
type CodeCommit struct {
	Commit  string `json:"commit"`
	Author  string `json:"author"`
	Subject string `json:"subject"`
	Link    string `json:"link,omitempty"` // a web page of the commit
}

// CodeLine is a changed line.
type CodeLine struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Sign string `json:"sign"` // + or -
	Text string `json:"text"`
}

// Benchmark is the result for one benchmark with its evidence.
type Benchmark struct {
	*regression.Benchmark
	Evidence evidence.Evidence
	Outcome  Outcome
}

// New returns a report. The evidence is in the order of the result's benchmarks; nil:
// none.
func New(res *regression.Result, ev []evidence.Evidence, changes []gate.Change, v *gate.Verdict) *Report {
	r := &Report{Verdict: v, Metrics: &metrics.Table{Rows: []metrics.Row{}, Means: []metrics.Mean{}}}
	for _, c := range changes {
		r.Changes = append(r.Changes, Change{Change: c})
	}
	outcomes := Outcomes(res)
	for i := range res.Benchmarks {
		b := Benchmark{Benchmark: &res.Benchmarks[i], Outcome: outcomes[res.Benchmarks[i].Benchmark]}
		if i < len(ev) {
			b.Evidence = ev[i]
		}
		r.Benchmarks = append(r.Benchmarks, b)
	}
	return r
}

// OnlyChanged leaves out what did not change: benchmarks that were compared, have no finding and nothing else that a
// summary tells, and metrics without a significant change.
func (r *Report) OnlyChanged() {
	told := map[testrun.Benchmark]bool{} // by a metric, or in one of their value types
	r.Metrics.Rows = slices.DeleteFunc(r.Metrics.Rows, func(m metrics.Row) bool {
		of := m.Of()
		told[of] = told[of] || m.Fails
		return !m.Significant && !m.Fails
	})
	for i := range r.Benchmarks {
		b := &r.Benchmarks[i]
		at := b.Benchmark.Benchmark
		told[at] = told[at] || b.Reason != "" || b.FewSamples > 0 || b.Outcome.Status == Unknown
	}
	all, _, _ := r.judged()
	r.Benchmarks = slices.DeleteFunc(r.Benchmarks, func(b Benchmark) bool { return len(b.Findings) == 0 && !told[b.Benchmark.Benchmark] })
	kept, _, _ := r.judged()
	r.Steady += all - kept
}

// Locate calls place for every cost with a function, with its heaviest path from the
// function to the root, and stores the place.
func (r *Report) Locate(place func(c *Change, path []string) Place) {
	for i := range r.Changes {
		if c := &r.Changes[i]; c.Kind.Costs() && c.named() != "" {
			c.Place = place(c, c.callers())
		}
	}
}

// aboveHeadline is the number of callers of the headline's function whose files are
// searched for changes.
const aboveHeadline = 3

// Guilty lists the functions whose code may be the cause of a change: that of the
// headline, the places below it, and the nearest callers.
func (c *Change) Guilty() []string {
	above := c.callers()
	list := above[:1]
	at := slices.Index(c.Path, above[0])
	list = append(slices.Clone(list), c.Path[at+1:]...)
	for i := range c.Parts {
		list = append(list, c.Parts[i].Path...)
	}
	return append(list, above[1:min(len(above), 1+aboveHeadline)]...)
}

// Functions lists the functions that Locate and Guilty pass.
func (r *Report) Functions() []string {
	var list []string
	for i := range r.Changes {
		if c := &r.Changes[i]; c.Kind.Costs() && c.named() != "" {
			list = append(append(list, c.callers()...), c.Guilty()...)
		}
	}
	return list
}

// callers returns the function that names the change and its callers.
func (c *Change) callers() []string {
	list := slices.Clone(c.Path)
	slices.Reverse(list)
	name := c.named()
	if at := slices.Index(list, name); at > 0 {
		return list[at:]
	}
	if len(list) == 0 || list[0] != name {
		list = append([]string{name}, list...)
	}
	return list
}

// LineOf returns the line of a function of the change: that of the call where it is known, else
// where the function begins.
func (c *Change) LineOf(fn *profile.Function) int {
	if h := c.Headline; h != nil && h.Call > 0 && fn.Name == h.Function {
		return h.Call
	}
	return int(fn.StartLine)
}

// named returns the function that names the change.
func (c *Change) named() string {
	if c.Headline != nil {
		return c.Headline.Function
	}
	return c.Function
}

// Costs lists the changes that cost and are still there, without those that are
// acknowledged.
func (r *Report) Costs() []*Change {
	var list []*Change
	for i := range r.Changes {
		if c := &r.Changes[i]; c.Kind.Costs() && c.Acknowledged == nil && c.Status != regression.Transient {
			list = append(list, c)
		}
	}
	return list
}

// Shown reports whether text and Markdown show a finding. Moved work and past changes
// are only in JSON and SARIF.
func Shown(f *regression.Finding) bool {
	return f.Status != regression.Transient && f.Kind != regression.Moved
}

func (c *Change) shown() bool { return Shown(&c.Finding) }

// counts are the numbers of changes by meaning.
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

// Headline summarises the report in one line.
func (r *Report) Headline() string {
	n := r.count()
	var parts []string
	add := func(n int, one, what string) {
		if n > 0 {
			parts = append(parts, words.Counted(n, one)+what)
		}
	}
	add(n.confirmed, "regression", "")
	add(n.suspects, "suspect", "")
	add(n.slowdowns, "slowdown", " without a certain place")
	if n.acknowledged > 0 {
		parts = append(parts, words.Count(n.acknowledged)+" acknowledged")
	}
	add(n.improved, "improvement", "")
	if r.Verdict != nil {
		add(r.Verdict.FailingMetrics, "metric", " worse")
	}
	judged, partly, left := r.judged()
	text, but := strings.Join(parts, ", "), ""
	if len(parts) == 0 {
		text = "no change found"
		if worse := len(r.worseMetrics()); worse > 0 {
			if text = "no finding"; len(r.leading()) == 0 {
				but = ", but " + words.Counted(worse, "metric") + " worse"
			}
		}
	}
	switch {
	case judged > 0:
		text += " in " + words.Counted(judged, "benchmark") + but
		if few, _ := r.few(); r.Verdict != nil && few > 0 {
			text += ", " + words.Count(few) + " with few samples"
		}
		if n := r.undecided(); r.Verdict != nil && n > 0 {
			text += ", " + words.Count(n) + " undecided"
		}
		if r.Verdict != nil && partly > 0 {
			text += ", " + words.Count(partly) + " tested in part"
		}
	case len(parts) == 0:
		text = "nothing tested"
	}
	if left > 0 {
		text += "; " + words.Counted(left, "benchmark") + " without a verdict"
	}
	switch v := r.Verdict; {
	case v == nil:
		return text
	case v.NotHead != "":
		return "no verdict on " + words.Commit(words.Clean(v.NotHead)) + ", which has no runs; others: " + text
	case v.Failed:
		return "failed: " + text
	case !v.Tested:
		return "no verdict: " + text
	}
	return r.passed() + text
}

// passed is the beginning of the headline of a check that passes.
func (r *Report) passed() string {
	worse := r.leading()
	if len(worse) == 0 {
		return "passed: "
	}
	text := fmt.Sprintf("passed, but worse: %s of %s %s", words.Clean(worse[0].Metric), metricBenchmark(worse[0]), metricChange(worse[0]))
	if more := len(worse) - 1; more > 0 {
		text += " and " + words.Counted(more, "more metric")
	}
	return text + "; "
}

// undecided counts the benchmarks that were compared, and of which that does not say whether they became slower.
func (r *Report) undecided() int {
	of := map[testrun.Benchmark]bool{}
	for i := range r.Benchmarks {
		if b := &r.Benchmarks[i]; b.Reason == "" && b.Outcome.Status == Unknown {
			of[b.Benchmark.Benchmark] = true
		}
	}
	return len(of)
}

// judged counts the benchmarks with a verdict, those of them that have none in some value type, and those without one.
func (r *Report) judged() (judged, partly, left int) {
	of := map[testrun.Benchmark][2]bool{} // whether it has a value type without a verdict, and with one
	for i := range r.Benchmarks {
		b := &r.Benchmarks[i]
		has := of[b.Benchmark.Benchmark]
		has[0], has[1] = has[0] || b.Reason != "", has[1] || b.Reason == ""
		of[b.Benchmark.Benchmark] = has
	}
	for _, has := range of {
		switch {
		case !has[1]:
			left++
		case has[0]:
			partly++
			fallthrough
		default:
			judged++
		}
	}
	return r.Steady + judged, partly, left
}

// what returns status and kind of a change: "confirmed regression".
func (c *Change) what() string {
	switch {
	case c.Acknowledged != nil:
		return "acknowledged " + string(c.Kind)
	case c.Kind.Costs() || c.Kind == regression.Improvement:
		return string(c.Status) + " " + string(c.Kind)
	}
	return string(c.Kind)
}

// Title returns what names a change: Label, or its note.
func Title(f *regression.Finding) string { return cmp.Or(Label(f), words.Clean(f.Note)) }

// Label returns the headline of a finding: the user's function, what it calls, and where
// it is, "pricing.matchRule → regexp.MustCompile (rule.go:41)", with the line of the call where it is known; "below" it if
// the place is not certain. A name that has the file, "read (work.py:7) → parse", has it once. It is empty for a finding without a place.
func Label(f *regression.Finding) string {
	h := f.Headline
	if h == nil {
		name := words.Clean(f.Function)
		if name != "" && f.Presence != "" {
			name += " (" + string(f.Presence) + ")"
		}
		return name
	}
	name := words.ShortName(words.Clean(h.Function))
	file := ""
	if h.File != "" {
		file = path.Base(strings.ReplaceAll(words.Clean(h.File), `\\`, "/"))
		named := strings.HasSuffix(name, "("+file+")") || strings.HasSuffix(name, "/"+file+")")
		line := h.Call // where the function begins says little, but of one without a name
		if line == 0 && strings.HasPrefix(name, "(anonymous)") {
			line = h.Line
		}
		if line > 0 {
			file = fmt.Sprintf("%s:%d", file, line)
		}
		if named { // as functions of scripts are
			name = name[:strings.LastIndexAny(name, "(/")+1] + file + ")"
			file = ""
		}
	}
	if h.Calls != "" {
		name += " → " + words.ShortName(words.Clean(h.Calls))
	}
	if f.Function == "" {
		name = "below " + name
	}
	var about []string
	if h.New {
		about = append(about, string(regression.New))
	}
	if file != "" {
		about = append(about, file)
	}
	if len(about) > 0 {
		name += " (" + strings.Join(about, ", ") + ")"
	}
	return name
}

// benchmarks lists the benchmarks of a change, the leading one first.
func benchmarks(c *gate.Change) (list []string) {
	for _, f := range c.All() {
		name := words.Clean(f.Of().String())
		if !slices.Contains(list, name) { // of several value types
			list = append(list, name)
		}
	}
	return list
}

// in names the leading benchmark of a change as code does, and says how many others have it.
func in(c *gate.Change, code func(string) string) string {
	list := benchmarks(c)
	text := code(list[0])
	if n := len(list) - 1; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

// In names the leading benchmark of a change, and says how many others have it.
func In(c gate.Change) string { return in(&c, func(name string) string { return name }) }

// since returns the run and commit of a change.
func (c *Change) since() string {
	s := words.Clean(c.Since.Run)
	if c.Since.Commit != "" {
		s += " (" + words.Commit(words.Clean(c.Since.Commit)) + ")"
	}
	return s
}

// life returns when a change began, when it ended if it did, and how sure that is.
func (c *Change) life() string {
	s := c.since() + ", last good " + words.Clean(c.Since.LastGood)
	if c.Finding.Change != nil && c.Finding.Change.End != nil {
		s += ", ended with " + words.Clean(c.Finding.Change.End.Run)
	}
	return s + "; score " + score(c.Score)
}

// code returns the place of a change, file:line, and the caller's name if it is a
// caller's.
func (c *Change) code() (place, of string) {
	if c.File == "" {
		return "", ""
	}
	place = words.Clean(c.File)
	switch {
	case c.Line > 0 && c.Headline != nil && c.Line == c.Headline.Call:
		place = fmt.Sprintf("%s:%d", place, c.Line)
	case c.Line > 0:
		place = fmt.Sprintf("%s:%d (declaration)", place, c.Line)
	}
	if c.At != c.named() {
		of = words.Clean(c.At)
	}
	return place, of
}

// codeLines formats the changed lines of a change as a diff, one line each.
func (c *Change) codeLines() (lines []string) {
	if c.Code == nil {
		return nil
	}
	file := ""
	for _, l := range c.Code.Lines {
		if l.File != file {
			file = l.File
			lines = append(lines, fmt.Sprintf("@@ %s:%d @@", words.Clean(file), l.Line))
		}
		lines = append(lines, l.Sign+words.Clean(strings.ReplaceAll(l.Text, "\t", "    ")))
	}
	if n := c.Code.MoreLines; n > 0 {
		lines = append(lines, "… "+words.Counted(n, "more line"))
	}
	return lines
}

// dependencies describes the packages that have another version, a line each.
func (c *Change) dependencies() (lines []string) {
	if c.Code == nil {
		return nil
	}
	for _, d := range words.First(c.Code.Dependencies, 5) {
		lines = append(lines, fmt.Sprintf("%s %s → %s (%s)", words.Clean(d.Name), words.Clean(cmp.Or(d.Base, "none")),
			words.Clean(cmp.Or(d.Head, "none")), words.Clean(d.File)))
	}
	if n := len(c.Code.Dependencies) - len(lines); n > 0 {
		lines = append(lines, fmt.Sprintf("%d more", n))
	}
	return lines
}

// codeCommits describes the commits that changed the files, a line each.
func (c *Change) codeCommits() (lines []string) {
	if c.Code == nil {
		return nil
	}
	for _, x := range c.Code.Commits {
		lines = append(lines, fmt.Sprintf("%s %s (%s)", words.Commit(x.Commit), words.Clean(x.Subject), words.Clean(x.Author)))
	}
	if n := c.Code.MoreCommits; n > 0 {
		lines = append(lines, words.Counted(n, "more commit"))
	}
	return lines
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

// tested returns the number of tested runs at the end.
func (b *Benchmark) tested() int {
	n := 0
	for i := range b.Evidence.Runs {
		if b.Evidence.Runs[i].Tested {
			n++
		}
	}
	return n
}

// detects says which changes would have been seen in the benchmarks without one: a pass says no more.
func (r *Report) detects() string {
	var best, worst *Benchmark
	for i := range r.Benchmarks {
		b := &r.Benchmarks[i]
		if b.Outcome.Status != Unchanged || b.Outcome.Detectable == 0 {
			continue
		}
		if best == nil || b.Outcome.Detectable < best.Outcome.Detectable {
			best = b
		}
		if worst == nil || b.Outcome.Detectable > worst.Outcome.Detectable {
			worst = b
		}
	}
	if best == nil {
		return ""
	}
	text := "detects changes of at least " + ofSmall(best.Outcome.Detectable) + best.ofWhole()
	if most := words.Percent(worst.Outcome.Detectable); most != words.Percent(best.Outcome.Detectable) {
		text += fmt.Sprintf("; in %s of %s", r.name(worst), most)
	}
	return text
}

// few counts the benchmarks of which every judged value type has few samples, and returns the one
// with fewest.
func (r *Report) few() (n int, fewest *Benchmark) {
	best := map[testrun.Benchmark]*Benchmark{} // nil: has enough
	for i := range r.Benchmarks {
		b := &r.Benchmarks[i]
		if b.Reason != "" {
			continue
		}
		other, known := best[b.Benchmark.Benchmark]
		if b.FewSamples == 0 {
			best[b.Benchmark.Benchmark] = nil
		} else if !known || other != nil && b.FewSamples > other.FewSamples {
			best[b.Benchmark.Benchmark] = b
		}
	}
	for i := range r.Benchmarks {
		if b := &r.Benchmarks[i]; b.FewSamples > 0 && best[b.Benchmark.Benchmark] == b {
			if n++; fewest == nil || b.FewSamples < fewest.FewSamples {
				fewest = b
			}
		}
	}
	return n, fewest
}

// verdictNotes are the numbers of runs behind a verdict, and why costs do not fail.
func (r *Report) verdictNotes() []string {
	v := r.Verdict
	if v == nil {
		return nil
	}
	span := func(n [2]int) string {
		if n[0] == n[1] {
			return fmt.Sprint(n[0])
		}
		return fmt.Sprintf("%d to %d", n[0], n[1])
	}
	judged := v.Judged > 0 && v.HeadRuns[1] > 0
	var list []string
	if judged {
		list = append(list, fmt.Sprintf("compared %s %s of the head with %s of the base", span(v.HeadRuns), words.Plural(v.HeadRuns[1], "run"),
			span(v.BaseRuns)))
	}
	if v.FewValues != "" {
		list = append(list, v.FewValues)
	}
	if !judged {
		return list
	}
	if text := r.detects(); text != "" {
		list = append(list, text)
	}
	if _, b := r.few(); b != nil {
		list = append(list, fmt.Sprintf("%s has %.0f samples per run: only large changes show; record longer, or more runs (dendro bench --count)",
			r.name(b), b.FewSamples))
	}
	if v.Why != "" {
		list = append(list, v.Why)
	}
	if v.FailOnMetric == 0 && !v.Failed && len(r.worseMetrics()) > 0 {
		list = append(list, "metrics that are worse do not fail: --fail-on-metric 5% makes them")
	}
	return list
}
