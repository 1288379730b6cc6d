package record

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/cli/command"
	"github.com/dendroprof/dendro/app/internal/demo"
	"github.com/dendroprof/dendro/ingest"
	"github.com/dendroprof/dendro/normalize"
	"github.com/dendroprof/dendro/store"
)

const demoStore = "dendro-demo.duckdb"

func newDemo(e *command.Env, run func(ctx context.Context, e *command.Env, args []string) error) *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Import example profiles with a planted regression",
		Long: `Import the CPU profiles of 18 runs of a small Go program, recorded with runtime/pprof.
The last two runs have a change that makes one benchmark slower. Then print what became
slower, and two commands to continue with. The default store is
` + demoStore + ` in the working directory.`,
		Example: `  dendro demo
  dendro demo --store /tmp/demo.duckdb`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			own := e.Store == ""
			if own {
				e.Store = demoStore
			}
			if err := importDemo(c.Context(), e, own); err != nil {
				return err
			}
			args := []string{"regressions", "--benchmark", "checkout", "--type", "cpu", "--store", e.Store}
			fmt.Fprintln(e.Out, "\n$ "+program()+" "+strings.Join(args, " "))
			inner := *e // its colours hold for it too
			if err := run(c.Context(), &inner, args); err != nil {
				return err
			}
			fmt.Fprintf(e.Out, `
Continue with:
  %[2]s diff  --store %[1]s --benchmark checkout --last 2 --by share --under '*.matchRule'
  %[2]s serve --store %[1]s    # then open http://127.0.0.1:12800/ in a browser
`, e.Store, program())
			return nil
		},
	}
}

// importDemo imports the profiles. The demo's own store may be of an earlier version:
// its names are normalised again, and profiles that differ are replaced.
func importDemo(ctx context.Context, e *command.Env, own bool) error {
	profiles, err := fs.Sub(demo.Profiles, "profiles")
	if err != nil {
		return err
	}
	sources, err := ingest.ReadManifestFS(profiles, "manifest.json")
	if err != nil {
		return err
	}
	opts := ingest.Options{Conflict: store.Refuse, KeepSource: true}
	if _, err := os.Stat(demoStore); own && err == nil {
		opts.Conflict = store.Replace
		if err := renormalize(ctx, e, normalize.New(nil)); err != nil {
			return err
		}
	}
	fmt.Fprintf(e.Out, "Importing %d profiles into %s\n", len(sources), e.Store)
	o := importOptions{progress: "none"}
	return o.importInto(ctx, e, sources, opts, false)
}

// program returns how this program is called: by its name if the PATH has it, else as it
// was.
func program() string {
	name := filepath.Base(os.Args[0])
	if _, err := exec.LookPath(name); err == nil {
		return name
	}
	return os.Args[0]
}
