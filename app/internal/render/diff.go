package render

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/dendroprof/dendro/calltree/diff"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/query/document"
	"github.com/dendroprof/dendro/query/trees"
	"github.com/dendroprof/dendro/table"
)

const noiseKey = "~: within sampling noise"

// value writes a number of a diff.
func value(n document.Number, unit string) string {
	if unit == "share" {
		return words.Percent(n.Value())
	}
	if text, ok := words.Amount(n.Value(), unit); ok {
		return text
	}
	v := math.Round(n.Value()*1000) / 1000
	if math.Abs(n.Value()) < 1 { // samples per operation
		v, _ = strconv.ParseFloat(strconv.FormatFloat(n.Value(), 'g', 3, 64), 64)
	}
	return words.Count(document.Number{Float: v, Divided: true}.String())
}

func signedValue(n document.Number, unit string) string {
	text := value(n, unit)
	if n.Value() > 0 {
		return "+" + text
	}
	return text
}

// relative writes a relative change, or on which side the value is alone.
func relative(c trees.Change, p diff.Presence) string {
	switch {
	case p != diff.OnBoth:
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
func summary(w io.Writer, h *trees.DiffHead) {
	profiles := ""
	if h.Profiles != (trees.Counts{Base: 1, Head: 1}) {
		profiles = fmt.Sprintf(", %d and %d profiles", h.Profiles.Base, h.Profiles.Head)
	}
	if h.Unit == "share" {
		whole := func(i int) string { return document.Number{Float: h.Whole[i], Divided: true}.Amount(h.Measured) }
		fmt.Fprintf(w, "shares of each side: base %s, head %s%s\n", whole(0), whole(1), profiles)
	} else {
		per := ""
		if text := h.Per(); text != "" {
			per = " " + words.Clean(text)
		}
		t, change := h.RootTotal, ""
		if text := relative(t, diff.OnBoth); text != "" {
			change = " (" + text + ")"
		}
		fmt.Fprintf(w, "base %s, head %s: %s%s%s%s\n", value(t.Base, h.Unit), value(t.Head, h.Unit), signedValue(t.Delta, h.Unit), change, per,
			profiles)
	}
	for _, note := range h.Notes {
		fmt.Fprintln(w, "note: "+words.Clean(note))
	}
}

// diffList begins a list of nodes or functions.
func diffList(o *table.Output) *table.List { return table.NewList(o, 10, 10, 10, 9, 10) }

func heading(w *table.List) {
	w.Row(table.Plain, []string{"base", "head", "delta", "relative", "self"}, "", "function", "")
}

// line writes one node or function and reports whether its change is within noise.
func line(w *table.List, r *trees.DiffRow, unit string) (noise bool) {
	change, deltaSelf := relative(r.Total, r.Presence), ""
	if noise = r.WithinNoise(); noise {
		change = "~" + change
	}
	if r.Self.Delta.Value() != 0 {
		deltaSelf = signedValue(r.Self.Delta, unit)
	}
	side := func(n document.Number) string {
		if n.Value() == 0 {
			return "–"
		}
		return value(n, unit)
	}
	renamed := ""
	if r.BaseName != "" {
		renamed = " (was " + words.Clean(r.BaseName) + ")"
	}
	tint := table.Green
	switch delta := r.Total.Delta.Value(); {
	case noise || delta == 0:
		tint = table.Faint
	case delta > 0:
		tint = table.Red
	}
	w.Row(tint, []string{side(r.Total.Base), side(r.Total.Head), signedValue(r.Total.Delta, unit), change, deltaSelf},
		indent(r.Depth), r.Function, renamed)
	return noise
}

// Diff writes the union of two trees.
func Diff(o *table.Output, r *trees.DiffResult) error {
	w := diffList(o)
	summary(w, &r.DiffHead)
	heading(w)
	some := false
	for n := range r.Rows.All() {
		some = line(w, &n, r.Unit) || some
	}
	if some {
		fmt.Fprintln(w, noiseKey)
	}
	subtrees(w, r.Omitted)
	return w.Flush()
}

// DiffFunctions writes the functions that increased and those that decreased.
func DiffFunctions(o *table.Output, r *trees.DiffFunctionsResult) error {
	rows := slices.Collect(r.Rows.All())
	w := diffList(o)
	summary(w, &r.DiffHead)
	some := false
	for i, part := range []struct {
		name string
		all  int
	}{{"increased", r.Functions.Increased}, {"decreased", r.Functions.Decreased}} {
		fmt.Fprintf(w, "\n%s: %s\n", part.name, words.Counted(part.all, "function"))
		shown := rows[:min(max(0, r.Shown[i]), len(rows))] // a server may contradict itself
		rows = rows[len(shown):]
		if len(shown) > 0 {
			heading(w)
		}
		for k := range shown {
			some = line(w, &shown[k], r.Unit) || some
		}
		if n := part.all - len(shown); n > 0 {
			fmt.Fprintf(w, "omitted: %s (--min-percent, --rows)\n", words.Counted(n, "function"))
		}
	}
	fmt.Fprintf(w, "\nunchanged: %s\n", words.Counted(r.Functions.Unchanged, "function"))
	if some {
		fmt.Fprintln(w, noiseKey)
	}
	return w.Flush()
}

// Band writes the call nodes that are outside of their band, at most limit; 0: all.
func Band(o *table.Output, r *trees.BandResult, limit int) error {
	t := r.Table(o.Exact())
	t.Limit(limit)
	return t.Print(o)
}

// DiffNode writes one call node of a diff.
func DiffNode(o *table.Output, r *trees.DiffNodeResult) error {
	w := diffList(o)
	summary(w, &r.Heading)
	heading(w)
	row := r.DiffRow
	row.Depth = 0
	line(w, &row, r.Unit)
	return w.Flush()
}

// twoDecimals writes a score.
func twoDecimals(v float64) string { return fmt.Sprintf("%.2f", v) }
