package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/internal/engines"
	"github.com/dendroprof/dendro/internal/excerpt"
	"github.com/dendroprof/dendro/internal/query"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/traceprof"
	"github.com/dendroprof/dendro/traceprof/archive"
)

// taskExportOptions are the flags of `dendro task export`.
type taskExportOptions struct {
	excerptOptions
	written
	dir string
}

func newTaskExport(e *env) *cobra.Command {
	var o taskExportOptions
	c := &cobra.Command{
		Use:   "export TASK [flags]",
		Short: "Write what a task sampled as a profile, or a trace for SkyWalking's analyzer",
		Long: `Export writes the snapshots of a task, or of a trace or segments of it, as a profile
with times, one thread for each segment: for Firefox Profiler, pprof and all other
formats that are written.

With -d it writes the trace into the directory, as TRACE.tar.gz: the file of
SkyWalking's profile_exporter, which its analyzer and ` + "`dendro task analyze`" + ` read.`,
		Example: `  dendro task export last -o checkout.json.gz --format firefox
  dendro task export last --segment 7f2b… -o request.pb.gz
  dendro task export last --trace 9c01… -d .`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := o.settle(c); err != nil {
				return err
			}
			return o.run(c.Context(), e, args[0])
		},
	}
	o.excerptOptions.addFlags(c)
	o.written.addFlags(c)
	c.Flags().StringVarP(&o.dir, "dir", "d", "", "`directory` for the archive of a trace")
	return c
}

func (o *taskExportOptions) run(ctx context.Context, e *env, name string) error {
	switch {
	case o.dir != "" && o.choice.Trace == "":
		return usagef("-d writes the archive of one trace: --trace names it (dendro task segments lists them)")
	case o.dir != "" && (o.out != "" || o.format != ""):
		return usagef("-d writes the archive of a trace, -o and --format a profile: give one of them")
	}
	return e.withTask(ctx, engines.Read, name, func(st traceprof.Store, t traceprof.Task) error {
		if o.dir != "" {
			return o.archive(ctx, e, st, &t)
		}
		o.choice.Task = t.ID
		p, err := o.choice.Timed(ctx, st)
		if err != nil {
			return choiceUsage(err)
		}
		return o.write(e, p, -1)
	})
}

// archive writes the file of a trace.
func (o *taskExportOptions) archive(ctx context.Context, e *env, st traceprof.Store, t *traceprof.Task) error {
	a, err := archive.Collect(ctx, st, t.ID, o.choice.Trace)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(o.dir, 0o755); err != nil {
		return err
	}
	name := filepath.Join(o.dir, strings.NewReplacer("/", "_", "\\", "_", "\x00", "_").Replace(a.Trace)+".tar.gz")
	if err := writeFile(name, func(w io.Writer) error { return archive.Write(w, a) }); err != nil {
		return err
	}
	n := 0
	for i := range a.Segments {
		n += a.Segments[i].Snapshots.Len()
	}
	_, err = fmt.Fprintf(e.out, "%s: %d %s, %s %s\n", words.Clean(name), len(a.Segments), words.Plural(len(a.Segments), "segment"), grouped(n), words.Plural(n, "snapshot"))
	return err
}

// traceInput returns the snapshots of a task, a trace or a segment.
func (e *env) traceInput(ctx context.Context, id string) (in query.Input, err error) {
	err = e.withTraces(ctx, engines.Read, func(st traceprof.Store) error {
		c, err := chosenBy(ctx, st, id)
		if err != nil {
			return err
		}
		p, err := c.Timed(ctx, st)
		if err != nil {
			return err
		}
		in = query.NewInput(c.String(), p, nil)
		return nil
	})
	return in, err
}

// chosenBy finds out what an id is of: a segment, also one of which only
// snapshots came, a task or a trace.
func chosenBy(ctx context.Context, st traceprof.Store, id string) (c excerpt.Choice, err error) {
	list, err := st.Segments(ctx, traceprof.SegmentQuery{IDs: []string{id}, NoRaw: true})
	if err != nil {
		return c, err
	}
	sampled := len(list) > 0
	for _, err := range st.Snapshots(ctx, traceprof.SnapshotQuery{Segments: []string{id}}) {
		if err != nil {
			return c, err
		}
		sampled = true
		break
	}
	if sampled {
		c.Segments = []string{id}
		return c, nil
	}
	t, err := findTask(ctx, st, id)
	switch {
	case err == nil:
		c.Task = t.ID
	case errors.Is(err, traceprof.ErrNoTask):
		c.Trace, err = id, nil
	}
	return c, err
}
