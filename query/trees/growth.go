package trees

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/store"
)

// GrowthResult compares the functions of the newest runs with those before.
type GrowthResult struct {
	Head    []string      `json:"head"` // keys of the newest runs
	Base    []string      `json:"base"` // keys of the runs they are compared with
	Type    string        `json:"type"`
	Omitted query.Omitted `json:"omitted"`
	Notes   []string      `json:"notes"`
	Rows    []GrowthRow   `json:"rows"`
}

// GrowthRow is a function with its shares of the program: means over the profiles of a
// benchmark, then over benchmarks.
type GrowthRow struct {
	Function string  `json:"function"`
	Head     float64 `json:"head"`
	Base     float64 `json:"base"`
	Diff     float64 `json:"diff"`
	SelfHead float64 `json:"selfHead"`
	SelfBase float64 `json:"selfBase"`
}

// comparesRuns reports whether a list of functions compares the newest runs with those
// before: it does so for the runs as they are, without a filter.
func (r *TreeRequest) comparesRuns(view string) bool {
	return r.Last > 0 && view == viewFunctions && r.isPlain(view)
}

// Growth answers a TreeRequest by comparing the functions of the newest Last runs with
// those before.
func Growth(ctx context.Context, st store.Store, r *TreeRequest) (_ *GrowthResult, err error) {
	defer func() { err = query.Hinted(ctx, st, &r.Selection, err) }()
	q, notes, err := query.OneType(ctx, st, &r.Selection)
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
	byTotal := func(a, b GrowthRow) int {
		return cmp.Or(cmp.Compare(b.Head, a.Head), cmp.Compare(a.Function, b.Function))
	}
	slices.SortFunc(rows, map[string]func(a, b GrowthRow) int{
		"total": byTotal,
		"self":  func(a, b GrowthRow) int { return cmp.Or(cmp.Compare(b.SelfHead, a.SelfHead), byTotal(a, b)) },
		"diff":  func(a, b GrowthRow) int { return cmp.Or(cmp.Compare(b.Diff, a.Diff), byTotal(a, b)) },
	}[cmp.Or(r.Sort, "diff")])
	out := &GrowthResult{Head: query.RunKeys(now), Base: query.RunKeys(before), Type: now[0].Type.Name, Notes: notes}
	out.Rows, out.Omitted = query.First(rows, r.Rows)
	return out, nil
}

// shares returns the shares of every function now and before.
func shares(ctx context.Context, st store.Reader, now, before []store.Profile) ([]GrowthRow, error) {
	byName := map[string]*GrowthRow{}
	for _, part := range []struct {
		profiles    []store.Profile
		total, self func(*GrowthRow) *float64
	}{
		{now, func(g *GrowthRow) *float64 { return &g.Head }, func(g *GrowthRow) *float64 { return &g.SelfHead }},
		{before, func(g *GrowthRow) *float64 { return &g.Base }, func(g *GrowthRow) *float64 { return &g.SelfBase }},
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
					g = &GrowthRow{Function: name}
					byName[name] = g
				}
				*part.total(g) += r.TotalShare / n
				*part.self(g) += r.SelfShare / n
			}
		}
	}
	rows := make([]GrowthRow, 0, len(byName))
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
