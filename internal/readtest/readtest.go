// Package readtest is what the tests of readers and writers of profiles share: a
// profile as text that shows all that a reader found, random profiles, and files
// that are damaged in every way that a disk or a network knows.
//
// The text of a sample is one line, outermost frame first:
//
//	3 @1.5ms [main] main (a.go) > f:12 {Other}
//
// The package is for tests only. Call trees and their drawings are package
// proftest's.
package readtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
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

// Damage decodes a file that is damaged in n ways: bytes changed, cut out, repeated,
// the end cut off. Each must give a profile that passes Check, or an error of type
// *profile.ParseError that wraps exactly one of the four errors of package profile
// and whose place, if it has one, is in the file. The damage is the same each time.
func Damage(t testing.TB, content []byte, n int, decode func([]byte) (*profile.Profile, error)) {
	t.Helper()
	r := rand.New(rand.NewPCG(uint64(len(content)), 1))
	for i := range n {
		bad := damaged(r, content, i)
		p, err := decode(bad)
		if err == nil {
			if err := p.Check(); err != nil {
				t.Fatalf("damage %d: a profile that fails its check: %v", i, err)
			}
			continue
		}
		if what := WrongError(err, int64(len(bad))); what != "" {
			t.Fatalf("damage %d: %s: %v", i, what, err)
		}
	}
}

func damaged(r *rand.Rand, content []byte, i int) []byte {
	bad := slices.Clone(content)
	from := r.IntN(len(bad))
	to := min(len(bad), from+1+r.IntN(40))
	switch i % 5 {
	case 0:
		bad[from] ^= byte(1 << r.IntN(8))
	case 1:
		bad = slices.Delete(bad, from, to)
	case 2:
		bad = slices.Insert(bad, from, bad[from:to]...)
	case 3:
		bad = bad[:from]
	case 4:
		other := r.IntN(len(bad))
		copy(bad[other:], content[from:to])
	}
	return bad
}

// WrongError says what is wrong with an error of a reader of size bytes, or "".
func WrongError(err error, size int64) string {
	var pe *profile.ParseError
	if !errors.As(err, &pe) {
		return "an error that is no ParseError"
	}
	if pe.Offset < -1 || pe.Offset > size {
		return fmt.Sprintf("offset %d in a file of %d bytes", pe.Offset, size)
	}
	kinds := 0
	for _, kind := range []error{profile.ErrUnrecognized, profile.ErrMalformed, profile.ErrUnsupported, profile.ErrTooLarge} {
		if errors.Is(err, kind) {
			kinds++
		}
	}
	if kinds != 1 {
		return fmt.Sprintf("an error of %d kinds", kinds)
	}
	return ""
}
