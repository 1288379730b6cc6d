package cli

import (
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/app/internal/server/api"
	"github.com/dendroprof/dendro/store/engines"
)

// TestScriptServed runs the same scripts against a server: a command whose store is
// another Dendro prints the same as with a file of its own. Lines about the file itself
// stand behind [!served].
func TestScriptServed(t *testing.T) {
	params := scriptParams()
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
		return nil
	}
	testscript.Run(t, params)
}

// servedStore is the key of the store behind the server of a script.
type servedStore struct{}
