package agents

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/test/program"
	"github.com/dendroprof/dendro/test/session"
)

// TestStartPage runs the commands of the page for operators, with a real agent.
func TestStartPage(t *testing.T) {
	needAgents(t)
	venv, err := pythonVenv(t.Context(), pythonFolder, pythonAgent)
	if err != nil {
		t.Fatal(err)
	}
	// The folder of the environment was renamed after it was made, so its scripts do
	// not find their interpreter.
	bin := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\nexec %s/bin/python %[1]s/bin/sw-python \"$@\"\n", venv)
	if err := os.WriteFile(filepath.Join(bin, "sw-python"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	var addresses []string
	for _, usual := range []string{"127.0.0.1:12800", "127.0.0.1:11800", "127.0.0.1:8000"} {
		addresses = append(addresses, usual, program.FreeAddress(t))
	}
	session.Run(t, "../../docs/start/skywalking.md", session.Options{
		Tags:    []string{"agent"},
		Path:    []string{bin, filepath.Join(venv, "bin")},
		Replace: strings.NewReplacer(addresses...),
	})
}
