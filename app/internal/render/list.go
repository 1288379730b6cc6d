package render

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/query"
)

func date(v any) string {
	t, ok := v.(time.Time)
	if !ok || t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05Z")
}

func commit(v any) string {
	s, _ := v.(string)
	return s[:min(12, len(s))]
}

func number(v any) string {
	f, ok := v.(float64)
	if !ok {
		return ""
	}
	return words.Number(f)
}

func joined(v any) string {
	list, _ := v.([]string)
	return strings.Join(list, " ")
}

// Runs writes test runs.
func Runs(o *Output, r *query.RunsResult) error {
	t := &Table{Columns: []Column{{Name: "run"}, {Name: "date", Text: date}, {Name: "commit", Text: commit}, {Name: "branch"},
		{Name: "machine"}, {Name: "benchmarks", Right: true}, {Name: "profiles", Right: true}, {Name: "types", Text: joined}}}
	for i := range r.Rows {
		x := &r.Rows[i]
		t.Add(x.Key, x.Date, x.Commit, x.Branch, x.Machine, x.Benchmarks, x.Profiles, x.Types)
	}
	return t.Write(o)
}

// Profiles writes profiles with their ids.
func Profiles(o *Output, r *query.ProfilesResult) error {
	t := &Table{Columns: []Column{{Name: "id"}, {Name: "run"}, {Name: "date", Text: date}, {Name: "group"}, {Name: "benchmark"}, {Name: "type"},
		{Name: "samples", Right: true, Text: grouped}, {Name: "sum", Right: true, Text: grouped}, {Name: "unit"}, {Name: "nodes", Right: true, Text: grouped},
		{Name: "metric", Right: true, Text: number}, {Name: "metricUnit"}, {Name: "file"}}}
	for i := range r.Rows {
		p := &r.Rows[i]
		var metric, unit any
		if m, ok := p.Metric(); ok {
			metric, unit = m.Mean, m.Unit
		}
		t.Add(p.ID, p.Run.Key, p.Run.Date, p.Benchmark.Group, p.Benchmark.Name, p.Type.Name, p.Samples, p.Sum, p.Type.Unit, p.Nodes, metric, unit, p.File)
	}
	return t.Write(o)
}

// Found writes where a pattern was found, a row per function and profile.
func Found(o *Output, r *query.FindResult) error {
	t := &Table{Columns: []Column{{Name: "share", Right: true, Text: percent}, {Name: "self", Right: true}, {Name: "total", Right: true}, {Name: "unit"},
		{Name: "group"}, {Name: "benchmark"}, {Name: "run"}, {Name: "date", Text: date}, {Name: "commit", Text: commit}, {Name: "profile"}, {Name: "function"}}}
	const unit = 3
	for i := range r.Rows {
		x := &r.Rows[i]
		cells := []any{x.Share, o.cell(x.Self, x.Unit), o.cell(x.Total, x.Unit), x.Unit, x.Group, x.Benchmark, x.Run, x.Date, x.Commit, x.Profile, x.Function}
		if !o.Exact() {
			cells = slices.Delete(cells, unit, unit+1)
		}
		t.Add(cells...)
	}
	if !o.Exact() { // the values have it
		t.Columns = slices.Delete(t.Columns, unit, unit+1)
	}
	return list(o, t, r.Notes, r.Omitted)
}

// FoundBy writes where a pattern was found, a row per run, benchmark, group or function.
func FoundBy(o *Output, r *query.FindSumsResult) error {
	t := &Table{Columns: []Column{{Name: r.By}, {Name: "profiles", Right: true}, {Name: "meanShare", Right: true, Text: percent}, {Name: "maxShare", Right: true, Text: percent},
		{Name: "self", Right: true}, {Name: "total", Right: true}}}
	for i := range r.Rows {
		x := &r.Rows[i]
		t.Add(x.Name, x.Profiles, x.MeanShare, x.MaxShare, o.cell(x.Self, r.Unit), o.cell(x.Total, r.Unit))
	}
	return list(o, t, r.Notes, r.Omitted)
}

// list writes a table with what belongs to it.
func list(o *Output, t *Table, notes []string, omitted query.Omitted) error {
	o.Notes(notes)
	if err := t.Write(o); err != nil {
		return err
	}
	o.Omitted(omitted.Rows, "row")
	return nil
}

// Pruned writes what was removed.
func Pruned(o *Output, r *query.PruneResult) error {
	verb := "removed"
	if r.DryRun {
		verb = "would remove"
	}
	n := r.Removed + r.Kept
	_, err := fmt.Fprintf(o.W, "%s %d of %d %s\n", verb, r.Removed, n, words.Plural(n, "profile"))
	return err
}
