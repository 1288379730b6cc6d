// Package bytescan reads files that are not text from their beginning: bytes, and texts of a given length.
//
// After the first error, which has its offset, all methods return zeros, so that a reader of values
// checks for it once. Memory follows what the file has, whatever length a damaged one claims.
//
// The package knows no format. Recordings whose records are read in place (perf.data, JFR) have cursors of
// their own.
package bytescan

import (
	"bufio"
	"io"

	"github.com/dendroprof/dendro/format/internal/stacktext"
	"github.com/dendroprof/dendro/profile"
)

// Scanner reads one file. It belongs to one goroutine.
type Scanner struct {
	in     *bufio.Reader
	what   string // what the file holds, for errors
	limit  int    // bytes of a text
	offset int64
	err    error
	buf    []byte
}

// New returns a Scanner of r, which holds what errors call it: "profile".
func New(r io.Reader, what string, l profile.Limits) *Scanner {
	return &Scanner{in: bufio.NewReader(r), what: what, limit: l.Line}
}

// Err returns the first error.
func (s *Scanner) Err() error { return s.err }

// Offset returns how many bytes were read.
func (s *Scanner) Offset() int64 { return s.offset }

// Fail notes an error at the present place, if it is the first.
func (s *Scanner) Fail(err error, hint string) {
	if s.err == nil {
		s.err = &profile.ParseError{Offset: s.offset, Err: err, Hint: hint}
	}
}

// Malformed notes a profile.ErrMalformed.
func (s *Scanner) Malformed(format string, args ...any) {
	s.Fail(profile.Malformed(format, args...), "")
}

// More reports whether a byte follows. The end is no error.
func (s *Scanner) More() bool {
	if s.err != nil {
		return false
	}
	_, err := s.in.Peek(1)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return err == nil
}

// Byte reads a byte.
func (s *Scanner) Byte() byte {
	if !s.More() {
		s.Malformed("the %s ends early", s.what)
		return 0
	}
	c, _ := s.in.ReadByte()
	s.offset++
	return c
}

// Bytes reads n bytes, valid until the next call; up to eight zeros after an error.
func (s *Scanner) Bytes(n int) []byte {
	s.buf = s.buf[:0]
	for s.err == nil && len(s.buf) < n {
		from := len(s.buf)
		s.buf = append(s.buf, make([]byte, min(n-from, 64<<10))...)
		k, err := io.ReadFull(s.in, s.buf[from:])
		s.offset += int64(k)
		switch {
		case err == io.EOF || err == io.ErrUnexpectedEOF:
			s.Malformed("the %s ends early", s.what)
		case err != nil:
			s.err = err
		}
	}
	if s.err != nil {
		return make([]byte, min(n, 8))
	}
	return s.buf
}

// Text reads a text of n bytes.
func (s *Scanner) Text(n int) string {
	switch {
	case n < 0:
		s.Malformed("a string of %d bytes", n)
	case n > s.limit:
		s.Fail(profile.TooLarge("string longer", int64(s.limit), "--max-line"), "")
	}
	if s.err != nil {
		return ""
	}
	text := stacktext.Clean(s.Bytes(n))
	if s.err != nil {
		return ""
	}
	return text
}
