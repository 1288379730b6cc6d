// Package files has the commands that work on files without a store: detect, convert, merge.
//
// A command is a struct of options, its flags, and a thin call into the readers and writers
// of formats. What all commands share is package command: also the flags of a profile that
// is written (Written), and of files that are read.
// It knows no format.
package files

import (
	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/cli/command"
)

// Commands are the commands of this group, in the order of help.
func Commands(e *command.Env) []*cobra.Command {
	return []*cobra.Command{newDetect(e), newConvert(e), newMerge(e)}
}
