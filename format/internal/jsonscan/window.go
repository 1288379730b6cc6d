package jsonscan

import (
	"io"
	"slices"
)

// window is the part of the content that is in memory.
type window struct {
	r        io.Reader
	buf      []byte // buf[end] is 0, so that loops over digits or blanks end there
	pos, end int    // buf[pos:end] was not read yet
	base     int64  // offset of buf[0]
	eof      bool
	readErr  error // other than io.EOF
}

const (
	windowSize = 64 << 10
	keptSize   = 4 << 20 // a larger window is not kept for the next file
)

func (w *window) reset(r io.Reader) {
	buf := w.buf
	if len(buf) == 0 || len(buf) > keptSize {
		buf = make([]byte, windowSize+1)
	}
	buf[0] = 0
	*w = window{r: r, buf: buf}
}

func (w *window) offset(pos int) int64 { return w.base + int64(pos) }

// more drops what is before position keep, which moves all positions, and reads
// on. It reports false at the end.
func (w *window) more(keep int) bool {
	if w.eof {
		return false
	}
	n := copy(w.buf, w.buf[keep:w.end])
	w.base += int64(keep)
	w.pos -= keep
	w.end = n
	if n > len(w.buf)/2 {
		w.buf = slices.Grow(w.buf, 2*len(w.buf))
		w.buf = w.buf[:cap(w.buf)]
	}
	for empty := 0; ; empty++ {
		n, err := w.r.Read(w.buf[w.end : len(w.buf)-1])
		w.end += n
		if err == nil && n == 0 && empty > 100 {
			err = io.ErrNoProgress
		}
		if err != nil {
			w.eof = true
			if err != io.EOF {
				w.readErr = err
			}
		}
		if n > 0 || err != nil {
			w.buf[w.end] = 0
			return n > 0
		}
	}
}

// need has n bytes in the window, or all that are left.
func (w *window) need(n int) {
	for w.end-w.pos < n && w.more(w.pos) {
	}
}

// space goes to the next byte that is no blank and returns it; 0 at the end.
func (w *window) space() byte {
	for {
		p := w.pos
		for w.buf[p] == ' ' || w.buf[p] == '\n' || w.buf[p] == '\t' || w.buf[p] == '\r' {
			p++
		}
		w.pos = p
		if p < w.end || !w.more(p) {
			return w.buf[w.pos]
		}
	}
}
