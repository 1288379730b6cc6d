//go:build unix

package program

import (
	"os"
	"syscall"
)

// PeakMemory returns the largest resident size of an ended process, in bytes.
func PeakMemory(p *os.ProcessState) int64 {
	return p.SysUsage().(*syscall.Rusage).Maxrss << 10
}
