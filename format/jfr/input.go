package jfr

import (
	"bytes"
	"io"
	"slices"

	"github.com/dendroprof/dendro/profile"
)

// input is the part of the file that is in memory: the chunk being read.
type input struct {
	r     io.Reader
	mem   []byte // all that was read and has room
	buf   []byte // the end of mem that is not done with
	off   int64  // of buf in the file
	limit int64  // bytes of buf
	ended bool
}

// readStep is how much is read before more memory is taken, so that a size in a
// header does not take what the file does not have.
const readStep = 1 << 20

// fill reads until buf holds n bytes or the file ends. It reads no further.
func (in *input) fill(n int64) error {
	if n > in.limit {
		return &profile.ParseError{Offset: in.off, Err: profile.TooLarge("chunk longer", in.limit, "--max-message")}
	}
	for have := int64(len(in.buf)); have < n && !in.ended; have = int64(len(in.buf)) {
		if int64(cap(in.buf)) < n && cap(in.buf) < cap(in.mem) {
			in.buf = in.mem[:copy(in.mem[:cap(in.mem)], in.buf)] // to the beginning
		}
		if have == int64(cap(in.buf)) {
			in.buf = slices.Grow(in.buf, int(min(n-have, max(have, readStep))))
			in.mem = in.buf[:0]
		}
		k, err := io.ReadFull(in.r, in.buf[have:min(n, int64(cap(in.buf)))])
		in.buf = in.buf[:int(have)+k]
		switch err {
		case nil:
		case io.EOF, io.ErrUnexpectedEOF:
			in.ended = true
		default:
			return &profile.ParseError{Offset: in.off + int64(len(in.buf)), Err: err}
		}
	}
	return nil
}

// fillToMagic reads until buf holds the bytes before the next chunk, searched
// from position from on, and returns their number: all when there is none.
func (in *input) fillToMagic(from int) (int, error) {
	for {
		if i := bytes.Index(in.buf[min(from, len(in.buf)):], []byte(magic)); i >= 0 {
			return from + i, nil
		}
		if in.ended {
			return len(in.buf), nil
		}
		from = max(from, len(in.buf)-len(magic)+1)
		have := int64(len(in.buf))
		if err := in.fill(max(have+1, min(have+readStep, in.limit))); err != nil {
			return 0, err
		}
	}
}

// drop forgets the first n bytes of buf.
func (in *input) drop(n int) {
	in.off += int64(n)
	in.buf = in.buf[n:]
}
