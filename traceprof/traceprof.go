// Package traceprof models trace profiling: an operator creates a task for an endpoint of
// a service, agents sample the stacks of the threads that serve it, and the snapshots
// show where a slow request spent its time.
//
// The terms are those of Apache SkyWalking. A Task defines what to sample. A
// Segment is the part of one trace that ran in one thread of one instance. A
// snapshot is one stack of that thread, numbered from 0 within its segment.
//
// The package has the rules (which tasks are allowed, which agent receives which, how to
// analyse snapshots, why there are none) and the storage contract, Store. It knows no
// protocol: app/internal/server translates them.
//
// Times are milliseconds since 1970 by the clocks of agents and servers, which may
// differ.
//
// The time between two neighbouring snapshots belongs to every element that both contain: the
// elements from the root to the lowest common ancestor of their paths. So self(n) is the sum of
// t(i+1) - t(i) over neighbours whose lowest common ancestor is n, duration(n) self and the
// durations of the children, and one pass from the children to the parents computes
// everything. Paths are numbers in the dictionary of stacks; the common ancestor is found by
// climbing only over forks. The cost is that of snapshots plus elements, plus the forks on a
// path in the worst case.
//
// That an instance received a task is written before the task is sent. Lines that arrive during
// a write form the next write, so a poll that delivers a task waits for at most two. Times of
// polls are written at most once a second, and at least every 10 s for each instance.
package traceprof

import (
	"strings"
	"unicode/utf8"
)

// Maximum lengths of names in characters. All protocols cut longer names in the same way,
// so that they match.
const (
	MaxServiceName  = 70
	MaxInstanceName = 70
	MaxEndpointName = 150 // of a segment
	MaxTaskEndpoint = 512 // of a task; longer ones are refused
)

// CutName returns the first most characters of a name. Bytes that are not UTF-8 become
// the replacement character.
func CutName(name string, most int) string {
	name = strings.ToValidUTF8(name, "\uFFFD")
	if len(name) <= most {
		return name
	}
	end := 0
	for range most {
		_, size := utf8.DecodeRuneInString(name[end:])
		if size == 0 {
			break
		}
		end += size
	}
	return name[:end]
}
