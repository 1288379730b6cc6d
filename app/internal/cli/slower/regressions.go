package slower

import (
	"cmp"
	"math"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/cli/command"
	"github.com/dendroprof/dendro/app/internal/endpoint"
	"github.com/dendroprof/dendro/app/internal/render"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query/judge"
	"github.com/dendroprof/dendro/store/engines"
	"github.com/dendroprof/dendro/table"
)

func newRegressions(e *command.Env) *cobra.Command {
	var r judge.RegressionsRequest
	var out command.Destination
	var code command.CodeFlags
	all, full := false, false
	c := &cobra.Command{
		Use:   "regressions [flags]",
		Short: "Find what became slower, where, since when, by how much",
		Long: `List the changes that are there now, newest first: places that use more or less
than before since one run, and still do. Each has the function and call path; the change
in samples, in share of the program and in time per operation with a 95% interval; the
first run with it and the last good one; and the other causes that were ruled out.

A change is a suspect while only one run shows it, and confirmed when more do. It stays
in the list until runs are back at the level before, or until it is accepted. --new
lists the changes that were first seen in the newest n runs or since a date, --ended
those that are over. Work that only moved is not a change. A line for each benchmark says
what is known of it: what would have been seen where nothing changed, or why nothing can
be said. A store keeps what it has judged; an import judges the benchmarks that it touched.

--base and --head compare two sides instead, as in check: for example runs recorded in
turns. --last n compares the newest n runs of each benchmark, together, with those before.

--method thesis ranks functions by the score of the paper (docs/method/paper.md):
(now - mean) / std over the 10 runs before. --method correlation ranks them by how
closely their samples follow the time of many benchmarks, to find a slower library that
the benchmarks share. --method hotelling tests the functions of a subtree together: whether
their shares in the newest runs differ from the runs before (docs/method/regression.md).

-o html is the page of "dendro report" by the same method, with --rows candidates of each
benchmark.`,
		Example: `  dendro regressions
  dendro regressions --new 7d
  dendro regressions --benchmark checkout --ended
  dendro regressions --base main --head my-branch
  dendro regressions --method thesis --measure self --rows 10
  dendro regressions --method hotelling --last 3 --function handler.checkout`,
		Args: cobra.NoArgs,
	}
	flags := command.AddRequest(c, &r)
	c.Flags().Lookup("last").Usage = "test the newest n runs of each benchmark together in place of following changes"
	c.Flags().BoolVar(&all, "all", false, "also print unchanged benchmarks, accepted changes and, of two sides, moved and transient ones")
	c.Flags().BoolVar(&full, "full", false, "print why each other cause was ruled out")
	code.AddFlags(c)
	out.AddFlag(c, "text", "json", "md", "html")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if flags.Use(out.Format); out.Format == "html" {
			flags.Use("md") // it is for people too
		}
		if err := command.Expandable(&r.Expand, out.Format); err != nil {
			return err
		}
		if err := command.Learn(&r.Facts); err != nil {
			return err
		}
		if out.Format == "html" {
			return reportOf(c, e, &r, &out)
		}
		limit := r.Rows
		if out.Format == "text" && r.Method == "default" {
			r.Rows = 0 // text limits what it shows, and counts the rest
		}
		if err := code.Facts(&r.Expand, &r.Facts); err != nil {
			return err
		}
		return e.Asking(c.Context(), engines.Read, profile.Limits{}, func(a endpoint.Asker) error {
			return out.Answer(c.Context(), e, a, endpoint.Regressions.Of(&r), func(o *table.Output, result any) error {
				if found, ok := result.(*judge.RegressionsResult); ok {
					return render.Findings(o, found, limit, all, full)
				}
				return render.Result(o, result)
			})
		})
	}
	return c
}

// reportOf writes the page of a report by the method and selection of a request.
func reportOf(c *cobra.Command, e *command.Env, r *judge.RegressionsRequest, out *command.Destination) error {
	switch {
	case r.New != "" || r.Ended:
		return command.Usagef("-o html has the open changes: leave out --new and --ended")
	case r.Expand.Expand == "informed":
		return command.Usagef("-o html has the contexts of --expand greedy, with --method correlation those of correlation; informed is printed as text, md or json")
	case r.Method == "thesis" && r.Measure != "total":
		return command.Usagef("-o html ranks by total: leave out --measure")
	}
	req := &judge.ReportRequest{Selection: r.Selection, Sides: r.Sides, Judging: r.Judging, Method: r.Method, Correlating: r.Correlating,
		Functions:  r.Functions,
		Candidates: cmp.Or(r.Rows, math.MaxInt32), MaxDepth: r.MaxDepth, MaxBreadth: r.Breadth, Facts: r.Facts}
	o := reporting{r: req, question: func() endpoint.Question { return endpoint.Report.Of(req) },
		acknowledged: command.AcknowledgedFile, output: *out}
	doc, err := o.make(c.Context(), e)
	if err != nil {
		return err
	}
	return o.printMain(e, doc, false)
}
