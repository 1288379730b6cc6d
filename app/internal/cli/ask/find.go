package ask

import (
	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/cli/command"
	"github.com/dendroprof/dendro/app/internal/endpoint"
	"github.com/dendroprof/dendro/query/find"
)

// patternHelp explains patterns in the help of commands that take them.
const patternHelp = `A pattern is a call path: parts separated by ';'. A part is an exact function name, a
glob ('*', '?'), alternatives of these ('A|B'), /a regular expression/, or '**' for any
number of frames. 'A;B' is B called directly by A, 'A;**;B' is B anywhere below A,
'^;A' starts at the outermost frame, and 'A;$' ends at the innermost. In a name, write
'\;' for ';' and '\\' for '\'.`

func newFind(e *command.Env) *cobra.Command {
	var r find.Request
	c := &cobra.Command{
		Use:   "find [flags] PATTERN",
		Short: "Find where a function or call path occurs and how much time it uses",
		Long: `List the profiles in which a function or call path occurs, with its share. With
--min-share 5%, list where it uses at least 5% of the samples; with --min-value 2s, where
it uses at least 2 seconds. --by groups the rows by run, benchmark, group or function:
shares and minimums are those of all profiles of a row, and a profile without the function
counts as 0. With --in-any-run, list rows of which a single profile reaches the minimum.

` + patternHelp,
		Example: `  dendro find 'regexp.Compile' --min-share 5%
  dendro find '/^runtime\.gc/' --by run --total
  dendro find 'regexp.*' --by benchmark --min-share 5%
  dendro find '*.Price;**;regexp.Compile|regexp.MustCompile' --by benchmark --last 5
  dendro find '*.applyRules' --callee 'regexp.*' --min-value 20ms --since 7d`,
		Args: command.Takes(1, 1),
	}
	return e.Query(c, &r, []string{"pattern"}, func(args []string) endpoint.Question {
		r.Pattern = args[0]
		return endpoint.Find.Of(&r)
	}, "text", "json", "json-columns", "md", "tsv", "csv")
}
