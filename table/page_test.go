package table

import (
	"strings"
	"testing"
	"time"
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

// TestDrop: a column goes with its cells.
func TestDrop(t *testing.T) {
	table := &Table{Columns: []Column{{Name: "a"}, {Name: "b"}, {Name: "c"}}}
	table.Add(1, 2, 3)
	table.Add(4, 5, 6)
	table.Drop("b")
	var b strings.Builder
	if err := table.Write(&Output{W: &b, Format: "csv"}); err != nil || b.String() != "a,c\n1,3\n4,6\n" {
		t.Errorf("%q, %v", &b, err)
	}
}

// TestCells: a cell of another type than its column's is empty.
func TestCells(t *testing.T) {
	for name, c := range map[string]struct {
		format func(any) string
		value  any
		want   string
	}{
		"percent": {Percent, 0.125, "12.5%"}, "signed": {SignedPercent, 0.125, "+12.5%"}, "decimals": {Decimals, 0.125, "0.1250"},
		"commit": {Commit, "579d7113d2aa0", "579d7113d2aa"}, "joined": {Joined, []string{"a", "b"}, "a b"},
		"millis":  {Millis, int64(1541), "1,541 ms"},
		"instant": {Instant, int64(1000), "1970-01-01 00:00:01.000Z"}, "date": {Date, time.Unix(1, 0), "1970-01-01 00:00:01Z"},
		"no date": {Date, time.Time{}, ""}, "grouped": {Grouped, 1541, "1,541"},
	} {
		if got := c.format(c.value); got != c.want || c.format(nil) != "" || name != "grouped" && c.format(struct{}{}) != "" {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
