package cli

import (
	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/cli/command"
)

// slowerCommands are the commands of this group, in the order of help.
func slowerCommands(e *command.Env) []*cobra.Command {
	return []*cobra.Command{newRegressions(e), newCheck(e), newReport(e), newWatch(e)}
}
