package ask

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/cli/command"
	"github.com/dendroprof/dendro/app/internal/coderepo"
	"github.com/dendroprof/dendro/app/internal/endpoint"
	"github.com/dendroprof/dendro/app/internal/gitlog"
	"github.com/dendroprof/dendro/query/listing"
	"github.com/dendroprof/dendro/store/engines"
)

func newList(e *command.Env) *cobra.Command {
	var r listing.Request
	c := &cobra.Command{
		Use:   "list [flags] FUNCTION [FILE...]",
		Short: "List the lines of a function with the time spent in each",
		Long: `List the lines of a function: self is the samples taken in the line, total is self and
the samples in what the line called. FUNCTION is a name, a glob or /a regular
expression/. The source text comes from the git repository of the current directory, or
of --source-root: that of the commit of the newest selected run, or if the repository does
not have it, of the checked out files, with a note. If there is no text, a note says why.

A store keeps functions without their lines: without FILE, the runs must have been
imported with --keep-source, or be pushed (--service), whose lines are kept by day.`,
		Example: `  dendro list regexp.compile cpu.pb.gz
  dendro list '*.compile' --benchmark checkout --last 1
  dendro list '/^regexp/' cpu.pb.gz --source-root ~/src/shop -o json`,
		Args: command.Takes(1, command.Unlimited),
	}
	flags := command.AddRequest(c, &r, "function")
	var in command.FileFlags
	in.AddFlags(c)
	var root string
	c.Flags().StringVar(&root, "source-root", "", "directory of the source files (default: the repository of the current directory)")
	command.InGroup(c, "Reading", "source-root")
	var out command.Destination
	out.AddFlag(c, "text", "json", "json-columns", "md", "tsv", "csv")
	c.RunE = func(c *cobra.Command, args []string) error {
		flags.Use(out.Format)
		ctx := c.Context()
		r.Function = args[0]
		dir := root
		if root == "" {
			dir, _ = gitlog.Root(".")
		}
		answer := func(a endpoint.Asker) error {
			result, err := endpoint.Answer[listing.Result](ctx, a, endpoint.Lines.Of(&r))
			if err != nil {
				return err
			}
			if dir == "" {
				result.Notes = append(result.Notes, "no source text: the current directory is in no git repository; give --source-root")
			} else if err := (coderepo.Repository{Dir: dir}).AddSource(ctx, result); err != nil {
				return fmt.Errorf("--source-root: the source files cannot be listed: %w", err)
			}
			return out.Print(e, result)
		}
		if len(args) == 1 {
			return e.Asking(ctx, engines.Read, in.Limits, answer)
		}
		var err error
		if r.Inputs, err = in.Read(ctx, e, args[1:]); err != nil {
			return err
		}
		return answer(command.Local(nil, in.Limits))
	}
	return c
}
