package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/cli/command"
)

// recordCommands are the commands of this group, in the order of help. The demo runs others with run.
func recordCommands(e *command.Env, run func(ctx context.Context, e *command.Env, args []string) error) []*cobra.Command {
	return []*cobra.Command{newImport(e), newBench(e), newDemo(e, run)}
}
