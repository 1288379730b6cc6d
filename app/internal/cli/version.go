package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/cli/command"
	"github.com/dendroprof/dendro/normalize"
)

func newVersion(e *command.Env) *cobra.Command {
	var output command.Format
	c := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Long:    `Print the versions of Dendro, of Go, and of the rules that normalise names.`,
		Example: `  dendro version -o json`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v, revision := command.Version()
			rules := normalize.New(nil).Version()
			if output == "json" {
				return e.WriteJSON(map[string]string{"version": v, "revision": revision, "go": runtime.Version(), "rules": rules})
			}
			fmt.Fprintf(e.Out, "dendro %s (%s, %s/%s, name rules %s)\n", v, runtime.Version(), runtime.GOOS, runtime.GOARCH, rules)
			return nil
		},
	}
	output.AddFlag(c, "text", "json")
	return c
}
