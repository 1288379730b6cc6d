package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/dendroprof/dendro/analysis/evidence"
	"github.com/dendroprof/dendro/analysis/gate"
	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/table"
)

// Finding returns one change as the text report has it, without its place in the code. Only with
// full it has the evidence of what was ruled out; otherwise it names that.
func Finding(of gate.Change, full bool) *table.Page {
	t := &text{full: full}
	c := &Change{Change: of}
	t.TintedLine(tintOf(&c.Finding), "%s  %s  %s  %s", c.what(), In(c.Change), short(&c.Finding), Title(&c.Finding))
	t.details(c)
	t.also(c)
	return &t.Page
}

// tintOf colours a finding: what costs and is certain red, what is faster green.
func tintOf(f *regression.Finding) table.Tint {
	switch {
	case f.Kind == regression.Improvement:
		return table.Green
	case f.Kind.Costs() && f.Status == regression.Confirmed && f.Acknowledged == nil:
		return table.Red
	}
	return table.Bold
}

func (t *text) change(c *Change) {
	t.Line("\n%s%s  %s  %s", c.fail(), c.what(), short(&c.Finding), Title(&c.Finding))
	t.field("in", "%s", In(c.Change))
	t.details(c)
	t.also(c)
}

// mostAlso is the number of further findings of a change that text lists.
const mostAlso = 8

// also lists the other findings of a change: the benchmark, how much, and the function if it is another one.
func (t *text) also(c *Change) {
	for i := range words.First(c.Also, mostAlso) {
		f := &c.Also[i]
		text := words.Clean(f.Of().String())
		if f.Type != c.Type {
			text += " " + words.Clean(f.Type)
		}
		text += "  " + short(f)
		if f.Delta.Time != nil && f.Delta.Share != 0 {
			text += ", " + words.SignedPercent(f.Delta.Share)
		}
		if title := Title(f); f.Function != c.Function && title != "" {
			text += "  " + title
		}
		t.field("also in", "%s", text)
	}
	if n := len(c.Also) - mostAlso; n > 0 {
		t.field("", "%d more (-o json)", n)
	}
}

// fail returns the mark of a change that fails a gate.
func (c *Change) fail() string {
	if c.Fails {
		return "FAIL "
	}
	return ""
}

// lineWidth is the maximum number of columns of a line below a change, unless a word is longer.
const lineWidth = 100

// field writes a named line below a change, and goes on in further lines where it is too long.
func (t *text) field(name, format string, args ...any) {
	const indent = 15
	rest := fmt.Sprintf(format, args...)
	for head := name; ; head = "" {
		line, more := breakLine(rest, lineWidth-indent)
		t.Line("    %-10s %s", head, line)
		if more == "" {
			return
		}
		rest = more
	}
}

// breakLine cuts a text behind the last word that fits into so many columns; an arrow of a call
// path begins the next line.
func breakLine(s string, width int) (line, rest string) {
	runes := []rune(s)
	if len(runes) <= width {
		return s, ""
	}
	at := width
	for at > 0 && runes[at] != ' ' {
		at--
	}
	if at == 0 { // one word
		for at = width; at < len(runes) && runes[at] != ' '; at++ {
		}
	}
	line, rest = string(runes[:at]), strings.TrimPrefix(string(runes[at:]), " ")
	if cut, ok := strings.CutSuffix(line, " →"); ok {
		return cut, "→ " + rest
	}
	return line, rest
}

// details writes place, amount and evidence.
func (t *text) details(c *Change) {
	if s := c.amounts(); s != "" {
		t.field("cost", "%s", s)
	}
	t.field("since", "%s", c.life())
	if len(c.Path) > 0 {
		t.field("path", "%s", calls(c.Path))
	}
	for _, p := range words.First(c.Parts, 5) {
		t.field("part", "%+.1f samples  %s", p.Delta, calls(below(p.Path, c.Path)))
	}
	if c.Function != "" && c.Function != c.named() {
		t.field("place", "%s", words.Clean(c.Function))
	}
	if c.Caller != "" && c.Caller != c.named() {
		t.field("called by", "%s", words.Clean(c.Caller))
	}
	if place, of := c.code(); of != "" {
		t.field("code", "%s, %s", place, of)
	} else if place != "" {
		t.field("code", "%s", place)
	}
	if len(c.Owners) > 0 {
		t.field("owners", "%s", strings.Join(words.CleanAll(c.Owners), " "))
	}
	for _, line := range c.dependencies() {
		t.field("bumped", "%s", line)
	}
	for _, line := range c.codeCommits() {
		t.field("commit", "%s", line)
	}
	for _, line := range c.codeLines() {
		t.Line("               %s", line)
	}
	if c.named() != "" && c.Note != "" {
		t.field("note", "%s", words.Clean(c.Note))
	}
	for _, x := range c.Explained {
		t.field("explained", "by %s: %s", words.Clean(x.Cause), words.Clean(x.Evidence))
	}
	t.ruledOut(c)
	if c.Acknowledged != nil {
		t.field("accepted", "%s", words.Clean(c.acceptance()))
	}
}

// ruledOut writes the other causes that were tested.
func (t *text) ruledOut(c *Change) {
	var causes []string
	for _, x := range c.RuledOut {
		if t.full {
			t.field("ruled out", "%s: %s", words.Clean(x.Cause), words.Clean(x.Evidence))
		}
		causes = append(causes, words.Clean(x.Cause))
	}
	if !t.full && len(causes) > 0 {
		t.field("ruled out", "%s (--full)", strings.Join(causes, ", "))
	}
}

// amounts returns the cost of a change in all known units.
func (c *Change) amounts() string {
	var parts []string
	if s := Cost(&c.Finding); s != "" {
		parts = append(parts, s)
	}
	if c.Delta.Samples != 0 && !(profile.ValueType{Name: c.Type}).Momentary() {
		parts = append(parts, ofProgram(&c.Finding), fmt.Sprintf("%+.1f samples per run", c.Delta.Samples))
		switch gross := c.Delta.Gross; {
		case gross == 0:
		case math.Abs(gross) < 0.9*math.Abs(c.Delta.Share):
			parts = append(parts, words.SignedPercent(gross)+" of the program at the places below")
		case math.Abs(gross) > 1.1*math.Abs(c.Delta.Share):
			parts = append(parts, words.SignedPercent(gross)+" of the program at the places below, which replaced other work")
		}
	}
	text := strings.Join(parts, ", ")
	if c.Delta.Samples != 0 && c.named() != "" {
		base := words.Percent(c.Delta.Base)
		if c.Delta.Whole() {
			base = "nearly all"
		}
		text += fmt.Sprintf("; before, the function used %s of the program", base)
	}
	return strings.TrimPrefix(text+whole(c.Finding.Change), "; ")
}

// whole says by how much the whole program changed since a change, and how much of that the change
// explains; empty if it is unknown, or about the same.
func whole(l *regression.Lasting) string {
	if l == nil || l.Program == nil || l.Explains == 0 || math.Abs(l.Explains-1) <= 0.1 {
		return ""
	}
	text := "; the whole program changed by " + words.SignedPercent(l.Program.Value)
	if l.Explains > 0 && l.Explains < 1 {
		text += ", " + words.Percent(l.Explains) + " of that is this change"
	}
	return text
}

// Cost formats a finding's time with its interval, "+1.94 ms/op (1.49 … 2.39)"; empty
// if it has none.
func Cost(f *regression.Finding) string {
	if t := f.Delta.Time; t != nil {
		return words.Interval(t.Value, t.Low, t.High, t.Unit)
	}
	return ""
}

// Amount is a change as one number: its cost with the interval, or where no cost is known
// the share of the program.
func Amount(f *regression.Finding) string {
	if s := Cost(f); s != "" {
		return s
	}
	return ofProgram(f)
}

// short is Amount without the interval.
func short(f *regression.Finding) string {
	if t := f.Delta.Time; t != nil {
		return words.SignedMetric(t.Value, t.Unit)
	}
	return ofProgram(f)
}

// ofProgram formats the share of a change with its basis.
func ofProgram(f *regression.Finding) string {
	if f.Kind == regression.Environment {
		return words.SignedPercent(f.Delta.Share) + " of all samples"
	}
	return words.SignedPercent(f.Delta.Share) + " of the program"
}

// calls writes a call path for people: names without their packages, and a function that calls
// itself n times as "name ×n".
func calls(path []string) string {
	var names []string
	for i := 0; i < len(path); {
		n := 1
		for i+n < len(path) && path[i+n] == path[i] {
			n++
		}
		name := words.ShortName(words.Clean(path[i]))
		if n > 1 {
			name += fmt.Sprintf(" ×%d", n)
		}
		names = append(names, name)
		i += n
	}
	return strings.Join(names, " → ")
}

// acceptance returns why and until when a change is acknowledged.
func (c *Change) acceptance() string {
	s := c.Acknowledged.Reason
	if u := c.Acknowledged.Until; !u.IsZero() {
		s = strings.TrimPrefix(s+", until "+u.UTC().Format("2006-01-02"), ", ")
	}
	return s
}

// score formats a score.
func score(v float64) string { return fmt.Sprintf("%.1f", v) }

// scoreOf formats a score of a candidate, or of it in a context: a correlation has a sign.
func scoreOf(c *evidence.Candidate, v float64) string {
	if c.Method == evidence.Correlation {
		return fmt.Sprintf("%+.3f", v)
	}
	return score(v)
}

// below returns the rest of a path after the path above, at least its last frame.
func below(path, above []string) []string {
	n := 0
	for n < len(path)-1 && n < len(above) && path[n] == above[n] {
		n++
	}
	return path[n:]
}
