package stacktext

import (
	"bytes"
	"io"

	"github.com/dendroprof/dendro/profile"
)

// Memory is what a decoder keeps from one text for the next: the buffer, and how
// frames of the same Symbols are spelled. The zero value is ready; it belongs to
// one goroutine at a time.
type Memory struct {
	Lines  Lines
	Frames Frames
}

// Decode returns the profile that read fills, over s or, with s nil, Symbols of its
// own, when it is sound.
func (m *Memory) Decode(s *profile.Symbols, read func(*profile.Profile) error) (*profile.Profile, error) {
	p := profile.New(s)
	m.Frames.Use(p.Symbols)
	if err := read(p); err != nil {
		return nil, err
	}
	if err := p.Check(); err != nil {
		return nil, err
	}
	return p, nil
}

// Peek returns the first character of r that is not white space, if it is among its
// first 64 bytes and otherwise 0, and a reader of all of r.
func Peek(r io.Reader) (byte, io.Reader, error) {
	head := make([]byte, 64)
	n, err := io.ReadFull(r, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return 0, nil, err
	}
	r = io.MultiReader(bytes.NewReader(head[:n]), r)
	if text := bytes.TrimLeft(head[:n], " \t\r\n"); len(text) > 0 {
		return text[0], r, nil
	}
	return 0, r, nil
}
