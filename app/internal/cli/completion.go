package cli

import (
	"context"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/cli/command"
	"github.com/dendroprof/dendro/app/internal/endpoint"
	"github.com/dendroprof/dendro/format"
	"github.com/dendroprof/dendro/ingest"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/store/engines"
)

// completeTypes completes --type of a command: with the value types in the first of
// its files that can be read, else with those in the store.
func completeTypes(e *command.Env, c *cobra.Command, args []string) ([]string, cobra.ShellCompDirective) {
	quiet := *e
	quiet.Err = io.Discard
	files := slices.DeleteFunc(slices.Clone(args), func(name string) bool { return name == "-" }) // nobody has typed it yet
	names := typesOfFiles(&quiet, files)
	if len(names) == 0 {
		names = namesOfStore(c.Context(), &quiet, "type", "")
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// typesOfFiles returns the value types in the first file that has any.
func typesOfFiles(e *command.Env, files []string) (names []string) {
	sources, _ := ingest.Expand(files, e.In) // what is wrong with them is said when the command runs
	for i := 0; i < len(sources) && len(names) == 0; i++ {
		_ = command.DecodeFiles(e, []string{sources[i].Name}, format.NewReader(profile.Limits{}), func(_ string, p *profile.Profile) error {
			for i := range p.Tables {
				if name := p.Tables[i].Type.Name; !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
			return nil
		})
	}
	return names
}

// completeFlags completes the flags of a command that name what a store holds, and the
// pattern of find.
func completeFlags(e *command.Env, c *cobra.Command) {
	fromStore := func(parameter string) cobra.CompletionFunc {
		return func(c *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
			return namesOfStore(c.Context(), e, parameter, prefix), cobra.ShellCompDirectiveNoFileComp
		}
	}
	for _, parameter := range []string{"group", "benchmark", "branch", "machine", "run", "profile"} {
		for _, flag := range []string{parameter, "base-" + parameter, "head-" + parameter} {
			if c.Flags().Lookup(flag) != nil {
				_ = c.RegisterFlagCompletionFunc(flag, fromStore(parameter))
			}
		}
	}
	for _, flag := range []string{"callers", "callees", "function", "under"} {
		if c.Flags().Lookup(flag) != nil {
			_ = c.RegisterFlagCompletionFunc(flag, fromStore("function"))
		}
	}
	for _, flag := range []string{"base", "head"} {
		if c.Flags().Lookup(flag) != nil {
			_ = c.RegisterFlagCompletionFunc(flag, func(c *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
				// Sides may be files, too, which the shell completes.
				return append(namesOfStore(c.Context(), e, "branch", prefix), namesOfStore(c.Context(), e, "run", prefix)...),
					cobra.ShellCompDirectiveDefault
			})
		}
	}
	if c.Flags().Lookup("type") != nil {
		_ = c.RegisterFlagCompletionFunc("type", func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			return completeTypes(e, c, args)
		})
	}
	if c.Name() == "find" {
		c.ValidArgsFunction = fromStore("function")
	}
}

// namesOfStore returns the names in the store, if there is one.
func namesOfStore(ctx context.Context, e *command.Env, parameter, prefix string) []string {
	quiet := *e
	quiet.Err = io.Discard
	var names []string
	// completion has no place for errors; the command reports them
	_ = quiet.Asking(ctx, engines.Read, profile.Limits{}, func(a endpoint.Asker) error {
		result, err := endpoint.Answer[query.CompletionsResult](ctx, a,
			endpoint.Completions.Of(&query.CompletionsRequest{Parameter: parameter, Prefix: prefix}))
		if err == nil {
			names = result.Names
		}
		return err
	})
	return names
}
