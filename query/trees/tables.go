package trees

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/document"
	"github.com/dendroprof/dendro/table"
)

// Table has a row per call node, callees below callers.
func (r *TreeResult) Table(exact bool) *table.Table {
	t := &table.Table{Notes: r.Notes, Columns: []table.Column{table.CountColumn("depth"), table.CountColumn("total"),
		table.CountColumn("self"), table.ShareColumn("share"), table.TextColumn("function"), table.TextColumn("module"), table.TextColumn("file"),
		table.TextColumn("category")}}
	cells := make([]any, len(t.Columns))
	t.Rows = func(yield func([]any) bool) {
		for n := range r.Rows.All() {
			copy(cells, []any{n.Depth, n.Total, n.Self, n.Total.Of(r.RootTotal), n.Name(), n.Module, n.File, n.Category})
			if !yield(cells) {
				return
			}
		}
	}
	if !exact && !categorized(r.Rows) {
		t.Columns = t.Columns[:len(t.Columns)-1]
	}
	return t
}

// categorized reports whether a row of a tree or list has a category.
func categorized(rows document.Rows[TreeRow]) bool {
	for n := range rows.All() {
		if n.Category != "" {
			return true
		}
	}
	return false
}

// Name returns the name of a function, with the place where it begins if another
// function has the same name, and with the module if it has no name.
func (n *TreeRow) Name() string {
	switch {
	case n.Function == profile.NoName && n.Module != "":
		return fmt.Sprintf("%s (%s)", n.Function, path.Base(n.Module))
	case n.Line == 0:
		return n.Function
	}
	name := fmt.Sprintf("%s (%s:%d", n.Function, cmp.Or(n.File, n.Module), n.Line)
	if n.Column > 0 {
		name += fmt.Sprintf(":%d", n.Column)
	}
	return name + ")"
}

// Sum says what was summed: its root total and, of several profiles, how many.
func (h *Head) Sum() string {
	text := h.RootTotal.Amount(query.Noun(h.Type, h.Unit)) + " in total"
	if h.Profiles != 1 {
		text += fmt.Sprintf(", %s profiles, %s", words.Count(h.Profiles), words.Clean(h.Type))
	}
	return text
}

// Table lists functions.
func (r *FunctionsResult) Table(bool) *table.Table {
	t := &table.Table{Notes: r.Notes, Title: r.Sum(), Omitted: r.Omitted.Rows, Of: "function",
		Columns: []table.Column{query.AmountColumn("self", query.Noun(r.Type, r.Unit)), table.ShareColumn("self%"),
			query.AmountColumn("total", query.Noun(r.Type, r.Unit)), table.ShareColumn("total%"), table.TextColumn("category"),
			table.TextColumn("function")}}
	for f := range r.Rows.All() {
		t.Add(f.Self, f.Self.Of(r.RootTotal), f.Total, f.Total.Of(r.RootTotal), f.Category, f.Name())
	}
	if !categorized(r.Rows) {
		t.Drop("category")
	}
	return t
}

// Table says where boxes are.
func (r *FlameResult) Table(bool) *table.Table { return boxTable(r.Rows, &r.Head) }

// Table says where boxes are.
func (r *StackChartResult) Table(bool) *table.Table { return boxTable(r.Rows, &r.Head) }

func boxTable(rows document.Rows[BoxRow], h *Head) *table.Table {
	t := &table.Table{Notes: h.Notes, Omitted: h.Omitted.Rows,
		Columns: []table.Column{table.CountColumn("depth"), table.PlaceColumn("start"), table.PlaceColumn("end"), table.PlaceColumn("self"),
			table.TextColumn("function")}}
	for b := range rows.All() {
		t.Add(b.Depth, b.Start, b.End, b.Self, b.Function)
	}
	return t
}

// Table lists markers.
func (r *MarkersResult) Table(bool) *table.Table {
	t := &table.Table{Notes: r.Notes, Omitted: r.Omitted.Rows,
		Columns: []table.Column{table.PlaceColumn("start"), table.PlaceColumn("end"), table.TextColumn("name"), table.TextColumn("category"),
			table.TextColumn("thread"), table.TextColumn("fields")}}
	for i := range r.Rows {
		m := &r.Rows[i]
		var fields []string
		for _, f := range m.Fields {
			fields = append(fields, f.Key+"="+cmp.Or(f.Text, strings.TrimSpace(fmt.Sprint(f.Number, " ", f.Unit))))
		}
		t.Add(m.Start, m.End, m.Name, m.Category, m.Thread, strings.Join(fields, " "))
	}
	return t
}

// Table has a row for total and self, and for each of their categories.
func (r *NodeResult) Table(bool) *table.Table {
	t := &table.Table{Notes: r.Notes, Columns: []table.Column{table.TextColumn("value"), table.TextColumn("category"),
		query.AmountColumn("amount", r.Unit), table.ShareColumn("share")}}
	var add func(name, above string, list []NodeCategory)
	add = func(name, above string, list []NodeCategory) {
		for _, c := range list {
			t.Add(name, above+c.Name, c.Value, c.Share)
			add(name, above+c.Name+": ", c.Sub)
		}
	}
	for _, part := range []struct {
		name string
		of   *NodeAmount
	}{{"total", &r.Total}, {"self", &r.Self}} {
		t.Add(part.name, "", part.of.Value, part.of.Share)
		add(part.name, "", part.of.Categories)
	}
	return t
}

// Table has a row per call node.
func (r *DiffResult) Table(bool) *table.Table { return diffTable(r.Rows) }

// Table has a row per function.
func (r *DiffFunctionsResult) Table(bool) *table.Table { return diffTable(r.Rows) }

// Table has a row.
func (r *DiffNodeResult) Table(bool) *table.Table {
	return diffTable(document.RowsOf(1, func(int) DiffRow { return r.DiffRow }))
}

func diffTable(rows document.Rows[DiffRow]) *table.Table {
	t := &table.Table{Columns: []table.Column{table.CountColumn("depth")}}
	for _, part := range []string{"", "Self"} {
		for _, name := range []string{"base", "head", "delta"} {
			t.Columns = append(t.Columns, table.CountColumn(name+part))
		}
		t.Columns = append(t.Columns, table.ShareColumn("relative"+part))
	}
	t.Columns = append(t.Columns, table.TextColumn("presence"), table.TextColumn("function"), table.TextColumn("module"),
		table.TextColumn("file"), table.TextColumn("baseName"))
	ratio := func(c Change) any {
		if c.Relative == nil {
			return nil
		}
		return *c.Relative
	}
	for n := range rows.All() {
		t.Add(n.Depth, n.Total.Base, n.Total.Head, n.Total.Delta, ratio(n.Total), n.Self.Base, n.Self.Head, n.Self.Delta, ratio(n.Self),
			string(n.Presence), n.Function, n.Module, n.File, n.BaseName)
	}
	return t
}

// Table says where the boxes of the flame graph of a diff are.
func (r *DiffFlameResult) Table(bool) *table.Table {
	t := &table.Table{Notes: r.Notes, Omitted: r.Omitted.Rows,
		Columns: []table.Column{table.CountColumn("depth"), table.PlaceColumn("start"), table.PlaceColumn("end"),
			table.CountColumn("base"), table.CountColumn("head"), table.CountColumn("delta"), table.TextColumn("function")}}
	for b := range r.Rows.All() {
		t.Add(b.Depth, b.Start, b.End, b.Total.Base, b.Total.Head, b.Total.Delta, b.Function)
	}
	return t
}

// Table says where the boxes of the stack charts of both sides are.
func (r *DiffChartResult) Table(bool) *table.Table {
	t := &table.Table{Notes: r.Notes, Omitted: r.Omitted.Rows,
		Columns: []table.Column{table.TextColumn("side"), table.CountColumn("depth"), table.PlaceColumn("start"), table.PlaceColumn("end"),
			table.PlaceColumn("self"), table.TextColumn("function")}}
	for b := range r.Rows.All() {
		t.Add(b.Side, b.Depth, b.Start, b.End, b.Self, b.Function)
	}
	return t
}

// Table lists the call nodes that are outside of their band, the largest change first.
func (r *BandResult) Table(exact bool) *table.Table {
	type node struct {
		BandRow
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
	value := func(name string, format func(v float64, unit string, scale int) string) table.Column {
		return table.Column{Name: name, Right: true, Text: func(v any) string { return format(v.(float64), r.Unit, 0) }}
	}
	t := &table.Table{Notes: r.Notes, Of: "call node",
		Columns: []table.Column{value("diff", words.Difference), value("now", words.Value), value("mean", words.Value),
			value("p10", words.Value), value("p90", words.Value), table.CountColumn("score"), table.TextColumn("path")},
		Title: fmt.Sprintf("%s, compared with %s before: %s outside the band", query.RunsText(r.Runs),
			words.Counted(r.History, "run"), words.Counted(r.Significant, "call node"))}
	for i := range nodes {
		n := &nodes[i]
		at := PathEnds(n.path)
		if exact {
			at = calltree.FormatPath(n.path)
		}
		t.Add(delta(n), n.Now, n.Total.Mean, n.Total.P10, n.Total.P90, fmt.Sprintf("%.2f", n.Score), at)
	}
	return t
}

// PathEnds shortens a call path to where it begins and the callers nearest to its end.
func PathEnds(names []string) string {
	const callers = 5
	if len(names) > callers+2 {
		return calltree.FormatPath(names[:1]) + ";…;" + calltree.FormatPath(names[len(names)-callers-1:])
	}
	return calltree.FormatPath(names)
}
