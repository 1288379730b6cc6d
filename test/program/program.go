// Package program runs the dendro binary as its users do, for tests from outside: as
// a process, in a folder, seen by what it prints and by its status.
//
// The binary is built once per test program, of the sources at hand, or is the one
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
	"testing"
)

// binary is the program under test, within Main.
var binary string

// Main makes the program under test, calls run, which is mostly testing.M.Run, and
// returns its status, or 1 if there is no program. It is to be called from TestMain.
func Main(run func() int) (status int) {
	if given := os.Getenv("DENDRO_TEST_BINARY"); given != "" {
		var err error
		if binary, err = exec.LookPath(given); err == nil {
			binary, err = filepath.Abs(binary) // commands run in folders of their own
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "DENDRO_TEST_BINARY: %v\n", err)
			return 1
		}
		return run()
	}
	dir, err := os.MkdirTemp("", "dendro-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "dendro")
	build := exec.Command("go", "build", "-o", binary, "github.com/dendroprof/dendro/cmd/dendro")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n%s", build, err, out)
		return 1
	}
	return run()
}

// Path returns the absolute path of the program under test.
func Path() string {
	if binary == "" {
		panic("program: TestMain does not call Main")
	}
	return binary
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
