package query

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/dendroprof/dendro/analysis/bottleneck"
	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query/document"
	"github.com/dendroprof/dendro/query/table"
	"github.com/dendroprof/dendro/report"
	"github.com/dendroprof/dendro/testrun"
)

// Result is an answer to a query. It describes its table, of which text, Markdown, TSV and
// CSV are made; its document is written by WriteJSON.
type Result interface {
	// Table returns the result as a table, exact for programs or as people read it.
	Table(exact bool) *table.Table
}

// countNouns names what values of a type count that are not samples.
var countNouns = map[string]string{profile.Goroutines: "goroutines", "threadcreate": "threads", "thread": "threads", profile.Threads: "threads"}

// Noun returns the unit of the values of a type as people read it: what they count if those
// are no samples.
func Noun(valueType, unit string) string {
	if noun, ok := countNouns[valueType]; ok && unit == "count" {
		return noun
	}
	return unit
}

// amounts is a column of Numbers in a unit.
func amounts(name, unit string) table.Column {
	return table.Column{Name: name, Unit: unit, Right: true, Text: func(v any) string {
		n, ok := v.(document.Number)
		if !ok {
			return ""
		}
		return n.Amount(unit)
	}}
}

func shareColumn(name string) table.Column {
	return table.Column{Name: name, Right: true, Text: table.Percent}
}
func place(name string) table.Column {
	return table.Column{Name: name, Right: true, Text: table.Decimals}
}
func count(name string) table.Column { return table.Column{Name: name, Right: true} }
func text(name string) table.Column  { return table.Column{Name: name} }

// Table lists runs.
func (r *RunsResult) Table(bool) *table.Table {
	t := &table.Table{Of: "run", Omitted: r.Omitted.Rows, Columns: []table.Column{text("run"), {Name: "date", Text: table.Date}, {Name: "commit", Text: table.Commit}, text("branch"),
		text("machine"), count("benchmarks"), count("profiles"), {Name: "types", Text: table.Joined}}}
	for i := range r.Rows {
		x := &r.Rows[i]
		t.Add(x.Key, x.Date, x.Commit, x.Branch, x.Machine, x.Benchmarks, x.Profiles, x.Types)
	}
	return t
}

// Table lists profiles with their ids.
func (r *ProfilesResult) Table(bool) *table.Table {
	grouped := func(name string) table.Column { return table.Column{Name: name, Right: true, Text: table.Grouped} }
	t := &table.Table{Of: "profile", Omitted: r.Omitted.Rows, Columns: []table.Column{text("id"), text("run"), {Name: "date", Text: table.Date}, text("group"), text("benchmark"), text("type"),
		grouped("samples"), grouped("sum"), text("unit"), grouped("nodes"), {Name: "metric", Right: true, Text: table.Number}, text("metricUnit"), text("file")}}
	for i := range r.Rows {
		p := &r.Rows[i]
		var metric, unit any
		if m, ok := p.Metric(); ok {
			metric, unit = m.Mean, m.Unit
		}
		t.Add(p.ID, p.Run.Key, p.Run.Date, p.Benchmark.Group, p.Benchmark.Name, p.Type.Name, p.Samples, p.Sum, p.Type.Unit, p.Nodes, metric, unit, p.File)
	}
	return t
}

// Table lists functions.
func (r *FunctionNamesResult) Table(bool) *table.Table {
	t := &table.Table{Of: "function", Omitted: r.Omitted.Rows, Columns: []table.Column{text("function"), text("module"), text("file"), count("line"), text("language"), text("kind")}}
	for i := range r.Rows {
		f := &r.Rows[i]
		t.Add(f.Function, f.Module, f.File, f.Line, f.Language, f.Kind)
	}
	return t
}

// Table lists the benchmarks of a store, then its services.
func (r *OverviewResult) Table(bool) *table.Table {
	t := &table.Table{Of: "benchmark", Omitted: r.Omitted.Rows, Columns: []table.Column{text("group"), text("benchmark"), count("runs"), text("last"), {Name: "date", Text: table.Date}, text("branch"),
		text("metric"), count("value"), text("status"), {Name: "change", Right: true, Text: table.SignedPercent}, count("time"), text("since"), text("finding")}}
	for i := range r.Benchmarks {
		b := &r.Benchmarks[i]
		var name, value, status, change, cost, since, finding any
		if m := b.Metric; m != nil {
			name, value = m.Name, words.Metric(m.Last, m.Unit)
		}
		if o := b.Outcome; o != nil {
			if status = string(o.Status); o.Certainty == regression.Suspect {
				status = string(o.Status) + ", " + string(o.Certainty)
			}
			if o.Finding != "" {
				change, since, finding = o.Share, o.Since.Run, o.Title
			}
			if o.Time != nil {
				cost = words.SignedMetric(o.Time.Value, o.Time.Unit)
			}
		}
		t.Add(b.Group, b.Name, b.Runs, b.Last.Key, b.Last.Date, b.Last.Branch, name, value, status, change, cost, since, finding)
	}
	if len(r.Services) > 0 {
		t.Next = &table.Table{Of: "service", Columns: []table.Column{text("service"), count("instances"), {Name: "lastSeen", Text: table.Date}}}
		for _, x := range r.Services {
			t.Next.Add(x.Service, x.Instances, time.UnixMilli(x.LastSeen))
		}
	}
	return t
}

// growthOf returns the growth from a mean to a value; nil of nothing.
func growthOf(v, mean float64) any {
	if mean == 0 {
		return nil
	}
	return v/mean - 1
}

// Table has a row per run, with the steps beside the runs with which they begin.
func (r *HistoryResult) Table(bool) *table.Table {
	t := &table.Table{Notes: r.Notes, Of: "run", Omitted: r.Omitted.Rows, Columns: []table.Column{text("benchmark"), text("run"), {Name: "date", Text: table.Date}, {Name: "commit", Text: table.Commit}, count("value"),
		count("mean"), count("deviation"), count("cost")}}
	amounts := slices.ContainsFunc(r.Series, func(s HistorySeries) bool {
		return slices.ContainsFunc(s.Runs, func(x HistoryRun) bool { return x.Share != nil })
	})
	if amounts {
		t.Columns = append(t.Columns, count("share"))
	}
	t.Columns = append(t.Columns, table.Column{Name: "step", Right: true, Text: table.SignedPercent}, text("status"))
	number := func(v *float64, unit string) any {
		if v == nil {
			return nil
		} else if unit == "share" {
			return words.Percent(*v)
		}
		return words.Metric(*v, unit)
	}
	for i := range r.Series {
		s := &r.Series[i]
		steps := map[string]*HistoryStep{}
		for j := range s.Steps {
			steps[s.Steps[j].Run] = &s.Steps[j]
		}
		for j := range s.Runs {
			x := &s.Runs[j]
			var step, status any
			if c := steps[x.Key]; c != nil {
				step, status = growthOf(c.After, c.Before), c.Status
			}
			row := []any{testrun.Benchmark{Group: s.Group, Name: s.Benchmark}.String(), x.Key, x.Date, x.Commit, number(x.Value, s.Unit), number(&x.Mean, s.Unit),
				number(&x.Deviation, s.Unit), number(x.Cost, s.CostUnit)}
			if amounts {
				row = append(row, number(x.Share, "share"))
			}
			t.Add(append(row, step, status)...)
		}
	}
	return t
}

// Table has a row per call node, callees below callers.
func (r *TreeResult) Table(exact bool) *table.Table {
	t := &table.Table{Notes: r.Notes, Columns: []table.Column{count("depth"), {Name: "total", Unit: r.Unit, Right: true}, {Name: "self", Unit: r.Unit, Right: true},
		shareColumn("share"), text("function"), text("module"), text("file"), text("category")}}
	cells := make([]any, len(t.Columns))
	t.Rows = func(yield func([]any) bool) {
		for n := range r.Rows.All() {
			copy(cells, []any{n.Depth, n.Total, n.Self, n.Total.Of(r.RootTotal), n.Name(), n.Module, n.File, n.Category})
			if !yield(cells) {
				return
			}
		}
	}
	if !exact && !r.categorized() {
		t.Columns = t.Columns[:len(t.Columns)-1]
	}
	return t
}

// categorized reports whether a row has a category.
func (r *TreeResult) categorized() bool {
	for n := range r.Rows.All() {
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
	text := h.RootTotal.Amount(Noun(h.Type, h.Unit)) + " in total"
	if h.Profiles != 1 {
		text += fmt.Sprintf(", %s profiles, %s", words.Count(h.Profiles), words.Clean(h.Type))
	}
	return text
}

// Table lists functions.
func (r *FunctionsResult) Table(bool) *table.Table {
	t := &table.Table{Notes: r.Notes, Title: r.Sum(), Omitted: r.Omitted.Rows, Of: "function",
		Columns: []table.Column{amounts("self", Noun(r.Type, r.Unit)), shareColumn("self%"), amounts("total", Noun(r.Type, r.Unit)), shareColumn("total%"), text("function")}}
	for f := range r.Rows.All() {
		t.Add(f.Self, f.Self.Of(r.RootTotal), f.Total, f.Total.Of(r.RootTotal), f.Name())
	}
	return t
}

// Table says where boxes are.
func (r *FlameResult) Table(bool) *table.Table { return boxTable(r.Rows, &r.Head) }

// Table says where boxes are.
func (r *StackChartResult) Table(bool) *table.Table { return boxTable(r.Rows, &r.Head) }

func boxTable(rows document.Rows[BoxRow], h *Head) *table.Table {
	t := &table.Table{Notes: h.Notes, Omitted: h.Omitted.Rows, Columns: []table.Column{count("depth"), place("start"), place("end"), place("self"), text("function")}}
	for b := range rows.All() {
		t.Add(b.Depth, b.Start, b.End, b.Self, b.Function)
	}
	return t
}

// Table lists markers.
func (r *MarkersResult) Table(bool) *table.Table {
	t := &table.Table{Notes: r.Notes, Omitted: r.Omitted.Rows, Columns: []table.Column{place("start"), place("end"), text("name"), text("category"), text("thread"), text("fields")}}
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
	t := &table.Table{Notes: r.Notes, Columns: []table.Column{text("value"), text("category"), amounts("amount", r.Unit), shareColumn("share")}}
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

// Table lists the shares of functions now and before.
func (r *GrowthResult) Table(bool) *table.Table {
	t := &table.Table{Notes: r.Notes, Omitted: r.Omitted.Rows, Of: "function",
		Title: fmt.Sprintf("share of total now (%s) and mean share before (%s); diff in percentage points; %s", RunsText(r.Now), RunsText(r.Before), words.Clean(r.Type)),
		Columns: []table.Column{shareColumn("now"), shareColumn("before"), {Name: "diff", Right: true, Text: table.SignedPercent, Tint: table.Worse},
			shareColumn("selfNow"), shareColumn("selfBefore"), text("function")}}
	for _, f := range r.Rows {
		t.Add(f.Now, f.Before, f.Diff, f.SelfNow, f.SelfBefore, f.Function)
	}
	return t
}

// RunsText names a run, or counts several.
func RunsText(keys []string) string {
	if len(keys) == 1 {
		return words.Clean(keys[0])
	}
	return fmt.Sprintf("%d runs", len(keys))
}

// Table has a row per call node.
func (r *DiffResult) Table(bool) *table.Table { return diffTable(r.Rows, &r.DiffHead) }

// Table has a row per function.
func (r *DiffFunctionsResult) Table(bool) *table.Table { return diffTable(r.Rows, &r.DiffHead) }

// Table has a row.
func (r *DiffNodeResult) Table(bool) *table.Table {
	return diffTable(document.RowsOf(1, func(int) DiffRow { return r.DiffRow }), &r.Head)
}

func diffTable(rows document.Rows[DiffRow], h *DiffHead) *table.Table {
	t := &table.Table{Columns: []table.Column{count("depth")}}
	for _, part := range []string{"", "Self"} {
		for _, name := range []string{"base", "new", "delta"} {
			t.Columns = append(t.Columns, table.Column{Name: name + part, Unit: h.Unit, Right: true})
		}
		t.Columns = append(t.Columns, shareColumn("relative"+part))
	}
	t.Columns = append(t.Columns, text("presence"), text("function"), text("module"), text("file"), text("baseName"))
	ratio := func(c Change) any {
		if c.Relative == nil {
			return nil
		}
		return *c.Relative
	}
	for n := range rows.All() {
		t.Add(n.Depth, n.Total.Base, n.Total.New, n.Total.Delta, ratio(n.Total), n.Self.Base, n.Self.New, n.Self.Delta, ratio(n.Self),
			string(n.Presence), n.Function, n.Module, n.File, n.BaseName)
	}
	return t
}

// Table says where the boxes of the flame graph of a diff are.
func (r *DiffFlameResult) Table(bool) *table.Table {
	t := &table.Table{Notes: r.Notes, Omitted: r.Omitted.Rows, Columns: []table.Column{count("depth"), place("start"), place("end"),
		{Name: "base", Unit: r.Unit, Right: true}, {Name: "new", Unit: r.Unit, Right: true}, {Name: "delta", Unit: r.Unit, Right: true}, text("function")}}
	for b := range r.Rows.All() {
		t.Add(b.Depth, b.Start, b.End, b.Total.Base, b.Total.New, b.Total.Delta, b.Function)
	}
	return t
}

// Table says where the boxes of the stack charts of both sides are.
func (r *DiffChartResult) Table(bool) *table.Table {
	t := &table.Table{Notes: r.Notes, Omitted: r.Omitted.Rows, Columns: []table.Column{text("side"), count("depth"), place("start"), place("end"), place("self"), text("function")}}
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
		return table.Column{Name: name, Unit: r.Unit, Right: true, Text: func(v any) string { return format(v.(float64), r.Unit, 0) }}
	}
	t := &table.Table{Notes: r.Notes, Of: "call node", Columns: []table.Column{value("diff", words.Difference), value("now", words.Value), value("mean", words.Value),
		value("p10", words.Value), value("p90", words.Value), count("score"), text("path")},
		Title: fmt.Sprintf("%s, compared with %d %s before: %d call %s outside the band", RunsText(r.Runs), r.History, words.Plural(r.History, "run"), r.Significant, words.Plural(r.Significant, "node"))}
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

// Table has a row per function and profile.
func (r *FindResult) Table(exact bool) *table.Table {
	t := &table.Table{Notes: r.Notes, Omitted: r.Omitted.Rows, Columns: []table.Column{shareColumn("share"), amounts("self", Noun(r.Type, r.Unit)), amounts("total", Noun(r.Type, r.Unit)), text("unit"),
		text("group"), text("benchmark"), text("run"), {Name: "date", Text: table.Date}, {Name: "commit", Text: table.Commit}, text("profile"), text("function")}}
	const unit = 3
	for i := range r.Rows {
		x := &r.Rows[i]
		cells := []any{x.Share, x.Self, x.Total, x.Unit, x.Group, x.Benchmark, x.Run, x.Date, x.Commit, x.Profile, x.Function}
		if !exact {
			cells = slices.Delete(cells, unit, unit+1)
		}
		t.Add(cells...)
	}
	if !exact { // the values have it
		t.Columns = slices.Delete(t.Columns, unit, unit+1)
	}
	return t
}

// Table has a row per run, benchmark, group or function.
func (r *FindSumsResult) Table(bool) *table.Table {
	t := &table.Table{Notes: r.Notes, Omitted: r.Omitted.Rows, Columns: []table.Column{text(r.By), count("profiles"), shareColumn("meanShare"), shareColumn("maxShare"),
		amounts("self", Noun(r.Type, r.Unit)), amounts("total", Noun(r.Type, r.Unit))}}
	for i := range r.Rows {
		x := &r.Rows[i]
		t.Add(x.Name, x.Profiles, x.MeanShare, x.MaxShare, x.Self, x.Total)
	}
	return t
}

// Table has a row per line.
func (r *LinesResult) Table(bool) *table.Table {
	t := &table.Table{Notes: r.Notes, Omitted: r.Omitted.Rows, Columns: []table.Column{text("function"), text("file"), count("line"), amounts("self", Noun(r.Type, r.Unit)), amounts("total", Noun(r.Type, r.Unit)),
		shareColumn("share"), text("source")}}
	for i := range r.Rows {
		f := &r.Rows[i]
		for _, l := range f.Lines {
			t.Add(f.Function, f.File, l.Line, l.Self, l.Total, l.Total.Of(r.RootTotal), l.Source)
		}
	}
	return t
}

// Table lists findings.
func (r *RegressionsResult) Table(bool) *table.Table {
	t := &table.Table{Of: "finding", Columns: []table.Column{text("status"), text("kind"), {Name: "share", Right: true, Text: table.SignedPercent}, count("cost"), count("score"),
		text("function"), text("caller"), text("benchmark"), text("since"), text("headline")}}
	for i := range r.Findings {
		f := &r.Findings[i]
		status := string(f.Status)
		if f.Acknowledged != nil {
			status = "acknowledged"
		}
		t.Add(status, string(f.Kind), f.Delta.Share, report.Cost(f), fmt.Sprintf("%.1f", f.Score), f.Function, f.Caller,
			testrun.Benchmark{Group: f.Group, Name: f.Benchmark}.String(), f.Since.Run, report.Label(f))
	}
	return t
}

// Table lists functions by the score of the paper.
func (r *ScoresResult) Table(bool) *table.Table {
	tenth := func(name string) table.Column {
		return table.Column{Name: name, Right: true, Text: table.Format("%.1f")}
	}
	t := &table.Table{Notes: r.Notes, Omitted: r.Omitted.Rows, Of: "function", Columns: []table.Column{place("score"), tenth("expected"), tenth("actual"), tenth("diff"),
		text("status"), text("function"), text("benchmark"), text("run")}}
	for i := range r.Rows {
		x := &r.Rows[i]
		t.Add(x.Score, x.Expected, x.Actual, x.Diff, x.Status, x.Function, x.Benchmark, x.Run)
	}
	return t
}

// Table lists tests of subtrees; for people each with the functions that were tested.
func (r *HotellingResult) Table(exact bool) *table.Table {
	t := &table.Table{Notes: r.Notes, Omitted: r.Omitted.Rows, Of: "function", Columns: []table.Column{{Name: "p", Right: true, Text: table.Format("%.2g")},
		{Name: "t2", Right: true, Text: table.Format("%.2f")}, {Name: "f", Right: true, Text: table.Format("%.2f")}, text("freedom"), text("runs"), text("subtree"), text("benchmark"), text("run")}}
	for i := range r.Rows {
		x := &r.Rows[i]
		t.Add(x.P, x.T2, x.F, fmt.Sprintf("%d, %d", x.Freedom[0], x.Freedom[1]), fmt.Sprintf("%d against %d", x.Head, x.Base), cmp.Or(x.Subtree, "(whole program)"),
			testrun.Benchmark{Group: x.Group, Name: x.Benchmark}.String(), x.Run)
		for _, f := range x.Functions {
			if !exact {
				t.Add(nil, nil, nil, "", "", fmt.Sprintf("  %s → %s  %s", words.Percent(f.Expected), words.Percent(f.Actual), f.Function), "", "")
			}
		}
	}
	return t
}

// Table lists functions by their correlation with time.
func (r *CorrelationsResult) Table(bool) *table.Table {
	t := &table.Table{Notes: r.Notes, Omitted: r.Omitted.Rows, Of: "function", Columns: []table.Column{{Name: "score", Right: true, Text: table.Format("%.3f")}, count("benchmarks"), count("profiles"), text("function")}}
	for i := range r.Rows {
		x := &r.Rows[i]
		t.Add(x.Score, x.Benchmarks, x.Profiles, x.Function)
	}
	return t
}

// String says how many profiles were removed.
func (r *PruneResult) String() string {
	verb := "removed"
	if r.DryRun {
		verb = "would remove"
	}
	n := r.Removed + r.Kept
	return fmt.Sprintf("%s %d of %d %s", verb, r.Removed, n, words.Plural(n, "profile"))
}

// Table ranks functions, and for people lists the contexts of each.
func (r *BottlenecksResult) Table(exact bool) *table.Table { return r.TableOf(r.Rows, exact) }

// TableOf is the Table of some rows: those of Rows or of Negative.
func (r *BottlenecksResult) TableOf(rows []bottleneck.Row, exact bool) *table.Table {
	score := shareColumn("potential")
	if r.Rank == bottleneck.Correlation {
		score = table.Column{Name: "r", Right: true, Text: table.Format("%+.3f")}
	}
	t := &table.Table{Of: "function", Columns: []table.Column{score, amounts("self", r.Type.Unit), amounts("total", r.Type.Unit),
		{Name: "samples", Right: true, Text: table.Grouped}, count("profiles"), count("benchmarks"), text("function")}}
	contexts := exact && slices.ContainsFunc(rows, func(x bottleneck.Row) bool { return len(x.Contexts) > 0 })
	if contexts {
		t.Columns = append(t.Columns, count("contextShare"), text("context"))
	}
	for i := range rows {
		x := &rows[i]
		cells := []any{x.Score, document.Whole(x.Self, r.Type.Scale), document.Whole(x.Total, r.Type.Scale), x.Samples, x.Profiles, x.Benchmarks, x.Function}
		if contexts {
			cells = append(cells, nil, "")
			if len(x.Contexts) > 0 {
				cells[len(cells)-2], cells[len(cells)-1] = x.Contexts[0].Share, calltree.FormatPath(x.Contexts[0].Path)
			}
		}
		t.Add(cells...)
		for _, c := range x.Contexts {
			if !exact {
				t.Add(nil, nil, nil, nil, nil, nil, "  "+words.Percent(c.Share)+" "+PathEnds(c.Path))
			}
		}
	}
	return t
}
