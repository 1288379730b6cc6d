package cli

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/analysis/bottleneck"
	"github.com/dendroprof/dendro/analysis/expansion"
	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/engines"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/store"
)

// bottlenecksOptions are the flags of `dendro bottlenecks`.
type bottlenecksOptions struct {
	selection
	by        string
	degree    string
	weight    string
	x, y      string
	method    string
	aggregate string
	least     int
	negative  bool
	rows      int
	contexts  int
	expand    expandOptions
	output    destination
}

func newBottlenecks(e *env) *cobra.Command {
	o := bottlenecksOptions{by: "self", weight: "share", x: "share", y: "time", method: "pearson", aggregate: "mean"}
	c := &cobra.Command{
		Use:   "bottlenecks [flags]",
		Short: "Rank functions by what could be gained from them",
		Long: `Bottlenecks ranks the functions of a selection, by one of:

  self         code path potential: the share of the program that would go away
               if the function itself took no time
  subtree      the same for the function and what it calls, --degree calls deep;
               recursion counts once
  correlation  how far the function's share goes with the time of its benchmark
               over the runs; functions whose share falls instead are a list of
               their own (--negative). It needs metrics, and many runs.

Each row says how many profiles and benchmarks are behind it and, with --contexts,
which call paths carry most of it. --expand follows the first functions into the
contexts in which they changed.`,
		Example: `  dendro bottlenecks --last 5
  dendro bottlenecks --by subtree --degree 3 --group shop --contexts 3
  dendro bottlenecks --by correlation --least-occurrences 10 -o json
  dendro bottlenecks --benchmark checkout --expand informed --repo ~/src/shop`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if o.output.format.complete() && !c.Flags().Changed("rows") {
				o.rows = 0
			}
			return o.run(c.Context(), e)
		},
	}
	o.addFlags(c)
	f := c.Flags()
	f.Var(&choice{&o.by, []string{"self", "subtree", "correlation"}}, "by", "rank by `what`: self, subtree, correlation")
	f.BoolFunc("correlation", "the same as --by correlation", func(string) error { o.by = "correlation"; return nil })
	f.StringVar(&o.degree, "degree", "5", "of subtree: `n` calls deep, 0 to "+strconv.Itoa(bottleneck.MaxDegree)+", or all")
	f.Var(&choice{&o.weight, []string{"share", "samples"}}, "weight", "of potentials: every profile counts the same (share), or by its samples")
	f.Var(&choice{&o.x, []string{"share", "samples"}}, "x", "of correlation: `what` of a function, share or samples")
	f.Var(&choice{&o.y, []string{"time", "raw"}}, "y", "of correlation: the metric as a time, or raw as it is stored")
	f.Var(&choice{&o.method, []string{"pearson", "spearman"}}, "method", "of correlation: pearson, or spearman (of ranks)")
	f.Var(&choice{&o.aggregate, []string{"mean", "max"}}, "aggregate", "of correlation over benchmarks: mean, max")
	f.IntVar(&o.least, "least-occurrences", 2, "of correlation: in a benchmark, runs with the function and a metric, at least `n`")
	f.BoolVar(&o.negative, "negative", false, "of correlation: only the functions whose share falls when time grows")
	f.IntVar(&o.rows, "rows", 25, "print `n` functions at most (0: all, the default of -o json, tsv and csv)")
	f.IntVar(&o.contexts, "contexts", 0, "with the `n` heaviest call paths of each function")
	o.expand.addFlags(c)
	o.output.addFlag(c, "text", "json", "md", "tsv", "csv")
	return c
}

// request turns the flags into what is asked.
func (o *bottlenecksOptions) request() (bottleneck.Options, error) {
	req := bottleneck.Options{Rank: bottleneck.Ranking(o.by), Weight: store.Weight(o.weight), Rows: o.rows, Contexts: o.contexts,
		Correlating: bottleneck.Correlating{Samples: o.x == "samples", Raw: o.y == "raw", Ranks: o.method == "spearman", Max: o.aggregate == "max", Least: o.least}}
	switch {
	case o.rows < 0 || o.contexts < 0:
		return req, usagef("--rows and --contexts must not be negative")
	case o.least < 2:
		return req, usagef("--least-occurrences is %d; nothing correlates below 2", o.least)
	case o.negative && o.by != "correlation":
		return req, usagef("--negative is for --by correlation")
	}
	if o.degree == "all" {
		req.Degree = bottleneck.Everything
	} else {
		n, err := strconv.Atoi(o.degree)
		if err != nil || n < 0 || n > bottleneck.MaxDegree {
			return req, usagef("--degree %q is not 0 to %d, or all", o.degree, bottleneck.MaxDegree)
		}
		req.Degree = n
	}
	return req, o.expand.check(o.output.format)
}

func (o *bottlenecksOptions) run(ctx context.Context, e *env) error {
	req, err := o.request()
	if err != nil {
		return err
	}
	return o.ask(ctx, e, engines.Read, func(st store.Store, q store.Query) error {
		r, err := bottleneck.Find(ctx, st, q, req)
		if err != nil {
			return err
		}
		if o.negative {
			r.Rows, r.Negative = r.Negative, nil
			if r.Rows == nil {
				r.Rows = []bottleneck.Row{}
			}
		}
		var x *expanded
		if o.expand.selection != "" {
			candidates := make([]expansion.Candidate, len(r.Rows))
			for i := range r.Rows {
				candidates[i] = expansion.Candidate{Function: r.Rows[i].Function, Score: r.Rows[i].Score}
			}
			list, err := store.Select(ctx, st, q)
			if err != nil {
				return err
			}
			if x, err = o.expand.expand(ctx, st, list, candidates, req.Correlating); err != nil {
				return err
			}
		}
		return o.output.write(e, func(e *env) error { return o.print(e, r, x) })
	})
}

// bottlenecksAnswer is docs/schema/bottlenecks.md.
type bottlenecksAnswer struct {
	*bottleneck.Result
	Expanded *expanded `json:"expanded,omitempty"`
}

func (o *bottlenecksOptions) print(e *env, r *bottleneck.Result, x *expanded) error {
	if o.output.format == "json" {
		return e.writeJSON(bottlenecksAnswer{r, x})
	}
	e.notes(r.Warnings)
	if o.output.format == "text" {
		fmt.Fprintf(e.out, "%s; %d %s of %d %s, %s\n", o.title(), r.Profiles, words.Plural(r.Profiles, "profile"), r.Benchmarks, words.Plural(r.Benchmarks, "benchmark"),
			amount(r.Value, r.Type.Unit, r.Type.Scale))
	}
	if err := o.table(r, r.Rows).print(e, o.output.format); err != nil {
		return err
	}
	shown := len(r.Rows)
	if len(r.Negative) > 0 && o.output.format == "text" {
		fmt.Fprintln(e.out, "\nfalls when time grows:")
		if err := o.table(r, r.Negative).print(e, o.output.format); err != nil {
			return err
		}
		shown += len(r.Negative)
	}
	if o.output.format == "text" {
		if !o.negative {
			leftOut(e, o.output.format, r.Functions-shown, "function")
		}
		if x != nil {
			x.print(e.out)
		}
	}
	return nil
}

// title says what the score is.
func (o *bottlenecksOptions) title() string {
	per := "every profile weighs the same"
	if o.weight == "samples" {
		per = "profiles weigh by their samples"
	}
	switch o.by {
	case "subtree":
		if o.degree == "all" {
			return "potential of functions with all they call: " + per
		}
		return "potential of functions with what they call up to " + o.degree + " deep: " + per
	case "correlation":
		return fmt.Sprintf("%s correlation of %s with %s, %s over benchmarks", o.method, map[string]string{"share": "the share of the program", "samples": "samples"}[o.x],
			map[string]string{"time": "time", "raw": "the metric"}[o.y], o.aggregate)
	}
	return "potential of functions by themselves: " + per
}

// table lists rows, each followed by its contexts; formats for programs have the
// heaviest one in a column.
func (o *bottlenecksOptions) table(r *bottleneck.Result, rows []bottleneck.Row) *table {
	score, text := "potential", percent
	if o.by == "correlation" {
		score, text = "r", correlationText
	}
	tb := &table{columns: []column{{name: score, right: true, text: text}, {name: "self", right: true}, {name: "total", right: true},
		{name: "samples", right: true}, {name: "profiles", right: true}, {name: "benchmarks", right: true}, {name: "function"}}}
	programs := o.output.format.complete()
	withContext := programs && o.contexts > 0
	if withContext {
		tb.columns = append(tb.columns, column{name: "contextShare", right: true}, column{name: "context"})
	}
	cell := func(v int64) any {
		if programs {
			return scaled(v, r.Type.Scale)
		}
		return amount(v, r.Type.Unit, r.Type.Scale)
	}
	for i := range rows {
		row := &rows[i]
		line := []any{row.Score, cell(row.Self), cell(row.Total), row.Samples, row.Profiles, row.Benchmarks, row.Function}
		if withContext {
			line = append(line, nil, "")
			if len(row.Contexts) > 0 {
				line[len(line)-2], line[len(line)-1] = row.Contexts[0].Share, calltree.FormatPath(row.Contexts[0].Path)
			}
		}
		tb.add(line...)
		if programs {
			continue
		}
		for _, c := range row.Contexts {
			tb.add(nil, nil, nil, nil, nil, nil, "  "+percent(c.Share)+" "+ends(c.Path))
		}
	}
	return tb
}

// ends writes a call path with what is read of it: where it begins, and the callers
// nearest to its function.
func ends(path []string) string {
	const callers = 5
	if len(path) > callers+2 {
		return calltree.FormatPath(path[:1]) + ";…;" + calltree.FormatPath(path[len(path)-callers-1:])
	}
	return calltree.FormatPath(path)
}

// correlationText formats a correlation.
func correlationText(v any) string {
	if f, ok := v.(float64); ok {
		return fmt.Sprintf("%+.3f", f)
	}
	return ""
}
