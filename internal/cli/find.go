package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/internal/engines"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/store"
)

// findOptions are the flags of `dendro find`.
type findOptions struct {
	selection
	minShare    string
	self, total bool
	by          string
	rows        int
	output      outputFormat
}

func newFind(e *env) *cobra.Command {
	o := findOptions{by: "profile"}
	c := &cobra.Command{
		Use:   "find [flags] PATTERN",
		Short: "Where a function or call path occurs, and how much it takes",
		Long: `Find answers: in which benchmarks and runs does a function take more than a share
of the samples, and from a function: in which runs, benchmarks and groups does
it appear and how much does it take?

` + patternHelp,
		Example: `  dendro find 'regexp.Compile' --min-share 5%
  dendro find '/^runtime\.gc/' --by run --total
  dendro find 'handler;**;json.Marshal' --by benchmark --last 5`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return o.run(c.Context(), e, args[0]) },
	}
	o.addFlags(c)
	f := c.Flags()
	f.StringVar(&o.minShare, "min-share", "0", "only where it takes at least this `share` (5% or 0.05)")
	f.BoolVar(&o.total, "total", false, "measure total: the function and what it calls (default)")
	f.BoolVar(&o.self, "self", false, "measure self: the function alone")
	f.Var(&choice{&o.by, []string{"profile", "run", "benchmark", "group", "function"}}, "by", "a row per `what`: profile, run, benchmark, group, function")
	f.IntVar(&o.rows, "rows", 0, "print `n` rows at most (0: all)")
	c.MarkFlagsMutuallyExclusive("self", "total")
	o.output.addFlag(c, "text", "json", "md", "tsv", "csv")
	return c
}

func (o *findOptions) run(ctx context.Context, e *env, pattern string) error {
	min, err := parseShare(o.minShare)
	if err != nil {
		return err
	}
	look := store.Find
	if o.by == "profile" || o.by == "function" {
		look = store.FindFunctions
	}
	return o.ask(ctx, e, engines.Read, func(st store.Store, q store.Query) error {
		finds, err := look(ctx, st, q, pattern)
		if err != nil {
			return err
		}
		return o.print(e, finds, pattern, min)
	})
}

// print lists what was found, from a least share on.
func (o *findOptions) print(e *env, finds *store.Finds, pattern string, min float64) error {
	finds.Rows = slices.DeleteFunc(finds.Rows, func(r store.FindRow) bool { return o.share(finds, r) < min || r.Self == 0 && r.Total == 0 })
	if len(finds.Rows) == 0 {
		fmt.Fprintf(e.err, "dendro: %s takes no samples, or less than asked for, in the %d profiles selected\n", words.Clean(pattern), len(finds.Profiles))
	}
	list := o.grouped
	if o.by == "profile" {
		list = o.byProfile
	}
	answer := list(finds)
	all := len(answer.rows)
	answer.rows = words.First(answer.rows, o.rows)
	if err := answer.print(e, o.output); err != nil {
		return err
	}
	leftOut(e, o.output, all-len(answer.rows), "row")
	return nil
}

// share returns what a row takes of its profile, as measured.
func (o *findOptions) share(f *store.Finds, r store.FindRow) float64 {
	if o.self {
		return share(r.Self, f.Profiles[r.Profile].Sum)
	}
	return share(r.Total, f.Profiles[r.Profile].Sum)
}

// byProfile lists a row per function and profile, the largest share first.
func (o *findOptions) byProfile(f *store.Finds) *table {
	slices.SortStableFunc(f.Rows, func(a, b store.FindRow) int { return cmp.Compare(o.share(f, b), o.share(f, a)) })
	t := &table{columns: []column{{name: "share", right: true, text: percent}, {name: "self", right: true, text: grouped}, {name: "total", right: true, text: grouped},
		{name: "unit"}, {name: "group"}, {name: "benchmark"}, {name: "run"}, {name: "date", text: dateText}, {name: "commit", text: shortCommit},
		{name: "profile"}, {name: "function"}}}
	for _, r := range f.Rows {
		p := &f.Profiles[r.Profile]
		t.add(o.share(f, r), scaled(r.Self, p.Type.Scale), scaled(r.Total, p.Type.Scale), p.Type.Unit, p.Benchmark.Group, p.Benchmark.Name,
			p.Run.Key, p.Run.Date, p.Run.Commit, p.ID, r.Function)
	}
	return t
}

// key returns what a row is summed under: by its text two benchmarks may be one.
func (o *findOptions) key(p *store.Profile, function string) any {
	switch o.by {
	case "run":
		return p.Run.Key
	case "benchmark":
		return p.Benchmark
	case "group":
		return p.Benchmark.Group
	default:
		return function
	}
}

// grouped sums the rows per run, benchmark, group or function. The mean share
// is over the profiles in which it occurs.
func (o *findOptions) grouped(f *store.Finds) *table {
	type sum struct {
		text        string
		profiles    map[int32]bool
		self, total int64
		shares, max float64
	}
	var order []*sum
	byKey := map[any]*sum{}
	for _, r := range f.Rows {
		p := &f.Profiles[r.Profile]
		key := o.key(p, r.Function)
		s := byKey[key]
		if s == nil {
			s = &sum{text: fmt.Sprint(key), profiles: map[int32]bool{}}
			byKey[key] = s
			order = append(order, s)
		}
		s.profiles[r.Profile] = true
		s.self += r.Self
		s.total += r.Total
		s.shares += o.share(f, r)
		s.max = max(s.max, o.share(f, r))
	}
	if o.by != "run" { // runs stay in the order of time
		slices.SortStableFunc(order, func(a, b *sum) int {
			return cmp.Or(cmp.Compare(b.shares/float64(len(b.profiles)), a.shares/float64(len(a.profiles))), cmp.Compare(a.text, b.text))
		})
	}
	t := &table{columns: []column{{name: o.by}, {name: "profiles", right: true}, {name: "meanShare", right: true, text: percent}, {name: "maxShare", right: true, text: percent},
		{name: "self", right: true, text: grouped}, {name: "total", right: true, text: grouped}}}
	scale := f.Profiles[0].Type.Scale // of all: a selection has one type
	for _, s := range order {
		t.add(s.text, len(s.profiles), s.shares/float64(len(s.profiles)), s.max, scaled(s.self, scale), scaled(s.total, scale))
	}
	return t
}
