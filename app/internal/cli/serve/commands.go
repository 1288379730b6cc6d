// Package serve has the commands of servers: serve, the tasks of trace profiling, mcp.
//
// Flags become the options of the server's parts, and the environment those of its flags.
// Tasks are asked of a store or of a server (task.go), and mcp answers an assistant on
// stdin and stdout.
// What all commands share is package command. It knows no protocol.
package serve

import (
	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/cli/command"
)

// Commands are the commands of this group, in the order of help.
func Commands(e *command.Env) []*cobra.Command {
	return []*cobra.Command{newServe(e), newFleet(e), newTask(e), newMCP(e)}
}
