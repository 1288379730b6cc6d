package serve

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/cli/command"
	"github.com/dendroprof/dendro/app/internal/endpoint"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query/tasks"
	"github.com/dendroprof/dendro/query/trees"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/engines"
	"github.com/dendroprof/dendro/traceprof"
)

// analyzeOptions are the flags of `dendro task analyze`.
type analyzeOptions struct {
	tasks.AnalyzeRequest
	flags  command.Flags
	limits profile.Limits // of an archive
	output command.Destination
}

func newTaskAnalyze(e *command.Env) *cobra.Command {
	var o analyzeOptions
	c := &cobra.Command{
		Use:   "analyze [TASK | FILE.tar.gz] [flags]",
		Short: "Show where sampled requests spent their time",
		Long: `Merge snapshots into trees, one for each outermost frame: all snapshots of a task, of a
trace, of a segment, of a span, or of a range of time in a segment. Without a store,
analyze a file that "dendro task export -d" or SkyWalking's profile_exporter wrote.

Total is the time for which an element was on the stack without interruption: from the
first dump that has it to the last. Self is total without the callees. The only callee
of an element is not indented further and marked ↳. The numbers equal those of
SkyWalking's own clients.

The formats folded, pprof, firefox, html and svg show the snapshots as a profile: each
counts one period, lines are not nodes, and frames of the agent are dropped.`,
		Example: `  dendro task analyze last
  dendro task analyze --segment 7f2b…  --span 3 --own
  dendro task analyze last --trace 9c01… --range 120..480
  dendro task analyze 9c01….tar.gz -o json
  dendro task analyze last -o flame.html`,
		Args: command.Takes(0, 1),
		RunE: func(c *cobra.Command, args []string) error { return o.run(c.Context(), e, args) },
	}
	o.flags = command.AddRequest(c, &o.AnalyzeRequest, "task")
	command.AddLimits(c, &o.limits)
	o.output.AddFlag(c, "text", "json", "json-columns", "folded", "pprof", "firefox", "html", "svg")
	return c
}

func (o *analyzeOptions) run(ctx context.Context, e *command.Env, args []string) error {
	o.flags.Use(o.output.Format)
	if len(args) == 0 {
		return o.stored(ctx, e)
	}
	o.Task = args[0]
	f, err := os.Open(args[0])
	switch {
	case err == nil:
		return errors.Join(o.file(ctx, e, f), f.Close())
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err = o.stored(ctx, e); errors.Is(err, traceprof.ErrNoTask) {
		err = fmt.Errorf("no such file, and %w", err)
	}
	return err
}

// stored analyzes what the store has.
func (o *analyzeOptions) stored(ctx context.Context, e *command.Env) error {
	if o.isTree() {
		return e.AskingTraces(ctx, engines.Read, func(a endpoint.Asker) error { return o.tree(ctx, e, a) })
	}
	return e.Sampled(ctx, wanted(&o.SampleSelection), func(st traceprof.Store) error { return o.profile(ctx, e, st) })
}

// isTree reports whether the analysis is printed, not a profile of what it is made of.
func (o *analyzeOptions) isTree() bool { return o.output.Format == "text" || o.output.Format.Json() }

// file analyzes an archive.
func (o *analyzeOptions) file(ctx context.Context, e *command.Env, f *os.File) error {
	st, err := engines.Open(ctx, "mem:", engines.Write)
	if err != nil {
		return err
	}
	traces, _ := store.As[traceprof.Store](st) // the engine in memory keeps everything
	if o.Task, err = tasks.LoadArchive(ctx, traces, bufio.NewReader(f), o.limits); err != nil {
		return errors.Join(fmt.Errorf("%s: %w", f.Name(), err), st.Close())
	}
	if o.isTree() {
		err = o.tree(ctx, e, command.Local(st, profile.Limits{}))
	} else {
		err = o.profile(ctx, e, traces)
	}
	return errors.Join(err, st.Close())
}

// tree prints the selection.
func (o *analyzeOptions) tree(ctx context.Context, e *command.Env, a endpoint.Asker) error {
	return o.output.Answer(ctx, e, a, endpoint.Analysis.Of(&o.AnalyzeRequest), nil)
}

// profile writes the selection as a profile.
func (o *analyzeOptions) profile(ctx context.Context, e *command.Env, st traceprof.Store) error {
	p, name, err := tasks.SnapshotProfile(ctx, st, &tasks.SnapshotProfileRequest{SampleSelection: o.SampleSelection})
	if err != nil {
		return err
	}
	if o.output.Format == "html" || o.output.Format == "svg" {
		view := trees.TreeRequest{View: "flame", Cut: o.Cut, Inputs: []trees.Input{trees.NewInput(name, p, trees.NamesAsWritten)}}
		return o.output.Fetch(ctx, e, command.Local(nil, o.limits),
			endpoint.TreePage.Of(&endpoint.PageRequest[trees.TreeRequest]{Page: view, Picture: o.output.Format == "svg"}))
	}
	return o.output.Write(e, func(e *command.Env) error {
		return command.WriteProfile(e, p, trees.AllTables, "", string(o.output.Format))
	})
}
