package serve

import (
	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/cli/command"
	"github.com/dendroprof/dendro/app/internal/endpoint"
)

func newTaskSegments(e *command.Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "segments TASK [flags]",
		Short: "List the requests that a task sampled, with their coverage",
		Long: `List the segments that a task sampled, newest first. A segment is the part of a request
that ran in one thread.

  received, expected  dumps that arrived, and dumps that the period of the task implies
  lost                dumps that the agent took and that did not arrive
  covered             share of the segment's time between two consecutive dumps; an
                      analysis shows nothing of the rest
  period              time between two dumps, as measured; an agent that is slower than
                      the period of the task loses no dumps`,
		Example: `  dendro task segments last
  dendro task segments last --spans
  dendro task segments 1795215559054 -o json | jq '.rows[].segment'`,
	}
	return taskCommand(e, c, endpoint.TaskSegments, tableFormats...)
}
