package trees

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/calltree/diff"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/document"
	"github.com/dendroprof/dendro/query/param"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/table"
	"github.com/dendroprof/dendro/testrun"
)

// DiffBenchmarksResult compares the benchmarks of both sides one by one, the largest change first.
type DiffBenchmarksResult struct {
	Headline string          `json:"headline"` // "2 slower, 31 unchanged, 7 not run in the head"; empty without rows
	Type     string          `json:"type"`     // the one of most benchmarks
	Notes    []string        `json:"notes"`
	Omitted  query.Omitted   `json:"omitted"`
	Rows     []DiffBenchmark `json:"rows"`
}

// DiffBenchmark is one benchmark on both sides.
type DiffBenchmark struct {
	Group     string          `json:"group"`
	Benchmark string          `json:"benchmark"`
	Type      string          `json:"type"` // the benchmark's default, if the request names none
	Level     diff.Level      `json:"level"`
	Profiles  Counts          `json:"profiles"` // 0 on a side that lacks it
	Unit      string          `json:"unit"`
	By        string          `json:"by"`    // what values are divided by
	Total     Change          `json:"total"` // of the whole program
	Noise     document.Number `json:"noise"` // the delta of Total that chance explains (95%)
	// Function is the innermost one with at least half of the change, if that is beyond sampling
	// noise.
	Function string `json:"function,omitempty"`
	Change   Change `json:"change"` // of the function at its call path
}

// DiffBenchmarks answers a DiffRequest with a row for each benchmark: amounts of different
// benchmarks do not add up.
func DiffBenchmarks(ctx context.Context, st store.Store, r *DiffRequest) (_ *DiffBenchmarksResult, err error) {
	if st, r, err = query.Over(ctx, st, r); err != nil {
		return nil, err
	}
	defer func() { err = query.Hinted(ctx, st, &r.Selection, err) }()
	if r.inputs() || r.Against != "" {
		return nil, param.Errorf("--view %s compares two sets of runs of a store", viewBenchmarks)
	}
	v, err := newViewer(ctx, &r.Filter, query.TypeOf(&r.Selection))
	if err != nil {
		return nil, err
	}
	typed := *r
	var typeOf map[testrun.Benchmark]string // nil: the request names the type
	if !r.twoTypes() && r.only == nil {
		var notes []string
		if typeOf, typed.Types, notes, err = query.TypeEach(ctx, st, &r.Selection); err != nil {
			return nil, err
		}
		v.tell(notes)
	}
	queries, err := typed.queries(ctx, st, v)
	if err != nil {
		return nil, err
	}
	sides, types, all := map[testrun.Benchmark]*[2][]store.ProfileID{}, map[testrun.Benchmark]string{}, []testrun.Benchmark{}
	out := &DiffBenchmarksResult{Rows: []DiffBenchmark{}}
	for i, q := range queries {
		list, err := st.Profiles(ctx, q)
		if err != nil {
			return nil, err
		}
		if len(list) == 0 {
			return nil, fmt.Errorf("%s: %w", sideName(i), store.OneType(nil, q))
		}
		for k := range list {
			b, name := list[k].Benchmark, list[k].Type.Name
			if own, ok := typeOf[b]; ok && own != name {
				continue
			}
			if sides[b] == nil {
				sides[b] = &[2][]store.ProfileID{}
				all = append(all, b)
			}
			sides[b][i] = append(sides[b][i], list[k].ID)
			types[b] = name
		}
	}
	out.Notes, out.Type = v.notes, slices.Concat(typed.Types, []string{types[all[0]]})[0]
	var nothing error // of a benchmark without what the request looks for
	lacking, levels := 0, map[diff.Level]int{}
	for _, b := range all {
		row := DiffBenchmark{Group: b.Group, Benchmark: b.Name, Type: types[b], Profiles: Counts{len(sides[b][0]), len(sides[b][1])}}
		if row.Profiles.Base > 0 && row.Profiles.Head > 0 {
			if err := row.compare(ctx, st, r, sides[b], queries); errors.Is(err, store.ErrNothing) {
				nothing = fmt.Errorf("%s: %w", b, err)
				lacking++
				continue
			} else if err != nil {
				return nil, fmt.Errorf("%s: %w", b, err)
			}
		}
		row.Level = diff.LevelOf(row.Profiles.Base > 0, row.Profiles.Head > 0, row.Total.Delta.Value(), row.Noise.Value())
		levels[row.Level]++
		out.Rows = append(out.Rows, row)
	}
	if lacking == len(all) {
		return nil, nothing
	}
	if lacking > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("%s left out, of which nothing is selected", words.Counted(lacking, "benchmark")))
	}
	slices.SortStableFunc(out.Rows, func(a, b DiffBenchmark) int {
		return cmp.Or(-cmp.Compare(a.size(), b.size()), cmp.Compare(a.Group, b.Group), cmp.Compare(a.Benchmark, b.Benchmark))
	})
	out.Headline = diff.CountLevels(levels)
	out.Rows, out.Omitted = query.First(out.Rows, r.Rows)
	return out, nil
}

// size is the relative change; what is on one side only comes first.
func (b *DiffBenchmark) size() float64 {
	switch {
	case b.Profiles.Base == 0 || b.Profiles.Head == 0:
		return math.Inf(1)
	case b.Total.Relative == nil:
		return 0
	}
	return math.Abs(*b.Total.Relative)
}

// compare sets the amounts of one benchmark.
func (b *DiffBenchmark) compare(ctx context.Context, st store.Store, r *DiffRequest, ids *[2][]store.ProfileID,
	queries [2]store.Query) error {
	own := *r
	own.View, own.Sides, own.only = viewTree, Named{},
		&[2]store.Query{{Profiles: ids[0], Types: queries[0].Types}, {Profiles: ids[1], Types: queries[1].Types}}
	c, err := newComparison(ctx, st, &own)
	if err != nil {
		return err
	}
	b.Unit, b.By, b.Total, b.Noise = c.unit, c.by, c.changeOf(c.RootTotal()), document.Fraction(c.Noise(c.RootTotal()), c.scale)
	if at := c.carrying(); at != calltree.NoNode {
		b.Function, b.Change = c.Functions[c.Table.Func[at]].Name, c.changeOf(c.Diff.Total(at))
	}
	return nil
}

// carriedPart is the part of the program's change that a call node must carry to be named.
const carriedPart = 0.5

// carrying returns the innermost call node with at least half of the change of the program;
// NoNode if there is none, or its change is within sampling noise.
func (c *comparison) carrying() int32 {
	t, at := c.Table, calltree.NoNode
	least := carriedPart * c.Delta(c.RootTotal())
	from, to := int32(0), int32(t.Len())
	for least != 0 {
		next, most := calltree.NoNode, 1.0
		for n := from; n < to; n = t.End[n] {
			total := c.Diff.Total(n)
			if part := c.Delta(total) / least; part >= most && math.Abs(c.Delta(total)) > c.Noise(total) {
				next, most = n, part
			}
		}
		if next == calltree.NoNode {
			break
		}
		at, from, to = next, next+1, t.End[next]
	}
	return at
}

// Table has a row for each benchmark.
func (r *DiffBenchmarksResult) Table(exact bool) *table.Table {
	t := &table.Table{Notes: r.Notes, Omitted: r.Omitted.Rows, Of: "benchmark",
		Columns: []table.Column{table.TextColumn("group"), table.TextColumn("benchmark"),
			{Name: "base", Right: true}, {Name: "head", Right: true}, {Name: "change", Right: true, Text: table.SignedPercent},
			table.TextColumn("function"), {Name: "functionChange", Right: true}, table.TextColumn("by"), table.TextColumn("type")}}
	for i := range r.Rows {
		b := &r.Rows[i]
		amount := func(n document.Number) any {
			if exact {
				return n
			}
			return n.Amount(query.Noun(b.Type, b.Unit))
		}
		var base, head, change, carried any
		switch {
		case b.Profiles.Base == 0:
			base = "no run"
		case b.Profiles.Head == 0:
			head = "no run"
		default:
			base, head = amount(b.Total.Base), amount(b.Total.Head)
			if b.Total.Relative != nil {
				change = *b.Total.Relative
			}
		}
		if b.Function != "" {
			carried = amount(b.Change.Delta)
			if text, ok := carried.(string); ok && b.Change.Delta.Value() > 0 {
				carried = "+" + text
			}
		}
		t.Add(b.Group, b.Benchmark, base, head, change, b.Function, carried, b.By, b.Type)
	}
	if !slices.ContainsFunc(r.Rows, func(b DiffBenchmark) bool { return b.Type != r.Type }) {
		t.Drop("type")
	}
	return t
}
