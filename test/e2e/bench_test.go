package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dendroprof/dendro/test/program"
)

// TestBenchInterrupted: Ctrl-C ends the benchmark that runs in a work tree, and leaves no
// tree behind.
func TestBenchInterrupted(t *testing.T) {
	dir, temporary := t.TempDir(), t.TempDir()
	mark := filepath.Join(t.TempDir(), "pid")
	for name, text := range map[string]string{
		"go.mod":    "module example.com/m\n\ngo 1.26\n",
		"a_test.go": "package m\n\nimport (\n\t\"fmt\"\n\t\"os\"\n\t\"testing\"\n\t\"time\"\n)\n\nfunc BenchmarkSleep(b *testing.B) {\n\tos.WriteFile(" + strconv.Quote(mark) + ", []byte(fmt.Sprint(os.Getpid())), 0o600)\n\ttime.Sleep(time.Hour)\n}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."}, {"commit", "-q", "-m", "one"},
		{"checkout", "-q", "-b", "topic"}, {"commit", "-q", "--allow-empty", "-m", "two"}} {
		c := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
		c.Dir = dir
		program.Succeed(t, c)
	}
	c := program.Command(dir, "bench", "--base", "main", "--", "go", "test", ".")
	c.Env = append(os.Environ(), "TMPDIR="+temporary)
	var text strings.Builder
	c.Stdout, c.Stderr = &text, &text
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	for deadline := time.Now().Add(2 * time.Minute); pid == 0; time.Sleep(50 * time.Millisecond) {
		data, _ := os.ReadFile(mark) // not there yet, or not written
		if pid, _ = strconv.Atoi(string(data)); pid == 0 && time.Now().After(deadline) {
			c.Process.Kill()
			t.Fatalf("the benchmark did not start: %s", text.String())
		}
	}
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err == nil {
		t.Error("interrupted, and the status is 0")
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	for deadline := time.Now().Add(5 * time.Second); syscall.Kill(pid, 0) == nil; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			syscall.Kill(pid, syscall.SIGKILL)
			t.Fatal("the benchmark goes on")
		}
	}
	if !strings.HasPrefix(text.String(), "checking out ") {
		t.Errorf("no progress from the beginning: %s", text.String())
	}
}
