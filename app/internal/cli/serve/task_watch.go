package serve

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/cli/command"
	"github.com/dendroprof/dendro/app/internal/endpoint"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/tasks"
	"github.com/dendroprof/dendro/store/engines"
	"github.com/dendroprof/dendro/traceprof"
)

func newTaskWatch(e *command.Env) *cobra.Command {
	var r tasks.WatchTaskRequest
	var output command.Format
	c := &cobra.Command{
		Use:   "watch TASK [flags]",
		Short: "Print the changes of a task while it runs",
		Long: `Print what happens to a task: which instances poll for tasks, which received the task,
how many snapshots arrived and how much of the time of the requests they cover. While no
snapshots arrive, print the known causes.

The command ends when all instances that received the task have finished it, or --grace
after the end of the task. With -o json it prints a line of JSON for each change: the
time, what changed (task, instance, log, snapshots, why, connection, end), the text, and
the value.

If the server stops answering, the command tries again for up to --retry.`,
		Example: `  dendro task create --service shop --endpoint /checkout && dendro task watch last
  dendro task watch last -o json`,
		Args: command.Takes(1, 1),
	}
	command.AddRequest(c, &r, "task")
	output.AddFlag(c, "text", "json")
	c.RunE = func(c *cobra.Command, args []string) error {
		r.Task = args[0]
		return e.AskingTraces(c.Context(), engines.Read, func(a endpoint.Asker) error {
			watched := tasks.Watched{Task: asked[tasks.TaskResult](a, endpoint.Task), Log: asked[tasks.TaskLogResult](a, endpoint.TaskLog),
				Instances: asked[query.List[traceprof.Instance]](a, endpoint.Instances)}
			err := tasks.WatchTask(c.Context(), watched, &r, func(ev tasks.TaskEvent) error { return e.Print(output, &ev) })
			if c.Context().Err() != nil {
				fmt.Fprintf(e.Err, "dendro: stopped watching; the task continues (dendro task watch %[1]s, dendro task stop %[1]s)\n", words.Clean(r.Task))
				return command.ErrReported
			}
			return err
		})
	}
	return c
}

// asked returns a function that asks questions of an endpoint.
func asked[Result, Request any](a endpoint.Asker, e *endpoint.Endpoint[Request]) func(context.Context, *Request) (*Result, error) {
	return func(ctx context.Context, r *Request) (*Result, error) {
		return endpoint.Answer[Result](ctx, a, e.Of(r))
	}
}
