package ask

import (
	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/cli/command"
	"github.com/dendroprof/dendro/app/internal/endpoint"
	"github.com/dendroprof/dendro/app/internal/render"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query/judge"
	"github.com/dendroprof/dendro/store/engines"
	"github.com/dendroprof/dendro/table"
)

func newBottlenecks(e *command.Env) *cobra.Command {
	var r judge.BottlenecksRequest
	var out command.Destination
	var code command.CodeFlags
	c := &cobra.Command{
		Use:   "bottlenecks [flags]",
		Short: "Rank functions by how much time they could save",
		Long: `Rank the functions of a selection by one of:

  self         code path potential: the share of the program that would be saved
               if the function itself took no time
  subtree      the same for the function and its callees, up to --degree calls deep;
               recursion counts once
  own          the share of your own code with the libraries and the runtime that it
               calls: each sample counts for the innermost function of your own
  correlation  how closely the share of the function follows the time of its
               benchmark over the runs. This needs metrics and many runs. Functions
               whose share decreases when the time increases are listed separately
               (--negative).

Each row has the number of profiles and benchmarks that contain the function and, with
--contexts, its heaviest call paths. --expand searches the calling contexts in which
the first functions changed. --plots draws the values of all runs: the time of a
benchmark at the share of a function, or the share of a function over the runs.
-o html is a page with plots and call paths that needs no server.`,
		Example: `  dendro bottlenecks --last 5
  dendro bottlenecks --by subtree --degree 3 --group shop --contexts 3
  dendro bottlenecks --by correlation --least-occurrences 10 -o json
  dendro bottlenecks --by correlation --plots 2 -o report.html
  dendro bottlenecks --benchmark checkout --expand informed --repo ~/src/shop`,
		Args: cobra.NoArgs,
	}
	flags := command.AddRequest(c, &r)
	code.AddFlags(c)
	out.AddFlag(c, "text", "json", "md", "html", "tsv", "csv")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if flags.Use(out.Format); out.Format == "html" {
			flags.Use("md") // it is for people too
		}
		if err := command.Expandable(&r.Expand, out.Format); err != nil {
			return err
		}
		if err := code.Facts(&r.Expand, &r.Facts); err != nil {
			return err
		}
		ctx := c.Context()
		return e.Asking(ctx, engines.Read, profile.Limits{}, func(a endpoint.Asker) error {
			if out.Format == "html" {
				return out.Fetch(ctx, e, a, endpoint.BottlenecksPage.Of(&endpoint.PageRequest[judge.BottlenecksRequest]{Page: r}))
			}
			return out.Answer(ctx, e, a, endpoint.Bottlenecks.Of(&r), func(o *table.Output, result any) error {
				return render.Bottlenecks(o, &r, result.(*judge.BottlenecksResult))
			})
		})
	}
	return c
}
