package judge

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/dendroprof/dendro/analysis/bottleneck"
	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/document"
	"github.com/dendroprof/dendro/query/trees"
	"github.com/dendroprof/dendro/report"
	"github.com/dendroprof/dendro/table"
	"github.com/dendroprof/dendro/testrun"
)

// Table lists the benchmarks of a store, then its services.
func (r *OverviewResult) Table(bool) *table.Table {
	t := &table.Table{Of: "benchmark", Omitted: r.Omitted.Rows,
		Columns: []table.Column{table.TextColumn("group"), table.TextColumn("benchmark"), table.CountColumn("runs"), table.TextColumn("last"),
			{Name: "date", Text: table.Date}, table.TextColumn("branch"),
			table.TextColumn("metric"), table.CountColumn("value"), table.TextColumn("status"),
			{Name: "change", Right: true, Text: table.SignedPercent}, table.CountColumn("time"), table.TextColumn("since"),
			table.TextColumn("finding")}}
	for i := range r.Benchmarks {
		b := &r.Benchmarks[i]
		var name, value, status, change, cost, since, finding any
		if m := b.Metric; m != nil {
			name, value = m.Name, words.Metric(m.Last, m.Unit)
		}
		if o := b.Outcome; o != nil {
			status = o.Says
			if o.Finding != "" {
				change, since, finding = o.Share, o.Since.Run, o.Title
			}
			if o.Time != nil {
				cost = words.SignedMetric(o.Time.Value, o.Time.Unit)
			}
		}
		t.Add(b.Group, b.Name, b.Runs, b.Last.Key, b.Last.Date, b.Last.Branch, name, value, status, change, cost, since, finding)
	}
	last := t
	if len(r.Pushed) > 0 {
		last.Next = &table.Table{Of: "service", Columns: []table.Column{table.TextColumn("service"),
			{Name: "cores", Right: true, Text: table.Decimals},
			{Name: "hottest function"}, table.ShareColumn("share"), table.TextColumn("release"), {Name: "since", Text: table.Date},
			{Name: "last seen", Text: table.Date}}}
		last = last.Next
		for _, x := range r.Pushed {
			row := []any{x.Service, nil, x.Function, nil, x.Release, nil, x.Last}
			if x.Cores != nil {
				row[1] = *x.Cores
			}
			if x.Function != "" {
				row[3] = x.Share
			}
			if x.Release != "" {
				row[5] = x.Since
			}
			last.Add(row...)
		}
	}
	if len(r.Releases) > 0 {
		last.Next = &table.Table{Of: "service", Columns: []table.Column{table.TextColumn("service"), table.TextColumn("pushed"),
			table.TextColumn("type"), table.CountColumn("releases"), table.TextColumn("newest"), {Name: "first seen", Text: table.Date},
			table.TextColumn("status"), {Name: "change", Right: true, Text: table.SignedPercent}, table.TextColumn("since"),
			table.TextColumn("finding")}}
		last = last.Next
		for _, x := range r.Releases {
			row := []any{x.Service, x.Name, x.Type, x.Releases, x.Last.Key, x.Last.Date, x.Outcome.Says, nil, nil, nil}
			if x.Outcome.Finding != "" {
				row = append(row[:7], x.Outcome.Share, x.Outcome.Since.Run, x.Outcome.Title)
			}
			last.Add(row...)
		}
	}
	if len(r.Services) > 0 {
		last.Next = &table.Table{Of: "service", Columns: []table.Column{table.TextColumn("service"), table.CountColumn("instances"),
			{Name: "lastSeen", Text: table.Date}}}
		for _, x := range r.Services {
			last.Next.Add(x.Service, x.Instances, time.UnixMilli(x.LastSeen))
		}
	}
	if len(r.Benchmarks) == 0 && len(r.Pushed) > 0 {
		return t.Next
	}
	return t
}

// Table has a row per run, with the largest change beside the run with which it began, or ended.
func (r *HistoryResult) Table(bool) *table.Table {
	t := &table.Table{Notes: r.Notes, Of: "run", Omitted: r.Omitted.Rows,
		Columns: []table.Column{table.TextColumn("benchmark"), table.TextColumn("run"), {Name: "date", Text: table.Date},
			{Name: "commit", Text: table.Commit}, table.CountColumn("value"),
			table.CountColumn("mean"), table.CountColumn("deviation"), table.CountColumn("cost"), table.CountColumn("share"),
			{Name: "change", Right: true, Text: table.SignedPercent}, table.TextColumn("status"), table.TextColumn("function")}}
	shares := false
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
		at := map[string]*regression.Finding{} // by run
		add := func(run string, f *regression.Finding) {
			if old := at[run]; old == nil || math.Abs(f.Delta.Share) > math.Abs(old.Delta.Share) {
				at[run] = f
			}
		}
		for j := range s.Changes {
			f := &s.Changes[j]
			add(f.Change.Onset.Run, f)
			if f.Change.End != nil {
				add(f.Change.End.Run, f)
			}
		}
		for j := range s.Runs {
			x := &s.Runs[j]
			shares = shares || x.Share != nil
			var change, status, function any
			if f := at[x.Key]; f != nil {
				change, status, function = f.Delta.Share, directionOf(f), report.Label(f)
				if f.Change.Onset.Run != x.Key {
					change, status = nil, "ended"
				}
			}
			t.Add(testrun.Benchmark{Group: s.Group, Name: s.Benchmark}.String(), x.Key, x.Date, x.Commit, number(x.Value, s.Unit),
				number(&x.Mean, s.Unit), number(&x.Deviation, s.Unit), number(x.Cost, s.CostUnit), number(x.Share, "share"),
				change, status, function)
		}
	}
	if !shares {
		t.Drop("share")
	}
	return t
}

// Table lists findings; for people a row for each cause.
func (r *RegressionsResult) Table(exact bool) *table.Table {
	t := &table.Table{Of: "finding", Columns: []table.Column{table.TextColumn("status"), table.TextColumn("kind"),
		{Name: "share", Right: true, Text: table.SignedPercent}, table.CountColumn("cost"), table.CountColumn("score"),
		table.TextColumn("function"), table.TextColumn("caller"), table.TextColumn("benchmark"), table.TextColumn("since"),
		table.TextColumn("headline")}}
	add := func(f *regression.Finding, benchmark string) {
		status := string(f.Status)
		if f.Acknowledged != nil {
			status = "acknowledged"
		}
		t.Add(status, string(f.Kind), f.Delta.Share, report.Cost(f), fmt.Sprintf("%.1f", f.Score), f.Function, f.Caller, benchmark,
			f.Since.Run, report.Label(f))
	}
	if exact {
		for i := range r.Findings {
			add(&r.Findings[i], r.Findings[i].Of().String())
		}
		return t
	}
	for _, c := range r.Rows() {
		add(&c.Finding, report.In(c))
	}
	return t
}

// Table lists functions by the score of the paper.
func (r *ScoresResult) Table(bool) *table.Table {
	tenth := func(name string) table.Column {
		c := table.Column{Name: name, Right: true, Text: table.Format("%.1f")}
		if r.Unit != "count" && r.Unit != "" {
			c.Text = func(v any) string {
				f, ok := v.(float64)
				if !ok {
					return ""
				}
				return document.Fraction(f, r.Scale).Amount(r.Unit)
			}
		}
		return c
	}
	t := &table.Table{Notes: r.Notes, Omitted: r.Omitted.Rows, Of: "function",
		Columns: []table.Column{table.PlaceColumn("score"), tenth("expected"), tenth("actual"), tenth("diff"),
			table.TextColumn("status"), table.TextColumn("function"), table.TextColumn("benchmark"), table.TextColumn("run")}}
	for i := range r.Rows {
		x := &r.Rows[i]
		t.Add(x.Score, x.Expected, x.Actual, x.Diff, x.Status, x.Function, x.Benchmark, x.Run)
	}
	return t
}

// Table lists tests of subtrees; for people each with the functions that were tested.
func (r *HotellingResult) Table(exact bool) *table.Table {
	t := &table.Table{Notes: r.Notes, Omitted: r.Omitted.Rows, Of: "function",
		Columns: []table.Column{{Name: "p", Right: true, Text: table.Format("%.2g")},
			{Name: "t2", Right: true, Text: table.Format("%.2f")}, {Name: "f", Right: true, Text: table.Format("%.2f")},
			table.TextColumn("freedom"), table.TextColumn("runs"), table.TextColumn("subtree"), table.TextColumn("benchmark"),
			table.TextColumn("run")}}
	for i := range r.Rows {
		x := &r.Rows[i]
		t.Add(x.P, x.T2, x.F, fmt.Sprintf("%d, %d", x.Freedom[0], x.Freedom[1]), fmt.Sprintf("%d against %d", x.Head, x.Base),
			cmp.Or(x.Subtree, "(whole program)"),
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
	t := &table.Table{Notes: r.Notes, Omitted: r.Omitted.Rows, Of: "function",
		Columns: []table.Column{{Name: "score", Right: true, Text: table.Format("%.3f")}, table.CountColumn("benchmarks"),
			table.CountColumn("profiles"), table.TextColumn("function")}}
	for i := range r.Rows {
		x := &r.Rows[i]
		t.Add(x.Score, x.Benchmarks, x.Profiles, x.Function)
	}
	return t
}

// Table ranks functions, and for people lists the contexts of each.
func (r *BottlenecksResult) Table(exact bool) *table.Table { return r.TableOf(r.Rows, exact) }

// TableOf is the Table of some rows: those of Rows or of Negative.
func (r *BottlenecksResult) TableOf(rows []bottleneck.Row, exact bool) *table.Table {
	score := table.ShareColumn("potential")
	if r.Rank == bottleneck.Correlation {
		score = table.Column{Name: "r", Right: true, Text: table.Format("%+.3f")}
	}
	t := &table.Table{Of: "function", Columns: []table.Column{score, query.AmountColumn("self", r.Type.Unit),
		query.AmountColumn("total", r.Type.Unit),
		{Name: "samples", Right: true, Text: table.Grouped}, table.CountColumn("profiles"), table.CountColumn("benchmarks"),
		table.TextColumn("function")}}
	contexts := exact && slices.ContainsFunc(rows, func(x bottleneck.Row) bool { return len(x.Contexts) > 0 })
	if contexts {
		t.Columns = append(t.Columns, table.CountColumn("contextShare"), table.TextColumn("context"))
	}
	_, counted := history.OneSample(r.Type)
	for i := range rows {
		x := &rows[i]
		cells := []any{x.Score, document.Whole(x.Self, r.Type.Scale), document.Whole(x.Total, r.Type.Scale), nil, x.Profiles, x.Benchmarks,
			x.Function}
		if counted {
			cells[3] = x.Samples
		}
		if contexts {
			cells = append(cells, nil, "")
			if len(x.Contexts) > 0 {
				cells[len(cells)-2], cells[len(cells)-1] = x.Contexts[0].Share, calltree.FormatPath(x.Contexts[0].Path)
			}
		}
		t.Add(cells...)
		for _, c := range x.Contexts {
			if !exact {
				t.Add(nil, nil, nil, nil, nil, nil, "  "+words.Percent(c.Share)+" "+trees.PathEnds(c.Path))
			}
		}
	}
	return t
}
