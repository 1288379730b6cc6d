package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/format"
	"github.com/dendroprof/dendro/normalize"
	"github.com/dendroprof/dendro/profile"
)

// mergeOptions are the flags of `dendro merge`.
type mergeOptions struct {
	types     []string
	format    string
	out       string
	normalize bool
	limits    profile.Limits
}

func newMerge(e *env) *cobra.Command {
	var o mergeOptions
	c := &cobra.Command{
		Use:   "merge [flags] FILE|DIRECTORY|GLOB|ARCHIVE|-...",
		Short: "Merge any number of profiles into one, without a store",
		Long: `Merge adds up profiles of any formats: equal stacks of equal threads and labels
become one sample. Value types, threads, labels and frame types are kept; times
are not. Without -o the result goes to stdout as folded stacks.`,
		Example: `  dendro merge *.pb.gz -o all.pb.gz
  dendro merge run1.collapsed.gz run2.collapsed.gz --normalize > both.folded
  cat stacks.folded | dendro merge - other.pb.gz --type cpu-samples`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return o.run(e, args) },
	}
	f := c.Flags()
	f.StringArrayVar(&o.types, "type", nil, "value `type` to keep; repeatable (default: all; folded text holds one)")
	f.StringVar(&o.format, "format", "", "`name`: "+formatNames()+" (default: by the extension of -o, else folded)")
	f.StringVarP(&o.out, "output", "o", "", "`file`; .gz and .zst compress (default: stdout)")
	f.BoolVar(&o.normalize, "normalize", false, "make names that change from run to run stable")
	addLimits(c, &o.limits)
	return c
}

func (o *mergeOptions) run(e *env, files []string) error {
	var sum *profile.Merger
	failed := decodeFiles(e, files, o.limits, func(name string, p *profile.Profile) error {
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
		return fmt.Errorf("no profile in %q", files)
	}
	p, err := sum.Profile()
	if err != nil {
		return err
	}
	if o.normalize {
		p = p.Rename(normalize.New(nil).Function)
	}
	table := -1
	if len(p.Tables) == 1 {
		table = 0
	}
	if err := writeProfile(e, p, table, o.out, o.format); err != nil {
		return err
	}
	if failed != nil {
		return errReported
	}
	return nil
}

// writeProfile writes table i of a profile (-1: all that the format holds) to a
// file or stdout.
func writeProfile(e *env, p *profile.Profile, i int, out, name string) error {
	f, compression, err := format.Target(out, name)
	if err != nil {
		return usageError{err}
	}
	if out == "" || out == "-" {
		return format.Write(e.out, p, i, f, compression)
	}
	return writeFile(out, func(w io.Writer) error { return format.Write(w, p, i, f, compression) })
}
