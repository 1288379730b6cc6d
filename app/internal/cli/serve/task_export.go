package serve

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/cli/command"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/query/tasks"
	"github.com/dendroprof/dendro/traceprof"
)

// taskExportOptions are the flags of `dendro task export`.
type taskExportOptions struct {
	tasks.SnapshotProfileRequest
	command.Written
	dir string
}

func newTaskExport(e *command.Env) *cobra.Command {
	var o taskExportOptions
	c := &cobra.Command{
		Use:   "export TASK [flags]",
		Short: "Write snapshots as a profile, or a trace for SkyWalking's analyzer",
		Long: `Write the snapshots of a task, or of a trace or segments of it, as a profile with times
and one thread per segment: for Firefox Profiler, pprof and every other format that
Dendro writes.

With -d, write the trace into the directory as TRACE.tar.gz: the file of SkyWalking's
profile_exporter. SkyWalking's analyzer and "dendro task analyze" read it.`,
		Example: `  dendro task export last -o checkout.json.gz --format firefox
  dendro task export last --segment 7f2b… -o request.pb.gz
  dendro task export last --trace 9c01… -d .`,
		Args: command.Takes(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			o.Task = args[0]
			return o.run(c.Context(), e)
		},
	}
	command.AddRequest(c, &o.SnapshotProfileRequest, "task")
	o.Written.AddFlags(c)
	c.Flags().StringVarP(&o.dir, "dir", "d", "", "`directory` for the archive of a trace")
	return c
}

func (o *taskExportOptions) run(ctx context.Context, e *command.Env) error {
	if o.dir != "" && (o.Out != "" || o.Format != "") {
		return command.Usagef("-d writes the archive of a trace, -o and --format write a profile: give one of them")
	}
	return e.Sampled(ctx, wanted(&o.SampleSelection), func(st traceprof.Store) error {
		if o.dir != "" {
			return o.archive(ctx, e, st)
		}
		p, _, err := tasks.SnapshotProfile(ctx, st, &o.SnapshotProfileRequest)
		if err != nil {
			return err
		}
		return o.Write(e, p, -1)
	})
}

// archive writes the file of a trace.
func (o *taskExportOptions) archive(ctx context.Context, e *command.Env, st traceprof.Store) error {
	a, err := tasks.ArchiveTrace(ctx, st, &tasks.TraceArchiveRequest{TaskRequest: tasks.TaskRequest{Task: o.Task}, Trace: o.Trace})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(o.dir, 0o755); err != nil {
		return err
	}
	name := filepath.Join(o.dir, a.Name)
	if err := command.WriteFile(name, a.Write); err != nil {
		return err
	}
	_, err = fmt.Fprintf(e.Out, "%s: %s, %s\n", words.Clean(name), words.Counted(a.Segments, "segment"),
		words.Counted(a.Snapshots, "snapshot"))
	return err
}
