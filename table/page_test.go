package table

import (
	"strings"
	"testing"
)

// TestPage: lines and tables stand in the order in which they were added, in the colours and the
// width of the output.
func TestPage(t *testing.T) {
	rows := &Table{Indent: "│ ", Columns: []Column{{Name: "n", Right: true}, {Name: "name"}}}
	rows.Add(10, Tinted{"bad", Red})
	rows.Add(1, "a_name_that_is_much_longer_than_the_terminal")
	var inner, p Page
	inner.Table(rows)
	p.TintedLine(Bold, "%d lines", 2)
	p.Lines("  ", []string{"", "x "})
	p.Page(&inner)
	const plain = "2 lines\n\n  x\n│  n  name\n│ 10  bad\n│  1  a_name_that_is_much_longer_than_the_terminal\n"
	if got := p.String(); got != plain {
		t.Errorf("%q, want %q", got, plain)
	}
	var b strings.Builder
	const narrow = "\x1b[1m2 lines\x1b[0m\n\n  x\n│  n  name\n│ 10  \x1b[31mbad\x1b[0m\n│  1  a_name_…han_the_terminal\n"
	if err := p.Print(&Output{W: &b, Colour: true, Width: 30}); err != nil || b.String() != narrow {
		t.Errorf("%v: %q, want %q", err, b.String(), narrow)
	}
}

// TestMarkup: a column says what is Markdown of its cells; a bar never ends one.
func TestMarkup(t *testing.T) {
	table := &Table{Columns: []Column{{Name: "a|b", Markup: func(v any) string { return "**" + v.(string) + "**" }}, {Name: "c"}}}
	table.Add("x|", "<y>")
	var b strings.Builder
	if err := table.Write(&Output{W: &b, Format: "md"}); err != nil {
		t.Fatal(err)
	}
	if want := "| a\\|b | c |\n|---|---|\n| **x\\|** | &lt;y&gt; |\n"; b.String() != want {
		t.Errorf("%s, want %s", &b, want)
	}
}

// TestList: columns have their width, names are made safe and fit, and what stands behind a name
// is whole.
func TestList(t *testing.T) {
	for _, c := range []struct {
		width int
		want  string
	}{
		{0, "   a      1  · main\\x1b.aVeryLongNameOfAFunction (was x)\n"},
		{34, "   a      1  · main\\x1…gNameOfAFunction (was x)\n"},
	} {
		var b strings.Builder
		l := NewList(&Output{W: &b, Width: c.width, Colour: true}, 4, 6)
		l.Row(Plain, []string{"a", "1"}, "· ", "main\x1b.aVeryLongNameOfAFunction", " (was x)")
		l.Row(Faint, []string{"wider", ""}, "", "f", "")
		if err := l.Flush(); err != nil || b.String() != c.want+"\x1b[2mwider         f\x1b[0m\n" {
			t.Errorf("%v: %q, want %q", err, b.String(), c.want)
		}
	}
}
