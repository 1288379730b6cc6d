package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/internal/engines"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/traceprof"
)

func newTask(e *env) *cobra.Command {
	c := &cobra.Command{
		Use:   "task",
		Short: "Profile slow requests with SkyWalking's agents",
		Long: `Task orders profiles of single requests from agents of Apache SkyWalking that report
to dendro serve, and shows what they sampled: a task names an endpoint of a service,
agents sample the threads that serve it, and the snapshots say where a slow request
spent its time.

A task is named by its id, by the beginning of its id if no other task's begins so,
or as "last", the newest. Everything works on a running server (--store http://…) as
on a store at hand.

What was sampled is a profile for the other commands, too: a file name trace:ID is
the snapshots of a task, a trace or a segment, and a task that is over is a run of
the benchmark that the endpoint is, in the group of the service:
  dendro tree trace:last
  dendro diff trace:SEGMENT trace:SEGMENT
  dendro top --group shop --benchmark GET:/checkout --last 1`,
		Example: `  dendro task create --service shop --endpoint GET:/checkout
  dendro task watch last
  dendro task segments last
  dendro task analyze last`,
		Args: cobra.NoArgs,
		RunE: help,
	}
	c.AddCommand(newTaskCreate(e), newTaskList(e), newTaskShow(e), newTaskLogs(e), newTaskSegments(e), newTaskAnalyze(e), newTaskWatch(e), newTaskStop(e), newTaskExport(e))
	return c
}

// taskKinds are the values of --kind.
var taskKinds = []string{string(traceprof.TraceKind), string(traceprof.AsyncKind), string(traceprof.PprofKind)}

// withTraces calls f with the open store, if it keeps traces.
func (e *env) withTraces(ctx context.Context, access engines.Access, f func(st traceprof.Store) error) error {
	st, err := e.open(ctx, access)
	if err != nil {
		return err
	}
	traces, ok := st.(traceprof.Store)
	if !ok {
		info, _ := st.Info(ctx)
		return errors.Join(fmt.Errorf("a store of %s keeps no tasks: dendro serve with a DuckDB file does", cmp.Or(info.Engine, "this kind")), st.Close())
	}
	return errors.Join(f(traces), st.Close())
}

// withTask is withTraces for commands about one task.
func (e *env) withTask(ctx context.Context, access engines.Access, name string, f func(st traceprof.Store, t traceprof.Task) error) error {
	return e.withTraces(ctx, access, func(st traceprof.Store) error {
		t, err := findTask(ctx, st, name)
		if err != nil {
			return err
		}
		return f(st, t)
	})
}

// lastTask names the newest task.
const lastTask = "last"

// findTask returns the task that a user names.
func findTask(ctx context.Context, st traceprof.Store, name string) (traceprof.Task, error) {
	t, err := st.Task(ctx, name)
	if !errors.Is(err, traceprof.ErrNoTask) {
		return t, err
	}
	all, err := st.Tasks(ctx, traceprof.TaskQuery{})
	if err != nil {
		return t, err
	}
	var found []traceprof.Task
	for i := range all {
		switch {
		case name == lastTask && (len(found) == 0 || all[i].Created > found[0].Created):
			found = all[i : i+1]
		case name != lastTask && name != "" && strings.HasPrefix(all[i].ID, name):
			found = append(found, all[i])
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return t, usagef("the ids of %d tasks begin with %s: %s, %s, …", len(found), name, found[0].ID, found[1].ID)
	case len(all) == 0:
		return t, fmt.Errorf("task %s: %w; there are none at all (dendro task create makes one)", name, traceprof.ErrNoTask)
	}
	return t, fmt.Errorf("task %s: %w (dendro task list lists %d)", name, traceprof.ErrNoTask, len(all))
}

// instant writes a time in ms for people.
func instant(v any) string {
	ms, _ := v.(int64)
	if ms == 0 {
		return ""
	}
	return time.UnixMilli(ms).UTC().Format("2006-01-02 15:04:05.000Z")
}

// millis writes a length in ms for people.
func millis(v any) string {
	ms, ok := v.(int64)
	if !ok {
		return ""
	}
	if ms >= traceprof.Minute && ms%traceprof.Minute == 0 {
		return fmt.Sprintf("%d min", ms/traceprof.Minute)
	}
	return grouped(ms) + " ms"
}

// taskText describes a task in a line.
func taskText(t *traceprof.Task, now int64) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", t.ID, t.State(now))
	switch t.Kind {
	case traceprof.TraceKind:
		fmt.Fprintf(&b, ", %s of %s, %s from %s", words.Clean(t.Endpoint), words.Clean(t.Service), millis(t.Duration), instant(t.Start))
		fmt.Fprintf(&b, ", a dump every %s, at most %d %s per instance", millis(t.Period), t.MaxSegments, words.Plural(t.MaxSegments, "request"))
		if t.MinDuration > 0 {
			fmt.Fprintf(&b, ", of requests older than %s", millis(t.MinDuration))
		}
	default:
		fmt.Fprintf(&b, ", %s of %s (%s), %s from %s", t.Kind, words.Clean(t.Service), strings.Join(words.CleanAll(t.Events), ", "), millis(t.Duration), instant(t.Start))
	}
	if t.Stopped != 0 {
		fmt.Fprintf(&b, ", stopped %s", instant(t.Stopped))
	}
	return b.String()
}
