package library

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/test/inputs"
)

// maxModules is the maximum number of modules besides Dendro's that a program links which
// imports format and calltree only.
const maxModules = 8

// arguments are those of the programs, in the order of the page.
var arguments = [][]string{{"stacks.folded"}, {"stacks.folded", "later.folded"}, {"stacks.folded", "later.folded"}}

// TestPage runs the programs of the page.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/library.md")
	if err != nil {
		t.Fatal(err)
	}
	inputs := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^\$ cat (\S+)\n((?:[^$`+"`"+`].*\n)+)`).FindAllStringSubmatch(string(page), -1) {
		inputs[m[1]] = m[2]
	}
	if len(inputs) != 2 {
		t.Fatalf("the page shows %d inputs, want 2", len(inputs))
	}
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```.*?```text\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(blocks) != len(arguments) {
		t.Fatalf("%d programs with an output on the page, want %d", len(blocks), len(arguments))
	}
	for i, b := range blocks {
		dir := module(t, b[1])
		for name, text := range inputs {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got := run(t, dir, append([]string{"go", "run", "."}, arguments[i]...)...); got != b[2] {
			t.Errorf("program %d prints\n%s\nthe page says\n%s", i+1, got, b[2])
		}
		if i == 0 {
			checkModules(t, strings.Fields(run(t, dir, "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", ".")))
		}
	}
}

// checkModules checks the modules of the packages that a reader of profiles links.
func checkModules(t *testing.T, linked []string) {
	slices.Sort(linked)
	linked = slices.DeleteFunc(slices.Compact(linked), func(m string) bool {
		return m == "example.com/program" || m == "github.com/dendroprof/dendro"
	})
	if len(linked) == 0 || len(linked) > maxModules {
		t.Errorf("a program that imports format and calltree links %d modules, want 1 to %d: %q", len(linked), maxModules, linked)
	}
	for _, m := range linked {
		for _, heavy := range []string{"duckdb", "azure", "Azure", "iceberg", "arrow", "franz", "neo4j", "grpc", "minio", "sqlite", "pgx",
			"prometheus", "cobra"} {
			if strings.Contains(m, heavy) {
				t.Errorf("a program that imports format and calltree links %s", m)
			}
		}
	}
}

// module writes a program as a module that requires this one as main does, and returns its
// directory.
func module(t *testing.T, program string) string {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(mod), "module github.com/dendroprof/dendro\n", "module example.com/program\n", 1) +
		"\nrequire github.com/dendroprof/dendro v0.0.0\n\nreplace github.com/dendroprof/dendro => " + root + "\n"
	for name, content := range map[string]string{"go.mod": text, "go.sum": string(sum), "main.go": program} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := inputs.Packages(dir, "."); err != nil {
		t.Fatal(err)
	}
	return dir
}

// run runs a command in a directory and returns what it prints to stdout.
func run(t *testing.T, dir string, command ...string) string {
	c := exec.Command(command[0], command[1:]...)
	c.Dir = dir
	var errOut strings.Builder
	c.Stderr = &errOut
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%q: %v\n%s", command, err, &errOut)
	}
	return string(out)
}
