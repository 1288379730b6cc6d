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

// Decoder decodes the texts of one format one after the other. It keeps what it
// learned about the spelling of frames for the next text into the same Symbols. It
// belongs to one goroutine at a time.
type Decoder struct {
	name   string
	memory Memory
	read   func(*Memory, io.Reader, *profile.Profile, profile.Limits) error
}

// NewDecoder returns a decoder of the named format. Read fills a profile; the limits
// that it gets have no zero fields.
func NewDecoder(name string, read func(*Memory, io.Reader, *profile.Profile, profile.Limits) error) *Decoder {
	return &Decoder{name: name, read: read}
}

// Decode reads the whole of r into a new profile over s, or with s nil over Symbols of
// its own. Errors of the text are of type *profile.ParseError.
func (d *Decoder) Decode(r io.Reader, s *profile.Symbols, l profile.Limits) (*profile.Profile, error) {
	p := profile.New(s)
	p.Format = d.name
	d.memory.Frames.Use(p.Symbols)
	if err := d.read(&d.memory, r, p, l.WithDefaults()); err != nil {
		return nil, err
	}
	return p.Checked()
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
