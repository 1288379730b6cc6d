package ask

import (
	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/cli/command"
	"github.com/dendroprof/dendro/app/internal/endpoint"
	"github.com/dendroprof/dendro/query"
)

func newServices(e *command.Env) *cobra.Command {
	var r query.PushedSeriesRequest
	overTime := false
	c := &cobra.Command{
		Use:   "services [flags]",
		Short: "List services that push profiles, or their profiles over time",
		Long: `List the services whose profiles arrive at a server by themselves (dendro serve
--continuous), one row per service and type. With --over-time, list what they or a
function used at each time. The commands top, tree and diff show their profiles with
--service or --labels, --since, --until and --type.`,
		Example: `  dendro services --store http://localhost:12800
  dendro services --over-time --service checkout --function main.parse --by version --since 7d
  dendro top --service checkout --since 1h
  dendro diff --service checkout --base-labels '{version="1.4"}' --head-labels '{version="1.5"}'`,
		Args: cobra.NoArgs,
	}
	c.Flags().BoolVar(&overTime, "over-time", false, "list points over time: of the profiles, or of --function")
	return e.Query(c, &r, nil, func([]string) endpoint.Question {
		if overTime {
			return endpoint.PushedSeries.Of(&r)
		}
		return endpoint.PushedServices.Of(&query.PushedServicesRequest{PushedTime: r.PushedTime, Rows: r.Rows})
	}, "text", "json", "json-columns", "md", "tsv", "csv")
}
