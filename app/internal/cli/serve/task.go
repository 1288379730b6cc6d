package serve

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/cli/command"
	"github.com/dendroprof/dendro/app/internal/endpoint"
	"github.com/dendroprof/dendro/app/internal/transfer"
	"github.com/dendroprof/dendro/query/param"
	"github.com/dendroprof/dendro/query/tasks"
	"github.com/dendroprof/dendro/store/engines"
)

func newTask(e *command.Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "task",
		Short: "Profile slow requests with SkyWalking agents",
		Long: `Create profiling tasks for Apache SkyWalking agents that report to dendro serve, and
show what the agents sampled. A task names an endpoint of a service. Agents sample the
threads that serve it. The snapshots show where a slow request spent its time.

Name a task by its id, by the beginning of its id, or as "last" (the newest). All
commands work with a running server (--store http://…) and with a local store.

Snapshots are also profiles for other commands. In place of a file, trace:ID names the
snapshots of a task, a trace or a segment. A finished task is a run in the store: its
benchmark is the endpoint, its group is the service.
  dendro tree trace:last
  dendro diff trace:SEGMENT trace:SEGMENT
  dendro top --group shop --benchmark GET:/checkout --last 1`,
		Example: `  dendro task create --service shop --endpoint GET:/checkout
  dendro task watch last
  dendro task segments last
  dendro task analyze last`,
		Args: cobra.NoArgs,
		RunE: command.Help,
	}
	c.AddCommand(newTaskCreate(e), newTaskList(e), newTaskShow(e), newTaskLogs(e), newTaskSegments(e), newTaskAnalyze(e), newTaskWatch(e),
		newTaskStop(e), newTaskExport(e))
	return c
}

// taskCommand completes a command that asks one question about trace profiling: flags and
// the argument TASK set the request.
func taskCommand[Request any](e *command.Env, c *cobra.Command, question *endpoint.Endpoint[Request], formats ...string) *cobra.Command {
	r := new(Request)
	flags := command.AddRequest(c, r, "task")
	var output command.Format
	output.AddFlag(c, formats...)
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := setTask(flags, args); err != nil {
			return err
		}
		access := engines.Read
		if question.Changes {
			access = engines.Write
		}
		return e.AskingTraces(c.Context(), access, func(a endpoint.Asker) error {
			return (&command.Destination{Format: output}).Answer(c.Context(), e, a, question.Of(r), nil)
		})
	}
	if c.Args == nil {
		c.Args = command.Takes(1, 1)
	}
	return c
}

// setTask sets the parameter task to the argument of a command, if it has one.
func setTask(r command.Flags, args []string) error {
	i := slices.IndexFunc(r, func(p *param.Parameter) bool { return p.Name == "task" })
	if len(args) == 0 || i < 0 {
		return nil
	}
	return r[i].Set(args[0])
}

// tableFormats are the formats of lists.
var tableFormats = []string{"text", "json", "json-columns", "md", "tsv", "csv"}

// wanted returns what a selection selects.
func wanted(s *tasks.SampleSelection) transfer.WantedSamples {
	return transfer.WantedSamples{Task: s.Task, Trace: s.Trace, Segments: s.Segments}
}
