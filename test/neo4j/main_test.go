package main

import (
	"os"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/test/neo4j/server"
)

func TestMistakes(t *testing.T) {
	for _, c := range []struct {
		release string
		command []string
		want    string
	}{
		{"lts", nil, "no command to run"},
		{"3.5", []string{"true"}, `"3.5"`},
	} {
		if status, err := run(t.Context(), c.release, server.Options{}, c.command); status != 2 || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %v: status %d, %v", c.release, c.command, status, err)
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
	status, err := run(t.Context(), "lts", server.Options{Home: home}, []string{"sh", "-c", script})
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
