package files

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/cli/command"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/profile"
)

// mergeOptions are the flags of `dendro merge`.
type mergeOptions struct {
	types   []string
	reading command.ReaderFlags
	command.Written
}

func newMerge(e *command.Env) *cobra.Command {
	var o mergeOptions
	c := &cobra.Command{
		Use:   "merge [flags] FILE|DIRECTORY|GLOB|ARCHIVE|-...",
		Short: "Merge profiles into one, without a store",
		Long: `Add up profiles of any formats. Samples with equal stack, thread and labels become one.
Value types, threads, labels and frame types are kept; times are not. Without -o, write
folded stacks to stdout.`,
		Example: `  dendro merge *.pb.gz -o all.pb.gz
  dendro merge run1.collapsed.gz run2.collapsed.gz --normalize > both.folded
  cat stacks.folded | dendro merge - other.folded`,
		Args: command.Takes(1, command.Unlimited),
		RunE: func(_ *cobra.Command, args []string) error { return o.run(e, args) },
	}
	c.Flags().StringArrayVar(&o.types, "type", nil, "value `type` to keep; repeatable (default: all; folded text holds one)")
	o.reading.AddFlags(c)
	o.AddFlags(c)
	return c
}

func (o *mergeOptions) run(e *command.Env, files []string) error {
	var sum *profile.Merger
	failed := command.DecodeFiles(e, files, o.reading.Reader(), func(name string, p *profile.Profile) error {
		if sum == nil {
			sum = profile.NewMerger(p.Symbols, o.types)
		}
		if err := sum.Add(p); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	})
	if failed != nil {
		fmt.Fprintln(e.Err, "dendro: "+command.EscapeLines(failed.Error()))
	}
	if sum == nil {
		if failed != nil {
			return command.ErrReported
		}
		return fmt.Errorf("no profile in %s", strings.Join(words.CleanAll(files), ", "))
	}
	p, err := sum.Profile()
	if err != nil {
		return err
	}
	for _, w := range p.Warnings {
		fmt.Fprintln(e.Err, "dendro: warning: "+command.EscapeLines(w.String()))
	}
	table := -1
	if len(p.Tables) == 1 {
		table = 0
	}
	if err := o.Write(e, p, table); err != nil {
		return err
	}
	if failed != nil {
		return command.ErrReported
	}
	return nil
}
