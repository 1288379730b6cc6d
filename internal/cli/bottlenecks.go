package cli

import (
	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/internal/engines"
	"github.com/dendroprof/dendro/internal/query"
	"github.com/dendroprof/dendro/internal/render"
	"github.com/dendroprof/dendro/store"
)

func newBottlenecks(e *env) *cobra.Command {
	var r query.BottlenecksRequest
	var out destination
	c := &cobra.Command{
		Use:   "bottlenecks [flags]",
		Short: "Rank functions by how much could be gained from them",
		Long: `Bottlenecks ranks the functions of a selection by one of:

  self         code path potential: the share of the program that would be saved
               if the function itself took no time
  subtree      the same for the function and its callees, --degree calls deep;
               recursion counts once
  correlation  how far the function's share follows the time of its benchmark over
               the runs; functions whose share decreases instead are a separate
               list (--negative). It needs metrics, and many runs.

Each row has the number of profiles and benchmarks behind it and, with --contexts,
the call paths that carry most of it. --expand searches the contexts in which the
first functions changed.`,
		Example: `  dendro bottlenecks --last 5
  dendro bottlenecks --by subtree --degree 3 --group shop --contexts 3
  dendro bottlenecks --by correlation --least-occurrences 10 -o json
  dendro bottlenecks --benchmark checkout --expand informed --repo ~/src/shop`,
		Args: cobra.NoArgs,
	}
	flags := addRequest(c, &r)
	addRepository(c, &r.Expand)
	out.addFlag(c, "text", "json", "md", "tsv", "csv")
	c.RunE = func(c *cobra.Command, _ []string) error {
		flags.use(out.format)
		if err := expandable(&r.Expand, out.format); err != nil {
			return err
		}
		return e.with(c.Context(), engines.Read, func(st store.Store) error {
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
	f.StringVar(&x.Repo, "repo", "", "informed: `directory` of the git repository of the code, to prefer what changed recently")
	f.StringVar(&x.Revision, "repo-revision", "", "`revision` of --repo (default: the commit of the newest run if the repository has it, else HEAD)")
	inGroup(c, "Expansion", "repo", "repo-revision")
}

// expandable refuses expansions in formats that are tables.
func expandable(x *query.Expand, format outputFormat) error {
	if x.Expand != "" && format != "text" && !format.json() {
		return usagef("--expand is printed as text or json")
	}
	return nil
}
