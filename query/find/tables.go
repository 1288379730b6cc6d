package find

import (
	"fmt"

	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/table"
)

// Table has a row per function and profile.
func (r *Result) Table(exact bool) *table.Table {
	t := &table.Table{Notes: r.Notes, Omitted: r.Omitted.Rows,
		Columns: []table.Column{table.ShareColumn("share"), query.AmountColumn("self", query.Noun(r.Type, r.Unit)),
			query.AmountColumn("total", query.Noun(r.Type, r.Unit)), table.TextColumn("unit"),
			table.TextColumn("group"), table.TextColumn("benchmark"), table.TextColumn("run"), {Name: "date", Text: table.Date},
			{Name: "commit", Text: table.Commit}, table.TextColumn("profile"), table.TextColumn("function")}}
	for i := range r.Rows {
		x := &r.Rows[i]
		t.Add(x.Share, x.Self, x.Total, x.Unit, x.Group, x.Benchmark, x.Run, x.Date, x.Commit, x.Profile, x.Function)
	}
	if !exact { // the values have it
		t.Drop("unit")
	}
	return t
}

// Table has a row per run, benchmark, group or function.
func (r *SumsResult) Table(exact bool) *table.Table {
	t := &table.Table{Notes: r.Notes, Omitted: r.Omitted.Rows,
		Columns: []table.Column{table.TextColumn(r.By), table.CountColumn("profiles"), table.CountColumn("of"), table.ShareColumn("share"),
			table.ShareColumn("maxShare"), table.TextColumn("maxRun"),
			query.AmountColumn("self", query.Noun(r.Type, r.Unit)), query.AmountColumn("total", query.Noun(r.Type, r.Unit))}}
	for i := range r.Rows {
		x := &r.Rows[i]
		var profiles any = x.Profiles
		if !exact {
			profiles = fmt.Sprintf("%s of %s", words.Count(x.Profiles), words.Count(x.Of))
		}
		t.Add(x.Name, profiles, x.Of, x.Share, x.MaxShare, x.MaxRun, x.Self, x.Total)
	}
	if !exact { // profiles has it
		t.Drop("of")
	}
	return t
}
