package table

import (
	"errors"
	"io"
	"iter"
	"math"
	"strings"
	"testing"
	"time"
)

// counting yields n rows, then err if there is one, and counts those taken.
func counting(n int, taken *int, err error) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		for i := range n {
			*taken++
			if !yield([]any{int64(i), []any{"x", math.NaN()}}, nil) {
				return
			}
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

func TestStream(t *testing.T) {
	columns := []Column{{Name: "n"}, {Name: "list"}}
	for _, c := range []struct {
		format string
		row    func(i string) string
		head   string
		end    string
	}{
		{"tsv", func(i string) string { return i + "\t" + `["x",null]` + "\n" }, "n\tlist\n", ""},
		{"csv", func(i string) string { return i + "," + `"[""x"",null]"` + "\n" }, "n,list\n", ""},
		{"md", func(i string) string { return "| " + i + ` | ["x",null] |` + "\n" }, "| n | list |\n|---|---|\n", ""},
	} {
		for _, n := range []int{0, 1, streamRows, streamRows + 1} {
			var out, errOut strings.Builder
			o := &Output{W: &out, Err: &errOut, Format: c.format}
			taken := 0
			if err := (&Table{Columns: columns}).Stream(o, counting(n, &taken, nil), 0); err != nil {
				t.Fatal(err)
			}
			lines := strings.SplitAfter(strings.TrimPrefix(out.String(), c.head), "\n")
			if !strings.HasPrefix(out.String(), c.head) || len(lines) != n+1 || n > 0 && lines[0] != c.row("0") || errOut.Len() > 0 {
				t.Errorf("%s, %d rows: %d lines, the first %q behind %q; %s", c.format, n, len(lines)-1, lines[0], c.head, &errOut)
			}
		}
	}
}

func TestStreamJSON(t *testing.T) {
	for n, want := range []string{`{"rows":[]}`, `{"rows":[{"n":0,"list":["x",null]}]}`, `{"rows":[{"n":0,"list":["x",null]},{"n":1,"list":["x",null]}]}`} {
		var out strings.Builder
		taken := 0
		err := (&Table{Columns: []Column{{Name: "n"}, {Name: "list"}}}).Stream(&Output{W: &out, Format: "json"}, counting(n, &taken, nil), 0)
		if got := strings.ReplaceAll(out.String(), "\n", ""); got != want || err != nil {
			t.Errorf("%d rows: %s, %v", n, got, err)
		}
	}
}

// TestStreamEnds wants the query left at the limit, and errors in the middle
// reported.
func TestStreamEnds(t *testing.T) {
	var out, errOut strings.Builder
	o := &Output{W: &out, Err: &errOut, Format: "tsv"}
	taken := 0
	err := (&Table{Columns: []Column{{Name: "n"}, {Name: "list"}}}).Stream(o, counting(10*streamRows, &taken, nil), 3)
	if lines := strings.Count(out.String(), "\n"); err != nil || lines != 4 || taken != 4 ||
		!strings.Contains(errOut.String(), "stopped after 3 rows (--rows)") {
		t.Errorf("%v; %d lines, %d rows taken: %s", err, lines, taken, &errOut)
	}
	broken := errors.New("broken")
	if err := (&Table{Columns: []Column{{Name: "n"}, {Name: "list"}}}).Stream(o, counting(streamRows+5, &taken, broken), 0); !errors.Is(err,
		broken) {
		t.Errorf("%v", err)
	}
}

// TestRows: rows that are made when they are written are those that were added, in every
// format, and what Messages returns is what Print says beside a table for programs.
func TestRows(t *testing.T) {
	rows := [][]any{{"main\x1b[31m", 1, 0.25, nil}, {"Größe\t", int64(-2), math.NaN(), time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)},
		{"", int32(3), 1e21, time.Time{}}}
	blank := func() *Table {
		return &Table{Notes: []string{"a note\x07"}, Remarks: []string{"a remark"},
			Columns: []Column{{Name: "name"}, {Name: "n", Right: true}, {Name: "share"}, {Name: "date"}},
			Next:    &Table{Columns: []Column{{Name: "x"}}, Empty: "nothing"}}
	}
	for _, format := range []string{"text", "md", "tsv", "csv"} {
		print := func(fill func(*Table)) (string, string) {
			var out, errOut strings.Builder
			table := blank()
			fill(table)
			messages := table.Messages()
			if err := table.Print(&Output{W: &out, Err: &errOut, Format: format}); err != nil {
				t.Fatal(err)
			}
			if said := "dendro: " + strings.Join(messages, "\ndendro: ") + "\n"; errOut.String() != said {
				t.Errorf("%s says\n%s\nMessages are\n%s", format, &errOut, said)
			}
			return out.String(), errOut.String()
		}
		added, _ := print(func(table *Table) {
			for _, row := range rows {
				table.Add(row...)
			}
		})
		made, _ := print(func(table *Table) {
			shared := make([]any, 4)
			table.Rows = func(yield func([]any) bool) {
				for _, row := range rows {
					if copy(shared, row); !yield(shared) {
						return
					}
				}
			}
		})
		if added != made || !strings.Contains(added, "main") {
			t.Errorf("%s: added rows\n%s\nmade rows\n%s", format, added, made)
		}
	}
}

// TestSheetMemory: TSV of many rows that are made when they are written is never in memory.
func TestSheetMemory(t *testing.T) {
	cells := []any{nil, "main"}
	table := &Table{Columns: []Column{{Name: "n"}, {Name: "function"}}, Rows: func(yield func([]any) bool) {
		for range 100_000 {
			if cells[0] = 1; !yield(cells) {
				return
			}
		}
	}}
	if n := testing.AllocsPerRun(1, func() { _ = table.Write(&Output{W: io.Discard, Format: "tsv"}) }); n > 100 {
		t.Errorf("100,000 rows are written with %v allocations", n)
	}
}

// TestHostileNames: names of columns and values, which SQL makes of each other, are text in every format.
func TestHostileNames(t *testing.T) {
	const name = "[l](x) @team <b>\x1b[31m\n::error::x|"
	for format, want := range map[string]string{
		"text": `[l](x) @team <b>\x1b[31m\n::error::x|`,
		"tsv":  `[l](x) @team <b>\x1b[31m\n::error::x|`,
		"md":   `| [l]\(x) @&#8203;team &lt;b&gt;\x1b[31m\n::error::x\| `,
	} {
		var b strings.Builder
		table := Table{Columns: []Column{{Name: name}}}
		table.Add(name)
		if err := table.Write(&Output{W: &b, Format: format}); err != nil || strings.Count(b.String(), want) != 2 {
			t.Errorf("%s: %q, %v", format, b.String(), err)
		}
	}
}
