// Package protobuf has what readers of protobuf messages share beyond fields, which are
// package wire's: reading a message of bounded size, and errors of package profile with
// the place in the message.
//
// It knows no schema and no reader. ReadAll costs one copy of the message; its buffer is
// the caller's, so that one buffer serves many messages.
package protobuf

import (
	"io"
	"slices"

	"github.com/dendroprof/dendro/internal/wire"
	"github.com/dendroprof/dendro/profile"
)

// ReadAll reads r to its end into buf, whose content is overwritten, and returns
// the message, or what there is of it with an error of type *profile.ParseError. A
// message longer than limit bytes is profile.ErrTooLarge.
func ReadAll(r io.Reader, buf []byte, limit int64) ([]byte, error) {
	buf = buf[:0]
	if known, ok := r.(interface{ Len() int }); ok {
		buf = slices.Grow(buf, int(min(int64(known.Len()), limit))+1)
	}
	for {
		if len(buf) == cap(buf) {
			buf = slices.Grow(buf, max(len(buf), 64<<10))
		}
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		switch {
		case int64(len(buf)) > limit:
			return buf, &profile.ParseError{Offset: limit, Err: profile.TooLarge("message longer", limit, "--max-message")}
		case err == io.EOF:
			return buf, nil
		case err != nil:
			return buf, &profile.ParseError{Offset: int64(len(buf)), Err: err}
		}
	}
}

// Place turns an *wire.Error into what readers return: a *profile.ParseError that wraps
// profile.ErrMalformed. Other errors remain what they are.
func Place(err error) error {
	if broken, ok := err.(*wire.Error); ok {
		return Malformed(broken.At, "%s", broken)
	}
	return err
}

// Malformed returns an error at a place of the outermost message, of the kind
// profile.ErrMalformed.
func Malformed(at int, format string, args ...any) error {
	return &profile.ParseError{
		Offset: int64(at),
		Err:    profile.Malformed(format, args...),
	}
}
