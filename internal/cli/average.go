package cli

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/analysis/average"
	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/engines"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/store"
)

// averaging are the flags that put the average of a selection in the place of its
// sum.
type averaging struct {
	average string // --average; empty: the sum
	weight  string
}

func (a *averaging) addFlags(c *cobra.Command) {
	c.Flags().Var(&choice{&a.average, average.Statistics()}, "average", "from the store: the `mean`, median, p10 or p90 of the runs in place of their sum")
	c.Flags().Var(&choice{&a.weight, []string{"samples", "share"}}, "weight", "of averages: runs count by their `samples` (default of --average), or each the same: share")
}

// recording returns the average of the selected profiles.
func (a *averaging) recording(ctx context.Context, e *env, st store.Store, q store.Query) (recording, error) {
	b, err := average.Of(ctx, st, q, store.Weight(a.weight))
	if err != nil {
		return recording{}, err
	}
	e.notes(b.Warnings)
	n := len(b.Profiles)
	return recording{name: fmt.Sprintf("%s of %d %s", a.average, n, words.Plural(n, "profile")), tree: b.Tree(average.Statistic(a.average)), profiles: 1}, nil
}

// notes says on stderr what a reader of the numbers has to know.
func (e *env) notes(list []string) {
	for _, w := range list {
		fmt.Fprintf(e.err, "dendro: note: %s\n", words.Clean(w))
	}
}

// against compares the newest run of the one selected benchmark, or with --last the
// newest n as one, with the runs before that compare with it.
func (in *input) against(ctx context.Context, st store.Store, q store.Query) (*average.Comparison, error) {
	tested := max(q.Last, 1)
	q.Last = 0
	list, err := store.Select(ctx, st, q)
	if err != nil {
		return nil, err
	}
	benchmarks := history.Choose(list, history.Options{Extra: tested})
	if len(benchmarks) != 1 {
		return nil, usagef("--against history compares a run of one benchmark, and %d are selected", len(benchmarks))
	}
	profiles := benchmarks[0].Profiles
	first := len(profiles) - tested
	if first <= 0 {
		return nil, fmt.Errorf("%s has %d %s on this machine and branch: none before the newest %d to compare with", benchmarks[0].Benchmark, len(profiles), words.Plural(len(profiles), "run"), tested)
	}
	return average.Compare(ctx, st, store.Query{Profiles: store.IDs(profiles[first:])}, store.Query{Profiles: store.IDs(profiles[:first])}, store.Weight(in.weight))
}

// againstSides returns the band and the run as the sides of a diff.
func (in *input) againstSides(ctx context.Context, e *env, st store.Store, q store.Query) (sides [2][]recording, err error) {
	c, err := in.against(ctx, st, q)
	if err != nil {
		return sides, err
	}
	e.notes(c.Warnings)
	base, run := c.Trees(in.statistic())
	sides[0] = []recording{{tree: base, profiles: 1}}
	sides[1] = []recording{{tree: run, profiles: 1}}
	return sides, nil
}

// statistic is --average, or the mean.
func (a *averaging) statistic() average.Statistic {
	if a.average == "" {
		return average.Mean
	}
	return average.Statistic(a.average)
}

// againstNode is one call node of `diff --against history -o json`
// (docs/schema/bottlenecks.md).
type againstNode struct {
	Depth       int32          `json:"depth"`
	Function    string         `json:"function"`
	Now         float64        `json:"now"`
	SelfNow     float64        `json:"selfNow"`
	Total       average.Spread `json:"total"`
	Self        average.Spread `json:"self"`
	Score       float64        `json:"score"`
	Significant bool           `json:"significant"`
}

// checkAgainst demands what --against can do.
func (o *diffOptions) checkAgainst() error {
	for i := range o.side {
		if len(o.side[i].files) > 0 || o.side[i].chosen() {
			return usagef("--against history chooses the sides itself: leave out files, --base… and --new…")
		}
	}
	if o.net || o.by != "profile" {
		return usagef("--against history scales the run as the history is: leave out --net and --by")
	}
	return nil
}

// listsBand reports whether the answer is the list of what is out of its band,
// and not a diff of two trees.
func (o *diffOptions) listsBand() bool {
	return o.view == "tree" && !o.inverted() && o.callees == "" && o.selected == "" && o.output.format != "html" && o.output.format != "svg"
}

// printAgainst prints the call nodes of the newest run that are out of their band,
// or with -o json all of them.
func (o *diffOptions) printAgainst(ctx context.Context, e *env) error {
	return o.ask(ctx, e, engines.Read, func(st store.Store, q store.Query) error {
		c, err := o.input.against(ctx, st, q)
		if err != nil {
			return err
		}
		e.notes(c.Warnings)
		return o.output.write(e, func(e *env) error {
			if o.output.format == "json" {
				head := struct {
					Runs        []string `json:"runs"`
					History     int      `json:"history"`
					Unit        string   `json:"unit"`
					Significant int      `json:"significant"`
				}{runKeys(c.Runs), len(c.Band.Profiles), c.Band.Type.Unit, c.Significant}
				return writeRows(e.out, head, c.Band.Len(), func(i int) any { return nodeOf(c, int32(i)) })
			}
			return o.printBand(e, c)
		})
	})
}

func runKeys(profiles []store.Profile) []string {
	keys := make([]string, len(profiles))
	for i := range profiles {
		keys[i] = profiles[i].Run.Key
	}
	return keys
}

func nodeOf(c *average.Comparison, n int32) againstNode {
	by := math.Pow10(c.Band.Type.Scale)
	scale := func(s average.Spread) average.Spread {
		return average.Spread{Mean: s.Mean / by, Deviation: s.Deviation / by, P10: s.P10 / by, Median: s.Median / by, P90: s.P90 / by, Runs: s.Runs}
	}
	ch := &c.Changes[n]
	return againstNode{Depth: c.Band.Depth[n], Function: c.Band.Name(n), Now: ch.Total / by, SelfNow: ch.Self / by,
		Total: scale(c.Band.Total[n]), Self: scale(c.Band.Self[n]), Score: ch.Score, Significant: ch.Significant}
}

// printBand lists the significant changes of totals, the largest first.
func (o *diffOptions) printBand(e *env, c *average.Comparison) error {
	var nodes []int32
	for n := range c.Changes {
		if c.Changes[n].Significant {
			nodes = append(nodes, int32(n))
		}
	}
	delta := func(n int32) float64 { return c.Changes[n].Total - c.Band.Total[n].Mean }
	slices.SortStableFunc(nodes, func(a, b int32) int { return cmp.Compare(math.Abs(delta(b)), math.Abs(delta(a))) })
	all := len(nodes)
	nodes = words.First(nodes, o.rows)
	typ := c.Band.Type
	programs := o.output.format.complete()
	cell := func(v float64) any {
		if programs {
			return v / math.Pow10(typ.Scale)
		}
		return words.Value(v, typ)
	}
	tb := &table{columns: []column{{name: "diff", right: true}, {name: "now", right: true}, {name: "mean", right: true}, {name: "p10", right: true}, {name: "p90", right: true},
		{name: "score", right: true}, {name: "path"}}}
	for _, n := range nodes {
		s := &c.Band.Total[n]
		change, path := any(words.Difference(delta(n), typ)), ends(c.Band.Path(n))
		if programs {
			change, path = cell(delta(n)), calltree.FormatPath(c.Band.Path(n))
		}
		tb.add(change, cell(c.Changes[n].Total), cell(s.Mean), cell(s.P10), cell(s.P90), number(c.Changes[n].Score), path)
	}
	if o.output.format == "text" {
		fmt.Fprintf(e.out, "%s against %d %s before: %d call %s out of the band\n", runsText(c.Runs), len(c.Band.Profiles), words.Plural(len(c.Band.Profiles), "run"), all, words.Plural(all, "node"))
	}
	if err := tb.print(e, o.output.format); err != nil {
		return err
	}
	leftOut(e, o.output.format, all-len(nodes), "call node")
	return nil
}
