package main

import (
	"os"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/test/neo4j/server"
)

// TestNotRun wants the status and the words of a call that cannot run its command.
func TestNotRun(t *testing.T) {
	future := server.Options{Release: server.Release{Version: "9999.1", Java: 9999}}
	for _, c := range []struct {
		command []string
		status  int
		want    string
	}{
		{nil, 2, "no command to run"},
		{[]string{"make", "it"}, 1, "not run: make it: no Java that is new enough: Neo4j 9999.1 needs Java 9999 or newer"},
	} {
		status, err := run(t.Context(), future, c.command)
		if status != c.status || err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v: status %d, %v", c.command, status, err)
		}
	}
}

// TestBeside runs a command beside a real server and wants its status, and
// nothing left of the server.
func TestBeside(t *testing.T) {
	if os.Getenv("DENDRO_TEST_REAL") == "" {
		t.Skip("needs a real server: make test-real")
	}
	home := t.TempDir()
	script := `test "$DENDRO_TEST_REAL" = 1 && test -d "$DENDRO_TEST_NEO4J_DATA" && test -n "$DENDRO_NEO4J_PASSWORD" && echo "$DENDRO_TEST_NEO4J" > url && exit 7`
	t.Chdir(t.TempDir())
	status, err := run(t.Context(), server.Options{Release: server.LTS, Home: home}, []string{"sh", "-c", script})
	if err != nil || status != 7 {
		t.Fatalf("status %d, %v", status, err)
	}
	url, err := os.ReadFile("url")
	if err != nil || !strings.HasPrefix(string(url), "neo4j://neo4j@127.0.0.1:") {
		t.Errorf("the URL is %q, %v", url, err)
	}
	log, err := os.ReadFile(home + "/logs/neo4j.log")
	if err != nil || !strings.Contains(string(log), "Stopped.") {
		t.Errorf("the server did not stop: %v\n%s", err, log)
	}
}
