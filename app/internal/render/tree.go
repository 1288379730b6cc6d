package render

import (
	"bufio"
	"fmt"
	"math"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query"
)

// share returns part ÷ whole; 0 of nothing.
func share(part, whole query.Number) float64 {
	switch {
	case whole.Value() == 0:
		return 0
	case part.Divided || whole.Divided:
		return part.Value() / whole.Value()
	}
	// Both as whole numbers of the smaller unit: exact, whatever zeros a document omitted.
	scale := max(part.Scale, whole.Scale)
	return float64(part.Int) * math.Pow10(scale-part.Scale) / (float64(whole.Int) * math.Pow10(scale-whole.Scale))
}

// Amount returns a value with its unit: 1.28 s, 3.40 MiB, 5,120 samples.
func Amount(n query.Number, unit string) string {
	if text, ok := words.Amount(n.Value(), unit); ok {
		return text
	}
	if unit = words.Clean(unit); unit == "count" {
		unit = "samples"
	}
	return words.Count(n.String()) + " " + unit
}

// cell is a value in a table: exact for programs, else with its unit.
func (o *Output) cell(n query.Number, unit string) any {
	if o.Exact() {
		return n
	}
	return Amount(n, unit)
}

// indent draws the depth; beyond what fits on a line it is written as a number.
func indent(depth int32) string {
	const wide = 24
	if depth <= wide {
		return strings.Repeat("· ", int(depth))
	}
	return strings.Repeat("· ", wide) + "[" + strconv.Itoa(int(depth)) + "] "
}

// measured names the column of totals in units that people read beside shares.
var measured = map[string]string{"nanoseconds": "time", "milliseconds": "time", "bytes": "size"}

// name returns the name of a function that stands behind some columns, shortened to fit.
func (o *Output) name(function string, columns int) string {
	if o.Width <= 0 {
		return words.Clean(function)
	}
	return words.Shorten(words.Clean(function), max(leastName, o.Width-columns))
}

// Tree writes a tree: one node a line, callees below callers.
func Tree(o *Output, r *query.TreeResult) error {
	o.Notes(r.Notes)
	if o.Format != "text" {
		t := &Table{Columns: []Column{{Name: "depth", Right: true}, {Name: "total", Right: true}, {Name: "self", Right: true},
			{Name: "share", Right: true, Text: percent}, {Name: "function"}, {Name: "module"}, {Name: "file"}, {Name: "category"}}}
		categories := o.Exact()
		for n := range r.Rows.All() {
			t.Add(n.Depth, n.Total, n.Self, share(n.Total, r.RootTotal), functionName(&n), n.Module, n.File, n.Category)
			categories = categories || n.Category != ""
		}
		if !categories {
			t.Columns = t.Columns[:len(t.Columns)-1]
		}
		return t.Write(o)
	}
	// The numbers stand in front, so that names may be as long as they are.
	w := bufio.NewWriter(o.W)
	fmt.Fprintf(w, "%s in total%s\n", Amount(r.RootTotal, r.Unit), ofProfiles(r.Profiles, r.Type))
	// Shares alone do not tell what could be gained.
	amount, column := func(query.Number) string { return "" }, ""
	if name := measured[r.Unit]; name != "" {
		column = fmt.Sprintf(" %10s", name)
		amount = func(n query.Number) string { return fmt.Sprintf(" %10s", Amount(n, r.Unit)) }
	}
	fmt.Fprintf(w, "%8s %8s%s  %s\n", "total", "self", column, "function")
	var categories []string // of the nodes from the root
	for n := range r.Rows.All() {
		self := ""
		if n.Self.Value() != 0 {
			self = words.Percent(share(n.Self, r.RootTotal))
		}
		total := share(n.Total, r.RootTotal)
		line := fmt.Sprintf("%8s %8s%s  %s", words.Percent(total), self, amount(n.Total), indent(n.Depth))
		name := functionName(&n)
		categories = append(categories[:min(int(n.Depth), len(categories))], n.Category)
		if at := len(categories) - 1; n.Category != "" && n.Category != noCategory && (at == 0 || categories[at-1] != n.Category) {
			name += " [" + n.Category + "]"
		}
		line += o.name(name, utf8.RuneCountInString(line))
		if o.Colour {
			line = heavy(math.Abs(total)).paint(line)
		}
		fmt.Fprintln(w, line)
	}
	subtrees(w, r.Omitted)
	return w.Flush()
}

// noCategory is the category that profiles have for what has none.
const noCategory = "Other"

// functionName returns the name of a function, with the place where it begins if another
// function has the same name, and with the module if it has no name.
func functionName(n *query.TreeRow) string {
	switch {
	case n.Function == profile.NoName && n.Module != "":
		return fmt.Sprintf("%s (%s)", n.Function, path.Base(n.Module))
	case n.Line == 0:
		return n.Function
	}
	place := n.File
	if place == "" {
		place = n.Module
	}
	name := fmt.Sprintf("%s (%s:%d", n.Function, place, n.Line)
	if n.Column > 0 {
		name += fmt.Sprintf(":%d", n.Column)
	}
	return name + ")"
}

// Markers writes markers.
func Markers(o *Output, r *query.MarkersResult) error {
	t := &Table{Columns: []Column{{Name: "start", Right: true, Text: fourDecimals}, {Name: "end", Right: true, Text: fourDecimals},
		{Name: "name"}, {Name: "category"}, {Name: "thread"}, {Name: "fields"}}}
	for i := range r.Rows {
		m := &r.Rows[i]
		var fields []string
		for _, f := range m.Fields {
			value := f.Text
			if value == "" {
				value = strings.TrimSpace(fmt.Sprint(f.Number, " ", f.Unit))
			}
			fields = append(fields, f.Key+"="+value)
		}
		t.Add(m.Start, m.End, m.Name, m.Category, m.Thread, strings.Join(fields, " "))
	}
	return list(o, t, r.Notes, r.Omitted)
}

// ofProfiles says how many profiles were summed, if it is more than one.
func ofProfiles(n int, typ string) string {
	if n == 1 {
		return ""
	}
	return fmt.Sprintf(", %s profiles, %s", words.Count(n), words.Clean(typ))
}

// subtrees prints what a tree does not show.
func subtrees(w *bufio.Writer, omitted query.Omitted) {
	if omitted.Rows > 0 {
		fmt.Fprintf(w, "omitted: %s %s with %s of the total (--min-percent, --depth, --rows)\n", words.Count(omitted.Rows), words.Plural(omitted.Rows, "subtree"), words.Percent(omitted.Share))
	}
}

// Functions writes a list of functions.
func Functions(o *Output, r *query.FunctionsResult) error {
	o.Notes(r.Notes)
	t := &Table{Columns: []Column{{Name: "self", Right: true}, {Name: "self%", Right: true, Text: percent},
		{Name: "total", Right: true}, {Name: "total%", Right: true, Text: percent}, {Name: "function"}}}
	for f := range r.Rows.All() {
		t.Add(o.cell(f.Self, r.Unit), share(f.Self, r.RootTotal), o.cell(f.Total, r.Unit), share(f.Total, r.RootTotal), functionName(&f))
	}
	if o.Format == "text" {
		fmt.Fprintf(o.W, "%s in total%s\n", Amount(r.RootTotal, r.Unit), ofProfiles(r.Profiles, r.Type))
	}
	if err := t.Write(o); err != nil {
		return err
	}
	o.Omitted(r.Omitted.Rows, "function")
	return nil
}

// boxes writes where the boxes of a flame graph or stack chart are.
func boxes(o *Output, rows query.Rows[query.BoxRow], h *query.Head) error {
	t := &Table{Columns: []Column{{Name: "depth", Right: true}, {Name: "start", Right: true, Text: fourDecimals}, {Name: "end", Right: true, Text: fourDecimals},
		{Name: "self", Right: true, Text: fourDecimals}, {Name: "function"}}}
	for b := range rows.All() {
		t.Add(b.Depth, b.Start, b.End, b.Self, b.Function)
	}
	return list(o, t, h.Notes, h.Omitted)
}

// fourDecimals writes a place in a picture.
func fourDecimals(v any) string { return fmt.Sprintf("%.4f", v) }

// Growth writes the shares of functions now and before.
func Growth(o *Output, r *query.GrowthResult) error {
	o.Notes(r.Notes)
	t := &Table{Columns: []Column{{Name: "now", Right: true, Text: percent}, {Name: "before", Right: true, Text: percent},
		{Name: "diff", Right: true, Text: signedPercent, Tint: worse}, {Name: "selfNow", Right: true, Text: percent}, {Name: "selfBefore", Right: true, Text: percent}, {Name: "function"}}}
	for _, f := range r.Rows {
		t.Add(f.Now, f.Before, f.Diff, f.SelfNow, f.SelfBefore, f.Function)
	}
	if o.Format == "text" {
		fmt.Fprintf(o.W, "share of total now (%s) and mean share before (%s); diff in percentage points; %s\n", runs(r.Now), runs(r.Before), words.Clean(r.Type))
	}
	if err := t.Write(o); err != nil {
		return err
	}
	o.Omitted(r.Omitted.Rows, "function")
	return nil
}

// runs names a run, or counts several.
func runs(keys []string) string {
	if len(keys) == 1 {
		return words.Clean(keys[0])
	}
	return fmt.Sprintf("%d runs", len(keys))
}

// Node writes what is known of one call node.
func Node(o *Output, r *query.NodeResult) error {
	o.Notes(r.Notes)
	w := bufio.NewWriter(o.W)
	fmt.Fprintln(w, words.Clean(r.Path[len(r.Path)-1]))
	for _, part := range []struct {
		name string
		of   query.NodeAmount
	}{{"total", r.Total}, {"self", r.Self}} {
		fmt.Fprintf(w, "%-8s %14s  %8s\n", part.name, Amount(part.of.Value, r.Unit), words.Percent(part.of.Share))
		for _, c := range part.of.Categories {
			fmt.Fprintf(w, "  %-20s %8s\n", words.Clean(c.Name), words.Percent(c.Share))
			for _, sub := range c.Sub {
				fmt.Fprintf(w, "    %-18s %8s\n", words.Clean(sub.Name), words.Percent(sub.Share))
			}
		}
	}
	if t := r.Traced; t != nil {
		ms := func(n query.Number) string { return Amount(n, "milliseconds") }
		fmt.Fprintf(w, "traced   total %s, self %s, of %s\n", ms(t.Total), ms(t.Self), ms(t.Root))
	}
	return w.Flush()
}
