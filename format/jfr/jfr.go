// Package jfr reads JFR recordings: those of the JDK's Flight Recorder (8 to
// 25) and those that async-profiler 2 to 4 writes in the same format.
//
// A recording is a sequence of chunks that stand alone. Each has a header, one
// or more descriptions of its classes (the metadata), pools of constants that
// events point at by number (stack traces, methods, threads), and events. There
// is no specification; the JDK's own reader, package jdk.jfr.internal.consumer,
// is what the format is. Nothing here relies on the order of fields: a class
// description is compiled into a program that reads the fields that matter and
// skips the rest (program.go), so that an event of another version reads as
// well as the one that was seen.
//
// Each kind of event is a value type of its own (series.go): execution samples,
// wall-clock samples, allocations, locks, waits. Nothing is ever added that
// counts the same thing twice. The allocated or locked class is the innermost
// frame of its stack, of kind class, as in async-profiler's collapsed text.
// docs/format/jvm.md has the table of events, and what is dropped.
//
// A recording that was cut off, or whose program was killed, is read as far as
// it goes; warnings say what is missing. An error is what gives no profile at
// all.
//
// Memory: one chunk at a time is held, at most Limits.Message bytes of it. All
// that is allocated, Symbols included, is at most 128 bytes for a byte of the
// file, and two or three in real recordings. Time is linear in the file.
//
// Thread dumps that a recording holds are texts of another format, which package
// threaddump reads into a table of the same profile.
//
// The package does not take off compression (package format) and does not change
// names that differ from run to run (package normalize).
//
// Numbers in a chunk's header are big endian; offsets count from the start of the chunk.
//
//	0   "FLR\0"                          32  start, ns since 1970
//	4   u16 major (2; 1 is read too)     40  duration, ns
//	6   u16 minor                        48  start, ticks
//	8   size of the chunk                56  ticks a second
//	16  offset of the newest constants   64  u32 features; bit 0: compressed integers
//	24  offset of the metadata
//
// Events follow: size, class, content. Class 0 is the metadata, class 1 constants. Integers have
// seven bits per byte, lowest first, and eight in the ninth byte. Strings begin with a byte: 0
// null, 1 empty, 2 a constant, 3 UTF-8, 4 UTF-16 units as integers, 5 Latin-1. Events of constants
// form a chain from the newest backwards; their numbers are valid in their chunk only.
//
// The alternative to a decoder of our own, github.com/grafana/jfr-parser 0.9.3, lacks
// jdk.CPUTimeSample, native samples, waits, method traces and spans, and stops at an unfinished
// chunk.
package jfr

import (
	"bytes"
	"io"

	"github.com/dendroprof/dendro/profile"
)

// Name is the name of the format in Profile.Format.
const Name = "jfr"

// magic begins every chunk.
const magic = "FLR\x00"

// Sniff reports whether content begins with a chunk.
func Sniff(prefix []byte) bool { return bytes.HasPrefix(prefix, []byte(magic)) }

// Decoder reads recordings one after the other. It keeps its buffers and, for
// the Symbols of the last call, an index of their functions and frames. It is
// not safe for concurrent use. The profiles that it returns do not refer to it.
type Decoder struct {
	// Contexts are labels of samples by the number in the field contextId of their events,
	// which programs with Pyroscope's agent send beside the recording. Set them before Decode.
	Contexts map[int64][]profile.Label

	buf   []byte
	names names
	meta  metadata // of the last chunk; most chunks repeat it
	pools pools
	leaf  []profile.FrameID // of the stack in work, innermost first
}

// NewDecoder returns a Decoder.
func NewDecoder() *Decoder { return &Decoder{} }

// keepBytes is the chunk size above which buffers are not kept.
const keepBytes = 64 << 20

// Decode reads one recording from r up to its end. Functions, frames and stacks
// are added to s; nil means Symbols of its own. Errors are of type
// *profile.ParseError; Offset is the place in the recording. After an error s
// may hold more than before, which does no harm.
func (d *Decoder) Decode(r io.Reader, s *profile.Symbols, l profile.Limits) (*profile.Profile, error) {
	if s == nil {
		s = profile.NewSymbols()
	}
	d.names.over(s)
	p := profile.New(s)
	p.Format = Name
	rec := newRecording(d, p, l.WithDefaults())
	in := &input{r: r, mem: d.buf[:0], buf: d.buf[:0], limit: rec.limits.Message}
	err := rec.readChunks(in)
	d.buf = in.mem[:0]
	if cap(d.buf) > keepBytes {
		*d = Decoder{names: d.names}
	}
	if err != nil {
		return nil, err
	}
	if err := rec.unknown(); err != nil {
		return nil, err
	}
	rec.finish()
	return p.Checked()
}
