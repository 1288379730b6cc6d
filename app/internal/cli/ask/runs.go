package ask

import (
	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/cli/command"
	"github.com/dendroprof/dendro/app/internal/endpoint"
	"github.com/dendroprof/dendro/query"
)

func newRuns(e *command.Env) *cobra.Command {
	var r query.RunsRequest
	profiles := false
	c := &cobra.Command{
		Use:   "runs [flags]",
		Short: "List test runs, or their profiles",
		Long: `List the test runs in the store, oldest first. With --profiles, list every profile with
its id.`,
		Example: `  dendro runs --last 5
  dendro runs --profiles --benchmark checkout --last 1
  dendro runs -o json | jq '.rows[].run'`,
		Args: cobra.NoArgs,
	}
	c.Flags().BoolVar(&profiles, "profiles", false, "list every profile with its id")
	return e.Query(c, &r, nil, func([]string) endpoint.Question {
		if profiles {
			return endpoint.Profiles.Of(&query.ProfilesRequest{Selection: r.Selection, Newest: r.Newest, Order: "run",
				Required: query.NamesAny(&r.Selection)})
		}
		return endpoint.Runs.Of(&r)
	}, "text", "json", "json-columns", "md", "tsv", "csv")
}
