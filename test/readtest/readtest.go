// Package readtest is what the tests of readers and writers of profiles share: the
// files of testdata, a profile as text that shows all that a reader found, random
// profiles, files that are damaged in every way that a disk or a network knows, and
// the measure of benchmarks.
//
// The text of a sample is one line, outermost frame first:
//
//	3 @1.5ms [main] main (a.go) > f:12 {Other}
//
// The package is for tests only. Call trees and their drawings are package
// proftest's.
package readtest

import (
	"fmt"
	"strings"
	"time"

	"github.com/dendroprof/dendro/profile"
)

// Describe returns a profile as text: a line for each table, thread and marker, and
// one for each sample. Equal text means equal content, whatever the ids are.
func Describe(p *profile.Profile) string {
	var b strings.Builder
	for i := range p.Tables {
		t := &p.Tables[i]
		fmt.Fprintf(&b, "== %s %s scale %d", t.Type.Name, t.Type.Unit, t.Type.Scale)
		if t.Type.Period != 0 {
			fmt.Fprintf(&b, " period %d %s", t.Type.Period, t.Type.PeriodUnit)
		}
		if i == p.Default {
			b.WriteString(" default")
		}
		b.WriteString("\n")
		for row := range t.Stack {
			b.WriteString(DescribeSample(p, t, row) + "\n")
		}
	}
	for _, m := range p.Markers {
		fmt.Fprintf(&b, "marker %q %v-%v%s", m.Name, time.Duration(m.Start), time.Duration(m.End), thread(p, m.Thread))
		if c := p.Symbols.Categories[m.Category]; m.Category != 0 {
			fmt.Fprintf(&b, " {%s}", c.Name)
		}
		for _, f := range m.Fields {
			fmt.Fprintf(&b, " %s=%s", f.Key, value(f))
		}
		b.WriteString("\n")
	}
	for _, w := range p.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", w)
	}
	return b.String()
}

func value(l profile.Label) string {
	if l.Text != "" {
		return fmt.Sprintf("%q", l.Text)
	}
	return fmt.Sprint(l.Num, l.Unit)
}

// DescribeSample returns one sample as text.
func DescribeSample(p *profile.Profile, t *profile.Samples, row int) string {
	var b strings.Builder
	fmt.Fprint(&b, t.Value[row])
	if t.Time != nil {
		fmt.Fprintf(&b, " @%v", time.Duration(t.Time[row]))
	}
	if t.Thread != nil {
		b.WriteString(thread(p, t.Thread[row]))
	}
	if t.State != nil && t.State[row] != 0 {
		fmt.Fprintf(&b, " <%s>", p.States[t.State[row]])
	}
	if t.Address != nil {
		fmt.Fprintf(&b, " *%x", t.Address[row])
	}
	return b.String() + " " + DescribeStack(p.Symbols, t.Stack[row])
}

func thread(p *profile.Profile, id profile.ThreadID) string {
	if id == 0 {
		return ""
	}
	t := p.Threads[id]
	text := t.Name
	if t.ID != "" {
		text += " tid=" + t.ID
	}
	if t.Process != "" {
		text += " in " + t.Process
	}
	return " [" + text + "]"
}

// DescribeStack returns a stack as text, outermost frame first; "-" for none.
func DescribeStack(s *profile.Symbols, id profile.StackID) string {
	if id == profile.NoStack {
		return "-"
	}
	var frames []string
	for _, f := range s.Path(id, nil) {
		frames = append(frames, frame(s, &s.Frames[f]))
	}
	return strings.Join(frames, " > ")
}

// Callers returns a stack as the functions and places of its frames, innermost first,
// without all that plain programs do not read: "f a.go:3;main a.go:9".
func Callers(s *profile.Symbols, id profile.StackID) string {
	var frames []string
	for ; id != profile.NoStack; id = s.Parent(id) {
		f := &s.Frames[s.Leaf(id)]
		fn := &s.Functions[f.Function]
		frames = append(frames, fmt.Sprintf("%s %s:%d", fn.Name, fn.File, f.Line))
	}
	return strings.Join(frames, ";")
}

func frame(s *profile.Symbols, f *profile.Frame) string {
	fn := &s.Functions[f.Function]
	text := fn.Name
	if fn.Module != "" {
		text = fn.Module + "!" + text
	}
	if f.Line != 0 || f.Column != 0 {
		text += fmt.Sprintf(":%d:%d", f.Line, f.Column)
	}
	if fn.File != "" || fn.StartLine != 0 || fn.Column != 0 {
		text += fmt.Sprintf(" (%s:%d:%d)", fn.File, fn.StartLine, fn.Column)
	}
	if f.Address != 0 {
		text += fmt.Sprintf(" 0x%x", f.Address)
	}
	if f.Module != 0 {
		text += " in " + s.Modules[f.Module].Path
	}
	if f.InlineDepth != 0 {
		text += fmt.Sprintf(" inlined %d", f.InlineDepth)
	}
	if c := s.Categories[f.Category]; f.Category != 0 {
		text += " {" + strings.TrimSuffix(c.Name+"/"+c.Subcategory, "/") + "}"
	}
	return text
}

// Cost is the value of a function: of samples with it innermost, and anywhere.
type Cost struct{ Self, Total int64 }

// Costs returns the values of the functions of a table by name. Samples of 0 do not count.
func Costs(p *profile.Profile, table int) map[string]Cost {
	costs := map[string]Cost{}
	t := &p.Tables[table]
	for i, st := range t.Stack {
		if t.Value[i] == 0 {
			continue
		}
		met := map[string]bool{}
		for inner := true; st != profile.NoStack; st, inner = p.Symbols.Parent(st), false {
			name := p.Symbols.Functions[p.Symbols.Frames[p.Symbols.Leaf(st)].Function].Name
			c := costs[name]
			if inner {
				c.Self += t.Value[i]
			}
			if !met[name] {
				c.Total += t.Value[i]
			}
			met[name], costs[name] = true, c
		}
	}
	return costs
}
