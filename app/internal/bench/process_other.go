//go:build !unix

package bench

import "os/exec"

func endTogether(c *exec.Cmd) (kill func()) {
	c.WaitDelay = patience
	return func() {}
}
