package cli

import (
	"net/http/httptest"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/dendroprof/dendro/internal/engines"
	"github.com/dendroprof/dendro/internal/server"
	"github.com/dendroprof/dendro/internal/server/api"
)

// notServed lists the scripts that are about a store as a file.
var notServed = map[string]string{}

// TestScriptServed runs the same scripts against a server: a command whose store
// is another Dendro prints the same as with a file of its own.
func TestScriptServed(t *testing.T) {
	files, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	files = slices.DeleteFunc(files, func(name string) bool { return notServed[filepath.Base(name)] != "" })
	params := scriptParams()
	params.Dir, params.Files, params.UpdateScripts = "", files, false
	alone := params.Setup
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
		e.Setenv("DENDRO_STORE", http.URL)
		return nil
	}
	testscript.Run(t, params)
}
