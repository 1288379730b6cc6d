package agent

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadTime returns the processor time that this thread has used. Waiting for a
// processor, which takes most of a pass on a busy machine, is not in it.
func threadTime() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
		return time.Since(began)
	}
	return time.Duration(t.Nano())
}

var began = time.Now()
