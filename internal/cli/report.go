package cli

import (
	"github.com/spf13/cobra"
)

func newReport(e *env) *cobra.Command {
	var o reporting
	c := &cobra.Command{
		Use:   "report [flags]",
		Short: "Write what changed, and the evidence for it, as a document",
		Long: `Report compares like regressions does and writes a document about it, most
important first: what costs more, what costs less, and for each benchmark its metric
over the runs and the candidates, with their expected and actual share of the
program, plots of their history, and the contexts in which they changed.

Without --base the newest runs of each benchmark are tested against those before.
With --base and --head the runs of one side are tested against those of the other:
branches (up to the merge-base, if the git repository is there), commits, runs,
or files and directories of profiles, whose folders are runs.

The same input gives the same bytes. Markdown fits a comment on a pull request.`,
		Example: `  dendro report --type cpu -o md > report.md
  dendro report --benchmark checkout --candidates 10 --traces 0
  dendro report --base main --head my-branch --write report.json --write report.sarif
  dendro report --base before/ --head after/`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			r, err := o.make(c.Context(), e)
			if err != nil {
				return err
			}
			return o.print(e, r)
		},
	}
	o.addFlags(c)
	return c
}
