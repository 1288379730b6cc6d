package cli

import (
	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/cli/command"
)

// storesCommands are the commands of this group, in the order of help.
func storesCommands(e *command.Env) []*cobra.Command {
	return []*cobra.Command{newStore(e), newCopy(e), newExport(e), newPublish(e), newPrune(e), newCompact(e)}
}
