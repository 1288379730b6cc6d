// Package cli is Dendro's command line: the root of all commands, help, completion, batch.
// A group of commands, as help lists them, is a package below.
//
// A command is an options struct, its flags, and a thin call into the packages
// that do the work; if logic appears here, it belongs one level deeper. What commands
// share is package command.
//
// Data goes to stdout, talk to stderr. Exit status: 0 fine, 1 error, 2 usage,
// 3 regression found (only for the gate).
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/cli/ask"
	"github.com/dendroprof/dendro/app/internal/cli/command"
	"github.com/dendroprof/dendro/app/internal/cli/files"
	"github.com/dendroprof/dendro/app/internal/cli/record"
	"github.com/dendroprof/dendro/app/internal/cli/serve"
	"github.com/dendroprof/dendro/app/internal/cli/slower"
	"github.com/dendroprof/dendro/app/internal/cli/stores"
	"github.com/dendroprof/dendro/query/param"
	"github.com/dendroprof/dendro/store"
)

// Exit statuses.
const (
	exitFine  = 0
	exitError = 1
	exitUsage = 2
	exitFound = 3 // a regression: `dendro check` only
)

// Main runs the command line and returns the exit status.
func Main(args []string, in io.Reader, out, errOut io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return run(ctx, &command.Env{In: in, Out: out, Err: errOut}, args)
}

// run runs one command line and returns the exit status.
func run(ctx context.Context, e *command.Env, args []string) int {
	defer command.KeepUmask()()
	root := newRoot(e)
	root.SetArgs(args)
	root.SetIn(e.In)
	root.SetOut(e.Out)
	root.SetErr(e.Err)
	err := root.ExecuteContext(ctx)
	switch {
	case err == nil:
		return exitFine
	case errors.Is(err, command.ErrReported):
		return exitError
	case errors.Is(err, command.ErrRegression):
		return exitFound
	case command.ReaderLeft(err):
		return exitFine
	case ctx.Err() != nil:
		fmt.Fprintln(e.Err, "dendro: interrupted"+e.Interrupted)
		return exitError
	}
	fmt.Fprintln(e.Err, "dendro: "+command.EscapeLines(suggested(root, err).Error()))
	if errors.As(err, new(command.UsageError)) || errors.As(err, new(*param.Error)) || errors.As(err, new(*store.SeveralTypesError)) ||
		cobraUsage(err) {
		return exitUsage
	}
	return exitError
}

// cobraUsage recognises the mistakes that the flag library reports.
func cobraUsage(err error) bool {
	for _, start := range []string{"unknown command", "unknown flag", "unknown shorthand", "flag needs", "invalid argument", "required flag",
		"accepts ", "requires ", "if any flags in the group", "bad flag"} {
		if strings.HasPrefix(err.Error(), start) {
			return true
		}
	}
	return false
}

// execute runs one command line within another, which reports its error.
func execute(ctx context.Context, e *command.Env, args []string) error {
	root := newRoot(e)
	root.SetArgs(args)
	return root.ExecuteContext(ctx)
}

func newRoot(e *command.Env) *cobra.Command {
	root := &cobra.Command{
		Use:   "dendro",
		Short: "Merge profiles into call trees, keep every run, find what became slower",
		Long: `Dendro reads profiles of benchmarks and services, merges them into call trees, and
keeps every run in one store that you can query. It shows which functions use the most
time, and which became slower.`,
		Example: `  dendro import --run 2026-11-21 --group shop profiles/
  dendro top --last 1
  dendro find 'regexp.Compile' --min-share 5%
  dendro demo`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.CompletionOptions.HiddenDefaultCmd = false
	root.DisableSuggestions = true // suggested has them
	root.Version, _ = command.Version()
	root.SetFlagErrorFunc(explainFlag)
	root.PersistentFlags().StringVar(&e.Store, "store", e.Store, "`address` of the store: a file, http://host:12800, neo4j://user@host, lake:DIRECTORY, mem: (default: $DENDRO_STORE, the config file, ./dendro.duckdb)")
	root.PersistentFlags().StringVar(&e.TokenFile, "token-file", e.TokenFile, "`file` with the token, if --store is a server (default: $DENDRO_TOKEN)")
	root.PersistentFlags().BoolVar(&e.Quiet, "quiet", e.Quiet, "print no notes and no progress")
	root.PersistentFlags().BoolVar(&e.NoColor, "no-color", e.NoColor, "print no colours, like the environment variable NO_COLOR")
	for _, g := range []struct {
		title string
		list  []*cobra.Command
	}{
		{"Record and import", record.Commands(e, execute)},
		{"Query the store", ask.Commands(e)},
		{"Find what became slower", slower.Commands(e)},
		{"Work on files without a store (also tree, top, diff)", files.Commands(e)},
		{"Manage stores", stores.Commands(e)},
		{"Serve", append(serve.Commands(e), newBatch(e))},
	} {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
		for _, c := range g.list {
			c.GroupID = g.title
		}
		root.AddCommand(g.list...)
	}
	root.AddCommand(newVersion(e), newManual(e))
	for _, c := range root.Commands() {
		c.DisableFlagsInUseLine = true
		completeFlags(e, c)
	}
	root.SetHelpCommand(newHelp(e))
	root.SetUsageFunc(func(c *cobra.Command) error { return usage(e, c) })
	return root
}
