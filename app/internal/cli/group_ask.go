package cli

import (
	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/cli/command"
)

// askCommands are the commands of this group, in the order of help.
func askCommands(e *command.Env) []*cobra.Command {
	return []*cobra.Command{newOverview(e), newRuns(e), newServices(e), newHistory(e), newTop(e), newTree(e), newList(e), newFind(e),
		newDiff(e), newBottlenecks(e), newSQL(e), newCypher(e)}
}
