package cli

import (
	"context"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/endpoint"
	"github.com/dendroprof/dendro/format"
	"github.com/dendroprof/dendro/ingest"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/store/engines"
)

// completeTypes completes --type of a command: with the value types in the first of
// its files that can be read, else with those in the store.
func (e *env) completeTypes(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	quiet := *e
	quiet.err = io.Discard
	files := slices.DeleteFunc(slices.Clone(args), func(name string) bool { return name == "-" }) // nobody has typed it yet
	names := quiet.typesOfFiles(files)
	if len(names) == 0 {
		names = quiet.namesOfStore(c.Context(), "type", "")
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// typesOfFiles returns the value types in the first file that has any.
func (e *env) typesOfFiles(files []string) (names []string) {
	sources, _ := ingest.Expand(files, e.in) // what is wrong with them is said when the command runs
	for i := 0; i < len(sources) && len(names) == 0; i++ {
		_ = decodeFiles(e, []string{sources[i].Name}, format.NewReader(profile.Limits{}), func(_ string, p *profile.Profile) error {
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
func (e *env) completeFlags(c *cobra.Command) {
	fromStore := func(parameter string) cobra.CompletionFunc {
		return func(c *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
			return e.namesOfStore(c.Context(), parameter, prefix), cobra.ShellCompDirectiveNoFileComp
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
				return append(e.namesOfStore(c.Context(), "branch", prefix), e.namesOfStore(c.Context(), "run", prefix)...),
					cobra.ShellCompDirectiveDefault
			})
		}
	}
	if c.Flags().Lookup("type") != nil {
		_ = c.RegisterFlagCompletionFunc("type", e.completeTypes)
	}
	if c.Name() == "find" {
		c.ValidArgsFunction = fromStore("function")
	}
}

// namesOfStore returns the names in the store, if there is one.
func (e *env) namesOfStore(ctx context.Context, parameter, prefix string) []string {
	quiet := *e
	quiet.err = io.Discard
	var names []string
	// completion has no place for errors; the command reports them
	_ = quiet.asking(ctx, engines.Read, profile.Limits{}, func(a endpoint.Asker) error {
		result, err := endpoint.Answer[query.CompletionsResult](ctx, a,
			endpoint.Completions.Of(&query.CompletionsRequest{Parameter: parameter, Prefix: prefix}))
		if err == nil {
			names = result.Names
		}
		return err
	})
	return names
}
