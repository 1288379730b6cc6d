package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/internal/query"
	"github.com/dendroprof/dendro/store"
)

// patternHelp explains patterns in the help of commands that take them.
const patternHelp = `A pattern is a call path: parts separated by ';'. A part is an exact function name, a
glob ('*', '?'), /a regular expression/, or '**' for any number of frames. 'A;B' is B
called directly by A, 'A;**;B' is B anywhere below A, '^;A' starts at the outermost
frame, and 'A;$' ends at the innermost. In a name, write '\;' for ';' and '\\' for '\'.`

func newFind(e *env) *cobra.Command {
	var r query.FindRequest
	c := &cobra.Command{
		Use:   "find [flags] PATTERN",
		Short: "Find where a function or call path occurs and how much time it uses",
		Long: `List the profiles in which a function or call path occurs, with its share. With
--min-share 5%, list where it uses at least 5% of the samples. --by groups the rows by
run, benchmark, group or function.

` + patternHelp,
		Example: `  dendro find 'regexp.Compile' --min-share 5%
  dendro find '/^runtime\.gc/' --by run --total
  dendro find 'handler;**;json.Marshal' --by benchmark --last 5`,
		Args: cobra.ExactArgs(1),
	}
	return e.query(c, &r, []string{"pattern"}, func(ctx context.Context, st store.Store, args []string) (any, error) {
		r.Pattern = args[0]
		return query.Find(ctx, st, &r)
	}, "text", "json", "json-columns", "md", "tsv", "csv")
}
