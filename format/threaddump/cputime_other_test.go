//go:build !unix

package threaddump

import "time"

// cpuTime is not known here; 0 leaves the figure out.
func cpuTime() time.Duration { return 0 }
