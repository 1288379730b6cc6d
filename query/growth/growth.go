// Package growth answers which functions have a larger share of the program in the newest runs than in
// those before.
//
// It models two lists of runs and the mean shares of functions in them. Words: head is the newest
// runs, base those before.
//
// It does not judge a difference, which package judge does.
package growth

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/table"
)

// Result compares the functions of the newest runs with those before.
type Result struct {
	Head    []string      `json:"head"` // keys of the newest runs
	Base    []string      `json:"base"` // keys of the runs they are compared with
	Type    string        `json:"type"`
	Omitted query.Omitted `json:"omitted"`
	Notes   []string      `json:"notes"`
	Rows    []Row         `json:"rows"`
}

// Row is a function with its shares of the program: means over the profiles of a
// benchmark, then over benchmarks.
type Row struct {
	Function string  `json:"function"`
	Head     float64 `json:"head"`
	Base     float64 `json:"base"`
	Diff     float64 `json:"diff"`
	SelfHead float64 `json:"selfHead"`
	SelfBase float64 `json:"selfBase"`
}

// List compares the functions of the newest Last runs of a selection with those before. It returns
// at most so many rows (0: all), sorted by total, self or diff (empty: by diff).
func List(ctx context.Context, st store.Store, s *query.Selection, by string, most int) (_ *Result, err error) {
	defer func() { err = query.Hinted(ctx, st, s, err) }()
	q, notes, err := query.OneType(ctx, st, s)
	if err != nil {
		return nil, err
	}
	now, before, err := query.NewestAndBefore(ctx, st, q)
	if err != nil {
		return nil, err
	}
	rows, err := shares(ctx, st, now, before)
	if err != nil {
		return nil, err
	}
	byTotal := func(a, b Row) int {
		return cmp.Or(cmp.Compare(b.Head, a.Head), cmp.Compare(a.Function, b.Function))
	}
	slices.SortFunc(rows, map[string]func(a, b Row) int{
		"total": byTotal,
		"self":  func(a, b Row) int { return cmp.Or(cmp.Compare(b.SelfHead, a.SelfHead), byTotal(a, b)) },
		"diff":  func(a, b Row) int { return cmp.Or(cmp.Compare(b.Diff, a.Diff), byTotal(a, b)) },
	}[cmp.Or(by, "diff")])
	out := &Result{Head: query.RunKeys(now), Base: query.RunKeys(before), Type: now[0].Type.Name, Notes: notes}
	out.Rows, out.Omitted = query.First(rows, most)
	return out, nil
}

// shares returns the shares of every function now and before.
func shares(ctx context.Context, st store.Reader, now, before []store.Profile) ([]Row, error) {
	byName := map[string]*Row{}
	for _, part := range []struct {
		profiles    []store.Profile
		total, self func(*Row) *float64
	}{
		{now, func(g *Row) *float64 { return &g.Head }, func(g *Row) *float64 { return &g.SelfHead }},
		{before, func(g *Row) *float64 { return &g.Base }, func(g *Row) *float64 { return &g.SelfBase }},
	} {
		byBenchmark := map[string][]store.ProfileID{}
		for i := range part.profiles {
			b := part.profiles[i].Benchmark.String()
			byBenchmark[b] = append(byBenchmark[b], part.profiles[i].ID)
		}
		for _, ids := range byBenchmark {
			sums, err := store.SumFunctions(ctx, st, store.Query{Profiles: ids})
			if err != nil {
				return nil, err
			}
			n := float64(len(ids) * len(byBenchmark))
			for _, r := range sums.Rows {
				if r.Profiles == 0 {
					continue
				}
				name := sums.Functions[r.Function].Name
				g := byName[name]
				if g == nil {
					g = &Row{Function: name}
					byName[name] = g
				}
				*part.total(g) += r.TotalShare / n
				*part.self(g) += r.SelfShare / n
			}
		}
	}
	rows := make([]Row, 0, len(byName))
	for _, g := range byName {
		// The last bits depend on the order of adding, which differs between engines.
		for _, v := range []*float64{&g.Head, &g.Base, &g.SelfHead, &g.SelfBase} {
			*v = math.Round(*v*1e12) / 1e12
		}
		g.Diff = g.Head - g.Base
		rows = append(rows, *g)
	}
	return rows, nil
}

// Table lists the shares of functions of the newest runs and of those before.
func (r *Result) Table(bool) *table.Table {
	t := &table.Table{Notes: r.Notes, Omitted: r.Omitted.Rows, Of: "function",
		Title: fmt.Sprintf("share of total, head (%s), and mean share, base (%s); diff in percentage points; %s", query.RunsText(r.Head), query.RunsText(r.Base), words.Clean(r.Type)),
		Columns: []table.Column{table.ShareColumn("head"), table.ShareColumn("base"),
			{Name: "diff", Right: true, Text: table.SignedPercent, Tint: table.Worse},
			table.ShareColumn("selfHead"), table.ShareColumn("selfBase"), table.TextColumn("function")}}
	for _, f := range r.Rows {
		t.Add(f.Head, f.Base, f.Diff, f.SelfHead, f.SelfBase, f.Function)
	}
	return t
}
