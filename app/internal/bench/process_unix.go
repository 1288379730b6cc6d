//go:build unix

package bench

import (
	"os/exec"
	"syscall"
)

// endTogether makes a process end with all that it has started: a profiler without its
// program, or a program without its profiler, would go on. It is interrupted, so that it
// can remove its own files; the function that endTogether returns kills what is left.
func endTogether(c *exec.Cmd) (kill func()) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGINT) }
	c.WaitDelay = patience
	return func() { _ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) } // nothing may be left
}
