package ask

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/cli/command"
	"github.com/dendroprof/dendro/app/internal/coderepo"
	"github.com/dendroprof/dendro/app/internal/endpoint"
	"github.com/dendroprof/dendro/app/internal/gitlog"
	"github.com/dendroprof/dendro/app/internal/render"
	"github.com/dendroprof/dendro/query/trees"
	"github.com/dendroprof/dendro/store/engines"
	"github.com/dendroprof/dendro/table"
)

// diffOptions are the flags of `dendro diff` beside those of the request.
type diffOptions struct {
	trees.DiffRequest
	command.FileFlags
	views bool // --view is given
	out   command.Destination
}

func newDiff(e *command.Env) *cobra.Command {
	var o diffOptions
	c := &cobra.Command{
		Use:   "diff [flags] [BASE HEAD]",
		Short: "Compare two profiles, or two sets of profiles",
		Long: `Merge the call trees of two sides, base and head, and print base, head, delta and
relative change of every call path on either side. Functions on one side only are
marked new or vanished. A side is one or more files, or runs of the store: --base and
--head name them as in check, by a branch, a commit, a run or key=value; flags such as
--base-since select them. If the sides have several benchmarks, print a row for each
instead of a tree of their sum: base, head, change, and the innermost function with half
of the change; --view and --benchmark choose.

--by sets how values are compared (default: operation if the operations of all profiles
are known, see import --operations, otherwise profile):
  value     as recorded, summed over the side
  share     as shares of the side's total
  profile   divided by the number of profiles (two files: as recorded)
  operation divided by the number of operations that the profiles cover
  second    divided by the recorded time
  work      divided by --base-work and --head-work
  METRIC    divided by a metric that every profile in the store has: requests, …

Functions match by name, module, and file below the root of the sources, not by line, so
that profiles of two checkouts compare. Functions of one name that still differ are
compared apart, and a note names them. Names that change from run to run are normalised;
--raw compares them as written. Siblings in a tree are sorted by the size of their delta.
A list of functions (--view functions) has increases first, then decreases. "~" marks
changes within sampling noise.

--against history compares the newest run of one benchmark (with --last n, the newest
n together) with the average of the runs before it on the same machine and branch. It
lists the call nodes outside the band of those runs. With --view functions, --view
flame, html or svg, it shows the diff between their average (--average, default mean)
and the run.`,
		Example: `  dendro diff before.pb.gz after.pb.gz
  dendro diff --base 'main/*.jfr' --head 'branch/*.jfr' --view functions
  dendro diff --base main --head my-branch
  dendro diff --benchmark checkout --last 1
  dendro diff --benchmark checkout --against history
  dendro diff --benchmark checkout --base-run run-017 --head-run run-018 -o diff.html`,
		Args: command.Takes(0, 2),
	}
	flags := command.AddRequest(c, &o.DiffRequest)
	o.FileFlags.AddFlags(c)
	o.out.AddFlag(c, "text", "json", "json-columns", "md", "tsv", "csv", "html", "svg")
	c.RunE = func(c *cobra.Command, args []string) error {
		flags.Use(o.out.Format)
		o.views = c.Flags().Changed("view") || o.Select != ""
		return o.run(c.Context(), e, args)
	}
	return c
}

func (o *diffOptions) run(ctx context.Context, e *command.Env, args []string) (err error) {
	files := [2][]string{o.Sides.Base, o.Sides.Head}
	named := len(files[0])+len(files[1]) > 0
	switch {
	case len(args) == 1:
		return command.Usagef("a diff takes two files, BASE and HEAD")
	case len(args) == 2 && named:
		return command.Usagef("the sides are named twice: give BASE HEAD, or --base and --head")
	case len(args) == 2:
		files = [2][]string{args[:1], args[1:]}
	case !named || !areFiles(files[0]) || !areFiles(files[1]): // a folder may be called like a branch
		return o.ofStore(ctx, e)
	}
	if err := o.Validate(); err != nil {
		return err
	}
	o.Sides = trees.Named{}
	for i := range files {
		if len(files[i]) == 0 || len(o.Base.Runs)+len(o.Base.Commits)+len(o.Base.Branches)+len(o.Head.Runs)+len(o.Head.Commits)+
			len(o.Head.Branches) > 0 {
			return command.Usagef("both sides must be files: give BASE HEAD, or --base and --head")
		}
		if o.Inputs[i], err = o.FileFlags.Read(ctx, e, files[i]); err != nil {
			return err
		}
	}
	return o.answer(ctx, e, command.Local(nil, o.FileFlags.Limits))
}

// areFiles reports whether one of some names is a file, a directory, a pattern of files, an
// address or stdin. What is not there is a name in the store.
func areFiles(names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		found, err := filepath.Glob(name)
		return name == "-" || strings.Contains(name, "://") || err == nil && len(found) > 0
	})
}

// ofStore compares two sides of the store: its benchmarks one by one if there are several, and
// no view is named.
func (o *diffOptions) ofStore(ctx context.Context, e *command.Env) error {
	if err := o.Validate(); err != nil {
		return err
	}
	if len(o.Sides.Base) > 0 {
		if repo, err := gitlog.Root("."); err == nil {
			o.Repository = coderepo.Repository{Dir: repo}
		}
	}
	return e.Asking(ctx, engines.Read, o.FileFlags.Limits, func(a endpoint.Asker) error {
		if o.views || o.Net || o.Against != "" || o.Pushed.Chosen() ||
			!slices.Contains([]command.Format{"text", "md", "tsv", "csv"}, o.out.Format) {
			return o.answer(ctx, e, a)
		}
		list := *o
		list.View = "benchmarks"
		result, err := endpoint.Answer[trees.DiffBenchmarksResult](ctx, a, endpoint.Diff.Of(&list.DiffRequest))
		if err != nil {
			return err
		}
		if len(result.Rows)+result.Omitted.Rows > 1 {
			return o.out.Print(e, result)
		}
		return o.answer(ctx, e, a)
	})
}

func (o *diffOptions) answer(ctx context.Context, e *command.Env, a endpoint.Asker) error {
	if o.out.Format == "html" || o.out.Format == "svg" {
		return o.out.Fetch(ctx, e, a, endpoint.DiffPage.Of(&endpoint.PageRequest[trees.DiffRequest]{Page: o.DiffRequest,
			Picture: o.out.Format == "svg"}))
	}
	var show func(to *table.Output, result any) error
	if o.Against != "" {
		show = func(to *table.Output, result any) error {
			if band, ok := result.(*trees.BandResult); ok {
				return render.Band(to, band, o.Rows)
			}
			return render.Result(to, result)
		}
	}
	return o.out.Answer(ctx, e, a, endpoint.Diff.Of(&o.DiffRequest), show)
}
