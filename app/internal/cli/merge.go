package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/profile"
)

// mergeOptions are the flags of `dendro merge`.
type mergeOptions struct {
	types   []string
	limits  profile.Limits
	symbols symbolFiles
	written
}

func newMerge(e *env) *cobra.Command {
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
		Args: takes(1, unlimited),
		RunE: func(_ *cobra.Command, args []string) error { return o.run(e, args) },
	}
	c.Flags().StringArrayVar(&o.types, "type", nil, "value `type` to keep; repeatable (default: all; folded text holds one)")
	addLimits(c, &o.limits)
	o.symbols.addFlag(c)
	o.addFlags(c)
	return c
}

func (o *mergeOptions) run(e *env, files []string) error {
	var sum *profile.Merger
	failed := decodeFiles(e, files, o.symbols.reader(o.limits), func(name string, p *profile.Profile) error {
		if sum == nil {
			sum = profile.NewMerger(p.Symbols, o.types)
		}
		if err := sum.Add(p); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	})
	if failed != nil {
		fmt.Fprintln(e.err, "dendro: "+escapeLines(failed.Error()))
	}
	if sum == nil {
		if failed != nil {
			return errReported
		}
		return fmt.Errorf("no profile in %s", strings.Join(words.CleanAll(files), ", "))
	}
	p, err := sum.Profile()
	if err != nil {
		return err
	}
	for _, w := range p.Warnings {
		fmt.Fprintln(e.err, "dendro: warning: "+escapeLines(w.String()))
	}
	table := -1
	if len(p.Tables) == 1 {
		table = 0
	}
	if err := o.write(e, p, table); err != nil {
		return err
	}
	if failed != nil {
		return errReported
	}
	return nil
}
