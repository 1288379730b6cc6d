package cli

import (
	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/render"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/engines"
)

func newBottlenecks(e *env) *cobra.Command {
	var r query.BottlenecksRequest
	var out destination
	c := &cobra.Command{
		Use:   "bottlenecks [flags]",
		Short: "Rank functions by how much time they could save",
		Long: `Rank the functions of a selection by one of:

  self         code path potential: the share of the program that would be saved
               if the function itself took no time
  subtree      the same for the function and its callees, up to --degree calls deep;
               recursion counts once
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
	flags := addRequest(c, &r)
	addRepository(c, &r.Expand)
	out.addFlag(c, "text", "json", "md", "html", "tsv", "csv")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if flags.use(out.format); out.format == "html" {
			flags.use("md") // it is for people too
		}
		if err := expandable(&r.Expand, out.format); err != nil {
			return err
		}
		return e.with(c.Context(), engines.Read, func(st store.Store) error {
			if out.format == "html" {
				page, err := query.BottlenecksPage(c.Context(), st, &r)
				if err != nil {
					return err
				}
				return out.write(e, func(e *env) error { return page.Write(e.out) })
			}
			result, err := query.Bottlenecks(c.Context(), st, &r)
			if err != nil {
				return err
			}
			if out.format.json() {
				return out.print(e, result)
			}
			return out.write(e, func(e *env) error { return render.Bottlenecks(e.rendering(out.format), &r, result) })
		})
	}
	return c
}

// addRepository adds the flags of an expansion that name a place on this machine.
func addRepository(c *cobra.Command, x *query.Expand) {
	f := c.Flags()
	f.StringVar(&x.Repo, "repo", "", "informed: `directory` of the git repository of the code; recently changed functions are preferred")
	f.StringVar(&x.Revision, "repo-revision", "", "`revision` of --repo (default: the commit of the newest run if the repository has it, otherwise HEAD)")
	inGroup(c, "Expansion", "repo", "repo-revision")
}

// expandable refuses expansions in formats that are tables.
func expandable(x *query.Expand, format outputFormat) error {
	if x.Expand != "" && format != "text" && !format.json() {
		return usagef("--expand is printed as text or json")
	}
	return nil
}
