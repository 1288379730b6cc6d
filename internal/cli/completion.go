package cli

import (
	"context"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/internal/engines"
	"github.com/dendroprof/dendro/internal/ingest"
	"github.com/dendroprof/dendro/internal/query"
	"github.com/dendroprof/dendro/profile"
)

// completeTypes completes --type of a command: with the value types in the first of
// its files that can be read, else with those in the store.
func (e *env) completeTypes(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	quiet := *e
	quiet.err = io.Discard
	files := slices.DeleteFunc(slices.Clone(args), func(name string) bool { return name == "-" }) // nobody has typed it yet
	names := quiet.typesOfFiles(files)
	if len(names) == 0 {
		names = quiet.typesOfStore(c.Context())
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// typesOfFiles returns the value types in the first file that has any.
func (e *env) typesOfFiles(files []string) (names []string) {
	sources, _ := ingest.Expand(files, e.in) // what is wrong with them is said when the command runs
	for i := 0; i < len(sources) && len(names) == 0; i++ {
		_ = decodeFiles(e, []string{sources[i].Name}, profile.Limits{}, func(_ string, p *profile.Profile) error {
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

// typesOfStore returns the value types in the store, if there is one.
func (e *env) typesOfStore(ctx context.Context) []string {
	st, err := e.open(ctx, engines.Read)
	if err != nil {
		return nil
	}
	defer st.Close()
	r, err := query.Runs(ctx, st, &query.RunsRequest{})
	if err != nil {
		return nil
	}
	var names []string
	for i := range r.Rows {
		names = append(names, r.Rows[i].Types...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
