package cli

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/cli/command"
)

// TestManual: every command has a page, which groff reads without complaint.
func TestManual(t *testing.T) {
	root, dir := newRoot(&command.Env{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}), t.TempDir()
	if err := manuals(root, dir); err != nil {
		t.Fatal(err)
	}
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		text, err := os.ReadFile(filepath.Join(dir, strings.ReplaceAll(c.CommandPath(), " ", "-")+".1"))
		if err != nil {
			t.Error(err)
		} else if !strings.HasPrefix(string(text), ".TH DENDRO") || !strings.Contains(string(text), "Exit status: 0 success") {
			t.Errorf("%s:\n%s", c.CommandPath(), text)
		}
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				visit(sub)
			}
		}
	}
	visit(root)
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("groff is not installed")
	}
	pages, _ := filepath.Glob(filepath.Join(dir, "*.1"))
	out, err := exec.Command(groff, append([]string{"-man", "-Tutf8", "-ww", "-z"}, pages...)...).CombinedOutput()
	if err != nil || strings.Contains(string(out), "warning: macro") || strings.Contains(string(out), "escape") {
		t.Errorf("%v\n%.2000s", err, out)
	}
}
