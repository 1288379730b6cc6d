package render

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/document"
	"github.com/dendroprof/dendro/query/trees"
	"github.com/dendroprof/dendro/table"
)

// indent draws the depth; beyond what fits on a line it is written as a number.
func indent(depth int32) string {
	const wide = 24
	if depth <= wide {
		return strings.Repeat("· ", int(depth))
	}
	return strings.Repeat("· ", wide) + "[" + strconv.Itoa(int(depth)) + "] "
}

// amount is a pair of columns with absolute values, total and self: shares alone do not tell
// what could be gained.
type amount struct {
	name string // of the column of totals
	text func(document.Number) string
}

// amountsOf returns the absolute values of a tree: of counted samples their number, and their
// time where the interval is known.
func amountsOf(h *trees.Head) []amount {
	switch h.Unit {
	case "nanoseconds", "microseconds", "milliseconds", "seconds":
		return []amount{{"time", func(n document.Number) string { return n.Amount(h.Unit) }}}
	case "bytes":
		return []amount{{"size", func(n document.Number) string { return n.Amount(h.Unit) }}}
	}
	noun := query.Noun(h.Type, h.Unit)
	if noun == "count" {
		noun = "samples"
	}
	list := []amount{{words.Shorten(words.Clean(noun), 9), func(n document.Number) string { return words.Count(n.String()) }}}
	if h.Interval > 0 {
		list = append(list, amount{"time", func(n document.Number) string { return n.Times(h.Interval).Amount("nanoseconds") }})
	}
	return list
}

// Tree writes a tree: one node a line, callees below callers.
func Tree(o *table.Output, r *trees.TreeResult) error {
	o.Notes(r.Notes)
	// The numbers stand in front, so that names may be as long as they are.
	amounts := amountsOf(&r.Head)
	heads, widths := []string{"total", "self"}, []int{8, 8}
	for _, a := range amounts {
		heads, widths = append(heads, a.name, "self"), append(widths, 9, 9)
	}
	w := table.NewList(o, widths...)
	fmt.Fprintln(w, r.Sum())
	w.Row(table.Plain, heads, "", "function", "")
	var categories []string // of the nodes from the root
	for n := range r.Rows.All() {
		ifAny := func(text string) string {
			if n.Self.Value() == 0 {
				return ""
			}
			return text
		}
		total := n.Total.Of(r.RootTotal)
		cells := []string{words.Percent(total), ifAny(words.Percent(n.Self.Of(r.RootTotal)))}
		for _, a := range amounts {
			cells = append(cells, a.text(n.Total), ifAny(a.text(n.Self)))
		}
		name := n.Name()
		categories = append(categories[:min(int(n.Depth), len(categories))], n.Category)
		if at := len(categories) - 1; n.Category != "" && n.Category != noCategory && (at == 0 || categories[at-1] != n.Category) {
			name += " [" + n.Category + "]"
		}
		w.Row(table.Heavy(math.Abs(total)), cells, indent(n.Depth), name, "")
	}
	subtrees(w, r.Omitted)
	return w.Flush()
}

// noCategory is the category that profiles have for what has none.
const noCategory = "Other"

// subtrees prints what a tree does not show.
func subtrees(w io.Writer, omitted query.Omitted) {
	if omitted.Rows > 0 {
		fmt.Fprintf(w, "omitted: %s; the totals above include their %s (--min-percent, --depth, --rows)\n", words.Counted(omitted.Rows, "subtree"), words.Percent(omitted.Share))
	}
}

// Node writes what is known of one call node.
func Node(o *table.Output, r *trees.NodeResult) error {
	o.Notes(r.Notes)
	w := bufio.NewWriter(o.W)
	fmt.Fprintln(w, words.Clean(calltree.FormatPath(r.Path)))
	for _, part := range []struct {
		name string
		of   trees.NodeAmount
	}{{"total", r.Total}, {"self", r.Self}} {
		fmt.Fprintf(w, "%-8s %14s  %8s\n", part.name, part.of.Value.Amount(r.Unit), words.Percent(part.of.Share))
		for _, c := range part.of.Categories {
			fmt.Fprintf(w, "  %-20s %8s\n", words.Clean(c.Name), words.Percent(c.Share))
			for _, sub := range c.Sub {
				fmt.Fprintf(w, "    %-18s %8s\n", words.Clean(sub.Name), words.Percent(sub.Share))
			}
		}
	}
	if t := r.Traced; t != nil {
		ms := func(n document.Number) string { return n.Amount("milliseconds") }
		fmt.Fprintf(w, "traced   total %s, self %s, of %s\n", ms(t.Total), ms(t.Self), ms(t.Root))
	}
	return w.Flush()
}
