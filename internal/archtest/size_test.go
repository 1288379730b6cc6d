package archtest

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// maxPackage is the maximum number of lines of a package, without its tests: more is not read
// in a day.
const maxPackage = 5000

// TestPackageSize counts the lines of packages, but for those of tests.
func TestPackageSize(t *testing.T) {
	lines := map[string]int{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if base := d.Name(); d.IsDir() && (base == "testdata" || base == "node_modules" || strings.HasPrefix(base, ".") && base != "..") {
			return fs.SkipDir
		}
		if filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		src, err := os.ReadFile(name)
		if err != nil || bytes.Contains(src[:min(len(src), 300)], []byte("// Code generated ")) {
			return err
		}
		place, err := filepath.Rel(root, filepath.Dir(name))
		if strings.HasPrefix(place, "test"+string(filepath.Separator)) {
			return err // suites
		}
		lines[place] += bytes.Count(src, []byte("\n"))
		return err
	})
	if err != nil || len(lines) < 100 {
		t.Fatalf("%d packages, %v", len(lines), err)
	}
	for place, n := range lines {
		if n > maxPackage {
			t.Errorf("%s: %d lines, more than %d: divide it where few names cross", place, n, maxPackage)
		}
	}
}
