package cli

import (
	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/cli/command"
)

// filesCommands are the commands of this group, in the order of help.
func filesCommands(e *command.Env) []*cobra.Command {
	return []*cobra.Command{newDetect(e), newConvert(e), newMerge(e)}
}
