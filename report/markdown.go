package report

import (
	"fmt"
	"html"
	"io"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/analysis/evidence"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/table"
)

// Maximum sizes in bytes: GitHub accepts comments of 65,536 characters, and people read
// less.
const (
	DocumentLimit = 60_000
	CommentLimit  = 20_000
)

// mostRows is the maximum number of rows of a table.
const mostRows = 100

// Markdown writes the report as GitHub's Markdown: a table of the changes, each with
// its details folded, then the benchmarks. It writes at most limit bytes (0: no limit);
// blocks at the end that do not fit are omitted and counted.
func (r *Report) Markdown(w io.Writer, d Detail, limit int) error {
	m := &markdown{limit: limit}
	m.block("### Dendro: " + escapeText(r.Headline()) + "\n")
	for _, n := range slices.Concat(r.verdictNotes(), r.Notes) {
		m.block("> " + escapeText(words.Clean(n)) + "\n")
	}
	m.block(r.changeTable(d))
	m.block(r.worstMetrics())
	details, _ := r.shown(d.Changes)
	for _, c := range details {
		m.block(c.markdown())
	}
	m.block(r.benchmarkTable())
	for i := range r.Benchmarks {
		if b := &r.Benchmarks[i]; b.shown(d) {
			m.block(r.benchmarkMarkdown(b, d))
		}
	}
	m.block(r.metricsMarkdown())
	m.block(r.parametersMarkdown())
	_, err := io.WriteString(w, m.document())
	return err
}

// markdown collects blocks while they fit.
type markdown struct {
	b     strings.Builder
	limit int
	left  int // omitted blocks
}

// leftOutRoom is reserved for the line with the number of omitted blocks.
const leftOutRoom = 200

func (m *markdown) block(text string) {
	switch {
	case text == "":
	case m.limit > 0 && m.b.Len()+len(text)+1 > m.limit-leftOutRoom:
		m.left++
	default:
		if m.b.Len() > 0 {
			m.b.WriteByte('\n')
		}
		m.b.WriteString(text)
	}
}

func (m *markdown) document() string {
	if m.left > 0 {
		fmt.Fprintf(&m.b, "\n%s omitted to stay within the length limit. `dendro report -o text` or `-o json` prints everything.\n", words.Counted(m.left, "more section"))
	}
	return m.b.String()
}

// changeTable lists the changes, one line each.
func (r *Report) changeTable(d Detail) string {
	most := mostRows
	if d.Changes > 0 {
		most = min(most, d.Changes)
	}
	shown, left := r.shown(most)
	if len(shown) == 0 {
		return ""
	}
	t := &table.Table{Columns: []table.Column{markup(""), number("cost"), markup("function"), markup("benchmark"), markup("since")}}
	for _, c := range shown {
		t.Add(c.cells()...)
	}
	text := inMarkdown(t)
	if left > 0 {
		text += fmt.Sprintf("\n%s.\n", words.Counted(left, "more change"))
	}
	return text
}

func (c *Change) cells() []any {
	what := escapeText(c.what())
	if c.Fails {
		what = "**" + what + "**"
	}
	name := escapeText(Title(&c.Finding))
	if c.Function != "" {
		name = code(shorten(Title(&c.Finding)))
	}
	return []any{what, Amount(&c.Finding), name, in(&c.Change, code), escapeText(c.since())}
}

// markdown writes the details of a cost, folded.
func (c *Change) markdown() string {
	if !c.Kind.Costs() {
		return ""
	}
	var b strings.Builder
	title := Title(&c.Finding)
	if c.Function != "" {
		title = "<code>" + html.EscapeString(shorten(Title(&c.Finding))) + "</code>"
	} else {
		title = inElement(title)
	}
	fmt.Fprintf(&b, "<details><summary>%s: %s, where and why</summary>\n\n", title, inElement(c.what()))
	item := func(name, text string) { fmt.Fprintf(&b, "- %s: %s\n", name, text) }
	if where := benchmarks(&c.Change); len(where) > 1 {
		var list []string
		for _, s := range words.First(where, 20) {
			list = append(list, code(s))
		}
		text := strings.Join(list, ", ")
		if n := len(where) - len(list); n > 0 {
			text += fmt.Sprintf(" and %d more", n)
		}
		item("benchmarks", text)
	}
	if c.Caller != "" {
		item("only when called by", code(words.Clean(c.Caller)))
	}
	if place, of := c.code(); place != "" {
		text := link(code(place), c.Link)
		if of != "" {
			text += " in " + code(of)
		}
		item("code", text)
	}
	if len(c.Owners) > 0 {
		item("owners", escapeOwners(c.Owners))
	}
	if s := c.amounts(); s != "" {
		item("cost", escapeText(s))
	}
	item("since", escapeText(c.life()))
	if c.named() != "" && c.Note != "" {
		item("note", escapeText(words.Clean(c.Note)))
	}
	for _, x := range c.Explained {
		item("explained by "+escapeText(words.Clean(x.Cause)), escapeText(words.Clean(x.Evidence)))
	}
	for _, x := range c.RuledOut {
		item("ruled out: "+escapeText(words.Clean(x.Cause)), escapeText(words.Clean(x.Evidence)))
	}
	if c.Acknowledged != nil {
		item("accepted", escapeText(words.Clean(c.acceptance())))
	}
	also := make([]string, len(c.Also))
	for i := range c.Also {
		also[i] = c.Also[i].ID
	}
	text := "`" + c.ID + "` (for `.dendro/acknowledged.json`)"
	if len(also) > 0 {
		text += "; its whole row: `\"also\": [\"" + strings.Join(also, `", "`) + "\"]`"
	}
	item("id", text)
	for _, line := range c.dependencies() {
		item("bumped", code(line))
	}
	for _, line := range c.codeCommits() {
		item("commit", code(line))
	}
	if len(c.Path) > 0 {
		b.WriteString("\n" + fence(pathLines(c)))
	}
	if lines := c.codeLines(); len(lines) > 0 {
		b.WriteString("\n" + link("Changed since the last good commit", c.Code.Link) + ":\n\n" + strings.Replace(fence(lines), "\n", "diff\n", 1))
	}
	b.WriteString("\n</details>\n")
	return b.String()
}

// pathLines draws the heaviest path and the parts of a change as an indented tree.
func pathLines(c *Change) []string {
	var lines []string
	for depth, name := range c.Path {
		lines = append(lines, indented(depth, "↳ "+words.Clean(name)))
	}
	for _, p := range words.First(c.Parts, 5) {
		lines = append(lines, indented(len(c.Path), fmt.Sprintf("… %s  %+.1f samples", strings.Join(words.CleanAll(below(p.Path, c.Path)), ";"),
			p.Delta)))
	}
	return lines
}

// deepest is the indentation from which on paths are not indented further.
const deepest = 20

func indented(depth int, text string) string {
	return strings.Repeat("  ", min(depth, deepest)) + text
}

// benchmarkTable lists the benchmarks with their metric over the runs.
func (r *Report) benchmarkTable() string {
	t := &table.Table{Columns: []table.Column{markup("benchmark"), markup("metric"), markup("runs"), markup("verdict"), markup("power")}}
	for i := range words.First(r.Benchmarks, mostRows) {
		b := &r.Benchmarks[i]
		metric, line := "", ""
		if metric = r.metricOf(b); metric != "" {
			line = "`" + spark(b.Evidence.Metric.Values, func(v float64) bool { return v == 0 }) + "`"
		}
		verdict := b.found()
		if b.Reason != "" {
			verdict = "no verdict: " + escapeText(words.Clean(b.Reason))
		}
		for _, note := range b.moved() {
			verdict += "<br>" + escapeText(note)
		}
		t.Add(code(r.name(b)), metric, line, verdict, escapeText(b.detectable()))
	}
	if t.Len() == 0 {
		return ""
	}
	text := inMarkdown(t)
	if left := len(r.Benchmarks) - t.Len(); left > 0 {
		text += "\n" + words.Counted(left, "more benchmark") + ".\n"
	}
	return text
}

// benchmarkMarkdown writes metric, candidates and contexts of a benchmark, folded.
func (r *Report) benchmarkMarkdown(b *Benchmark, d Detail) string {
	var t strings.Builder
	fmt.Fprintf(&t, "<details><summary>%s: metric, candidates and contexts</summary>\n\n", inElement(r.name(b)))
	for _, w := range b.remarks() {
		t.WriteString("- " + escapeText(w) + "\n")
	}
	if lines := b.metricPlot(); lines != nil {
		t.WriteString("\n" + escapeText(words.Clean(b.Evidence.Metric.Name)) + "\n" + fence(lines) + "\n")
	}
	t.WriteString(inMarkdown(b.candidateTable()))
	for i := range b.Evidence.Candidates {
		t.WriteString(candidateMarkdown(b, &b.Evidence.Candidates[i], d))
	}
	t.WriteString("\n</details>\n")
	return t.String()
}

func candidateMarkdown(b *Benchmark, c *evidence.Candidate, d Detail) string {
	if c.Self && c.Method == "" && !d.All {
		return ""
	}
	lines := b.candidatePlot(c)
	for _, context := range b.contexts(c, d, "", shorten) {
		lines = append(lines, "", strings.TrimSuffix(context.String(), "\n"))
	}
	if lines == nil {
		return ""
	}
	return "\n" + code(shorten(candidateName(c))) + "\n" + fence(lines)
}

// help explains the columns; it is folded at the end of a document.
const help = `- **cost**: in the metric's unit, with its 95% interval, or as a part of the samples of the program before the change.
- **confirmed**: the newest two runs (or all tested ones) show it; **suspect**: only one run was tested; **acknowledged**: accepted in ` + "`.dendro/acknowledged.json`" + `.
- **power**: the smallest change that is detected with 80% probability in a function that uses 5% of the program.
- **expected**, **actual**: mean share of the function with its callees (without them if marked self), in the history and in the tested runs; then: ` + "`+`" + ` new, ` + "`-`" + ` vanished.
- In plots ● is a run, ◆ a tested run, ─ the moving mean of the runs before, ░ two standard deviations around it.
- **child trace**: the candidate is the last row, and each row above is its callee; **parent trace**: the candidate is the first row, and each row below is its caller. Diffs are per run, in that context.
`

func (r *Report) parametersMarkdown() string {
	var b strings.Builder
	b.WriteString("<details><summary>Parameters, and how to read this</summary>\n\n")
	for _, p := range r.Parameters {
		fmt.Fprintf(&b, "- %s: %s\n", p.Name, code(words.Clean(p.Value)))
	}
	b.WriteString("\n" + help + "\n</details>\n")
	return b.String()
}
