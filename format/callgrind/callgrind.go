// Package callgrind reads and writes the profile format of Valgrind's callgrind,
// which KCachegrind and callgrind_annotate show and Xdebug and others write too.
//
// Specification: https://valgrind.org/docs/manual/cl-format.html, version 1. Read
// are all its lines: name and position compression, objects, inlined files, calls,
// jumps (which cost nothing), several parts and threads in a file. Files of
// callgrind 3.19 were seen. docs/format/native.md lists what it does not keep.
//
// The format has no stacks but a call graph: the self cost of each function by line,
// and for each pair of caller and callee the cost of all calls, callees included.
// Package callgraph estimates the paths; the profile says so in a warning.
//
// The writer goes the other way, which loses the paths and nothing else: own
// costs and totals of the file are those of the profile's function list.
package callgrind

import (
	"github.com/dendroprof/dendro/format/internal/stacktext"
	"github.com/dendroprof/dendro/profile"
)

// Name is the name of the format in Profile.Format.
const Name = "callgrind"

// NewDecoder returns a decoder. A line that fits nowhere is an error with its number
// around profile.ErrMalformed.
func NewDecoder() profile.Decoder {
	return stacktext.NewDecoder(Name, func(t *stacktext.Reading) error {
		f := newFile(t.Lines, t.Profile)
		if err := f.read(); err != nil {
			return err
		}
		return f.fill(t.Limits)
	})
}
