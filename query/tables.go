package query

import (
	"fmt"

	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/table"
)

// Result is an answer to a query. It describes its table, of which text, Markdown, TSV and
// CSV are made; its document is written by document.Write.
type Result interface {
	// Table returns the result as a table, exact for programs or as people read it.
	Table(exact bool) *table.Table
}

// countNouns names what values of a type count that are not samples.
var countNouns = map[string]string{profile.Goroutines: "goroutines", "threadcreate": "threads", "thread": "threads",
	profile.Threads: "threads"}

// Noun returns the unit of the values of a type as people read it: what they count if those
// are no samples.
func Noun(valueType, unit string) string {
	if noun, ok := countNouns[valueType]; ok && unit == "count" {
		return noun
	}
	return unit
}

// Table lists runs.
func (r *RunsResult) Table(bool) *table.Table {
	t := &table.Table{Of: "run", Omitted: r.Omitted.Rows,
		Columns: []table.Column{table.TextColumn("run"), {Name: "date", Text: table.Date}, {Name: "commit", Text: table.Commit},
			table.TextColumn("branch"),
			table.TextColumn("machine"), table.CountColumn("benchmarks"), table.CountColumn("profiles"), {Name: "types", Text: table.Joined}}}
	for i := range r.Rows {
		x := &r.Rows[i]
		t.Add(x.Key, x.Date, x.Commit, x.Branch, x.Machine, x.Benchmarks, x.Profiles, x.Types)
	}
	return t
}

// Table lists profiles with their ids.
func (r *ProfilesResult) Table(bool) *table.Table {
	grouped := func(name string) table.Column { return table.Column{Name: name, Right: true, Text: table.Grouped} }
	t := &table.Table{Of: "profile", Omitted: r.Omitted.Rows,
		Columns: []table.Column{table.TextColumn("id"), table.TextColumn("run"), {Name: "date", Text: table.Date}, table.TextColumn("group"),
			table.TextColumn("benchmark"), table.TextColumn("type"),
			grouped("samples"), grouped("sum"), table.TextColumn("unit"), grouped("nodes"), {Name: "metric", Right: true, Text: table.Number},
			table.TextColumn("metricUnit"), table.TextColumn("file")}}
	for i := range r.Rows {
		p := &r.Rows[i]
		var metric, unit any
		if m, ok := p.Metric(); ok {
			metric, unit = m.Mean, m.Unit
		}
		t.Add(p.ID, p.Run.Key, p.Run.Date, p.Benchmark.Group, p.Benchmark.Name, p.Type.Name, p.Samples, p.Sum, p.Type.Unit, p.Nodes, metric,
			unit, p.File)
	}
	return t
}

// Table lists functions.
func (r *FunctionNamesResult) Table(bool) *table.Table {
	t := &table.Table{Of: "function", Omitted: r.Omitted.Rows,
		Columns: []table.Column{table.TextColumn("function"), table.TextColumn("module"), table.TextColumn("file"), table.CountColumn("line"),
			table.TextColumn("language"), table.TextColumn("kind")}}
	for i := range r.Rows {
		f := &r.Rows[i]
		t.Add(f.Function, f.Module, f.File, f.Line, f.Language, f.Kind)
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

// String says how many profiles were removed.
func (r *PruneResult) String() string {
	verb := "removed"
	if r.DryRun {
		verb = "would remove"
	}
	n := r.Removed + r.Kept
	return fmt.Sprintf("%s %d of %s", verb, r.Removed, words.Counted(n, "profile"))
}

// Omitted counts what a result does not show because of the limits of its request.
type Omitted struct {
	Rows  int     `json:"rows"`            // rows of a list, or subtrees of a tree
	Share float64 `json:"share,omitempty"` // of the root total, in the subtrees
}
