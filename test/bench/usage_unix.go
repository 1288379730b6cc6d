//go:build unix

package bench

import (
	"runtime"
	"syscall"
	"time"
)

// CPUTime returns the processor time that the process has used, in user and
// kernel mode. On a machine that others use it says more about the work done
// than the time on the wall.
func CPUTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// PeakRSS returns the largest resident size that the process had so far, in
// bytes, 0 where the system does not say.
func PeakRSS() int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return int64(usage.Maxrss) // bytes there, kilobytes elsewhere
	}
	return int64(usage.Maxrss) * 1024
}
