package cli

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dendroprof/dendro/app/internal/cli/command"
	"github.com/dendroprof/dendro/internal/words"
)

// usual are the flags that the help of a command with many flags lists: those that most
// people need, in at most helpLines lines. `dendro help COMMAND --all` lists all.
var usual = map[string][]string{
	"bench":       {"base", "head", "count", "build", "profiler", "memory", "threads", "benchmark", "keep-source", "run"},
	"bottlenecks": {"benchmark", "group", "last", "type", "by", "expand", "plots", "rows", "output"},
	"check":       {"base", "head", "benchmark", "last", "fail-on", "fail-on-metric", "full", "output", "write"},
	"copy":        {"from", "to", "benchmark", "since", "last", "renormalize"},
	"diff":        {"service", "benchmark", "last", "type", "base", "head", "base-run", "head-run", "against", "by", "view", "rows", "output"},
	"export":      {"benchmark", "run", "last", "type", "average", "callees", "search", "format", "output"},
	"find":        {"benchmark", "last", "type", "min-share", "by", "rows", "output"},
	"history":     {"benchmark", "branch", "since", "type", "function", "metric", "rows", "output"},
	"import": {"run", "group", "benchmark", "branch", "commit", "layout", "manifest", "metrics", "operations", "symbols", "keep-source",
		"replace", "dry-run"},
	"mcp":         {"allow-writes"},
	"merge":       {"type", "normalize", "symbols", "format", "output"},
	"detect":      {"output"},
	"convert":     {"type", "normalize", "symbols", "format", "output"},
	"list":        {"benchmark", "run", "last", "type", "search", "rows", "output"},
	"overview":    {"benchmark", "group", "branch", "since", "rows", "output"},
	"prune":       {"benchmark", "branch", "keep", "older-than", "yes", "dry-run"},
	"publish":     {"benchmark", "since", "last", "to", "warehouse"},
	"regressions": {"new", "ended", "base", "head", "service", "benchmark", "branch", "type", "method", "all", "full", "rows", "output"},
	"report":      {"base", "head", "service", "benchmark", "last", "type", "candidates", "rows", "output"},
	"runs":        {"benchmark", "branch", "machine", "last", "since", "profiles", "rows", "output"},
	"services":    {"service", "labels", "since", "type", "over-time", "function", "by", "step", "rows", "output"},
	"serve": {"continuous", "http-listen", "grpc-listen", "http-token-file", "read-token-file", "agent-token-file", "tls-cert",
		"tls-key", "ttl", "kafka-brokers"},
	"sql":   {"service", "labels", "since", "type", "rows", "output"},
	"top":   {"service", "benchmark", "group", "last", "type", "callers", "callees", "search", "sort", "rows", "output"},
	"tree":  {"benchmark", "last", "type", "view", "invert", "callers", "under", "search", "depth", "rows", "output"},
	"watch": {"webhook", "format", "service", "every", "once", "suspects"},
}

// helpLines is the maximum number of lines of flags in the help of a command.
const helpLines = 20

// isUsual reports whether the short help of a command lists a flag.
func isUsual(c *cobra.Command, f *pflag.Flag) bool {
	names, ok := usual[c.Name()]
	return !ok || c.HasParent() && c.Parent().HasParent() || f.Name == "store" || slices.Contains(names, f.Name)
}

// inHelp returns a flag as help describes it: short help has the first clause, without long
// remarks in parentheses.
func inHelp(e *command.Env, c *cobra.Command, f *pflag.Flag) *pflag.Flag {
	if _, short := usual[c.Name()]; e.AllFlags || !short {
		return f
	}
	clause := *f
	clause.Usage, _, _ = strings.Cut(longRemark.ReplaceAllString(f.Usage, ""), "; ")
	return &clause
}

// longRemark is a remark in parentheses of 25 characters or more.
var longRemark = regexp.MustCompile(` \([^()]{25,}\)`)

// newHelp is the command `help`: with --all the whole help of a command.
func newHelp(e *command.Env) *cobra.Command {
	c := &cobra.Command{
		Use:     "help [COMMAND] [--all]",
		Short:   "Print the help of a command",
		Long:    "Print the help of a command. The help of commands with many flags lists those that\nmost people need; --all lists all of them.",
		Example: "  dendro help tree\n  dendro help diff --all",
		ValidArgsFunction: func(c *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
			if parent, _, err := c.Root().Find(args); err == nil {
				for _, sub := range parent.Commands() {
					if sub.IsAvailableCommand() {
						names = append(names, sub.Name()+"\t"+sub.Short)
					}
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
	c.Flags().BoolVar(&e.AllFlags, "all", false, "list all flags")
	c.RunE = func(c *cobra.Command, args []string) error {
		of, rest, err := c.Root().Find(args)
		if err != nil || len(rest) > 0 {
			return command.Usagef("no command %q%s", strings.Join(args, " "), didYouMean(c.Root(), args))
		}
		of.InitDefaultHelpFlag()
		return of.Help()
	}
	return c
}

// didYouMean suggests commands for the first of the arguments.
func didYouMean(root *cobra.Command, args []string) string {
	var names []string
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return words.DidYouMean(args[0], names)
}

// usage prints how a command is called, its flags by group, examples and the exit
// statuses. Flags fit the width of a terminal.
func usage(e *command.Env, c *cobra.Command) error {
	writeUsage(e, c.OutOrStderr(), c, e.Width())
	return nil
}

func writeUsage(e *command.Env, w io.Writer, c *cobra.Command, width int) {
	line := c.UseLine()
	if c.HasAvailableSubCommands() {
		line = c.CommandPath() + " COMMAND [flags]"
	}
	fmt.Fprintf(w, "Usage:\n  %s\n", line)
	if c.HasAvailableSubCommands() {
		for _, g := range c.Groups() {
			commands(w, c, g.ID, g.Title)
		}
		commands(w, c, "", map[bool]string{true: "Other commands", false: "Commands"}[len(c.Groups()) > 0])
	}
	var order []string
	sets := map[string]*pflag.FlagSet{}
	listed, hidden := func(f *pflag.Flag) bool { return e.AllFlags || isUsual(c, f) }, 0
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if !listed(f) {
			hidden++
			return
		}
		name := "Flags"
		if g := f.Annotations[command.Heading]; len(g) > 0 && g[0] != "" {
			name = g[0] + " flags"
		}
		if sets[name] == nil {
			order = append(order, name)
			sets[name] = pflag.NewFlagSet(name, pflag.ContinueOnError)
		}
		sets[name].AddFlag(inHelp(e, c, f))
	})
	slices.SortStableFunc(order, func(a, b string) int { return groupRank(a) - groupRank(b) })
	for _, name := range order {
		if sets[name].HasAvailableFlags() {
			fmt.Fprintf(w, "\n%s:\n%s\n", name, strings.TrimRight(sets[name].FlagUsagesWrapped(width), " \n"))
		}
	}
	if c.HasAvailableInheritedFlags() {
		global := pflag.NewFlagSet("global", pflag.ContinueOnError)
		c.InheritedFlags().VisitAll(func(f *pflag.Flag) {
			if listed(f) {
				global.AddFlag(inHelp(e, c, f))
			}
		})
		fmt.Fprintf(w, "\nGlobal flags:\n%s\n", strings.TrimRight(global.FlagUsagesWrapped(width), " \n"))
	}
	if hidden > 0 {
		fmt.Fprintf(w, "\nMore flags: %s help %s --all\n", c.Root().Name(), strings.TrimPrefix(c.CommandPath(), c.Root().Name()+" "))
	}
	if c.HasExample() {
		fmt.Fprintf(w, "\nExamples:\n%s\n", c.Example)
	}
	found := ""
	if c.Name() == "check" || !c.HasParent() {
		found = ", 3 regression found (check only)"
	}
	fmt.Fprintf(w, "\nExit status: 0 success, 1 error, 2 usage%s.\n", found)
}

// commands lists the commands of a group below c.
func commands(w io.Writer, c *cobra.Command, group, title string) {
	fmt.Fprintf(w, "\n%s:\n", title)
	for _, sub := range c.Commands() {
		if sub.GroupID == group && (sub.IsAvailableCommand() || sub.Name() == "help") {
			fmt.Fprintf(w, "  %-*s %s\n", sub.NamePadding(), sub.Name(), sub.Short)
		}
	}
}

// groupRank orders the headings of help.
func groupRank(name string) int {
	return slices.Index([]string{"Selection flags", "Side flags", "View flags", "Method flags", "Expansion flags", "Limit flags",
		"Output flags", "Reading flags", "Flags"}, name)
}
