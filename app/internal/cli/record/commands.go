// Package record has the commands that bring profiles into a store: import, bench, demo.
//
// Sources are files, archives, objects of object storage and addresses (bucket_source.go,
// https_source.go). A command is a struct of options, its flags, and a thin call into the
// packages that do the work; what all commands share is package command. It decodes
// nothing itself.
package record

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/cli/command"
)

// Commands are the commands of this group, in the order of help. The demo runs others with run.
func Commands(e *command.Env, run func(ctx context.Context, e *command.Env, args []string) error) []*cobra.Command {
	return []*cobra.Command{newImport(e), newBench(e), newDemo(e, run)}
}
