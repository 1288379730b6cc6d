//go:build unix

package bench

import (
	"os/exec"
	"syscall"
)

// endTogether makes a process end with all that it has started: a profiler without its
// program, or a program without its profiler, would go on.
func endTogether(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	c.WaitDelay = patience
}
