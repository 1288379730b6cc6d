// Package program runs the dendro binary as its users do, for tests from outside: as
// a process, in a folder, seen by what it prints and by its status.
//
// The binary is built by the first test that needs it, of the sources at hand, or is the one
// that $DENDRO_TEST_BINARY names. What a test demands of its answers is the test's
// business.
package program

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/dendroprof/dendro/test/inputs"
)

// binary finds the program under test, within Main.
var binary func() (string, error)

// Main makes a folder for the program under test, calls run, which is mostly testing.M.Run, and
// returns its status. It is to be called from TestMain.
func Main(run func() int) (status int) {
	dir, err := os.MkdirTemp("", "dendro-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = sync.OnceValues(func() (string, error) { return find(dir) })
	return run()
}

// find returns the absolute path of the program that $DENDRO_TEST_BINARY names, or builds one in dir. It
// runs within a test, so that `go test` repeats the test when the program changes.
func find(dir string) (string, error) {
	if given := os.Getenv("DENDRO_TEST_BINARY"); given != "" {
		file, err := exec.LookPath(given)
		if err != nil {
			return "", fmt.Errorf("DENDRO_TEST_BINARY: %w", err)
		}
		return filepath.Abs(file) // commands run in folders of their own
	}
	const main = "github.com/dendroprof/dendro/cmd/dendro"
	if err := inputs.Packages(".", main); err != nil {
		return "", err
	}
	file := filepath.Join(dir, "dendro")
	build := exec.Command("go", "build", "-o", file, main)
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", build, err, out)
	}
	return file, nil
}

// Path returns the absolute path of the program under test.
func Path() string {
	if binary == nil {
		panic("program: TestMain does not call Main")
	}
	file, err := binary()
	if err != nil {
		panic(fmt.Errorf("program: %w", err))
	}
	return file
}

// Command returns a call of the program in dir.
func Command(dir string, args ...string) *exec.Cmd {
	c := exec.Command(Path(), args...)
	c.Dir = dir
	return c
}

// Finish runs a command to its end and returns what it printed, and its exit status.
func Finish(t *testing.T, c *exec.Cmd) (stdout, stderr string, status int) {
	t.Helper()
	var out, errOut bytes.Buffer
	c.Stdout, c.Stderr = &out, &errOut
	if err := c.Run(); err != nil && c.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), errOut.String(), c.ProcessState.ExitCode()
}

// Run is Finish for a call of the program in dir.
func Run(t *testing.T, dir string, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	return Finish(t, Command(dir, args...))
}

// Succeed runs a command that has to succeed and returns what it printed.
func Succeed(t *testing.T, c *exec.Cmd) string {
	t.Helper()
	out, errOut, status := Finish(t, c)
	if status != 0 {
		t.Fatalf("%s: status %d\n%s%s", strings.Join(c.Args, " "), status, out, errOut)
	}
	return out
}

// Must is Succeed for a call of the program in dir.
func Must(t *testing.T, dir string, args ...string) string {
	t.Helper()
	return Succeed(t, Command(dir, args...))
}

// Waiting starts a call of the program in dir that reads its stdin, which stays open
// until the test ends. It returns the process's id.
func Waiting(t *testing.T, dir string, args ...string) (pid int) {
	t.Helper()
	c := Command(dir, args...)
	stdin, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		_ = c.Wait() // how it ends is not what is tested
	})
	return c.Process.Pid
}

// Rows parses `{"rows": [...]}`.
func Rows(t *testing.T, text string) []map[string]any {
	t.Helper()
	var doc struct{ Rows []map[string]any }
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return doc.Rows
}
