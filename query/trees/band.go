package trees

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/dendroprof/dendro/analysis/average"
	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/document"
	"github.com/dendroprof/dendro/query/param"
	"github.com/dendroprof/dendro/store"
)

// BandResult holds the newest run of a benchmark, or several as one, against the runs
// before it: every call node with its band.
type BandResult struct {
	Runs        []string               `json:"runs"`        // that are compared
	Commits     []string               `json:"commits"`     // of Runs, each once
	History     int                    `json:"history"`     // number of runs in the average
	HistoryFrom string                 `json:"historyFrom"` // the first of them
	HistoryTo   string                 `json:"historyTo"`   // the last of them
	Type        string                 `json:"type"`
	Unit        string                 `json:"unit"`
	Significant int                    `json:"significant"` // nodes outside of their band
	Notes       []string               `json:"notes"`
	Rows        document.Rows[BandRow] `json:"rows"` // depth first
}

// BandRow is a call node: the run's values, and the values of the history.
type BandRow struct {
	Depth       int32          `json:"depth"`
	Function    string         `json:"function"`
	Now         float64        `json:"now"`
	SelfNow     float64        `json:"selfNow"`
	Total       average.Spread `json:"total"`
	Self        average.Spread `json:"self"`
	Score       float64        `json:"score"`
	Significant bool           `json:"significant"`
}

// checkAgainst refuses parameters that do not go with --against history.
func (r *DiffRequest) checkAgainst() error {
	if r.inputs() {
		return param.Errorf("--against history compares runs of a store: leave out files")
	}
	if r.Base.chosen() != r.Head.chosen() {
		return param.Errorf("--against history needs both sides (--base-… and --head-…) or neither")
	}
	if r.twoTypes() {
		return param.Errorf("--against history compares runs in one value type: give --type in place of --base-type and --head-type")
	}
	if r.Net || r.By != "" && r.By != byProfile {
		return param.Errorf("--against history scales the run like the history, per operation where operations are known: leave out --net and --by")
	}
	return nil
}

// listsBand reports whether the result is the list of what is outside of its band, and
// not a diff of two trees.
func (r *DiffRequest) listsBand() bool {
	return r.View == viewTree && !r.inverted() && r.Callees == "" && r.Select == "" && r.Under == ""
}

// compareBand compares the run with the average of the history: the sides that are named, or
// those that againstHistory chooses.
func (r *DiffRequest) compareBand(ctx context.Context, st store.Reader) (*average.Comparison, []string, error) {
	if err := r.checkAgainst(); err != nil {
		return nil, nil, err
	}
	q, notes, err := query.OneType(ctx, st, &r.Selection)
	if err != nil {
		return nil, nil, err
	}
	var c *average.Comparison
	if r.Head.chosen() {
		q.Last = 0
		if c, err = average.Compare(ctx, st, r.Head.narrow(q), r.Base.narrow(q), store.Weight(r.Weight)); err == nil {
			for _, p := range c.Band.Profiles {
				if first := c.Runs[0].Benchmark; p.Benchmark != first {
					return nil, nil, param.Errorf("--against history compares runs of one benchmark, not of %s and %s (--benchmark)", first, p.Benchmark)
				}
			}
		}
	} else {
		c, err = againstHistory(ctx, st, q, r.Weight)
	}
	if err != nil {
		return nil, nil, err
	}
	return c, append(notes, c.Warnings...), nil
}

// againstHistory compares the newest run of the one selected benchmark, or with --last the
// newest n as one, with the comparable runs before.
func againstHistory(ctx context.Context, st store.Reader, q store.Query, weight string) (*average.Comparison, error) {
	tested := max(q.Last, 1)
	q.Last = 0
	list, err := store.Select(ctx, st, q)
	if err != nil {
		return nil, err
	}
	benchmarks := history.Choose(list, history.Options{Extra: tested})
	if len(benchmarks) != 1 {
		return nil, param.Errorf("--against history compares a run of one benchmark; %d are selected (--benchmark)", len(benchmarks))
	}
	profiles := benchmarks[0].Profiles
	first := len(profiles) - tested
	if first <= 0 {
		return nil, fmt.Errorf("%s has %s on this machine and branch: none before the newest %d to compare with: %w", benchmarks[0].Benchmark, words.Counted(len(profiles), "run"), tested, store.ErrNothing)
	}
	return average.Compare(ctx, st, store.Query{Profiles: store.IDs(profiles[first:])}, store.Query{Profiles: store.IDs(profiles[:first])},
		store.Weight(weight))
}

// bandSides returns the average of the history and the run as the sides of a diff.
func (r *DiffRequest) bandSides(ctx context.Context, st store.Reader, v *viewer) (sides [2][]Input, err error) {
	c, notes, err := r.compareBand(ctx, st)
	if err != nil {
		return sides, err
	}
	v.tell(notes)
	base, run := c.Trees(r.statistic())
	sides[0] = []Input{{tree: base, profiles: 1, operations: c.Band.Operations}}
	sides[1] = []Input{{tree: run, profiles: 1, operations: c.Band.Operations}}
	return sides, nil
}

// Band answers a DiffRequest against the history with the band of every call node.
func Band(ctx context.Context, st store.Store, r *DiffRequest) (_ *BandResult, err error) {
	defer func() { err = query.Hinted(ctx, st, &r.Selection, err) }()
	c, notes, err := r.compareBand(ctx, st)
	if err != nil {
		return nil, err
	}
	return bandResult(c, r.statistic(), notes), nil
}

// atMedianLevel is the note on amounts where operations are known.
const atMedianLevel = "compared per operation, at the level of the median run of each side"

// bandResult returns a comparison as a document.
func bandResult(c *average.Comparison, what average.Statistic, notes []string) *BandResult {
	operations := cmp.Or(c.Band.Operations, 1)
	if c.Band.Operations > 0 {
		notes = append(notes, atMedianLevel)
	}
	by := math.Pow10(c.Band.Type.Scale) * operations
	scaled := func(s average.Spread) average.Spread {
		return average.Spread{Mean: s.Mean / by, Deviation: s.Deviation / by, P10: s.P10 / by, Median: s.Median / by, P90: s.P90 / by,
			Runs: s.Runs}
	}
	rows := document.RowsOf(c.Band.Len(), func(n int) BandRow {
		ch := &c.Changes[n]
		return BandRow{Depth: c.Band.Depth[n], Function: c.Band.Name(int32(n)), Now: ch.Total / by, SelfNow: ch.Self / by,
			Total: scaled(c.Band.Total[n]), Self: scaled(c.Band.Self[n]), Score: ch.Score, Significant: ch.Significant}
	})
	rows.Columns = func(w *document.Writer) { bandColumns(w, c, what, operations) }
	before := c.Band.Profiles
	commits := query.Distinct(c.Runs, func(p *store.Profile) string { return p.Run.Commit })
	return &BandResult{Runs: query.RunKeys(c.Runs), Commits: words.Filled(commits), History: len(before), HistoryFrom: before[0].Run.Key,
		HistoryTo: before[len(before)-1].Run.Key,
		Type:      c.Band.Type.Name, Unit: c.Band.Type.Unit, Significant: c.Significant, Notes: words.Filled(notes), Rows: rows}
}

// bandColumns writes a comparison with the columns of a diff, and of every node whether it
// is outside of its band.
func bandColumns(w *document.Writer, c *average.Comparison, what average.Statistic, operations float64) {
	base, run := c.Trees(what)
	t, n := base.Table, base.Len()
	functions := tableOf(t.Functions, n, func(i int) int32 { return t.Func[i] })
	functions.tell(t, base.Self, run.Self)
	whole := func(name string, of func(i int) int64) {
		w.Numbers(name, n, func(i int) document.Number { return document.Whole(of(i), 0) })
	}
	whole("parent", func(i int) int64 { return int64(t.Parent[i]) })
	whole("depth", func(i int) int64 { return int64(t.Depth[i]) })
	whole("function", func(i int) int64 { return functions.number(t.Func[i]) })
	whole("significant", func(i int) int64 {
		if c.Changes[i].Significant {
			return 1
		}
		return 0
	})
	values := func(of []int64) func(i int) document.Number {
		return func(i int) document.Number { return document.Fraction(float64(of[i])/operations, base.Type.Scale) }
	}
	w.Derived("baseTotal", n, values(base.Total))
	w.Derived("headTotal", n, values(run.Total))
	w.Numbers("baseSelf", n, values(base.Self))
	w.Numbers("headSelf", n, values(run.Self))
	noise := c.NoisePerValue()
	w.Array("noisePerValue", 2, func(side int) any { return noise[side] / math.Pow10(c.Band.Type.Scale) / operations })
	functions.write(w)
}
