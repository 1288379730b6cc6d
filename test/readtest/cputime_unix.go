//go:build unix

package readtest

import (
	"syscall"
	"time"
)

// CPUTime returns the processor time of this process. On a machine that others use,
// too, it says more about a program than the clock on the wall.
func CPUTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
