package folded

import (
	"bytes"
	"io"
)

const (
	// windowSize is small enough for a second-level cache, so that text is
	// parsed where reading it has put it, and large enough for a hundred lines
	// of a deep profile.
	windowSize = 256 << 10
	// keptSize is the largest buffer that a Decoder keeps for the next file.
	keptSize = 1 << 20
)

// window shows the text of a reader piece by piece. It reuses one buffer, which
// grows only when a line does not fit.
type window struct {
	r        io.Reader
	buf      []byte
	from, to int   // buf[from:to] is read and not yet consumed
	base     int64 // offset of buf[0] from the start of the content
	eof      bool
}

func (w *window) unread() []byte { return w.buf[w.from:w.to] }

// offset returns the place in the content of position i of unread.
func (w *window) offset(i int) int64 { return w.base + int64(w.from+i) }

// fill moves what is unread to the front of the buffer and reads until the
// buffer is full or the input ends: a slow reader that gives a few bytes at a
// time must not make us look at the same text again and again.
func (w *window) fill() error {
	n := copy(w.buf, w.buf[w.from:w.to])
	w.base += int64(w.from)
	w.from, w.to = 0, n
	for empty := 0; w.to < len(w.buf) && !w.eof; {
		n, err := w.r.Read(w.buf[w.to:])
		w.to += n
		switch {
		case err == io.EOF:
			w.eof = true
		case err != nil:
			return err
		case n > 0:
			empty = 0
		default:
			if empty++; empty == 100 {
				return io.ErrNoProgress
			}
		}
	}
	w.skipMark()
	return nil
}

// skipMark consumes a byte order mark in front of the content.
func (w *window) skipMark() {
	if w.base == 0 && w.from == 0 && bytes.HasPrefix(w.unread(), byteOrderMark) {
		w.from = len(byteOrderMark)
	}
}

// grow doubles the buffer, up to room for a line of limit bytes and its end.
func (w *window) grow(limit int) {
	size := max(min(2*len(w.buf), limit+len("\r\n")), len(w.buf)+1)
	buf := make([]byte, size)
	copy(buf, w.buf[:w.to])
	w.buf = buf
}

// byteOrderMark is U+FEFF in UTF-8. Editors put it in front of a text.
var byteOrderMark = []byte("\xef\xbb\xbf")
