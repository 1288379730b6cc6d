package cli

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "rewrite the expected outputs in testdata/script")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"dendro": func() {
			status := Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
			if server := os.Getenv(sameVariable); server != "" && os.Getenv("DENDRO_STORE") == server && !slices.Contains(os.Args, "--store") {
				if err := sameAsServer(server, os.Args[1:]); err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(70)
				}
			}
			os.Exit(status)
		},
	})
}

// TestScript runs testdata/script/*.txtar: each is a session at a command line,
// with its files, its commands, and what they must print.
func TestScript(t *testing.T) { testscript.Run(t, scriptParams()) }

func scriptParams() testscript.Params {
	return testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: *update,
		Setup: func(e *testscript.Env) error {
			e.Setenv("NO_COLOR", "1")
			e.Setenv("DENDRO_STORE", "")
			e.Setenv("XDG_CONFIG_HOME", e.WorkDir+"/config")
			return nil
		},
		RequireExplicitExec: true,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"sampled": sampled},
		Condition: func(cond string) (bool, error) {
			if cond == "root" {
				return os.Geteuid() == 0, nil
			}
			return false, nil
		},
	}
}
