package cli

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	bind "github.com/duckdb/duckdb-go-bindings"

	"github.com/dendroprof/dendro/app/internal/cli/command"
)

// TestDemoOfEarlierVersion runs the demo where an earlier version of the program left its
// store: names follow other rules, and profiles have other content.
func TestDemoOfEarlierVersion(t *testing.T) {
	t.Chdir(t.TempDir())
	var out, errOut bytes.Buffer
	run := func() int {
		return run(t.Context(), &command.Env{In: strings.NewReader(""), Out: &out, Err: &errOut}, []string{"demo"})
	}
	if status := run(); status != 0 {
		t.Fatal(errOut.String())
	}
	path, err := filepath.Abs("dendro-demo.duckdb")
	if err != nil {
		t.Fatal(err)
	}
	change(t, path, "UPDATE meta SET value = '0' WHERE key = 'rules'; UPDATE profile SET hash = reverse(hash)")
	out.Reset()
	if status := run(); status != 0 || !strings.Contains(out.String(), "confirmed regression") {
		t.Errorf("status %d\n%s%s", status, &out, &errOut)
	}
}

// change runs SQL on a DuckDB file, as an earlier version of the program would have.
func change(t *testing.T, path, sql string) {
	t.Helper()
	var db bind.Database
	if bind.Open(path, &db) != bind.StateSuccess {
		t.Fatalf("%s cannot be opened", path)
	}
	defer bind.Close(&db)
	var c bind.Connection
	if bind.Connect(db, &c) != bind.StateSuccess {
		t.Fatal("no connection")
	}
	defer bind.Disconnect(&c)
	var r bind.Result
	defer bind.DestroyResult(&r)
	if bind.Query(c, sql, &r) != bind.StateSuccess {
		t.Fatal(bind.ResultError(&r))
	}
}
