package e2e

import (
	"os"
	"syscall"
)

// peakMemory returns the largest resident size of an ended process, in bytes.
func peakMemory(p *os.ProcessState) int64 {
	return p.SysUsage().(*syscall.Rusage).Maxrss << 10
}
