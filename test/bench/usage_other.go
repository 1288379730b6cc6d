//go:build !unix

package bench

import "time"

// CPUTime returns 0: this system is not supported.
func CPUTime() time.Duration { return 0 }

// PeakRSS returns 0: this system is not supported.
func PeakRSS() int64 { return 0 }
