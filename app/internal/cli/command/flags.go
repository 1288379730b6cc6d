package command

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query/param"
	"github.com/dendroprof/dendro/query/trees"
)

// Heading is the annotation of a flag with the heading it is listed under.
const Heading = "group"

// Flags are the parameters of a request, registered as flags of a command.
type Flags []*param.Parameter

// AddRequest registers the parameters of a request, given by pointer, as flags. Those
// named in args are arguments of the command and get no flag.
func AddRequest(c *cobra.Command, request any, args ...string) Flags {
	list := param.Of(request)
	for _, p := range list {
		if slices.Contains(args, p.Name) {
			continue
		}
		f := c.Flags().VarPF(p, p.Name, "", p.Help)
		if p.Name == "transform" {
			f.Usage += "; kinds: " + strings.Join(trees.TransformKinds(), ", ")
		}
		if p.Page != "" && p.Page != "0" {
			f.Usage += fmt.Sprintf(" (default %s for text and md, otherwise 0)", p.Page)
		}
		if p.Default == "default" {
			f.DefValue = "" // the help text names it
		}
		if p.IsBool() {
			f.NoOptDefVal = "true"
		}
		f.Annotations = map[string][]string{Heading: {p.Group}}
		if len(p.Choices) > 0 {
			_ = c.RegisterFlagCompletionFunc(p.Name, cobra.FixedCompletions(p.Choices, cobra.ShellCompDirectiveNoFileComp))
		}
	}
	if slices.ContainsFunc(list, isSelection) && c.Flags().Lookup("selection") == nil {
		addNamedSelection(c, list)
	}
	return list
}

func isSelection(p *param.Parameter) bool { return p.Group == "Selection" }

// addNamedSelection adds --selection: flags of the selection, by a name in the config file.
// Flags that are given replace them.
func addNamedSelection(c *cobra.Command, list Flags) {
	name := c.Flags().String("selection", "", "selection flags of this `name` in the config file (selections)")
	InGroup(c, "Selection", "selection")
	_ = c.RegisterFlagCompletionFunc("selection", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		config, _ := readConfig() // what is wrong with it is said when the command runs
		return slices.Sorted(maps.Keys(config.Selections)), cobra.ShellCompDirectiveNoFileComp
	})
	c.PreRunE = func(*cobra.Command, []string) error {
		if *name == "" {
			return nil
		}
		config, err := readConfig()
		if err != nil {
			return err
		}
		named, ok := config.Selections[*name]
		if !ok {
			return param.Errorf("--selection: the config file has no selection %q (it has: %s)", *name, strings.Join(slices.Sorted(maps.Keys(config.Selections)), ", "))
		}
		for _, flag := range slices.Sorted(maps.Keys(named)) {
			i := slices.IndexFunc(list, func(p *param.Parameter) bool { return p.Name == flag && isSelection(p) })
			if i < 0 {
				return param.Errorf("--selection %s: %q is not a flag of the selection of this command", *name, flag)
			}
			if list[i].Changed() {
				continue
			}
			for _, text := range param.Texts(named[flag]) {
				if err := list[i].Set(text); err != nil {
					return param.Errorf("--selection %s: %s: %w", *name, flag, err)
				}
			}
		}
		return nil
	}
}

// InGroup lists flags under a heading of help.
func InGroup(c *cobra.Command, name string, flags ...string) {
	for _, flag := range flags {
		c.Flags().Lookup(flag).Annotations = map[string][]string{Heading: {name}}
	}
}

// Use sets the defaults of an output format: text and md are pages for people, other
// formats get everything unless limits are given.
func (r Flags) Use(format Format) {
	if format.complete() {
		return
	}
	for _, p := range r {
		p.UsePage()
	}
}

// AddLimits adds the flags that raise the readers' limits.
func AddLimits(c *cobra.Command, l *profile.Limits) {
	f := c.Flags()
	f.IntVar(&l.Depth, "max-depth", profile.DefaultDepth, "maximum `frames` per stack")
	f.IntVar(&l.Frames, "max-frames", profile.DefaultFrames, "maximum different `frames` per file")
	f.IntVar(&l.Line, "max-line", profile.DefaultLine, "maximum `bytes` per line of text")
	f.Int64Var(&l.Inflated, "max-size", profile.DefaultInflated, "maximum `bytes` per file, decompressed")
	f.Int64Var(&l.Message, "max-message", profile.DefaultMessage, "maximum `bytes` of a file that is read into memory as a whole (pprof)")
	f.Int64Var(&l.Memory, "max-memory", 0, "maximum `bytes` of memory while reading (0: no limit)")
	for name, text := range map[string]string{"max-depth": "65,536", "max-frames": "2,097,152", "max-line": "16 MiB", "max-size": "16 GiB",
		"max-message": "1 GiB"} {
		f.Lookup(name).DefValue = text // as people read it
	}
	InGroup(c, "Reading", "max-depth", "max-frames", "max-line", "max-size", "max-message", "max-memory")
}
