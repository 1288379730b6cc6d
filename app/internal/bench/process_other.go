//go:build !unix

package bench

import "os/exec"

func endTogether(c *exec.Cmd) { c.WaitDelay = patience }
