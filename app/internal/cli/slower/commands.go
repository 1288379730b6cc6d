// Package slower has the commands that find what became slower: regressions, check, report,
// watch.
//
// They have a report and the facts of the working directory in common: accepted changes,
// the repository, the workflow on GitHub. What all commands share is package command. It
// judges nothing.
package slower

import (
	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/cli/command"
)

// Commands are the commands of this group, in the order of help.
func Commands(e *command.Env) []*cobra.Command {
	return []*cobra.Command{newRegressions(e), newCheck(e), newReport(e), newWatch(e)}
}
