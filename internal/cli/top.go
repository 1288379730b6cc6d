package cli

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/engines"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/store"
)

// topOptions are the flags of `dendro top`: those of `dendro tree`, with other
// defaults.
type topOptions struct{ showOptions }

func newTop(e *env) *cobra.Command {
	o := topOptions{showOptions{viewOptions: viewOptions{view: "functions"}, sort: "total", cutOptions: cutOptions{rows: 25}}}
	c := &cobra.Command{
		Use:   "top [flags] [FILE...]",
		Short: "List the functions that take the most",
		Long: `Top lists functions by what they took: self (samples in the function alone) and
total (samples in it and below; recursion counts once). It takes the flags of
` + "`dendro tree`" + `, so that a list can be of a range, a thread or a subtree.

With --last n it compares: the share of the newest n runs of each benchmark now,
the mean share of all runs before them, and the difference in percentage points;
each benchmark weighs the same. Sort by it with --sort diff.`,
		Example: `  dendro top --benchmark checkout
  dendro top --last 1 --sort diff
  dendro top cpu.pb.gz --sort self --rows 10
  dendro top profile.json --range 1200..1900 --kind js`,
		RunE: func(c *cobra.Command, args []string) error { return o.run(c, e, args) },
	}
	o.addFlags(c)
	return c
}

func (o *topOptions) run(c *cobra.Command, e *env, files []string) error {
	if len(files) == 0 && o.query.Last > 0 && o.view == "functions" {
		if err := o.settle(c, o.output.format); err != nil {
			return err
		}
		return o.output.write(e, func(e *env) error { return o.compare(c.Context(), e) })
	}
	return o.showOptions.run(c, e, files)
}

// printFunctions prints the function list of a tree.
func (o *showOptions) printFunctions(e *env, t *calltree.Tree) error {
	rows := t.FunctionRows()
	if o.sort == "self" {
		slices.SortStableFunc(rows, func(a, b calltree.FunctionRow) int { return cmp.Compare(abs(b.Self), abs(a.Self)) })
	}
	all, root := len(rows), t.RootTotal()
	rows = slices.DeleteFunc(rows, func(r calltree.FunctionRow) bool { return float64(abs(r.Total))*100 < o.minPercent*float64(root) })
	rows = words.First(rows, o.rows)
	if o.output.format == "json" {
		head := treeAnswer{RootTotal: scaled(root, t.Type.Scale), Unit: t.Type.Unit}
		return writeRows(e.out, head, len(rows), func(i int) any {
			r := &rows[i]
			return rowOf(&t.Functions[r.Func], 0, scaled(r.Total, t.Type.Scale), scaled(r.Self, t.Type.Scale), "")
		})
	}
	tb := &table{columns: []column{{name: "total", right: true}, {name: "total%", right: true, text: percent},
		{name: "self", right: true}, {name: "self%", right: true, text: percent}, {name: "function"}}}
	for _, r := range rows {
		f := &t.Functions[r.Func]
		tb.add(o.cell(r.Total, t), share(r.Total, root), o.cell(r.Self, t), share(r.Self, root), f.Name)
	}
	if o.output.format == "text" {
		fmt.Fprintf(e.out, "%s in total\n", amount(root, t.Type.Unit, t.Type.Scale))
	}
	if err := tb.print(e, o.output.format); err != nil {
		return err
	}
	leftOut(e, o.output.format, all-len(rows), "function")
	return nil
}

// cell writes a value for people, or exactly for programs.
func (o *showOptions) cell(v int64, t *calltree.Tree) any {
	if o.output.format.complete() {
		return scaled(v, t.Type.Scale)
	}
	return amount(v, t.Type.Unit, t.Type.Scale)
}

// leftOut says on stderr what a table does not show.
func leftOut(e *env, format outputFormat, n int, word string) {
	if n > 0 && format == "text" {
		fmt.Fprintf(e.err, "%s more %s (--rows)\n", grouped(n), words.Plural(n, word))
	}
}

// growth is what a function took now and before, as shares.
type growth struct {
	function         string
	now, before      float64
	selfNow, selfWas float64
}

// compare prints the share of the newest runs against the mean of those before.
func (o *topOptions) compare(ctx context.Context, e *env) error {
	return o.ask(ctx, e, engines.Read, func(st store.Store, q store.Query) error {
		now, before, err := store.NewestAndBefore(ctx, st, q)
		if err != nil {
			return err
		}
		if len(before) == 0 {
			return fmt.Errorf("there is no run before the last %d to compare with: import more, or leave out --last", q.Last)
		}
		rows, err := growths(ctx, st, now, before)
		if err != nil {
			return err
		}
		return o.printGrowth(e, rows, now, before)
	})
}

// printGrowth prints what functions took now and before.
func (o *topOptions) printGrowth(e *env, rows []growth, now, before []store.Profile) error {
	byTotal := func(a, b growth) int { return cmp.Or(cmp.Compare(b.now, a.now), cmp.Compare(a.function, b.function)) }
	slices.SortFunc(rows, map[string]func(a, b growth) int{
		"total": byTotal,
		"self":  func(a, b growth) int { return cmp.Or(cmp.Compare(b.selfNow, a.selfNow), byTotal(a, b)) },
		"diff":  func(a, b growth) int { return cmp.Or(cmp.Compare(b.now-b.before, a.now-a.before), byTotal(a, b)) },
	}[o.sort])
	all := len(rows)
	rows = words.First(rows, o.rows)
	tb := &table{columns: []column{{name: "now", right: true, text: percent}, {name: "before", right: true, text: percent},
		{name: "diff", right: true, text: signedPercent, tint: worse}, {name: "selfNow", right: true, text: percent}, {name: "selfBefore", right: true, text: percent}, {name: "function"}}}
	for _, r := range rows {
		tb.add(r.now, r.before, r.now-r.before, r.selfNow, r.selfWas, r.function)
	}
	if o.output.format == "text" {
		fmt.Fprintf(e.out, "share of total now (%s) against the mean before (%s); diff in percentage points\n", runsText(now), runsText(before))
	}
	if err := tb.print(e, o.output.format); err != nil {
		return err
	}
	leftOut(e, o.output.format, all-len(rows), "function")
	return nil
}

func runsText(list []store.Profile) string {
	var runs []string
	for _, p := range list {
		if !slices.Contains(runs, p.Run.Key) {
			runs = append(runs, p.Run.Key)
		}
	}
	if len(runs) == 1 {
		return "run " + words.Clean(runs[0])
	}
	return fmt.Sprintf("%d runs", len(runs))
}

// growths returns every function's mean share now and before. Shares are means
// over the profiles of a benchmark, then over benchmarks.
func growths(ctx context.Context, st store.Reader, now, before []store.Profile) ([]growth, error) {
	byName := map[string]*growth{}
	for _, part := range []struct {
		profiles []store.Profile
		total    func(*growth) *float64
		self     func(*growth) *float64
	}{
		{now, func(g *growth) *float64 { return &g.now }, func(g *growth) *float64 { return &g.selfNow }},
		{before, func(g *growth) *float64 { return &g.before }, func(g *growth) *float64 { return &g.selfWas }},
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
					g = &growth{function: name}
					byName[name] = g
				}
				*part.total(g) += r.TotalShare / n
				*part.self(g) += r.SelfShare / n
			}
		}
	}
	rows := make([]growth, 0, len(byName))
	for _, g := range byName {
		// The last bits are of the order of adding, which differs between engines.
		for _, share := range []*float64{&g.now, &g.before, &g.selfNow, &g.selfWas} {
			*share = math.Round(*share*1e12) / 1e12
		}
		rows = append(rows, *g)
	}
	return rows, nil
}
