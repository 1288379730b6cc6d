package secret

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestHide: a process that a hidden one starts does not read its variables, unless it is
// root's.
func TestHide(t *testing.T) {
	if os.Getenv("TEST_HIDE") != "" {
		if err := Hide(); err != nil {
			fmt.Println(err)
		}
		status, _ := os.ReadFile("/proc/self/stat")
		fmt.Println(len(status) > 0)
		out, _ := exec.Command("sh", "-c", fmt.Sprintf("stat -c %%u /proc/%d/environ; cat /proc/%[1]d/environ | tr '\\0' '\\n' | grep -c ^DENDRO_TOKEN=", os.Getpid())).Output()
		fmt.Println(string(out))
		os.Exit(0)
	}
	program := os.Args[0]
	if os.Getuid() == 0 { // another user runs it
		dir, err := os.MkdirTemp("/tmp", "dendro-hide-")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		data, err := os.ReadFile(program)
		program = filepath.Join(dir, "test")
		if err := errors.Join(err, os.Chmod(dir, 0o755), os.WriteFile(program, data, 0o755)); err != nil { //nolint:gosec // for another user
			t.Fatal(err)
		}
	}
	c := exec.Command(program, "-test.run=TestHide")
	c.Dir = "/"
	c.Env = append(os.Environ(), "TEST_HIDE=1", "DENDRO_TOKEN=secret")
	if os.Getuid() == 0 {
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	out, err := c.CombinedOutput()
	if err != nil {
		t.Skipf("%v: %s", err, out) // the test binary cannot be run by another user here
	}
	if got := strings.Fields(string(out)); len(got) != 3 || got[0] != "true" || got[1] != "0" || got[2] != "0" {
		t.Errorf("%q: want a process that reads itself, whose environment is root's and not readable", out)
	}
}
