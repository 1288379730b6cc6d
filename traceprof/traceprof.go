// Package traceprof models trace profiling: an operator orders a task for an
// endpoint of a service, agents sample the stacks of the threads that serve it,
// and the snapshots say where a slow request spent its time.
//
// The words are those of Apache SkyWalking. A Task says what to sample. A
// Segment is the part of one trace that ran in one thread of one instance. A
// snapshot is one stack of that thread, numbered from 0 within its segment.
//
// The package holds the rules (which tasks are allowed, which agent gets which,
// what the snapshots of a segment mean, why there are none) and the contract of
// what is kept, Store. It does not know who sent anything or how: protocols
// are translated in internal/server.
//
// Times are milliseconds since 1970 as agents and servers report them; nothing
// here trusts two clocks to agree.
package traceprof

import (
	"strings"
	"unicode/utf8"
)

// Longest names in characters; longer ones are cut, the same on every path, so
// that a name means the same service wherever it comes from.
const (
	MaxServiceName  = 70
	MaxInstanceName = 70
	MaxEndpointName = 150 // of a segment
	MaxTaskEndpoint = 512 // of a task, which is refused beyond
)

// CutName returns the first most characters of a name. Bytes that are no UTF-8
// become the replacement character.
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
