package format

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/dendroprof/dendro/profile"
)

const (
	prefixLen  = 64 << 10 // bytes that detection sees
	maxNesting = 4        // compressions and archives inside each other
)

// Reader decodes profiles. It keeps symbols and decoders warm from file to file
// and belongs to one goroutine.
type Reader struct {
	limits   profile.Limits
	formats  []Format
	decoders map[string]Decoder
	symbols  *profile.Symbols
}

// NewReader returns a reader with the given limits.
func NewReader(l profile.Limits) *Reader {
	r := &Reader{limits: l.WithDefaults(), formats: All()}
	r.Reset()
	return r
}

// Symbols returns the symbols that all profiles since the last Reset share.
func (r *Reader) Symbols() *profile.Symbols { return r.symbols }

// Reset forgets the symbols and everything that decoders keep warm. Profiles
// decoded before keep theirs.
func (r *Reader) Reset() {
	r.symbols = profile.NewSymbols()
	r.decoders = map[string]Decoder{}
}

// Decoded is a profile and where it comes from.
type Decoded struct {
	Name    string // of the file, or "archive.zip: member"
	Format  *Format
	Profile *profile.Profile // over Reader.Symbols
}

// Read decodes the content of one file: a profile, compressed or not, or an
// archive of them, in any nesting up to four levels. It yields each profile,
// and for each member that cannot be read an error with its name; the others
// follow all the same. Every error is a *profile.ParseError; content of no known
// format wraps profile.ErrUnrecognized.
func (r *Reader) Read(name string, in io.Reader) iter.Seq2[Decoded, error] {
	return func(yield func(Decoded, error) bool) {
		c := &reading{Reader: r, yield: yield, left: r.limits.Inflated}
		c.content(name, in, 0)
	}
}

// reading is one call of Read.
type reading struct {
	*Reader
	yield func(Decoded, error) bool
	left  int64 // bytes that may still be inflated
}

// content reads what may be compressed, an archive, or a profile. It returns
// false when the caller wants no more.
func (c *reading) content(name string, in io.Reader, depth int) bool {
	p, err := newPeeked(in)
	if err != nil {
		return c.fail(name, err)
	}
	if depth > maxNesting {
		return c.fail(name, fmt.Errorf("%w: archives nested deeper than %d levels", profile.ErrTooLarge, maxNesting))
	}
	switch {
	case bytes.HasPrefix(p.prefix, []byte("\x1f\x8b")):
		z, err := gzip.NewReader(p)
		if err != nil {
			return c.fail(name, malformed("gzip", err))
		}
		defer z.Close()
		return c.content(name, c.inflated("gzip", z), depth+1)
	case bytes.HasPrefix(p.prefix, []byte("\x28\xb5\x2f\xfd")):
		z, err := zstd.NewReader(p, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(1<<30))
		if err != nil {
			return c.fail(name, malformed("zstd", err))
		}
		defer z.Close()
		return c.content(name, c.inflated("zstd", z), depth+1)
	case bytes.HasPrefix(p.prefix, []byte("PK\x03\x04")), bytes.HasPrefix(p.prefix, []byte("PK\x05\x06")):
		return c.zip(name, in, p, depth)
	case isTar(p.prefix):
		return c.tar(name, p, depth)
	}
	return c.decode(name, p)
}

// decode reads one profile.
func (c *reading) decode(name string, p *peeked) bool {
	in, prefix, err := asUTF8(p)
	if err != nil {
		return c.fail(name, err)
	}
	f, err := detect(c.formats, prefix)
	if errors.Is(err, profile.ErrUnrecognized) && len(prefix) > 0 {
		// The name does not decide what a file is, but whoever calls a file
		// x.folded wants to hear what is wrong with its lines.
		if f = claimed(c.formats, name); f != nil {
			err = nil
		}
	}
	if err != nil {
		return c.fail(name, err)
	}
	d := c.decoders[f.Name]
	if d == nil {
		d = f.NewDecoder()
		c.decoders[f.Name] = d
	}
	prof, err := d.Decode(in, c.symbols, c.limits)
	if err != nil {
		return c.fail(name, err)
	}
	return c.yield(Decoded{Name: name, Format: f, Profile: prof}, nil)
}

// fail yields an error under the name of its source.
func (c *reading) fail(name string, err error) bool {
	var pe *profile.ParseError
	if errors.As(err, &pe) {
		named := *pe
		if named.Source == "" {
			named.Source = name
		}
		return c.yield(Decoded{Name: name}, &named)
	}
	return c.yield(Decoded{Name: name}, &profile.ParseError{Source: name, Offset: -1, Err: err})
}

// malformed marks an error of a decompressor, unless it has a mark already.
func malformed(what string, err error) error {
	for _, mark := range []error{profile.ErrTooLarge, profile.ErrMalformed} {
		if errors.Is(err, mark) {
			return err
		}
	}
	if errors.Is(err, zstd.ErrDecoderSizeExceeded) || errors.Is(err, zstd.ErrWindowSizeExceeded) {
		return fmt.Errorf("%s: %w: %w", what, profile.ErrTooLarge, err)
	}
	return fmt.Errorf("%s: %w: %w", what, profile.ErrMalformed, err)
}

// inflated counts what a decompressor gives against the limit, and marks its
// errors. It costs once per Read call, not per byte.
func (c *reading) inflated(what string, r io.Reader) io.Reader { return &inflated{c, what, r} }

type inflated struct {
	c    *reading
	what string
	r    io.Reader
}

func (i *inflated) Read(p []byte) (int, error) {
	n, err := i.r.Read(p)
	if i.c.left -= int64(n); i.c.left < 0 {
		return 0, profile.TooLarge("decompressed content larger", i.c.limits.Inflated, "--max-size")
	}
	if err != nil && err != io.EOF {
		err = malformed(i.what, err)
	}
	return n, err
}

// peeked is a stream whose beginning is known. Reads beyond it go straight to
// the stream.
type peeked struct {
	prefix []byte
	rest   []byte // of prefix, not yet read
	r      io.Reader
	err    error // that ended the reading of the prefix
}

func newPeeked(r io.Reader) (*peeked, error) {
	p := &peeked{r: r, prefix: make([]byte, prefixLen)}
	n, err := io.ReadFull(r, p.prefix)
	p.prefix = p.prefix[:n]
	p.rest = p.prefix
	switch err {
	case nil:
	case io.EOF, io.ErrUnexpectedEOF:
		// A decompressor that is cut off says ErrUnexpectedEOF too, but marks it.
		p.err = io.EOF
	default:
		if n == 0 {
			return nil, err
		}
		p.err = err
	}
	return p, nil
}

func (p *peeked) Read(b []byte) (int, error) {
	if len(p.rest) > 0 {
		n := copy(b, p.rest)
		p.rest = p.rest[n:]
		return n, nil
	}
	if p.err != nil {
		return 0, p.err
	}
	return p.r.Read(b)
}
