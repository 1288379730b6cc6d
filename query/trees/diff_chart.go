package trees

import (
	"context"
	"slices"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/document"
	"github.com/dendroprof/dendro/query/param"
	"github.com/dendroprof/dendro/report/flame"
	"github.com/dendroprof/dendro/store"
)

// DiffChartResult is the stack charts of both sides over one axis of time: the boxes of
// the base, then those of new.
type DiffChartResult struct {
	Profiles Counts                      `json:"profiles"`
	Type     string                      `json:"type"`
	Unit     string                      `json:"unit"` // of start, end and self; empty: numbers of stacks
	Notes    []string                    `json:"notes"`
	Omitted  query.Omitted               `json:"omitted"`
	Threads  []DiffThread                `json:"threads,omitempty"` // by name, whatever the request selects
	Rows     document.Rows[DiffChartRow] `json:"rows"`              // in columns: an object per side
}

// DiffThread counts the samples of the threads of one name on both sides.
type DiffThread struct {
	Name string `json:"name"`
	Base int    `json:"base"`
	Head int    `json:"head"`
}

// DiffChartRow is a box of one side, in milliseconds since the first sample of this side
// or in numbers of stacks.
type DiffChartRow struct {
	Side string `json:"side"` // base or new
	BoxRow
}

// charts returns the stack charts of both sides. Both begin at 0, as Firefox Profiler
// aligns the profiles that it compares.
func (r *DiffRequest) charts(ctx context.Context, st store.Store) (charts [2]*scope, err error) {
	if r.Net || r.Against != "" || r.Select != "" {
		return charts, param.Errorf("a stack chart of a diff shows both sides: leave out --net, --against and --select")
	}
	request := &TreeRequest{Filter: r.Filter, SameWidth: r.SameWidth, Gaps: r.Gaps, Cut: r.Cut}
	_, _, err = r.eachSide(ctx, st, viewStackChart, func(i int, v *viewer, list []Input) error {
		s, err := v.scope(list, request, viewStackChart)
		if err == nil {
			charts[i], s.fromZero = s, true
		}
		return err
	})
	return charts, err
}

// DiffChart answers a DiffRequest with the boxes of the stack charts of both sides.
func DiffChart(ctx context.Context, st store.Store, r *DiffRequest) (_ *DiffChartResult, err error) {
	defer func() { err = query.Hinted(ctx, st, &r.Selection, err) }()
	charts, err := r.charts(ctx, st)
	if err != nil {
		return nil, err
	}
	var boxes [2]*StackChartResult
	for i, s := range charts {
		if boxes[i], err = s.stackChart(); err != nil {
			return nil, err
		}
	}
	base, head := boxes[0], boxes[1]
	result := &DiffChartResult{Profiles: Counts{base.Profiles, head.Profiles}, Type: head.Type, Unit: "milliseconds", Notes: head.Notes,
		Omitted: query.Omitted{Rows: base.Omitted.Rows + head.Omitted.Rows},
		Rows: document.RowsOf(base.Rows.Len()+head.Rows.Len(), func(i int) DiffChartRow {
			if n := base.Rows.Len(); i >= n {
				return DiffChartRow{sideName(1), head.Rows.At(i - n)}
			}
			return DiffChartRow{sideName(0), base.Rows.At(i)}
		})}
	result.Rows.Columns = func(w *document.Writer) {
		for i, b := range boxes {
			w.Name(sideName(i))
			w.Object(func() { b.Rows.Columns(w) })
		}
	}
	result.Threads = diffThreads(base.Threads, head.Threads)
	if r.SameWidth {
		result.Unit = ""
	}
	return result, nil
}

// threadsOfBoth returns the names of threads that both sides have.
func (r *DiffChartResult) threadsOfBoth() (names []string) {
	for _, t := range r.Threads {
		if t.Base > 0 && t.Head > 0 {
			names = append(names, t.Name)
		}
	}
	return names
}

// diffThreads lists the names of threads, those with most samples first.
func diffThreads(base, head []ThreadRow) (list []DiffThread) {
	of := func(name string) *DiffThread {
		i := slices.IndexFunc(list, func(t DiffThread) bool { return t.Name == name })
		if i < 0 {
			i = len(list)
			list = append(list, DiffThread{Name: name})
		}
		return &list[i]
	}
	for _, t := range base {
		of(t.Name).Base += t.Samples
	}
	for _, t := range head {
		of(t.Name).Head += t.Samples
	}
	slices.SortStableFunc(list, func(a, b DiffThread) int { return b.Base + b.Head - a.Base - a.Head })
	return list
}

// chartGraph returns the picture of the stack charts of both sides, the base's above. Each
// is below a box that names its side.
func (r *DiffRequest) chartGraph(ctx context.Context, st store.Store) (*flame.Graph, error) {
	charts, err := r.charts(ctx, st)
	if err != nil {
		return nil, err
	}
	both := &flame.Graph{Time: true}
	for i, s := range charts {
		g, err := s.graph()
		if err != nil {
			return nil, err
		}
		_, end, _ := g.Extent()
		_, _, above := both.Extent()
		first := int32(len(both.Functions))
		both.Functions = append(append(both.Functions, profile.Function{Name: sideName(i) + ": " + g.Title}), g.Functions...)
		both.Boxes = append(both.Boxes, flame.Box{Func: first, Depth: above, End: end, Total: flame.Value{Head: end}})
		for _, b := range g.Boxes {
			b.Func, b.Depth = b.Func+first+1, b.Depth+above+1
			both.Boxes = append(both.Boxes, b)
		}
		both.Unit, both.Title = g.Unit, both.Title+[2]string{"", " → "}[i]+g.Title
		both.Root.Head = max(both.Root.Head, end)
		both.Notes = g.Notes
	}
	return both, nil
}
