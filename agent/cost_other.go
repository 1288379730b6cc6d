//go:build !linux

package agent

import "time"

// threadTime returns the time since the start: the processor time of a thread is
// not known here, so waiting for a processor counts as cost.
func threadTime() time.Duration { return time.Since(began) }

var began = time.Now()
