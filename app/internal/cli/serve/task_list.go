package serve

import (
	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/cli/command"
	"github.com/dendroprof/dendro/app/internal/endpoint"
)

func newTaskList(e *command.Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "list [flags]",
		Short: "List tasks, newest first",
		Long:  `List the stored tasks of all clients, newest start first.`,
		Example: `  dendro task list
  dendro task list --service shop --since 1d -o json`,
		Args: cobra.NoArgs,
	}
	return taskCommand(e, c, endpoint.Tasks, tableFormats...)
}

func newTaskShow(e *command.Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "show TASK [flags]",
		Short: "Describe a task, its coverage, and the causes of missing samples",
		Long: `Describe a task: its settings, how much of the requests' time its snapshots cover, and
the causes of missing samples. For example: no request has the endpoint, all requests
were faster than the threshold, instances do not poll for tasks, clocks differ, or the
agent lost snapshots.`,
		Example: `  dendro task show last
  dendro task show 1795215559054 -o json`,
	}
	return taskCommand(e, c, endpoint.Task, "text", "json")
}

func newTaskLogs(e *command.Env) *cobra.Command {
	c := &cobra.Command{
		Use:     "logs TASK [flags]",
		Short:   "List events of a task at its instances, newest first",
		Long:    `List when each instance received a task, and what it reported about it.`,
		Example: `  dendro task logs last`,
	}
	return taskCommand(e, c, endpoint.TaskLog, tableFormats...)
}
