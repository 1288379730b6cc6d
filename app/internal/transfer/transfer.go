// Package transfer is the binary format of whole profiles on their way between two Dendros:
// files with their profiles (Put uploads them, a copy downloads them), and the snapshots of
// trace profiling with their segments and tasks. Everything else that a client and a server
// tell each other is JSON.
//
// A message is
//
//	"DNDR" version frame… end
//	frame = kind (1 byte) length (uvarint) content
//
// The last frame is either end or failure, so that a message that broke off is
// never taken for a short one, and a stream that fails has the error.
// A frame has numbers as varints, texts after their length (any bytes: names need not
// be UTF-8) and indexes as differences. Structs are coded by their Go types, field by
// field, after their length (coder.go).
//
// Programs of several versions understand each other: fields are only appended to structs and
// frames, and kinds of frames only added. A reader skips what it does not know; a field that the
// writer did not know is zero. A test holds the types to a recorded list, and reads a recorded
// message. Another Version is for what must not be skipped. (Package gob would do the same, but
// takes a byte for a struct of any size: it is not made for input that is not trusted.)
//
// The input is not trusted: memory grows with the bytes received, every index is checked
// against its table, and what does not fit is ErrMalformed.
//
// The package knows neither HTTP nor engines.
package transfer

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/dendroprof/dendro/store"
)

// Version is the version of the format that this package writes and reads.
const Version = 1

// ContentType is the media type of messages.
const ContentType = "application/vnd.dendro.transfer"

// Put and Get are the addresses of the streams: files up, answered with what became of them
// (ReadOutcomes); and what a Wanted names down.
const (
	Put = "/api/v1/store/put"
	Get = "/api/v1/store/get"
)

// Wanted is what a client downloads, one of:
type Wanted struct {
	Profiles []store.ProfileID `json:"profiles,omitempty"` // as files
	Waiting  bool              `json:"waiting,omitempty"`  // metrics that wait for a profile, as files without profiles
	Samples  *WantedSamples    `json:"samples,omitempty"`  // as Sampled
}

// WantedSamples is a part of what was sampled.
type WantedSamples struct {
	Name     string   `json:"name,omitempty"` // of a segment, a task or a trace; alone
	Task     string   `json:"task,omitempty"`
	Trace    string   `json:"trace,omitempty"`
	Segments []string `json:"segments,omitempty"`
}

// Errors of reading, beside those that the message itself carries.
var (
	// ErrMalformed: the bytes are not a message, or contradict themselves.
	ErrMalformed = errors.New("malformed transfer")
	// ErrVersion: the message is of another version.
	ErrVersion = errors.New("client and server have different versions of the protocol: update the older one")
)

const magic = "DNDR"

// Kinds of frames.
const (
	frameEnd     byte = iota
	frameFailure      // an error that ended the message
	frameHead         // what comes before a stream or files, or all of a message
	frameChunk        // a part of a stream
	frameFile         // of files: one
)

// maxFrame bounds one frame: the largest are tables of many million call nodes.
const maxFrame = 1 << 30

// writer writes one message.
type writer struct {
	w     *bufio.Writer
	c     coder
	begun bool
}

func newWriter(w io.Writer) *writer { return &writer{w: bufio.NewWriterSize(w, 64<<10)} }

// frame writes one frame, filled by fill. A failure to encode leaves the
// message without the frame: it may still end with the failure.
func (w *writer) frame(kind byte, fill func(*coder)) error {
	if !w.begun {
		w.begun = true
		w.w.WriteString(magic)
		w.w.WriteByte(Version)
	}
	w.c = coder{b: w.c.b[:0]}
	if fill != nil {
		fill(&w.c)
	}
	if w.c.err != nil {
		return w.c.err
	}
	if len(w.c.b) > maxFrame {
		return fmt.Errorf("a part of the message has %d bytes, more than fit a frame: send or ask for less at a time", len(w.c.b))
	}
	var head [1 + binary.MaxVarintLen64]byte
	head[0] = kind
	n := binary.PutUvarint(head[1:], uint64(len(w.c.b)))
	w.w.Write(head[:1+n])
	_, err := w.w.Write(w.c.b) // errors of bufio stay
	return err
}

// end ends the message, with the error that ended it if there is one.
func (w *writer) end(err error) error {
	if err == nil {
		err = w.frame(frameEnd, nil)
	} else {
		err = w.frame(frameFailure, func(c *coder) { c.failure(&err) })
	}
	return errors.Join(err, w.w.Flush())
}

// reader reads one message.
type reader struct {
	r     *bufio.Reader
	buf   bytes.Buffer
	begun bool
	done  bool
}

func newReader(r io.Reader) *reader { return &reader{r: bufio.NewReader(r)} }

// next returns the next frame; frameEnd at the end. The coder is valid until the
// call after. A failure is returned as the error it carries.
func (r *reader) next() (kind byte, c *coder, err error) {
	if r.done {
		return frameEnd, &coder{reading: true}, nil
	}
	for kind, c, err = r.frame(); err == nil && kind > frameFile; { // of a later version
		kind, c, err = r.frame()
	}
	return kind, c, err
}

// frame returns the next frame of any kind.
func (r *reader) frame() (kind byte, c *coder, err error) {
	if !r.begun {
		if err := r.begin(); err != nil {
			return 0, nil, err
		}
	}
	if kind, err = r.r.ReadByte(); err != nil {
		return 0, nil, brokenOff(err)
	}
	n, err := binary.ReadUvarint(r.r)
	if err != nil {
		return 0, nil, brokenOff(err)
	}
	if n > maxFrame {
		return 0, nil, fmt.Errorf("%w: a frame of %d bytes", ErrMalformed, n)
	}
	r.buf.Reset()
	if _, err := io.CopyN(&r.buf, r.r, int64(n)); err != nil { // grows with what comes
		return 0, nil, brokenOff(err)
	}
	c = &coder{reading: true, b: r.buf.Bytes()}
	switch kind {
	case frameEnd:
		r.done = true
	case frameFailure:
		r.done = true
		var failure error
		if c.failure(&failure); c.err == nil && failure == nil {
			c.fail("a failure without an error")
		}
		return 0, nil, errors.Join(c.err, failure)
	}
	return kind, c, nil
}

func (r *reader) begin() error {
	var head [len(magic) + 1]byte
	if _, err := io.ReadFull(r.r, head[:]); err != nil {
		return brokenOff(err)
	}
	if string(head[:len(magic)]) != magic {
		return fmt.Errorf("%w: it does not begin as one", ErrMalformed)
	}
	if v := head[len(magic)]; v != Version {
		return fmt.Errorf("%w (here %d, there %d)", ErrVersion, Version, v)
	}
	r.begun = true
	return nil
}

// brokenOff makes the end of the bytes an error: a message has an end of its own.
func brokenOff(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF { // readers return these unwrapped
		return fmt.Errorf("%w: the message broke off: %w", ErrMalformed, io.ErrUnexpectedEOF)
	}
	return err
}

// expect reads a frame that must be of a kind, and all of it.
func (r *reader) expect(want byte, fill func(*coder)) error {
	kind, c, err := r.next()
	if err != nil {
		return err
	}
	if kind != want {
		return fmt.Errorf("%w: frame of kind %d instead of %d", ErrMalformed, kind, want)
	}
	fill(c)
	return c.err
}

// About is what a server says of itself at /api/v1/info.
type About struct {
	Product  string     `json:"product"`
	Version  string     `json:"version"`
	API      int        `json:"api"`
	Transfer int        `json:"transfer"` // Version of the server
	SQL      bool       `json:"sql"`      // users' SQL is allowed
	Traces   bool       `json:"traces"`   // trace profiling is kept
	Store    store.Info `json:"store"`
}
