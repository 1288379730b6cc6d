// Package stores has the commands that manage stores: init, info and those of a lake below
// store, copy, export, publish, prune, compact.
//
// A command is a struct of options, its flags, and a thin call into the packages that do
// the work; what all commands share is package command. It computes nothing and knows no
// engine but by the store's address.
package stores

import (
	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/cli/command"
)

// Commands are the commands of this group, in the order of help.
func Commands(e *command.Env) []*cobra.Command {
	return []*cobra.Command{newStore(e), newCopy(e), newExport(e), newPublish(e), newPrune(e), newCompact(e)}
}
