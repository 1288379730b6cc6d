package e2e

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	driver "github.com/neo4j/neo4j-go-driver/v6/neo4j"

	"github.com/dendroprof/dendro/test/neo4j/server"
	"github.com/dendroprof/dendro/test/program"
)

// graph is the server that tests share; nil without DENDRO_TEST_REAL.
var graph *server.Server

func TestMain(m *testing.M) {
	if os.Getenv("DENDRO_TEST_REAL") == "" {
		os.Exit(m.Run())
	}
	os.Exit(program.Main(func() int {
		status, err := besideServer(m)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		return status
	}))
}

// besideServer starts the server and runs the tests.
func besideServer(m *testing.M) (status int, err error) {
	release, err := server.ReleaseNamed(cmp.Or(os.Getenv("DENDRO_TEST_NEO4J_RELEASE"), "lts"))
	if err != nil {
		return 1, err
	}
	if graph, err = server.Start(context.Background(), server.Options{Release: release}); err != nil {
		return 1, err
	}
	status = m.Run()
	if err := graph.Close(); err != nil {
		return 1, err
	}
	return status, nil
}

// needServer skips tests where no server was asked for.
func needServer(t *testing.T) {
	t.Helper()
	if os.Getenv("DENDRO_TEST_REAL") == "" { // read here: `go test` does not see what TestMain reads
		t.Skip("needs a real server: make test-real")
	}
}

// long keeps a test out of `go test -short`, which asks whether a release of the
// server behaves as the others do: what it does the others do as well.
func long(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes long")
	}
}

// models are the models of a graph database.
var models = []string{"shared", "thesis"}

// place returns the shared server's database, empty, and ready for a model
// unless that is empty.
func place(t *testing.T, model string) string {
	t.Helper()
	needServer(t)
	empty(t, graph)
	if model != "" {
		must(t, t.TempDir(), "store", "init", "--store", graph.URL(), "--model", model)
	}
	return graph.URL()
}

// empty deletes everything from a server's database, its schema included.
func empty(t *testing.T, s *server.Server) {
	t.Helper()
	cypher(t, s, "MATCH (n) CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 5000 ROWS")
	for _, r := range cypher(t, s, "SHOW CONSTRAINTS YIELD name") {
		cypher(t, s, "DROP CONSTRAINT `"+r["name"].(string)+"`")
	}
	for _, r := range cypher(t, s, "SHOW INDEXES YIELD name, type, owningConstraint WHERE type <> 'LOOKUP' AND owningConstraint IS NULL") {
		cypher(t, s, "DROP INDEX `"+r["name"].(string)+"`")
	}
}

// cypher runs a statement past Dendro, also one that writes, and returns its rows.
func cypher(t *testing.T, s *server.Server, statement string) []map[string]any {
	t.Helper()
	d, err := driver.NewDriver("bolt://"+s.Address(), driver.BasicAuth(server.User, server.Password, ""))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close(t.Context())
	session := d.NewSession(t.Context(), driver.SessionConfig{})
	defer session.Close(t.Context())
	result, err := session.Run(t.Context(), statement, nil)
	if err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	records, err := result.Collect(t.Context())
	if err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	rows := make([]map[string]any, len(records))
	for i, r := range records {
		rows[i] = r.AsMap()
	}
	return rows
}

// command returns the program's call in dir, with the server's password.
func command(dir string, args ...string) *exec.Cmd {
	c := program.Command(dir, args...)
	c.Env = append(os.Environ(), "DENDRO_NEO4J_PASSWORD="+server.Password, "DENDRO_STORE=", "NO_COLOR=1", "XDG_CONFIG_HOME="+dir)
	return c
}

// dendro runs the program and returns stdout, stderr and exit status.
func dendro(t *testing.T, dir string, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	return program.Finish(t, command(dir, args...))
}

// must is dendro for calls that have to succeed.
func must(t *testing.T, dir string, args ...string) string {
	t.Helper()
	return program.Succeed(t, command(dir, args...))
}

// refused demands that a call fails, with status 1 and words on stderr.
func refused(t *testing.T, c *exec.Cmd, words ...string) {
	t.Helper()
	out, errOut, status := program.Finish(t, c)
	if status != 1 {
		t.Errorf("%s: status %d, want 1\n%s%s", c, status, out, errOut)
	}
	for _, w := range words {
		if !strings.Contains(errOut, w) {
			t.Errorf("%s: stderr does not say %q:\n%s", c, w, errOut)
		}
	}
	if strings.Contains(out+errOut, server.Password) {
		t.Errorf("%s shows the password:\n%s%s", c, out, errOut)
	}
}
