// Package inputs tells `go test` what a test depends on that the test neither imports nor opens:
// the sources of programs that it builds, the scripts that it runs.
//
// `go test` repeats a test that passed when its code changes, or a file, folder or variable that it
// used through package os. It does not see what the processes of a test use, what lies outside of
// the folder of the test's module, and what TestMain uses before it runs the tests.
package inputs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Files adds files, and folders with the files directly in them, to what the running test depends
// on: the test is repeated when their sizes or times change.
func Files(names ...string) {
	for _, name := range names {
		if f, err := os.Open(name); err == nil { // one that is missing counts too
			f.Close()
		}
	}
}

// Packages adds the sources of packages, and of all packages that they import, to what the running
// test depends on. It is `go list` in dir, with the same patterns.
func Packages(dir string, patterns ...string) error {
	c := exec.Command("go", append([]string{"list", "-deps", "-json=Dir,EmbedFiles,Module,Standard"}, patterns...)...)
	c.Dir = dir
	var wrong strings.Builder
	c.Stderr = &wrong
	out, err := c.Output()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", c, err, &wrong)
	}
	names := map[string]bool{}
	for list := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			Dir        string
			EmbedFiles []string
			Module     struct{ Dir, GoMod string }
			Standard   bool
		}
		if err := list.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		if p.Standard {
			continue
		}
		for _, name := range append([]string{"x.go"}, p.EmbedFiles...) {
			names[filepath.Join(p.Dir, filepath.Dir(name))] = true
		}
		names[p.Module.GoMod], names[filepath.Join(p.Module.Dir, "go.sum")] = true, true
	}
	Files(slices.Collect(maps.Keys(names))...)
	return nil
}
