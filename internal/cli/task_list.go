package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/internal/engines"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/traceprof"
)

// taskListOptions are the flags of `dendro task list`.
type taskListOptions struct {
	kind, service, endpoint string
	since                   string
	rows                    int
	output                  outputFormat
}

func newTaskList(e *env) *cobra.Command {
	var o taskListOptions
	c := &cobra.Command{
		Use:   "list [flags]",
		Short: "List tasks, newest first",
		Long:  `List lists the tasks that are kept, whoever ordered them, newest start first.`,
		Example: `  dendro task list
  dendro task list --service shop --since 1d -o json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c.Context(), e) },
	}
	f := c.Flags()
	f.Var(&choice{&o.kind, taskKinds}, "kind", "of this `kind`: "+strings.Join(taskKinds, ", "))
	f.StringVar(&o.service, "service", "", "of the service with this `name`")
	f.StringVar(&o.endpoint, "endpoint", "", "of the endpoint with this `name`")
	f.StringVar(&o.since, "since", "", "not over before this `date` (RFC 3339, 2026-11-21, or an age: 3d, 12h)")
	f.IntVar(&o.rows, "rows", 0, "at most `n`")
	o.output.addFlag(c, "text", "json", "md", "tsv", "csv")
	return c
}

func (o *taskListOptions) run(ctx context.Context, e *env) error {
	since, err := dateFlag("--since", o.since)
	if err != nil {
		return err
	}
	q := traceprof.TaskQuery{Kind: traceprof.Kind(o.kind), Service: o.service, Endpoint: o.endpoint, Limit: o.rows}
	if !since.IsZero() {
		q.From = since.UnixMilli()
	}
	return e.withTraces(ctx, engines.Read, func(st traceprof.Store) error {
		list, err := st.Tasks(ctx, q)
		if err != nil {
			return err
		}
		now := time.Now().UnixMilli()
		t := &table{columns: []column{{name: "task"}, {name: "state"}, {name: "kind"}, {name: "service"}, {name: "endpoint"},
			{name: "start", text: instant}, {name: "duration", right: true, text: millis}, {name: "period", right: true, text: millis}, {name: "segments", right: true}}}
		for i := range list {
			k := &list[i]
			t.add(k.ID, string(k.State(now)), string(k.Kind), k.Service, k.Endpoint, k.Start, k.Duration, k.Period, k.MaxSegments)
		}
		return t.print(e, o.output)
	})
}

func newTaskShow(e *env) *cobra.Command {
	var output outputFormat
	c := &cobra.Command{
		Use:   "show TASK [flags]",
		Short: "Say what a task is, how much it sampled, and why if nothing",
		Long: `Show says what a task is, how much of the requests' time its snapshots cover, and if
there are none, or fewer than there should be, why: the endpoint was never seen under
that name, all requests were faster than the threshold, no instance asked for tasks,
clocks differ, the agent lost snapshots, …`,
		Example: `  dendro task show last
  dendro task show 1795215559054 -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return showTask(c.Context(), e, args[0], output) },
	}
	output.addFlag(c, "text", "json")
	return c
}

// taskReport is what is known of a task.
type taskReport struct {
	traceprof.Task
	State    traceprof.State         `json:"state"`
	Coverage *traceprof.TaskCoverage `json:"coverage,omitempty"` // of kind trace
	Causes   []traceprof.Cause       `json:"causes"`
}

// reportOn gathers what is known of a task. The causes come first: what arrives
// meanwhile is in the coverage, and not missed by the causes alone.
func reportOn(ctx context.Context, st traceprof.Store, t traceprof.Task, now int64) (r taskReport, err error) {
	r = taskReport{Task: t, State: t.State(now)}
	if r.Causes, err = traceprof.Why(ctx, st, t, now); err == nil && t.Kind == traceprof.TraceKind {
		r.Coverage, err = traceprof.CoverTask(ctx, st, &t)
	}
	return r, err
}

func showTask(ctx context.Context, e *env, name string, format outputFormat) error {
	return e.withTask(ctx, engines.Read, name, func(st traceprof.Store, t traceprof.Task) error {
		now := time.Now().UnixMilli()
		r, err := reportOn(ctx, st, t, now)
		if err != nil {
			return err
		}
		if format == "json" {
			return e.writeJSON(r)
		}
		fmt.Fprintln(e.out, taskText(&t, now))
		if r.Coverage != nil {
			fmt.Fprintln(e.out, coverageText(r.Coverage))
		}
		for i := range r.Causes {
			fmt.Fprintln(e.out, causeText(&r.Causes[i]))
		}
		return nil
	})
}

// coverageText says in a line how much was sampled.
func coverageText(c *traceprof.TaskCoverage) string {
	if c.Received == 0 {
		return "nothing sampled"
	}
	n := len(c.Segments)
	text := fmt.Sprintf("%d %s, %s %s", n, words.Plural(n, "request"), grouped(c.Received), words.Plural(int(c.Received), "snapshot"))
	if c.Span > 0 {
		text += fmt.Sprintf(", %s of %s covered", words.Percent(c.Share()), millis(c.Span))
	}
	if c.Lost > 0 {
		text += fmt.Sprintf(", %s lost", grouped(c.Lost))
	}
	return text
}

// causeText writes a cause for people.
func causeText(c *traceprof.Cause) string { return fmt.Sprintf("%s: %s", c.Code, words.Clean(c.Text)) }

func newTaskLogs(e *env) *cobra.Command {
	var output outputFormat
	c := &cobra.Command{
		Use:     "logs TASK [flags]",
		Short:   "List what happened to a task at its instances, newest first",
		Long:    `Logs lists when which instance was told of a task, and what it reported of it.`,
		Example: `  dendro task logs last`,
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return e.withTask(c.Context(), engines.Read, args[0], func(st traceprof.Store, t traceprof.Task) error {
				list, err := st.Logs(c.Context(), t.ID)
				if err != nil {
					return err
				}
				rows := &table{columns: []column{{name: "time", text: instant}, {name: "instance"}, {name: "event"}, {name: "text"}}}
				for i := range list {
					rows.add(list[i].Time, list[i].Instance, string(list[i].Event), list[i].Text)
				}
				return rows.print(e, output)
			})
		},
	}
	output.addFlag(c, "text", "json", "md", "tsv", "csv")
	return c
}

func newTaskStop(e *env) *cobra.Command {
	var output outputFormat
	c := &cobra.Command{
		Use:   "stop TASK [flags]",
		Short: "End a task now",
		Long: `Stop ends a task: no further agent is told of it, and the service is free for the
next one. Agents that know the task cannot be told and go on for its duration.`,
		Example: `  dendro task stop last`,
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return e.withTask(c.Context(), engines.Write, args[0], func(st traceprof.Store, t traceprof.Task) error {
				t, err := traceprof.NewDispatcher(st, traceprof.DispatcherOptions{}).Stop(c.Context(), t.ID)
				switch {
				case err != nil:
					return err
				case output == "json":
					return e.writeJSON(t)
				}
				_, err = fmt.Fprintln(e.out, taskText(&t, time.Now().UnixMilli()))
				return err
			})
		},
	}
	output.addFlag(c, "text", "json")
	return c
}
