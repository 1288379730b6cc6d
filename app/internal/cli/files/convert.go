package files

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/cli/command"
	"github.com/dendroprof/dendro/format"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/profile"
)

// convertOptions are the flags of `dendro convert`.
type convertOptions struct {
	typ     string
	reading command.ReaderFlags
	command.Written
}

func newConvert(e *command.Env) *cobra.Command {
	var o convertOptions
	c := &cobra.Command{
		Use:   "convert [flags] [FILE|-]",
		Short: "Convert a profile to another format",
		Long: `Read one profile of any format and write it in another format. Samples are not merged.
Times, threads, labels and all value types are kept if the format can hold them.

A format that can hold only one value type (folded) gets the file's default type, or
--type. A comparison of two profiles (value types base and head) becomes folded text
with two counts per line.`,
		Example: `  dendro convert recording.jfr -o recording.pb.gz
  perf script | dendro convert -o cpu.speedscope.json
  dendro convert heap.pb.gz --type live > live.folded
  dendro convert app.otlp --format callgrind -o callgrind.out.1`,
		Args: command.Takes(0, 1),
		RunE: func(_ *cobra.Command, args []string) error { return o.run(e, args) },
	}
	c.Flags().StringVar(&o.typ, "type", "", "value `type` to write (default: all that the format holds)")
	o.reading.AddFlags(c)
	o.AddFlags(c)
	return c
}

func (o *convertOptions) run(e *command.Env, args []string) error {
	target, _, err := format.Target(o.Out, o.Format)
	if err != nil {
		return command.Misuse(err)
	}
	if len(args) == 0 {
		args = []string{"-"}
	}
	var p *profile.Profile
	var names []string
	err = command.DecodeFiles(e, args, o.reading.Reader(), func(name string, found *profile.Profile) error {
		p = found
		names = append(names, name)
		return nil
	})
	switch {
	case err != nil:
		return err
	case len(names) == 0:
		return fmt.Errorf("no profile in %q", args)
	case len(names) > 1:
		return command.Usagef("%s holds %d profiles (%s, …): convert writes one; extract it, or add them up with dendro merge", args[0], len(names), names[0])
	}
	table, err := o.table(e, p, target)
	if err != nil {
		return command.Misuse(fmt.Errorf("%s: %w", names[0], err))
	}
	return o.Write(e, p, table)
}

// table returns the table to write, -1 for all that the format holds, and says on
// stderr what is left out.
func (o *convertOptions) table(e *command.Env, p *profile.Profile, target *format.Format) (int, error) {
	if o.typ != "" {
		return p.Table(o.typ)
	}
	if !target.Single || len(p.Tables) < 2 || p.Difference() {
		return -1, nil
	}
	var others []string
	for i := range p.Tables {
		if i != p.Default {
			others = append(others, p.Tables[i].Type.Name)
		}
	}
	fmt.Fprintf(e.Talk(), "writing %s; %s holds one value type and the profile also has %s (--type)\n",
		words.Clean(p.Tables[p.Default].Type.Name), target.Name, words.Clean(strings.Join(others, ", ")))
	return -1, nil
}
