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

// follow waits until a process has ended. It returns its split, and how long the main thread of the program,
// the process or the child that it starts, waited for a processor; zero without Linux's /proc.
func follow(ctx context.Context, pid int, starts bool) (s cpuSplit, waited time.Duration) {
	for every := time.NewTicker(tick); ; {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return cpuSplit{}, 0
		}
		// The name of the program is in brackets, and may have some. The fields behind it begin with the state.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		const state, times = 0, 11 // utime, stime, cutime, cstime
		if len(fields) < times+4 {
			return cpuSplit{}, 0
		}
		program := []byte(strconv.Itoa(pid))
		if starts {
			children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
			program, _, _ = bytes.Cut(children, []byte(" "))
		}
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%s/schedstat", program))
		if of := bytes.Fields(text); len(of) > 1 {
			waited = time.Duration(number(of[1]))
		}
		if string(fields[state]) == "Z" {
			of := func(i int) time.Duration { return time.Duration(number(fields[times+i])) * tick }
			return cpuSplit{of(0) + of(1), of(2) + of(3)}, waited
		}
		select {
		case <-ctx.Done():
			return cpuSplit{}, 0
		case <-every.C:
		}
	}
}

// number reads a number that the kernel wrote.
func number(text []byte) int64 {
	n, _ := strconv.ParseInt(string(text), 10, 64)
	return n
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
