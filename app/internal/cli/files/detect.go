package files

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/cli/command"
	"github.com/dendroprof/dendro/format"
	"github.com/dendroprof/dendro/ingest"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query/contents"
)

// detectOptions are the flags of `dendro detect`.
type detectOptions struct {
	output command.Format
	limits profile.Limits
}

func newDetect(e *command.Env) *cobra.Command {
	var o detectOptions
	c := &cobra.Command{
		Use:   "detect [flags] FILE|DIRECTORY|GLOB|ARCHIVE|-...",
		Short: "Show the format and contents of files",
		Long: `Read files and print their format and compression, the profiler and time of recording,
value types with totals, the number of functions, stacks, threads and markers, the states
and labels of samples, and warnings.

The exit status is 1 if a file is not a profile or is damaged.`,
		Example: `  dendro detect cpu.pb.gz
  dendro detect profiles/ -o json
  curl -s localhost:6060/debug/pprof/heap | dendro detect -`,
		Args: command.Takes(1, command.Unlimited),
		RunE: func(_ *cobra.Command, args []string) error { return o.run(e, args) },
	}
	o.output.AddFlag(c, "text", "json")
	command.AddLimits(c, &o.limits)
	return c
}

func (o *detectOptions) run(e *command.Env, args []string) error {
	sources, err := ingest.Expand(args, e.In)
	if err != nil {
		fmt.Fprintln(e.Err, "dendro: "+command.EscapeLines(err.Error()))
	}
	failed := err != nil
	var rows []contents.File
	shown := command.NewProgress(e, "auto", sources)
	for i := range sources {
		err := o.detect(&sources[i], func(d contents.File, err error) error {
			shown.Clear()
			failed = failed || err != nil && (sources[i].Named || !errors.Is(err, profile.ErrUnrecognized))
			if o.output == "json" {
				rows = append(rows, d)
				return nil
			}
			return e.Print(o.output, &d)
		})
		if err != nil {
			return err
		}
	}
	if o.output == "json" {
		if err := e.WriteJSON(map[string]any{"rows": append([]contents.File{}, rows...)}); err != nil {
			return err
		}
	}
	if failed {
		return command.ErrReported
	}
	return nil
}

// detect calls show for every profile in a source. Each source is read into
// Symbols of its own: nothing is compared.
func (o *detectOptions) detect(source *ingest.Source, show func(contents.File, error) error) error {
	in, err := source.Open()
	if err != nil {
		return show(contents.File{Name: source.Name, Error: err.Error()}, err)
	}
	defer in.Close()
	for d, err := range format.NewReader(o.limits).Read(source.Name, in) {
		if err := show(contents.Describe(d, err), err); err != nil {
			return err
		}
	}
	return nil
}
