package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/internal/engines"
	"github.com/dendroprof/dendro/internal/query"
	"github.com/dendroprof/dendro/traceprof"
)

func newTaskList(e *env) *cobra.Command {
	c := &cobra.Command{
		Use:   "list [flags]",
		Short: "List tasks, newest first",
		Long:  `List the stored tasks of all clients, newest start first.`,
		Example: `  dendro task list
  dendro task list --service shop --since 1d -o json`,
		Args: cobra.NoArgs,
	}
	return taskCommand(e, c, engines.Read, query.Tasks, printTasks, tableFormats...)
}

func printTasks(e *env, r *query.List[query.Task], format outputFormat) error {
	t := &table{columns: []column{{name: "task"}, {name: "state"}, {name: "kind"}, {name: "service"}, {name: "endpoint"},
		{name: "start", text: instant}, {name: "duration", right: true, text: millis}, {name: "period", right: true, text: millis}, {name: "segments", right: true}}}
	for i := range r.Rows {
		k := &r.Rows[i]
		t.add(k.ID, string(k.State), string(k.Kind), k.Service, k.Endpoint, k.Start, k.Duration, k.Period, k.MaxSegments)
	}
	return t.print(e, format)
}

func newTaskShow(e *env) *cobra.Command {
	c := &cobra.Command{
		Use:   "show TASK [flags]",
		Short: "Describe a task, its coverage, and why it has no data",
		Long: `Describe a task: its settings, how much of the time of the requests its snapshots
cover, and what kept it from more. Possible causes are an endpoint that no request has,
requests that were all faster than the threshold, instances that do not poll for tasks,
clocks that differ, and snapshots that the agent lost.`,
		Example: `  dendro task show last
  dendro task show 1795215559054 -o json`,
	}
	return taskCommand(e, c, engines.Read, query.DescribeTask, printTaskDescription, "text", "json")
}

func printTaskDescription(e *env, r *query.TaskResult, _ outputFormat) error {
	fmt.Fprintln(e.out, &r.Task)
	if r.Coverage != nil {
		fmt.Fprintln(e.out, query.CoverageText(r.Coverage))
	}
	for _, line := range query.CauseLines(r.Causes) {
		fmt.Fprintln(e.out, line)
	}
	return nil
}

func newTaskLogs(e *env) *cobra.Command {
	c := &cobra.Command{
		Use:     "logs TASK [flags]",
		Short:   "List events of a task at its instances, newest first",
		Long:    `List when each instance received a task, and what it reported about it.`,
		Example: `  dendro task logs last`,
	}
	return taskCommand(e, c, engines.Read, query.TaskLog, printTaskLog, tableFormats...)
}

func printTaskLog(e *env, r *query.List[traceprof.Log], format outputFormat) error {
	t := &table{columns: []column{{name: "time", text: instant}, {name: "instance"}, {name: "event"}, {name: "text"}}}
	for _, l := range r.Rows {
		t.add(l.Time, l.Instance, string(l.Event), l.Text)
	}
	return t.print(e, format)
}
