// Package table describes tables and writes them: aligned text, Markdown, TSV and CSV. A table
// knows its columns (name, alignment and how to write a value for people), so that every
// format comes from one description. A Page is lines and tables for people, a List rows that
// are printed while they are made. Width, colours and alignment are computed here alone.
//
//	query result, report ──▶ Table ──Write──▶ stdout; what was omitted ──▶ stderr
//
// Every name in a table comes from a program that nobody checked: it is made safe to
// print (words.Clean) before it reaches a terminal, and escaped in Markdown. Numbers for
// people are formatted by package words; TSV and CSV have them exactly.
//
// The package knows no query and no report.
package table

import (
	"bytes"
	"cmp"
	"encoding"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dendroprof/dendro/internal/words"
)

// Output is where and how a result is written.
type Output struct {
	W      io.Writer // the result
	Err    io.Writer // messages about it
	Format string    // text, json, md, tsv, csv
	Colour bool      // text is for a terminal that shows colours
	Width  int       // columns of the terminal, which names are shortened to fit; 0: no limit
}

// Exact reports whether the format is read by programs: values are exact, and nothing
// is omitted unless the request limits it.
func (o *Output) Exact() bool { return o.Format != "text" && o.Format != "md" }

// Paint returns a text in a colour if the output shows colours.
func (o *Output) Paint(c Tint, s string) string {
	if !o.Colour || c == Plain {
		return s
	}
	return "\x1b[" + string(c) + "m" + s + "\x1b[0m"
}

// Notes prints what a reader of the numbers has to know.
func (o *Output) Notes(list []string) {
	for _, w := range list {
		fmt.Fprintf(o.Err, "dendro: note: %s\n", words.Clean(w))
	}
}

// Omitted prints how many rows of a table the limits of the request dropped.
func (o *Output) Omitted(n int, what string) {
	if n > 0 && o.Format == "text" {
		fmt.Fprintf(o.Err, "%s (--rows)\n", words.Counted(n, "more "+what))
	}
}

// Table is rows in named columns. The zero value is empty.
type Table struct {
	Notes   []string // what a reader of the numbers has to know
	Title   string   // a line above the table; in text only
	Indent  string   // before each line of aligned text
	Columns []Column
	// Rows are made when they are written, after those that were added: a million of them
	// as TSV or CSV are never in memory. The other formats keep them.
	Rows    iter.Seq[[]any]
	rows    [][]any
	Omitted int      // rows that the limits of the request dropped
	Of      string   // what a row is, in the singular; default row
	Next    *Table   // another table below; nil: none
	Empty   string   // what to say instead of a table without rows; default: the heading is written
	Remarks []string // what to say after the table

	// Of a table that is printed in pieces (Stream): the widths of columns so
	// far, and whether the heading is out.
	width  []int
	headed bool
}

// Column is a column of a table.
type Column struct {
	Name  string // JSON key and heading
	Right bool   // numbers
	Whole bool   // never shortened
	// Text formats a value for people; nil: fmt.Sprint.
	Text func(v any) string
	// Markup formats a value as Markdown; nil: as its text, in which no markup works.
	Markup func(v any) string
	// Tint colours a value on a terminal; nil: only one that is Tinted.
	Tint func(v any) Tint
}

// Tint is a colour of the terminal, as the parameter of its escape sequence.
type Tint string

const (
	Plain Tint = ""   // no colour
	Faint Tint = "2"  // small values, and what is within noise
	Red   Tint = "31" // slower
	Green Tint = "32" // faster
	Bold  Tint = "1"  // large values
)

// Worse colours a difference of shares: Red grew, Green shrank.
func Worse(v any) Tint {
	switch f, _ := v.(float64); {
	case f >= 0.005:
		return Red
	case f <= -0.005:
		return Green
	}
	return Plain
}

// Heavy colours a share by its weight.
func Heavy(share float64) Tint {
	switch {
	case share >= 0.1:
		return Bold
	case share < 0.01:
		return Faint
	}
	return Plain
}

// Add adds a row.
func (t *Table) Add(cells ...any) { t.rows = append(t.rows, cells) }

// Limit drops the rows after the first n, and counts them as omitted; 0 keeps all.
func (t *Table) Limit(n int) {
	if n > 0 && n < len(t.rows) {
		t.Omitted += len(t.rows) - n
		t.rows = t.rows[:n]
	}
}

// Drop removes a column, and its cells of the rows that were added.
func (t *Table) Drop(name string) {
	c := slices.IndexFunc(t.Columns, func(x Column) bool { return x.Name == name })
	t.Columns = slices.Delete(t.Columns, c, c+1)
	for i := range t.rows {
		t.rows[i] = slices.Delete(t.rows[i], c, c+1)
	}
}

// Len is the number of rows.
func (t *Table) Len() int { return len(t.rows) }

// Print writes a table with its title, what has to be known, and what was omitted, and the
// tables after it.
func (t *Table) Print(o *Output) error {
	for ; t != nil; t = t.Next {
		if !o.Exact() {
			t.keep()
		}
		o.Notes(t.Notes)
		if t.Title != "" && o.Format == "text" {
			if _, err := fmt.Fprintln(o.W, t.Title); err != nil {
				return err
			}
		}
		if t.saysEmpty() {
			fmt.Fprintln(o.Err, "dendro: "+t.Empty)
		} else if err := t.Write(o); err != nil {
			return err
		}
		o.Omitted(t.Omitted, cmp.Or(t.Of, "row"))
		for _, text := range t.Remarks {
			fmt.Fprintln(o.Err, "dendro: "+text)
		}
	}
	return nil
}

// saysEmpty reports whether a text stands in place of the table.
func (t *Table) saysEmpty() bool { return t.Empty != "" && len(t.rows) == 0 && t.Rows == nil }

// Messages returns what Print says on stderr of a table for programs and those after it.
func (t *Table) Messages() (list []string) {
	for ; t != nil; t = t.Next {
		for _, note := range t.Notes {
			list = append(list, "note: "+words.Clean(note))
		}
		if t.saysEmpty() {
			list = append(list, t.Empty)
		}
		list = append(list, t.Remarks...)
	}
	return list
}

// keep adds the rows that were to be made later.
func (t *Table) keep() {
	if t.Rows == nil {
		return
	}
	for row := range t.Rows {
		t.rows = append(t.rows, slices.Clone(row))
	}
	t.Rows = nil
}

// all yields the rows; one is valid until the next.
func (t *Table) all(yield func(row []any) bool) {
	for _, row := range t.rows {
		if !yield(row) {
			return
		}
	}
	if t.Rows != nil {
		t.Rows(yield)
	}
}

// Write writes the table in the format of the output: text, md, tsv, csv.
func (t *Table) Write(o *Output) error {
	switch o.Format {
	case "tsv":
		return t.tsv(o.W)
	case "csv":
		return t.csv(o.W)
	}
	if t.keep(); o.Format == "md" {
		return t.markdown(o.W)
	}
	return t.aligned(o)
}

func (t *Table) text(row []any, c int) string {
	if t.Columns[c].Text != nil {
		return words.Clean(t.Columns[c].Text(row[c]))
	}
	return words.Clean(exact(row[c]))
}

// Nested is a cell with a name, which aligned text indents.
type Nested struct {
	Depth int32
	Name  string
}

// String is the name.
func (n Nested) String() string { return n.Name }

// indented is the text of a cell, in aligned text.
func (t *Table) indented(row []any, c int) string {
	if n, ok := row[c].(Nested); ok {
		return strings.Repeat("  ", int(n.Depth)) + t.text(row, c)
	}
	return t.text(row, c)
}

// LeastName is the minimum width that names are shortened to; MostName the maximum width of a
// name in text that goes to no terminal: generated names may have thousands of characters.
const (
	LeastName = 24
	MostName  = 500
)

// fit returns the maximum width of each column, so that lines fit a terminal: the widest
// columns of names share what is too much. 0: names have at most MostName.
func fit(columns []Column, width []int, terminal int) []int {
	limits := make([]int, len(columns))
	if terminal <= 0 {
		for c, w := range width {
			if !columns[c].Right && !columns[c].Whole && w > MostName {
				limits[c] = MostName
			}
		}
		return limits
	}
	now, total := slices.Clone(width), 2*(len(columns)-1)
	for _, w := range width {
		total += w
	}
	for ; total > terminal; total-- {
		widest := -1
		for c := range columns {
			if !columns[c].Right && !columns[c].Whole && now[c] > LeastName && (widest < 0 || now[c] > now[widest]) {
				widest = c
			}
		}
		if widest < 0 {
			break
		}
		now[widest]--
		limits[widest] = now[widest]
	}
	return limits
}

// tint is the colour of a cell.
func (t *Table) tint(row []any, c int) Tint {
	if f := t.Columns[c].Tint; f != nil {
		return f(row[c])
	}
	cell, _ := row[c].(Tinted)
	return cell.Tint
}

func (t *Table) aligned(o *Output) error {
	if t.width == nil {
		t.width = make([]int, len(t.Columns))
	}
	width := t.width
	for c := range t.Columns {
		width[c] = max(width[c], utf8.RuneCountInString(t.name(c)))
		for _, r := range t.rows {
			width[c] = max(width[c], utf8.RuneCountInString(t.indented(r, c)))
		}
	}
	limits := fit(t.Columns, width, o.Width-utf8.RuneCountInString(t.Indent))
	line := func(cell func(c int) string, tint func(c int) Tint) error {
		var b strings.Builder
		b.WriteString(t.Indent)
		for c := range t.Columns {
			s, width := words.Shorten(cell(c), limits[c]), width[c]
			if limits[c] > 0 {
				width = limits[c]
			}
			pad := strings.Repeat(" ", width-utf8.RuneCountInString(s))
			if c > 0 {
				b.WriteString("  ")
			}
			s = o.Paint(tint(c), s)
			if t.Columns[c].Right {
				b.WriteString(pad + s)
			} else {
				b.WriteString(s + pad)
			}
		}
		_, err := fmt.Fprintln(o.W, strings.TrimRight(b.String(), " "))
		return err
	}
	if !t.headed {
		if err := line(t.name, func(int) Tint { return Plain }); err != nil {
			return err
		}
	}
	for _, r := range t.rows {
		if err := line(func(c int) string { return t.indented(r, c) }, func(c int) Tint { return t.tint(r, c) }); err != nil {
			return err
		}
	}
	return nil
}

// name returns the name of a column, which may be a text of a profile: SQL makes columns of values.
func (t *Table) name(c int) string { return words.Clean(t.Columns[c].Name) }

var noMarkup = strings.NewReplacer("|", `\|`, "<", "&lt;", ">", "&gt;", "`", "'", "&", "&amp;", "](", `]\(`, "@", "@&#8203;")

// Markdown writes text as it is shown, in a cell or a heading: no element, link or mention of it works.
func Markdown(s string) string {
	return noMarkup.Replace(words.Clean(s))
}

func (t *Table) markdown(w io.Writer) error {
	var b strings.Builder
	if !t.headed {
		for _, c := range t.Columns {
			name := Markdown(strings.TrimSpace(c.Name))
			if c.Markup != nil {
				name = strings.ReplaceAll(strings.TrimSpace(c.Name), "|", `\|`)
			}
			b.WriteString("| " + name + " ")
		}
		b.WriteString("|\n")
		for _, c := range t.Columns {
			if c.Right {
				b.WriteString("|---:")
			} else {
				b.WriteString("|---")
			}
		}
		b.WriteString("|\n")
	}
	for _, r := range t.rows {
		for c := range t.Columns {
			cell := Markdown(t.text(r, c))
			if f := t.Columns[c].Markup; f != nil {
				cell = strings.ReplaceAll(f(r[c]), "|", `\|`)
			}
			b.WriteString("| " + cell + " ")
		}
		b.WriteString("|\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// bufferBytes are collected of a table before they are written.
const bufferBytes = 32 << 10

func (t *Table) tsv(w io.Writer) error {
	var line []byte
	if !t.headed {
		for c := range t.Columns {
			line = append(append(line, t.name(c)...), '\t')
		}
		line[len(line)-1] = '\n'
	}
	var err error
	for row := range t.all {
		for c := range t.Columns {
			if text, ok := row[c].(string); ok {
				line = append(line, words.Clean(text)...)
			} else if number, ok := appendNumber(line, row[c]); ok {
				line = number
			} else {
				line = append(line, words.Clean(exact(row[c]))...)
			}
			line = append(line, '\t')
		}
		line[len(line)-1] = '\n'
		if len(line) >= bufferBytes {
			if _, err = w.Write(line); err != nil {
				return err
			}
			line = line[:0]
		}
	}
	_, err = w.Write(line)
	return err
}

func (t *Table) csv(w io.Writer) error {
	out := csv.NewWriter(w)
	cells := make([]string, len(t.Columns))
	if !t.headed {
		for c := range cells {
			cells[c] = t.Columns[c].Name
		}
		if err := out.Write(cells); err != nil {
			return err
		}
	}
	for row := range t.all {
		for c := range cells {
			cells[c] = exact(row[c])
		}
		if err := out.Write(cells); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// appendNumber appends a number for programs, as exact writes it; false: it is none.
func appendNumber(b []byte, v any) ([]byte, bool) {
	switch v := v.(type) {
	case int:
		return strconv.AppendInt(b, int64(v), 10), true
	case int32:
		return strconv.AppendInt(b, int64(v), 10), true
	case int64:
		return strconv.AppendInt(b, v, 10), true
	case float64:
		return fmt.Append(b, v), true
	case time.Time:
		return b, false
	case encoding.TextAppender:
		b, err := v.AppendText(b)
		return b, err == nil
	}
	return b, false
}

// exact writes a value for programs.
func exact(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
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

// streamRows is how many rows of an answer are held until they are printed. The
// columns of text are as wide as the rows so far want them.
const streamRows = 1000

// Stream writes the rows of an answer while they arrive, in the formats of Write and as JSON,
// and says on stderr when it stops at a limit; 0 is none.
func (t *Table) Stream(o *Output, rows iter.Seq2[[]any, error], limit int) error {
	put, end := t.piece, func() error { return nil }
	if o.Format == "json" {
		put, end = t.jsonPieces(o.W)
	}
	n := 0
	for row, err := range rows {
		if err != nil {
			return err
		}
		if limit > 0 && n == limit {
			fmt.Fprintf(o.Err, "dendro: stopped after %d rows (--rows)\n", limit)
			break
		}
		n++
		t.rows = append(t.rows, row)
		if len(t.rows) == streamRows {
			if err := put(o); err != nil {
				return err
			}
		}
	}
	if err := put(o); err != nil {
		return err
	}
	return end()
}

// piece prints the rows at hand below those that are out.
func (t *Table) piece(o *Output) error {
	if t.headed && len(t.rows) == 0 {
		return nil
	}
	err := t.Write(o)
	t.headed, t.rows = true, t.rows[:0]
	return err
}

// object writes a row as a JSON object, in the order of the columns.
func (t *Table) object(w *bytes.Buffer, row []any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	before := byte('{')
	for c := range t.Columns {
		w.WriteByte(before)
		for i, v := range []any{t.Columns[c].Name, finite(row[c])} {
			if i > 0 {
				w.WriteByte(':')
			}
			if err := enc.Encode(v); err != nil {
				return err
			}
			w.Truncate(w.Len() - 1) // the line feed of Encode
		}
		before = ','
	}
	if before == '{' {
		w.WriteByte(before)
	}
	w.WriteString("}\n")
	return nil
}

// jsonPieces returns functions that print the rows at hand as part of the
// document {"rows": […]}, and that end it.
func (t *Table) jsonPieces(w io.Writer) (put func(*Output) error, end func() error) {
	before := `{"rows":[`
	var buf bytes.Buffer
	put = func(*Output) error {
		buf.Reset()
		for _, row := range t.rows {
			buf.WriteString(before)
			if err := t.object(&buf, row); err != nil {
				return err
			}
			before = ","
		}
		if _, err := w.Write(buf.Bytes()); err != nil {
			return err
		}
		t.rows = t.rows[:0]
		return nil
	}
	end = func() error {
		if before != "," {
			_, err := io.WriteString(w, before+"]}\n")
			return err
		}
		_, err := io.WriteString(w, "]}\n")
		return err
	}
	return put, end
}

// finite replaces the numbers that JSON does not have by null, in place.
func finite(v any) any {
	switch v := v.(type) {
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil
		}
	case []any:
		for i := range v {
			v[i] = finite(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = finite(v[k])
		}
	}
	return v
}
