package cli

import (
	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/cli/command"
)

// serveCommands are the commands of this group, in the order of help.
func serveCommands(e *command.Env) []*cobra.Command {
	return []*cobra.Command{newServe(e), newTask(e), newMCP(e)}
}
