package ask

import (
	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/cli/command"
	"github.com/dendroprof/dendro/app/internal/endpoint"
	"github.com/dendroprof/dendro/query/trees"
	"github.com/dendroprof/dendro/store/engines"
)

func newTree(e *command.Env) *cobra.Command {
	var r trees.TreeRequest
	return newTreeCommand(e, &cobra.Command{
		Use:   "tree [flags] [FILE...]",
		Short: "Print the call tree of a selection, of one profile, or of files",
		Long: `Print the merged call tree of the selected profiles, or of files: every call node with
its total (samples in it and below) and self (samples in it alone). Callees are below
their callers, largest first. Text omits small nodes and prints how many; -o json omits
none by default.

Filters apply in this order: --thread, --range, --transform, --state, --no-idle, --kind,
--search, --preview. Filters that need single samples (--range, --thread, --state,
--no-idle, --view stack-chart, markers or locks, and weights such as --type traced) work
on files, and on profiles imported with --keep-source.`,
		Example: `  dendro tree --benchmark checkout --last 1
  dendro tree --profile 9f1c2ab04d5e6677 --depth 6
  dendro tree cpu.pb.gz other.pb.gz --min-percent 2 -o json
  dendro tree profile.json --invert --kind js --range 1200..1900
  dendro tree profile.json --view markers --search request
  dendro tree profile.json --transform 'drop-function:poll' --callers malloc
  dendro tree cpu.pb.gz -o flame.html`,
	}, &r, &r, func() endpoint.Question { return endpoint.Tree.Of(&r) })
}

func newTop(e *command.Env) *cobra.Command {
	var r trees.TopRequest
	return newTreeCommand(e, &cobra.Command{
		Use:   "top [flags] [FILE...]",
		Short: "List the functions that use the most time",
		Long: `List functions by self (samples in the function alone) or total (samples in the
function and its callees; recursion counts once). The view flags of "dendro tree"
apply, so that a list can cover a range, a thread or a subtree.

With --last n, compare runs: now is the share in the newest n runs of each benchmark,
before is the mean share in all runs before them, and diff is the difference in
percentage points. Each benchmark has the same weight. With a filter the list is of the
newest runs alone.`,
		Example: `  dendro top --benchmark checkout
  dendro top --last 1
  dendro top jstack.txt --state RUNNABLE,BLOCKED
  dendro top jstack.txt --view locks
  dendro top cpu.pb.gz --sort total --rows 10
  dendro top profile.json --range 1200..1900 --kind js`,
	}, &r, &r.TreeRequest, func() endpoint.Question { return endpoint.Top.Of(&r) })
}

// newTreeCommand makes a command of a request; r is the part of it that is answered.
func newTreeCommand(e *command.Env, c *cobra.Command, request any, r *trees.TreeRequest, question func() endpoint.Question) *cobra.Command {
	flags := command.AddRequest(c, request)
	var in command.FileFlags
	in.AddFlags(c)
	var out command.Destination
	out.AddFlag(c, "text", "json", "json-columns", "md", "tsv", "csv", "html", "svg")
	c.RunE = func(c *cobra.Command, files []string) (err error) {
		flags.Use(out.Format)
		ctx := c.Context()
		if err = r.Validate(); err != nil {
			return err
		}
		r.RowsOnly = !out.Format.Json()
		answer := func(a endpoint.Asker) error {
			if out.Format == "html" || out.Format == "svg" {
				return out.Fetch(ctx, e, a, endpoint.TreePage.Of(&endpoint.PageRequest[trees.TreeRequest]{Page: *r, Picture: out.Format == "svg"}))
			}
			return out.Answer(ctx, e, a, question(), nil)
		}
		if len(files) == 0 {
			return e.Asking(ctx, engines.Read, in.Limits, answer)
		}
		if r.Inputs, err = in.Read(ctx, e, files); err != nil {
			return err
		}
		return answer(command.Local(nil, in.Limits))
	}
	return c
}
