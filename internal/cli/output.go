package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/dendroprof/dendro/internal/words"
)

// outputFormat is the value of -o.
type outputFormat string

func (o *outputFormat) addFlag(c *cobra.Command, formats ...string) {
	*o = outputFormat(formats[0])
	c.Flags().VarP(&choice{(*string)(o), formats}, "output", "o", "`format`: "+strings.Join(formats, ", "))
	inGroup(c, "Output", "output")
}

// choice is a flag with a fixed set of values.
type choice struct {
	value   *string
	allowed []string
}

func (c *choice) String() string {
	if c.value == nil {
		return ""
	}
	return *c.value
}
func (c *choice) Type() string { return "name" }
func (c *choice) Set(v string) error {
	if !slices.Contains(c.allowed, v) {
		return fmt.Errorf("must be one of %s", strings.Join(c.allowed, ", "))
	}
	*c.value = v
	return nil
}

// writeJSON prints one JSON document.
func (e *env) writeJSON(v any) error {
	enc := json.NewEncoder(e.out)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// escapeLines cleans messages of several lines.
func escapeLines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = words.Clean(lines[i])
	}
	return strings.Join(lines, "\n")
}

// table prints aligned columns to a terminal, TSV, Markdown or JSON rows.
type table struct {
	columns []column
	rows    [][]any

	// Of a table that is printed in pieces (stream.go): the widths of columns so
	// far, and whether the heading is out.
	width  []int
	headed bool
}

type column struct {
	name  string // JSON key and heading
	right bool   // numbers
	// text formats a value for people; nil: fmt.Sprint.
	text func(v any) string
	// tint colours a value on a terminal; nil: never.
	tint func(v any) tint
}

// tint is a colour of the terminal, as the parameter of its escape sequence.
type tint string

const (
	plain tint = ""
	faint tint = "2"
	red   tint = "31"
	green tint = "32"
	bold  tint = "1"
)

func (c tint) paint(s string) string {
	if c == plain {
		return s
	}
	return "\x1b[" + string(c) + "m" + s + "\x1b[0m"
}

// heavy colours a share by its weight.
func heavy(share float64) tint {
	switch {
	case share >= 0.1:
		return bold
	case share < 0.01:
		return faint
	}
	return plain
}

func (t *table) add(cells ...any) { t.rows = append(t.rows, cells) }

// print writes the table in one of text, json, md, tsv, csv.
func (t *table) print(e *env, format outputFormat) error {
	switch format {
	case "json":
		return e.writeJSON(map[string]any{"rows": t.objects()})
	case "md":
		return t.markdown(e.out)
	case "tsv":
		return t.separated(e.out, "\t", words.Clean)
	case "csv":
		return t.separated(e.out, ",", csvQuote)
	}
	return t.aligned(e.out, e.colour())
}

func (t *table) objects() []map[string]any {
	rows := make([]map[string]any, len(t.rows))
	for i, r := range t.rows {
		rows[i] = map[string]any{}
		for c := range t.columns {
			rows[i][t.columns[c].name] = r[c]
		}
	}
	return rows
}

func (t *table) text(row []any, c int) string {
	if t.columns[c].text != nil {
		return words.Clean(t.columns[c].text(row[c]))
	}
	return words.Clean(exact(row[c]))
}

func (t *table) aligned(w io.Writer, colour bool) error {
	if t.width == nil {
		t.width = make([]int, len(t.columns))
	}
	width := t.width
	for c := range t.columns {
		width[c] = max(width[c], utf8.RuneCountInString(t.columns[c].name))
		for _, r := range t.rows {
			width[c] = max(width[c], utf8.RuneCountInString(t.text(r, c)))
		}
	}
	line := func(cell func(c int) string, tints func(c int) tint) error {
		var b strings.Builder
		for c := range t.columns {
			s := cell(c)
			pad := strings.Repeat(" ", width[c]-utf8.RuneCountInString(s))
			if c > 0 {
				b.WriteString("  ")
			}
			s = tints(c).paint(s)
			if t.columns[c].right {
				b.WriteString(pad + s)
			} else {
				b.WriteString(s + pad)
			}
		}
		_, err := fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
		return err
	}
	if !t.headed {
		if err := line(func(c int) string { return t.columns[c].name }, func(int) tint { return plain }); err != nil {
			return err
		}
	}
	for _, r := range t.rows {
		tints := func(c int) tint {
			if t.columns[c].tint == nil || !colour {
				return plain
			}
			return t.columns[c].tint(r[c])
		}
		if err := line(func(c int) string { return t.text(r, c) }, tints); err != nil {
			return err
		}
	}
	return nil
}

func (t *table) markdown(w io.Writer) error {
	cell := func(s string) string {
		return strings.NewReplacer("|", `\|`, "<", "&lt;", ">", "&gt;", "`", "'", "&", "&amp;").Replace(s)
	}
	var b strings.Builder
	if !t.headed {
		for _, c := range t.columns {
			b.WriteString("| " + c.name + " ")
		}
		b.WriteString("|\n")
		for _, c := range t.columns {
			if c.right {
				b.WriteString("|---:")
			} else {
				b.WriteString("|---")
			}
		}
		b.WriteString("|\n")
	}
	for _, r := range t.rows {
		for c := range t.columns {
			b.WriteString("| " + cell(t.text(r, c)) + " ")
		}
		b.WriteString("|\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (t *table) separated(w io.Writer, sep string, quote func(string) string) error {
	line := func(cell func(c int) string) error {
		cells := make([]string, len(t.columns))
		for c := range cells {
			cells[c] = quote(cell(c))
		}
		_, err := fmt.Fprintln(w, strings.Join(cells, sep))
		return err
	}
	if !t.headed {
		if err := line(func(c int) string { return t.columns[c].name }); err != nil {
			return err
		}
	}
	for _, r := range t.rows {
		if err := line(func(c int) string { return exact(r[c]) }); err != nil {
			return err
		}
	}
	return nil
}

// exact writes a value for programs.
func exact(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case time.Time:
		if v.IsZero() {
			return ""
		}
		return v.UTC().Format(time.RFC3339Nano)
	case []string:
		return strings.Join(v, " ")
	case []byte:
		return fmt.Sprintf("%x", v)
	case []any, map[string]any:
		text, err := json.Marshal(finite(v))
		if err != nil {
			break
		}
		return string(text)
	}
	return fmt.Sprint(v)
}

func csvQuote(s string) string {
	if strings.ContainsAny(s, ",\"\n\r") {
		return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
	}
	return s
}

// percent formats a cell that holds a share; other cells stay empty.
func percent(v any) string {
	f, ok := v.(float64)
	if !ok {
		return ""
	}
	return words.Percent(f)
}

// grouped formats a cell that holds a count.
func grouped(v any) string { return words.Count(v) }

// terminal reports whether w is one.
func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// colour reports whether text for people may be coloured.
func (e *env) colour() bool {
	return !e.noColor && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && terminal(e.out)
}
