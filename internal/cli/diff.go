package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/engines"
	"github.com/dendroprof/dendro/store"
)

// diffOptions are the flags of `dendro diff`.
type diffOptions struct {
	input
	viewOptions
	cutOptions
	side   [2]sideOptions // base, new
	by     string
	sort   string
	net    bool
	before string // --against
	output destination
}

// sideOptions say what one side of a diff is.
type sideOptions struct {
	files                   []string
	runs, commits, branches []string
	work                    float64
}

func (s *sideOptions) addFlags(c *cobra.Command, name, what string) {
	f := c.Flags()
	f.StringArrayVar(&s.files, name, nil, "`file` of the "+what+"; repeatable")
	f.StringArrayVar(&s.runs, name+"-run", nil, "of the store: `key` of a run of the "+what+", exact or glob; repeatable")
	f.StringArrayVar(&s.commits, name+"-commit", nil, "of the store: `commit` of the "+what)
	f.StringArrayVar(&s.branches, name+"-branch", nil, "of the store: `branch` of the "+what)
	f.Float64Var(&s.work, name+"-work", 0, "how much work the "+what+" did, for --by work: `n` requests, iterations, …")
}

// chosen reports whether the side is chosen from the store.
func (s *sideOptions) chosen() bool { return len(s.runs)+len(s.commits)+len(s.branches) > 0 }

// narrow returns the query for the side.
func (s *sideOptions) narrow(q store.Query) store.Query {
	for _, x := range []struct{ own, of *[]string }{{&s.runs, &q.Runs}, {&s.commits, &q.Commits}, {&s.branches, &q.Branches}} {
		if len(*x.own) > 0 {
			*x.of = *x.own
		}
	}
	return q
}

func newDiff(e *env) *cobra.Command {
	o := diffOptions{viewOptions: viewOptions{view: "tree"}, cutOptions: page, by: "profile", sort: "total"}
	c := &cobra.Command{
		Use:   "diff [flags] [BASE NEW]",
		Short: "Compare two profiles, or two sets: what takes more, what less",
		Long: `Diff lays the call trees of two sides over each other and shows base, new, delta
and relative change of everything that either side has; what is only on one side
is marked new or vanished. A side is one file or many, or a part of the store.

Values are compared per profile unless told otherwise (--by):
  value     as they are, summed over the side
  share     as shares of each side's own total
  profile   divided by the number of profiles (two files: as they are)
  second    divided by the recorded time
  work      divided by --base-work and --new-work
  METRIC    divided by a metric that the store has of every profile: requests, …

Functions are matched by name, module and file, not by line. In a tree, siblings
are ordered by the size of their delta; the list of functions (--view functions)
has what takes more first, then what takes less. "~" marks changes that chance
alone explains, given the number of samples.

--against history holds the newest run of one benchmark (with --last n the newest n
as one) against the average of the runs before on the same machine and branch, and lists the call nodes that are
out of their band, with the score of the difference; --view functions, --view
flame, html and svg show the diff of the run and the average (--average, the mean
by default) as any other.`,
		Example: `  dendro diff before.pb.gz after.pb.gz
  dendro diff --base 'main/*.jfr' --new 'branch/*.jfr' --view functions
  dendro diff --benchmark checkout --last 1
  dendro diff --benchmark checkout --against history
  dendro diff --benchmark checkout --base-run r17 --new-run r18 -o diff.html`,
		Args: cobra.MaximumNArgs(2),
		RunE: func(c *cobra.Command, args []string) error { return o.run(c, e, args) },
	}
	o.input.addFlags(c)
	o.side[0].addFlags(c, "base", "base")
	o.side[1].addFlags(c, "new", "new side")
	f := c.Flags()
	f.StringVar(&o.by, "by", o.by, "compare by `what`: value, share, profile, second, work, or the name of a metric")
	f.Var(&choice{&o.sort, []string{"total", "self"}}, "sort", "functions by the change of `what`: total, self")
	f.Var(&choice{&o.before, []string{"history"}}, "against", "the newest run of a benchmark against the band of the runs before: `history`")
	f.BoolVar(&o.net, "net", false, "one tree of the differences, as Firefox Profiler shows it; a line is identity")
	o.viewOptions.addFlags(c, "tree", "flame", "functions")
	o.cutOptions.addFlags(c)
	o.output.addFlag(c, "text", "json", "md", "tsv", "csv", "html", "svg")
	return c
}

func (o *diffOptions) run(c *cobra.Command, e *env, files []string) error {
	if err := o.settle(c, o.output.format); err != nil {
		return err
	}
	if len(files) == 1 {
		return usagef("a diff takes two files, BASE and NEW")
	}
	if len(files) == 2 {
		for i := range o.side {
			if len(o.side[i].files) > 0 {
				return usagef("the sides are named twice: BASE NEW or --base and --new")
			}
			o.side[i].files = files[i : i+1]
		}
	}
	if o.before != "" {
		if err := o.checkAgainst(); err != nil {
			return err
		}
		if o.listsBand() {
			return o.printAgainst(c.Context(), e)
		}
	}
	sides, err := o.sides(c.Context(), e)
	if err != nil {
		return err
	}
	var trees [2][]*calltree.Tree
	for i, list := range sides {
		shown, err := o.show(e, o.typ(), list)
		if err != nil {
			return err
		}
		for k, s := range shown {
			trees[i] = append(trees[i], withInterval(s.Tree, list[k].interval))
		}
	}
	if o.net {
		return o.printNet(e, trees)
	}
	for i := range trees {
		trees[i] = o.below(e, trees[i])
	}
	d, err := calltree.Compare(trees[0], trees[1])
	if err != nil {
		return err
	}
	s, err := o.choose(d, sides)
	if err != nil {
		return err
	}
	return o.output.write(e, func(e *env) error { return o.print(e, s) })
}

// withInterval gives a count of samples the period that the file says, so that
// profiles sampled at different rates can be compared.
func withInterval(t *calltree.Tree, interval time.Duration) *calltree.Tree {
	if t.Type.Unit != "count" || t.Type.Period != 0 || interval <= 0 {
		return t
	}
	timed := *t
	timed.Type.Period, timed.Type.PeriodUnit = int64(interval), "nanoseconds"
	return &timed
}

// sides returns what is compared, from files or from the store.
func (o *diffOptions) sides(ctx context.Context, e *env) (sides [2][]recording, err error) {
	if len(o.side[0].files) > 0 || len(o.side[1].files) > 0 {
		for i := range sides {
			if len(o.side[i].files) == 0 || o.side[i].chosen() {
				return sides, usagef("both sides must be files: BASE NEW, or --base and --new")
			}
			if sides[i], err = o.recordings(ctx, e, o.side[i].files, &o.viewOptions); err != nil {
				return sides, err
			}
		}
		return sides, nil
	}
	if err := o.parse(); err != nil {
		return sides, err
	}
	return sides, o.ask(ctx, e, engines.Read, func(st store.Store, q store.Query) (err error) {
		if o.before != "" {
			sides, err = o.againstSides(ctx, e, st, q)
			return err
		}
		queries, err := o.queries(ctx, e, st, q)
		for i := 0; i < len(sides) && err == nil; i++ {
			if sides[i], err = o.ofStore(ctx, e, st, queries[i], &o.viewOptions); err != nil {
				err = fmt.Errorf("%s: %w", [2]string{"base", "new"}[i], err)
			}
		}
		return err
	})
}

// queries returns the part of the store on each side: what the flags of the sides
// choose of the selection or, with --last n, the newest runs and those before.
func (o *diffOptions) queries(ctx context.Context, e *env, st store.Store, q store.Query) (queries [2]store.Query, err error) {
	switch {
	case o.side[0].chosen() && o.side[1].chosen():
		return [2]store.Query{o.side[0].narrow(q), o.side[1].narrow(q)}, nil
	case q.Last > 0 && !o.side[0].chosen() && !o.side[1].chosen():
		now, before, err := store.NewestAndBefore(ctx, st, q)
		if err == nil && len(before) == 0 {
			err = fmt.Errorf("there is no run before the last %d to compare with", q.Last)
		}
		if err != nil {
			return queries, err
		}
		fmt.Fprintf(e.err, "base: %s; new: %s\n", runsText(before), runsText(now))
		return [2]store.Query{{Profiles: store.IDs(before), Types: q.Types}, {Profiles: store.IDs(now), Types: q.Types}}, nil
	}
	return queries, usagef("say what to compare: BASE NEW files, --base-run R --new-run S (or -commit, -branch), or --last n")
}

// comparison is a diff with what its numbers are called.
type comparison struct {
	*calltree.Diff
	unit  string // of the numbers compared; "share" for fractions
	scale int
	per   string // "per profile", …; empty when nothing is divided
	by    string
	count [2]int // profiles on each side
}

// choose sets what the sides are compared by.
func (o *diffOptions) choose(d *calltree.Diff, sides [2][]recording) (*comparison, error) {
	c := &comparison{Diff: d, unit: d.Type.Unit, scale: d.Type.Scale, by: o.by}
	for i, list := range sides {
		for k := range list {
			c.count[i] += list[k].profiles
		}
	}
	switch o.by {
	case "value":
		return c, nil
	case "share":
		d.ByShare()
		c.unit, c.scale = "share", 0
		return c, nil
	}
	var work [2]float64
	for i, list := range sides {
		for k := range list {
			amount, err := o.workOf(&list[k], i)
			if err != nil {
				return nil, err
			}
			work[i] += amount
		}
		if !(work[i] > 0) {
			return nil, fmt.Errorf("--by %s: the %s did no work to divide by", o.by, [2]string{"base", "new side"}[i])
		}
	}
	if o.by == "work" {
		work = [2]float64{o.side[0].work, o.side[1].work}
	}
	d.PerUnit(work[0], work[1])
	if o.by != "profile" || work != [2]float64{1, 1} {
		c.per = "per " + map[string]string{"work": "unit of work"}[o.by]
		if o.by != "work" {
			c.per = "per " + o.by
		}
	}
	return c, nil
}

// workOf returns how much work a recording stands for.
func (o *diffOptions) workOf(r *recording, side int) (float64, error) {
	switch o.by {
	case "profile":
		return float64(r.profiles), nil
	case "second":
		if r.duration <= 0 {
			return 0, fmt.Errorf("%s--by second: it is not known how long every profile was recorded", r.prefix())
		}
		return r.duration.Seconds(), nil
	case "work":
		if o.side[side].work <= 0 {
			return 0, usagef("--by work needs --base-work and --new-work")
		}
		return o.side[side].work, nil
	}
	if v, ok := r.metrics[o.by]; ok {
		return v, nil
	}
	names := make([]string, 0, len(r.metrics))
	for name := range r.metrics {
		names = append(names, name)
	}
	slices.Sort(names)
	if len(names) == 0 {
		return 0, usagef("%s--by %s: there is no such metric of every profile; files have none (--by work)", r.prefix(), o.by)
	}
	return 0, usagef("--by %s: there is no such metric of every profile; there are: %s", o.by, strings.Join(names, ", "))
}

// printNet prints one tree of the differences.
func (o *diffOptions) printNet(e *env, trees [2][]*calltree.Tree) error {
	var side [2]*calltree.Tree
	for i, list := range trees {
		side[i] = list[0]
		if len(list) > 1 {
			var err error
			if side[i], err = calltree.Merge(list...); err != nil {
				return err
			}
		}
	}
	net, err := calltree.Net(side[0], side[1])
	if err != nil {
		return err
	}
	show := &showOptions{viewOptions: o.viewOptions, cutOptions: o.cutOptions, sort: o.sort, output: o.output}
	s := &scene{Tree: o.below(e, []*calltree.Tree{net})[0], title: "net difference"}
	return o.output.write(e, func(e *env) error { return show.print(e, s) })
}
