package stacktext

import (
	"bytes"
	"io"
	"math"

	"github.com/dendroprof/dendro/profile"
)

const (
	// windowSize fits a second-level cache, so that a line is looked at where
	// reading has put it.
	windowSize = 256 << 10
	// keptSize is the largest buffer that is kept for the next text.
	keptSize = 1 << 20
)

// Lines shows a text line by line:
//
//	for in.Next() { use(in.Text()) }
//	if err := in.Err(); err != nil { … }
//
// The zero value is ready for Reset. It reuses one buffer, which grows only when
// a line does not fit.
type Lines struct {
	r     io.Reader
	limit int

	buf      []byte
	from, to int   // buf[from:to] is read and not yet shown
	base     int64 // offset of buf[0] from the start of the text
	eof      bool

	line   []byte
	start  int64 // offset of line
	number int
	cut    bool
	err    error
}

// Reset begins with the text of r, whose lines may have limit bytes.
func (l *Lines) Reset(r io.Reader, limit int) {
	buf := l.buf
	if buf == nil || len(buf) > keptSize {
		buf = make([]byte, windowSize)
	}
	*l = Lines{r: r, limit: min(limit, math.MaxInt-1), buf: buf}
}

// Text returns the line without its end. It is valid until the next Next, and
// the caller must not change it.
func (l *Lines) Text() []byte { return l.line }

// Number returns the number of the line; 1 is the first.
func (l *Lines) Number() int { return l.number }

// Cut reports whether the line is the last one and has no line end: the text may
// have been cut off within it.
func (l *Lines) Cut() bool { return l.cut }

// Err returns what ended the text, if it was not its end.
func (l *Lines) Err() error { return l.err }

// At returns err as a *profile.ParseError at the beginning of the line.
func (l *Lines) At(err error) error {
	return &profile.ParseError{Line: l.number, Offset: l.start, Err: err}
}

// Malformed returns a profile.ErrMalformed at the beginning of the line.
func (l *Lines) Malformed(format string, args ...any) error {
	return l.At(profile.Malformed(format, args...))
}

// Next goes to the next line, if there is one. Lines end in LF or CRLF.
func (l *Lines) Next() bool {
	searched := 0
	for l.err == nil {
		text := l.buf[l.from:l.to]
		if i := bytes.IndexByte(text[searched:], '\n'); i >= 0 {
			return l.show(text[:searched+i], searched+i+1)
		}
		if l.eof {
			l.cut = len(text) > 0
			return l.cut && l.show(text, len(text))
		}
		if len(text) > l.limit+len("\r") {
			return l.show(text, len(text)) // reports that it is too long
		}
		searched = len(text)
		l.fill()
	}
	return false
}

// show makes text, of which n bytes are consumed, the line.
func (l *Lines) show(text []byte, n int) bool {
	l.number++
	l.start = l.base + int64(l.from)
	l.from += n
	if k := len(text); k > 0 && text[k-1] == '\r' {
		text = text[:k-1]
	}
	if len(text) > l.limit {
		l.err = l.At(profile.TooLarge("line longer", int64(l.limit), "--max-line"))
		return false
	}
	l.line = text
	return true
}

// fill moves what is not yet shown to the front of the buffer, which is doubled
// if it is full, and reads on until the buffer is full or the text ends.
func (l *Lines) fill() {
	n := l.to - l.from
	if n == len(l.buf) {
		buf := make([]byte, 2*n)
		copy(buf, l.buf[l.from:l.to])
		l.buf = buf
	} else {
		copy(l.buf, l.buf[l.from:l.to])
	}
	l.base += int64(l.from)
	l.from, l.to = 0, n
	for empty := 0; l.to < len(l.buf) && !l.eof; {
		n, err := l.r.Read(l.buf[l.to:])
		l.to += n
		switch {
		case err == io.EOF:
			l.eof = true
		case err != nil:
			l.err = err
			return
		case n > 0:
			empty = 0
		default:
			if empty++; empty == 100 {
				l.err = io.ErrNoProgress
				return
			}
		}
	}
}
