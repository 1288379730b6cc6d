// Package ask has the commands that query a store: overview, runs, services, history, top,
// tree, list, find, diff, bottlenecks, sql, cypher.
//
// A command is a request, its flags, and a question to the store or the server; tree, top,
// list and diff take files in place of a selection. What all commands share is package
// command. It computes nothing.
package ask

import (
	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/cli/command"
)

// Commands are the commands of this group, in the order of help.
func Commands(e *command.Env) []*cobra.Command {
	return []*cobra.Command{newOverview(e), newRuns(e), newServices(e), newHistory(e), newTop(e), newTree(e), newList(e), newFind(e),
		newDiff(e), newBottlenecks(e), newSQL(e), newCypher(e)}
}
