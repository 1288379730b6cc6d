package stacktext

import (
	"bytes"
	"errors"
	"io"

	"github.com/dendroprof/dendro/profile"
)

// Reading is the reading of one text into a profile. Readers of texts embed it.
type Reading struct {
	*Lines                      // of the text
	*Recorder                   // of the profile
	In        io.Reader         // the text, for readers that look at it before its lines, or have none
	Known     *Frames           // how frames are spelled
	Limits    profile.Limits    // without zero fields
	Notes     Notes             // become warnings of the profile
	Frames    []profile.FrameID // of the stack in work, innermost first
}

// Push adds a frame, going outwards, to the stack in work.
func (t *Reading) Push(f profile.FrameID) error {
	if len(t.Frames) >= t.Limits.Depth {
		return t.At(profile.TooDeep(t.Limits.Depth))
	}
	t.Frames = append(t.Frames, f)
	return nil
}

// PushText pushes the frame that a text spells. A text that is not known is parsed.
func (t *Reading) PushText(text []byte, parse func() profile.FrameID) error {
	f, ok := t.Known.Find(text)
	if !ok {
		f = parse()
		t.Known.Add(text, f)
	}
	return t.Push(f)
}

// Sample adds a row to a table.
func (t *Reading) Sample(to *Table, row Row) error {
	if !to.Add(row) {
		return t.At(ErrSum)
	}
	return nil
}

// Decoder decodes the texts of one format one after the other. It keeps its buffer, and
// what it learned about the spelling of frames for the next text into the same Symbols. It
// belongs to one goroutine at a time.
type Decoder struct {
	name   string
	lines  Lines
	frames Frames
	read   func(*Reading) error
}

// NewDecoder returns a decoder of the named format. Read fills the profile. What it makes of lines
// that could not be read to their end does not matter, and a Malformed, TooLarge or
// Unsupported error without a place gets that of the line in work.
func NewDecoder(name string, read func(*Reading) error) *Decoder {
	return &Decoder{name: name, read: read}
}

// Decode reads the whole of r into a new profile over s, or with s nil over Symbols of
// its own. Errors of the text are of type *profile.ParseError.
func (d *Decoder) Decode(r io.Reader, s *profile.Symbols, l profile.Limits) (*profile.Profile, error) {
	p := profile.New(s)
	p.Format = d.name
	d.frames.Use(p.Symbols)
	t := &Reading{Lines: &d.lines, Recorder: NewRecorder(p), In: r, Known: &d.frames, Limits: l.WithDefaults()}
	t.Reset(r, t.Limits.Line)
	err := d.read(t)
	if lines := t.Err(); lines != nil {
		return nil, lines
	}
	if err != nil {
		return nil, t.placed(err)
	}
	p.Warnings = t.Notes.Warnings(p.Warnings)
	return p.Checked()
}

// placed returns an error about the text with its place.
func (t *Reading) placed(err error) error {
	var at *profile.ParseError
	if errors.As(err, &at) ||
		!errors.Is(err, profile.ErrMalformed) && !errors.Is(err, profile.ErrTooLarge) && !errors.Is(err, profile.ErrUnsupported) {
		return err
	}
	return t.At(err)
}

// Either returns a decoder of contents in two forms: that of is if the first character that is not white
// space is first, else that of other.
func Either(first byte, is, other profile.Decoder) profile.Decoder { return &either{first, is, other} }

type either struct {
	first     byte
	is, other profile.Decoder
}

// Decode implements profile.Decoder.
func (e *either) Decode(r io.Reader, s *profile.Symbols, l profile.Limits) (*profile.Profile, error) {
	first, r, err := Peek(r)
	switch {
	case err != nil:
		return nil, err
	case first == e.first:
		return e.is.Decode(r, s, l)
	}
	return e.other.Decode(r, s, l)
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
