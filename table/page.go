package table

import (
	"bufio"
	"fmt"
	"strings"
)

// Page is text for people: lines and tables, in the order in which they are read.
type Page struct{ parts []any } // Tinted lines and *Tables

// Tinted is a cell or a line with a colour of its own.
type Tinted struct {
	Text string
	Tint Tint
}

// String is the text.
func (t Tinted) String() string { return t.Text }

// Line adds a line.
func (p *Page) Line(format string, args ...any) { p.TintedLine(Plain, format, args...) }

// TintedLine adds a line in a colour.
func (p *Page) TintedLine(tint Tint, format string, args ...any) {
	p.parts = append(p.parts, Tinted{fmt.Sprintf(format, args...), tint})
}

// Lines adds lines that begin with the indent, and end without spaces.
func (p *Page) Lines(indent string, lines []string) {
	for _, l := range lines {
		p.Line("%s", strings.TrimRight(indent+l, " "))
	}
}

// Table adds a table.
func (p *Page) Table(t *Table) { p.parts = append(p.parts, t) }

// Page adds what another page has.
func (p *Page) Page(other *Page) { p.parts = append(p.parts, other.parts...) }

// Print writes the page in the colours and the width of the output.
func (p *Page) Print(o *Output) error {
	w := bufio.NewWriter(o.W)
	text := &Output{W: w, Colour: o.Colour, Width: o.Width}
	for _, part := range p.parts {
		switch part := part.(type) {
		case *Table:
			if err := part.aligned(text); err != nil {
				return err
			}
		case Tinted:
			fmt.Fprintln(w, o.Paint(part.Tint, part.Text))
		}
	}
	return w.Flush()
}

// String is the page without colours.
func (p *Page) String() string {
	var b strings.Builder
	_ = p.Print(&Output{W: &b}) // a builder does not fail
	return b.String()
}
