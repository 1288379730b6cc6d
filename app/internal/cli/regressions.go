package cli

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/render"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/engines"
)

// acknowledgedFile lists the changes that are known and accepted.
var acknowledgedFile = filepath.Join(".dendro", "acknowledged.json")

func newRegressions(e *env) *cobra.Command {
	var r query.MethodRequest
	var out destination
	all := false
	c := &cobra.Command{
		Use:   "regressions [flags]",
		Short: "Find what became slower, where, since when, by how much",
		Long: `Compare the newest selected runs of each benchmark with the runs before them on the
same machine and branch, by the same profiler, and list the places that became slower.
Each finding has the function and call path; the change in samples, in share of the
program and in time per operation with a 95% interval; the first slow run; and the
other causes that were ruled out.

The newest run is tested alone (findings are suspects), and together with the run
before it (findings are confirmed). Work that only moved is not a regression.

--method thesis ranks functions by the score of the paper (docs/method/paper.md):
(now - mean) / std over the 10 runs before. --method correlation ranks them by how
closely their samples follow the time of many benchmarks, to find a slower library that
the benchmarks share. --method hotelling tests the functions of a subtree together: whether
their shares in the newest runs differ from the runs before (docs/method/regression.md).`,
		Example: `  dendro regressions
  dendro regressions --benchmark checkout --last 3
  dendro regressions --scan --since 30d -o json
  dendro regressions --method thesis --measure self --rows 10
  dendro regressions --method hotelling --last 3 --function handler.checkout`,
		Args: cobra.NoArgs,
	}
	flags := addRequest(c, &r)
	c.Flags().Lookup("last").Usage = "test the newest n runs of each benchmark together (default: the newest alone, and the newest two together)"
	c.Flags().BoolVar(&all, "all", false, "also print benchmarks without findings, and moved and transient changes")
	addRepository(c, &r.Expand)
	out.addFlag(c, "text", "json", "md")
	c.RunE = func(c *cobra.Command, _ []string) error {
		flags.use(out.format)
		if err := expandable(&r.Expand, out.format); err != nil {
			return err
		}
		var err error
		if r.Acknowledged, err = query.ReadAcknowledgements(acknowledgedFile); err != nil {
			return err
		}
		if r.Own, err = ownCode(); err != nil {
			return err
		}
		limit := r.Rows
		if out.format == "text" && r.Method == "default" {
			r.Rows = 0 // text limits what it shows, and counts the rest
		}
		return e.with(c.Context(), engines.Read, func(st store.Store) error {
			result, err := query.MethodView(&r).Answer(c.Context(), st, &r)
			if err != nil {
				return err
			}
			if found, ok := result.(*query.RegressionsResult); ok && !out.format.json() {
				return out.write(e, func(e *env) error { return render.Findings(e.rendering(out.format), found, limit, all) })
			}
			return out.print(e, result)
		})
	}
	return c
}
