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
	"io"

	"github.com/dendroprof/dendro/format/internal/stacktext"
	"github.com/dendroprof/dendro/profile"
)

// Name is the name of the format in Profile.Format.
const Name = "callgrind"

// Decoder reads files one after the other and keeps a buffer. It belongs to one
// goroutine; the profiles that it returns do not refer to it.
type Decoder struct {
	in stacktext.Lines
}

// NewDecoder returns a Decoder.
func NewDecoder() *Decoder { return &Decoder{} }

// Decode reads the whole of r into a new profile over s; with s nil it gets
// Symbols of its own. A line that fits nowhere is an error with its number
// around profile.ErrMalformed.
func (d *Decoder) Decode(r io.Reader, s *profile.Symbols, l profile.Limits) (*profile.Profile, error) {
	l = l.WithDefaults()
	d.in.Reset(r, l.Line)
	p := profile.New(s)
	p.Format = Name
	f := newFile(&d.in, p)
	if err := f.read(); err != nil {
		return nil, err
	}
	if err := f.fill(l); err != nil {
		return nil, err
	}
	return p.Checked()
}
