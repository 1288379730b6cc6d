package serve

import (
	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/cli/command"
	"github.com/dendroprof/dendro/app/internal/endpoint"
)

func newTaskCreate(e *command.Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "create --service NAME --endpoint NAME [flags]",
		Short: "Create a task and print its id",
		Long: `Create a task. Agents receive it when they poll (by default every 20 s) or with the
reply to another report. A service can have one task at a time.

The endpoint is the name that agents give the first span of a request: GET:/checkout
for most Java frameworks, /checkout for Python. If no request has this name,
"dendro task show" lists similar names.

For kind trace, agents accept durations from 1 to 15 minutes, periods of at least
10 ms, and 1 to 9 requests per instance. The kinds async-profiler (Java) and pprof (Go)
profile whole instances. Dendro stores their profiles in the group of the service.`,
		Example: `  dendro task create --service shop --endpoint GET:/checkout
  dendro task create --service shop --endpoint /checkout --duration 1m --period 20ms --min-duration 500ms
  dendro task create --kind async-profiler --service shop --event cpu --event alloc --duration 30s`,
		Args: cobra.NoArgs,
	}
	return taskCommand(e, c, endpoint.CreateTask, "text", "json")
}

func newTaskStop(e *command.Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "stop TASK [flags]",
		Short: "Stop a task",
		Long: `Stop a task now: no other agent receives it, and the service can have a new one. Agents
that have received the task continue for its duration.`,
		Example: `  dendro task stop last`,
	}
	return taskCommand(e, c, endpoint.StopTask, "text", "json")
}
