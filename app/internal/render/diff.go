package render

import (
	"bufio"
	"cmp"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query"
)

const (
	diffHead = "%10s %10s %10s %9s %10s  %s"
	noiseKey = "~: within sampling noise"
)

// value writes a number of a diff.
func value(n query.Number, unit string) string {
	if unit == "share" {
		return words.Percent(n.Value())
	}
	if text, ok := words.Amount(n.Value(), unit); ok {
		return text
	}
	return words.Count(query.Number{Float: math.Round(n.Value()*1000) / 1000, Divided: true}.String())
}

func signedValue(n query.Number, unit string) string {
	text := value(n, unit)
	if n.Value() > 0 {
		return "+" + text
	}
	return text
}

// relative writes a relative change, or on which side the value is alone.
func relative(c query.Change, p calltree.Presence) string {
	switch {
	case p != calltree.OnBoth:
		return string(p)
	case c.Relative == nil || *c.Relative == 0:
		return ""
	case math.Abs(*c.Relative) >= 10:
		return fmt.Sprintf("×%.1f", *c.Relative+1)
	default:
		return words.SignedPercent(*c.Relative)
	}
}

// summary writes what is compared.
func summary(w *bufio.Writer, h *query.DiffHead) {
	profiles := ""
	if h.Profiles != (query.Counts{Base: 1, New: 1}) {
		profiles = fmt.Sprintf(", %d and %d profiles", h.Profiles.Base, h.Profiles.New)
	}
	if h.Unit == "share" {
		whole := func(i int) string { return Amount(query.Number{Float: h.Whole[i], Divided: true}, h.Measured) }
		fmt.Fprintf(w, "shares of each side: base %s, new %s%s\n", whole(0), whole(1), profiles)
	} else {
		per := ""
		if text := h.Per(); text != "" {
			per = " " + words.Clean(text)
		}
		t, change := h.RootTotal, ""
		if text := relative(t, calltree.OnBoth); text != "" {
			change = " (" + text + ")"
		}
		fmt.Fprintf(w, "base %s, new %s: %s%s%s%s\n", value(t.Base, h.Unit), value(t.New, h.Unit), signedValue(t.Delta, h.Unit), change, per, profiles)
	}
	for _, note := range h.Notes {
		fmt.Fprintln(w, "note: "+words.Clean(note))
	}
}

func heading(w *bufio.Writer) {
	fmt.Fprintf(w, diffHead+"\n", "base", "new", "delta", "relative", "self", "function")
}

// line writes one node or function and reports whether its change is within noise.
func line(o *Output, w *bufio.Writer, r *query.DiffRow, unit string) (noise bool) {
	change, deltaSelf := relative(r.Total, r.Presence), ""
	if noise = r.WithinNoise(); noise {
		change = "~" + change
	}
	if r.Self.Delta.Value() != 0 {
		deltaSelf = signedValue(r.Self.Delta, unit)
	}
	side := func(n query.Number) string {
		if n.Value() == 0 {
			return "–"
		}
		return value(n, unit)
	}
	text := fmt.Sprintf(diffHead, side(r.Total.Base), side(r.Total.New), signedValue(r.Total.Delta, unit), change, deltaSelf, indent(r.Depth))
	text += o.name(r.Function, utf8.RuneCountInString(text))
	if r.BaseName != "" {
		text += " (was " + words.Clean(r.BaseName) + ")"
	}
	if o.Colour {
		tint := green
		switch delta := r.Total.Delta.Value(); {
		case noise || delta == 0:
			tint = faint
		case delta > 0:
			tint = red
		}
		text = tint.paint(text)
	}
	fmt.Fprintln(w, text)
	return noise
}

// Diff writes the union of two trees.
func Diff(o *Output, r *query.DiffResult) error {
	if o.Format != "text" {
		return diffTable(o, r.Rows)
	}
	w := bufio.NewWriter(o.W)
	summary(w, &r.DiffHead)
	heading(w)
	some := false
	for n := range r.Rows.All() {
		some = line(o, w, &n, r.Unit) || some
	}
	if some {
		fmt.Fprintln(w, noiseKey)
	}
	subtrees(w, r.Omitted)
	return w.Flush()
}

// diffTable writes a diff with a column per number.
func diffTable(o *Output, rows query.Rows[query.DiffRow]) error {
	t := &Table{Columns: []Column{{Name: "depth", Right: true}}}
	for _, name := range []string{"base", "new", "delta"} {
		t.Columns = append(t.Columns, Column{Name: name, Right: true})
	}
	t.Columns = append(t.Columns, Column{Name: "relative", Right: true, Text: percent})
	for _, name := range []string{"baseSelf", "newSelf", "deltaSelf"} {
		t.Columns = append(t.Columns, Column{Name: name, Right: true})
	}
	t.Columns = append(t.Columns, Column{Name: "relativeSelf", Right: true, Text: percent}, Column{Name: "presence"},
		Column{Name: "function"}, Column{Name: "module"}, Column{Name: "file"}, Column{Name: "baseName"})
	ratio := func(c query.Change) any {
		if c.Relative == nil {
			return nil
		}
		return *c.Relative
	}
	for n := range rows.All() {
		t.Add(n.Depth, n.Total.Base, n.Total.New, n.Total.Delta, ratio(n.Total), n.Self.Base, n.Self.New, n.Self.Delta, ratio(n.Self),
			string(n.Presence), n.Function, n.Module, n.File, n.BaseName)
	}
	return t.Write(o)
}

// DiffFunctions writes the functions that increased and those that decreased.
func DiffFunctions(o *Output, r *query.DiffFunctionsResult) error {
	if o.Format != "text" {
		return diffTable(o, r.Rows)
	}
	rows := slices.Collect(r.Rows.All())
	w := bufio.NewWriter(o.W)
	summary(w, &r.DiffHead)
	some := false
	for i, part := range []struct {
		name string
		all  int
	}{{"increased", r.Functions.Increased}, {"decreased", r.Functions.Decreased}} {
		fmt.Fprintf(w, "\n%s: %s %s\n", part.name, words.Count(part.all), words.Plural(part.all, "function"))
		shown := rows[:r.Shown[i]]
		rows = rows[len(shown):]
		if len(shown) > 0 {
			heading(w)
		}
		for k := range shown {
			some = line(o, w, &shown[k], r.Unit) || some
		}
		if n := part.all - len(shown); n > 0 {
			fmt.Fprintf(w, "omitted: %s %s (--min-percent, --rows)\n", words.Count(n), words.Plural(n, "function"))
		}
	}
	fmt.Fprintf(w, "\nunchanged: %s %s\n", words.Count(r.Functions.Unchanged), words.Plural(r.Functions.Unchanged, "function"))
	if some {
		fmt.Fprintln(w, noiseKey)
	}
	return w.Flush()
}

// DiffFlame writes where the boxes of the flame graph of a diff are.
func DiffFlame(o *Output, r *query.DiffFlameResult) error {
	t := &Table{Columns: []Column{{Name: "depth", Right: true}, {Name: "start", Right: true, Text: fourDecimals}, {Name: "end", Right: true, Text: fourDecimals},
		{Name: "base", Right: true}, {Name: "new", Right: true}, {Name: "delta", Right: true}, {Name: "function"}}}
	for b := range r.Rows.All() {
		t.Add(b.Depth, b.Start, b.End, b.Total.Base, b.Total.New, b.Total.Delta, b.Function)
	}
	return list(o, t, r.Notes, r.Omitted)
}

// DiffChart writes where the boxes of the stack charts of both sides are.
func DiffChart(o *Output, r *query.DiffChartResult) error {
	t := &Table{Columns: []Column{{Name: "side"}, {Name: "depth", Right: true}, {Name: "start", Right: true, Text: fourDecimals}, {Name: "end", Right: true, Text: fourDecimals},
		{Name: "self", Right: true, Text: fourDecimals}, {Name: "function"}}}
	for b := range r.Rows.All() {
		t.Add(b.Side, b.Depth, b.Start, b.End, b.Self, b.Function)
	}
	return list(o, t, r.Notes, r.Omitted)
}

// DiffNode writes one call node of a diff.
func DiffNode(o *Output, r *query.DiffNodeResult) error {
	w := bufio.NewWriter(o.W)
	summary(w, &r.Head)
	heading(w)
	row := r.DiffRow
	row.Depth = 0
	line(o, w, &row, r.Unit)
	return w.Flush()
}

// Band writes the call nodes that are outside of their band, the largest change first.
func Band(o *Output, r *query.BandResult, limit int) error {
	o.Notes(r.Notes)
	type node struct {
		query.BandRow
		path []string
	}
	var nodes []node
	var open []string
	for n := range r.Rows.All() {
		open = append(open[:n.Depth], n.Function)
		if n.Significant {
			nodes = append(nodes, node{n, slices.Clone(open)})
		}
	}
	delta := func(n *node) float64 { return n.Now - n.Total.Mean }
	slices.SortStableFunc(nodes, func(a, b node) int { return cmp.Compare(math.Abs(delta(&b)), math.Abs(delta(&a))) })
	shown := words.First(nodes, limit)
	typ := profile.ValueType{Name: r.Type, Unit: r.Unit}
	cell := func(v float64) any {
		if o.Exact() {
			return v
		}
		return words.Value(v, typ.Unit, typ.Scale)
	}
	t := &Table{Columns: []Column{{Name: "diff", Right: true}, {Name: "now", Right: true}, {Name: "mean", Right: true}, {Name: "p10", Right: true}, {Name: "p90", Right: true},
		{Name: "score", Right: true}, {Name: "path"}}}
	for i := range shown {
		n := &shown[i]
		change, at := any(words.Difference(delta(n), typ.Unit, typ.Scale)), ends(n.path)
		if o.Exact() {
			change, at = cell(delta(n)), calltree.FormatPath(n.path)
		}
		t.Add(change, cell(n.Now), cell(n.Total.Mean), cell(n.Total.P10), cell(n.Total.P90), twoDecimals(n.Score), at)
	}
	if o.Format == "text" {
		fmt.Fprintf(o.W, "%s, compared with %d %s before: %d call %s outside the band\n", runs(r.Runs), r.History, words.Plural(r.History, "run"), r.Significant, words.Plural(r.Significant, "node"))
	}
	if err := t.Write(o); err != nil {
		return err
	}
	o.Omitted(len(nodes)-len(shown), "call node")
	return nil
}

// ends shortens a call path to where it begins and the callers nearest to its end.
func ends(names []string) string {
	const callers = 5
	if len(names) > callers+2 {
		return calltree.FormatPath(names[:1]) + ";…;" + calltree.FormatPath(names[len(names)-callers-1:])
	}
	return calltree.FormatPath(names)
}

// twoDecimals writes a score.
func twoDecimals(v float64) string { return fmt.Sprintf("%.2f", v) }
