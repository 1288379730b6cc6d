package ask

import (
	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/cli/command"
	"github.com/dendroprof/dendro/app/internal/endpoint"
	"github.com/dendroprof/dendro/query/judge"
)

func newOverview(e *command.Env) *cobra.Command {
	var r judge.OverviewRequest
	c := &cobra.Command{
		Use:   "overview [flags]",
		Short: "List benchmarks and services with their newest run",
		Long: `List the benchmarks of the selection: the number of runs, the newest run with its
primary metric, and its state as in ` + "`dendro regressions`" + `: slower or faster by how much
since which run, and the most important change; or unchanged, with the smallest change that
would have been seen. With --quick these
columns are empty, and no profile is read. Services follow: those that push profiles with
their CPU time of the last hour, hottest function and newest release, and those that send
traces. The start page of ` + "`dendro serve`" + ` shows the same.`,
		Example: `  dendro overview
  dendro overview --group shop -o json`,
		Args: cobra.NoArgs,
	}
	return e.Query(c, &r, nil, func([]string) endpoint.Question { return endpoint.Overview.Of(&r) }, "text", "json", "md", "tsv", "csv")
}

func newHistory(e *command.Env) *cobra.Command {
	var r judge.HistoryRequest
	c := &cobra.Command{
		Use:   "history [flags]",
		Short: "List a metric, or the share of a function, over the runs",
		Long: `List the primary metric of each selected benchmark over its runs, or with --function the
share of a function. Each row has the value, and the mean and standard deviation of the
--window runs before. The columns behind have the changes that ` + "`dendro regressions`" + `
lists, beside the runs with which they began or ended; of a function those on whose call
path it is. Runs on other machines or branches, or by other profilers, than the newest
run are omitted.`,
		Example: `  dendro history --benchmark checkout
  dendro history --benchmark checkout --type cpu --function regexp.Compile
  dendro history --group shop --metric time/op -o json`,
		Args: cobra.NoArgs,
	}
	return e.Query(c, &r, nil, func([]string) endpoint.Question { return endpoint.History.Of(&r) }, "text", "json", "md", "tsv", "csv")
}
