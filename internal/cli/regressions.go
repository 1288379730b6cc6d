package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/internal/engines"
	"github.com/dendroprof/dendro/store"
)

// regressionsOptions are the flags of `dendro regressions`.
type regressionsOptions struct {
	selection
	judging
	method  string
	measure string
	x, y    string
	history []string
	scan    bool
	alpha   float64
	least   int
	rows    int
	all     bool
	expand  expandOptions
	output  outputFormat
}

func newRegressions(e *env) *cobra.Command {
	o := regressionsOptions{method: "default", measure: "total", x: "share", y: "time"}
	c := &cobra.Command{
		Use:   "regressions [flags]",
		Short: "Find what got slower, where, since when, by how much",
		Long: `Regressions compares the newest selected runs of each benchmark with the runs
before them on the same machine and branch, by the same profiler, and names the
places that cost more: function and call path, samples, share of the program and
time per operation with a 95% interval, since which run, and what else it could
have been and is not. The newest run is tested alone (what is found is a suspect)
and together with the one before (confirmed). Work that only moved is no regression.

--method thesis ranks functions by the score of the thesis, (now - mean) / std
over the 10 runs before; --method correlation ranks them by how far their samples
go with the time of many benchmarks, to find a slower library that they share.`,
		Example: `  dendro regressions --type cpu
  dendro regressions --benchmark checkout --last 3
  dendro regressions --scan --since 30d -o json
  dendro regressions --method thesis --measure self --rows 10`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if o.output == "json" && !c.Flags().Changed("rows") {
				o.rows = 0
			}
			if o.method == "thesis" && !c.Flags().Changed("expand-score") {
				o.expand.score = "thesis"
			}
			return o.run(c.Context(), e)
		},
	}
	o.selection.addFlags(c)
	f := c.Flags()
	f.Lookup("last").Usage = "test the newest `n` runs of each benchmark as one (default: 1, and 2 together)"
	f.Var(&choice{&o.method, []string{"default", "thesis", "correlation"}}, "method", "`how`: default, thesis, correlation")
	f.StringArrayVar(&o.history, "history", nil, "runs that count as history, `key=value` (branch, machine, commit, run, attr.KEY, since, until); repeatable")
	o.judging.addFlags(c)
	f.Lookup("window").Usage = "history runs at most (default 30; thesis 10)"
	f.BoolVar(&o.scan, "scan", false, "look for changes of unknown age: the newest 1, 2, 3, 5, 8, 13 runs")
	f.Float64Var(&o.alpha, "alpha", 0, "`probability` of a false finding per benchmark (default 0.0025 for one run, 0.02 for more)")
	f.StringVar(&o.measure, "measure", "total", "of --method thesis: total, self, potential:`n`")
	f.Var(&choice{&o.x, []string{"share", "samples"}}, "x", "of --method correlation: `what` of a function, share or samples")
	f.Var(&choice{&o.y, []string{"time", "raw"}}, "y", "of --method correlation: `what` of the metric, time or raw")
	f.IntVar(&o.least, "least-occurrences", 2, "of --method correlation: least `n` profiles of a benchmark with the function and a metric")
	f.IntVar(&o.rows, "rows", 25, "print `n` findings at most (0: all)")
	f.BoolVar(&o.all, "all", false, "print benchmarks without findings too, with what was moved and what went away")
	o.expand.addFlags(c)
	o.output.addFlag(c, "text", "json", "md")
	return c
}

func (o *regressionsOptions) run(ctx context.Context, e *env) error {
	if o.least < 2 {
		return usagef("--least-occurrences is %d; a correlation needs 2", o.least)
	}
	if o.rows < 0 || o.window < 0 || o.alpha < 0 || o.alpha >= 1 || o.impact < 0 {
		return usagef("--rows, --window and --min-impact must not be negative, --alpha is below 1")
	}
	if o.scan && o.query.Last > 0 {
		return usagef("--scan chooses the tested runs itself: leave out --last")
	}
	if err := o.expand.check(o.output); err != nil {
		return err
	}
	return o.ask(ctx, e, engines.Read, func(st store.Store, q store.Query) error {
		list, err := st.Profiles(ctx, q)
		if err != nil {
			return err
		}
		if err := history.OneName(list, q); err != nil {
			return err
		}
		switch o.method {
		case "thesis":
			return o.thesis(ctx, e, st, q)
		case "correlation":
			return o.correlation(ctx, e, st, q)
		}
		return o.find(ctx, e, st, q)
	})
}

// request turns the flags into what is asked.
func (o *regressionsOptions) request(q store.Query) (regression.Request, error) {
	req, err := o.judging.request(acknowledgedFile)
	if err != nil {
		return req, err
	}
	req.K, req.Scan, req.Options.Alpha = q.Last, o.scan, o.alpha
	req.History, err = historyFilter(o.history)
	return req, err
}

// historyFilter parses the values of --history.
func historyFilter(texts []string) (*store.Query, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	q := &store.Query{}
	for _, t := range texts {
		key, value, ok := strings.Cut(t, "=")
		var err error
		switch {
		case !ok:
			err = usagef("--history %q is not key=value", t)
		case key == "branch":
			q.Branches = append(q.Branches, value)
		case key == "machine":
			q.Machines = append(q.Machines, value)
		case key == "commit":
			q.Commits = append(q.Commits, value)
		case key == "run":
			q.Runs = append(q.Runs, value)
		case key == "since":
			q.Since, err = dateFlag("--history since", value)
		case key == "until":
			q.Until, err = dateFlag("--history until", value)
		case strings.HasPrefix(key, "attr."):
			if q.Attributes == nil {
				q.Attributes = map[string]string{}
			}
			q.Attributes[strings.TrimPrefix(key, "attr.")] = value
		default:
			err = usagef("--history: %q is none of branch, machine, commit, run, attr.KEY, since, until", key)
		}
		if err != nil {
			return nil, err
		}
	}
	return q, nil
}
