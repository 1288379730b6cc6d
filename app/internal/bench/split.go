package bench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"time"
)

// cpuSplit is how the CPU time of a process divides, in ticks: that of its own, and that of the processes
// that it has waited for. Linux keeps both apart until somebody waits for the process.
type cpuSplit struct{ own, children time.Duration }

// tick is the unit in which Linux tells CPU time. Two numbers, user's and system's, are rounded down.
const tick = 10 * time.Millisecond

// splitAtEnd waits until a process has ended and returns its split; zero without Linux's /proc.
func splitAtEnd(ctx context.Context, pid int) cpuSplit {
	for every := time.NewTicker(tick); ; {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return cpuSplit{}
		}
		// The name of the program is in brackets, and may have some. The fields behind it begin with the state.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		const state, times = 0, 11 // utime, stime, cutime, cstime
		if len(fields) < times+4 {
			return cpuSplit{}
		}
		if string(fields[state]) == "Z" {
			of := func(i int) time.Duration {
				n, _ := strconv.ParseInt(string(fields[times+i]), 10, 64) // the kernel wrote it
				return time.Duration(n) * tick
			}
			return cpuSplit{of(0) + of(1), of(2) + of(3)}
		}
		select {
		case <-ctx.Done():
			return cpuSplit{}
		case <-every.C:
		}
	}
}

// ofChildren returns the part of all CPU time of a process that its children took: the middle of what the
// rounded numbers allow. All of it, if there is no split.
func (s cpuSplit) ofChildren(all time.Duration) time.Duration {
	if s.children == 0 {
		return all
	}
	least := max(s.children, all-s.own-2*tick)
	most := min(s.children+2*tick, all-s.own)
	return (least + most) / 2
}
