package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestArchitecture wants the tables of ARCHITECTURE.md to name folders that exist, each once, and
// each folder of a package outside of the others' folders.
func TestArchitecture(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]*) \\|").FindAllStringSubmatch(string(text), -1) {
		for _, m := range regexp.MustCompile("`([^`]*)`").FindAllStringSubmatch(row[1], -1) {
			if named[m[1]] {
				t.Errorf("ARCHITECTURE.md names %s twice", m[1])
			}
			named[m[1]] = true
			if info, err := os.Stat(filepath.Join(root, m[1])); err != nil || !info.IsDir() {
				t.Errorf("ARCHITECTURE.md names %s, which is no folder", m[1])
			}
		}
	}
	var folders []string
	for _, pattern := range []string{"*", "internal/*", "test/*", "store/*", "analysis/*", "traceprof/*", "query/*", "app/internal/*"} {
		list, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		folders = append(folders, list...)
	}
	for _, folder := range folders {
		name := filepath.ToSlash(strings.TrimPrefix(folder, root+string(filepath.Separator)))
		if code, _ := filepath.Glob(filepath.Join(folder, "*.go")); len(code) > 0 && !named[name] {
			t.Errorf("ARCHITECTURE.md does not name %s", name)
		}
	}
}
