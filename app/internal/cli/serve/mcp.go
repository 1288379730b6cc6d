package serve

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/cli/command"
	"github.com/dendroprof/dendro/app/internal/endpoint"
	"github.com/dendroprof/dendro/app/internal/mcp"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store/engines"
)

func newMCP(e *command.Env) *cobra.Command {
	var o mcp.Options
	var limits profile.Limits
	c := &cobra.Command{
		Use:   "mcp [flags]",
		Short: "Serve queries to AI assistants over the Model Context Protocol",
		Long: `Serve the queries of the store as tools of the Model Context Protocol over stdin and
stdout: overview, runs, history, top, tree, diff, find, bottlenecks, regressions, report,
sql, and those of trace profiling. An assistant starts the command by itself; add it to
the assistant's configuration.

The tools read. --allow-writes adds tools that create and stop profiling tasks. A running
"dendro serve" has the same tools at /mcp.`,
		Example: `  dendro mcp --store dendro.duckdb
  dendro mcp --allow-writes`,
		Args: cobra.NoArgs,
	}
	c.Flags().BoolVar(&o.Writes, "allow-writes", false, "add tools that create and stop profiling tasks")
	command.AddLimits(c, &limits)
	c.RunE = func(c *cobra.Command, _ []string) error {
		access := engines.Read
		if o.Writes {
			access = engines.Write
		}
		o.Version, _ = command.Version()
		o.Panicked = func(tool string, p any, stack []byte) { fmt.Fprintf(e.Err, "mcp: %s: panic: %v\n%s", tool, p, stack) }
		return e.Asking(c.Context(), access, limits, func(a endpoint.Asker) error {
			switch a := a.(type) {
			case *endpoint.Local:
				o.SQL, o.Traces = mcp.Of(a.Store), a.Traces != nil
			case endpoint.Remote:
				about, err := a.Client.About(c.Context())
				if err != nil {
					return err
				}
				if o.Traces = about.Traces; about.SQL {
					o.SQL = a.Client.SQL
				}
			}
			return mcp.Serve(c.Context(), a, e.In, e.Out, o)
		})
	}
	return c
}
