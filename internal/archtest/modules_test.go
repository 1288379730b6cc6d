package archtest

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestModules: `make` checks and tests every module of the repository, so that no suite drops out
// with a go.mod of its own. Those of testdata are inputs of tests, and tools has no code.
func TestModules(t *testing.T) {
	if _, err := os.Stat(filepath.Join(root, ".git")); err != nil {
		t.Skip("make asks git for the modules: ", err)
	}
	var modules []string
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (d.Name() == "testdata" || d.Name() == "node_modules" || d.Name() == ".git") {
			return fs.SkipDir
		}
		dir, _ := filepath.Rel(root, filepath.Dir(name))
		if err == nil && d.Name() == "go.mod" && dir != "." && dir != "tools" {
			modules = append(modules, dir)
		}
		return err
	})
	if err != nil || len(modules) < 5 {
		t.Fatalf("modules %q: %v", modules, err)
	}
	for _, target := range []string{"lint", "test", "race-all"} {
		cmd := exec.Command("make", "-n", target)
		cmd.Dir = root
		text, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("make -n %s: %s", target, text)
		}
		if !strings.Contains(string(text), " ./...\n") {
			t.Errorf("make %s leaves packages of the main module out:\n%s", target, text)
		}
		_, list, _ := strings.Cut(string(text), "for m in ")
		list, loop, _ := strings.Cut(list, ";")
		if got := strings.Fields(list); !strings.Contains(loop, "./...)") || !same(got, modules) {
			t.Errorf("make %s runs the modules %q, want %q", target, got, modules)
		}
	}
}

// same reports whether two lists have the same texts.
func same(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}
