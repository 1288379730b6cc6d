package cli

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/app/internal/server/api"
	"github.com/dendroprof/dendro/store/engines"
)

// TestScriptServed runs the same scripts against a server: a command whose store is
// another Dendro prints the same as with a file of its own, and every query of a script
// gets the same document from the command and from the API, byte for byte. Lines about
// the file itself stand behind [!served].
func TestScriptServed(t *testing.T) {
	params, log := scriptParams(), filepath.Join(t.TempDir(), "same")
	params.UpdateScripts = false // they are those of TestScript
	alone, conditions := params.Setup, params.Condition
	params.Condition = func(cond string) (bool, error) {
		if cond == "served" {
			return true, nil
		}
		return conditions(cond)
	}
	params.Setup = func(e *testscript.Env) error {
		if err := alone(e); err != nil {
			return err
		}
		st, err := engines.Open(t.Context(), filepath.Join(e.WorkDir, "served.duckdb"), engines.Write)
		if err != nil {
			return err
		}
		s, err := server.New(server.Options{}, api.Part(api.Options{Store: st, Version: "test", SQL: true}))
		if err != nil {
			return err
		}
		http := httptest.NewServer(s.Handler())
		e.Defer(func() {
			http.Close()
			if err := st.Close(); err != nil {
				t.Error(err)
			}
		})
		e.Values[servedStore{}] = st
		e.Setenv("DENDRO_STORE", http.URL)
		e.Setenv(sameVariable, http.URL)
		e.Setenv(sameLogVariable, log)
		return nil
	}
	t.Run("scripts", func(t *testing.T) { testscript.Run(t, params) })
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"runs", "top", "tree", "diff", "find", "bottlenecks", "regressions", "report", "check"} {
		if n := strings.Count("\n"+string(text), "\n"+command+" 200\n"); n < 2 {
			t.Errorf("%d queries of %s were compared", n, command)
		}
	}
	t.Logf("%d queries compared", strings.Count(string(text), "\n"))
}

// servedStore is the key of the store behind the server of a script.
type servedStore struct{}
