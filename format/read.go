package format

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"slices"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/dendroprof/dendro/internal/cost"
	"github.com/dendroprof/dendro/profile"
)

// Reader reads files of any format one after the other into the same Symbols,
// so that each file finds the functions and stacks of those before it. It
// belongs to one goroutine; a program with several workers has a Reader each.
type Reader struct {
	// Finish, if not nil, is called with each profile before Read returns it.
	Finish func(*profile.Profile)

	// Context, if not nil, ends Read, between members of an archive and inside of them.
	// Its account (package cost) counts what is read and unpacked.
	Context context.Context

	// StackBytes, if not 0, is the memory of a stack and of what the caller makes of it. The
	// account of Context counts it before a stack is added to the Symbols.
	StackBytes int64

	limits   profile.Limits
	formats  []Format
	symbols  *profile.Symbols
	stacks   int                // of symbols that were counted
	decoders map[string]Decoder // by name of format

	// What is not in use just now.
	buffers []*bufio.Reader
	gzips   []*gzip.Reader
	zstds   []*zstd.Decoder
	lz4s    []*lz4.Reader
}

// NewReader returns a Reader with new Symbols. Zero fields of l are defaults.
func NewReader(l profile.Limits) *Reader {
	r := &Reader{limits: l.WithDefaults(), formats: All()}
	r.Reset()
	return r
}

// Symbols returns the Symbols of the profiles read from now on.
func (r *Reader) Symbols() *profile.Symbols { return r.symbols }

// Reset begins new Symbols, for when the old ones became too large. Profiles
// read before keep theirs. It may be called between two profiles of one Read.
func (r *Reader) Reset() {
	r.symbols, r.stacks = profile.NewSymbols(), 0
	r.decoders = map[string]Decoder{}
}

// Decoded is one profile, or what could not be read as one.
type Decoded struct {
	// Name is the file's, with the members' of archives behind it:
	// "all.zip: shop/orders.pb.gz".
	Name    string
	Packing []string         // what it was packed in, outermost first: "tar", "gzip"
	Format  *Format          // nil when it was not recognised
	Profile *profile.Profile // nil with an error
}

// Read reads all profiles in a file: one, or those in an archive, in the order
// of the file. Every error is a *profile.ParseError with the Name of the
// Decoded as its Source; an error in one member does not end the sequence. Members
// of no known format are reported as profile.ErrUnrecognized, for the caller to
// count; an archive of none is that itself.
//
// If in is an io.ReaderAt at its beginning that tells its size (an *os.File, a
// *bytes.Reader), a zip archive is read in place; otherwise it is copied to a
// temporary file. What is in a *bytes.Buffer, or in what embeds one, is not copied
// either, by formats that can do without; its memory is free again when the sequence
// has ended. The Reader must not be used for anything else until then.
func (r *Reader) Read(name string, in io.Reader) iter.Seq2[Decoded, error] {
	return func(yield func(Decoded, error) bool) {
		w := &walk{Reader: r, yield: yield, left: r.limits.Inflated}
		if b, ok := in.(buffered); ok {
			content := b.Next(b.Len())
			if w.memory(name, content) {
				return
			}
			in = bytes.NewReader(content)
		}
		w.content(name, &meter{r: &rawReader{in, w}, walk: w}, w.randomAccess(in), 0)
	}
}

// walk is one Read.
type walk struct {
	*Reader
	yield func(Decoded, error) bool
	ended bool // nobody wants more, or the limit was reached

	packing []string // what surrounds the content in work

	left     int64 // bytes that may still be read, compressed and inflated together
	raw      int64 // bytes read of the file itself
	inflated int64 // bytes that decompressors made of it
	size     int64 // of the content in work, as far as known; a damaged file may lie
	rawErr   error // what reading the file itself ended with, if not its end
	taken    int64 // bytes of memory that decoders took besides
	stopped  error // why the request must not cost more
}

// buffered is a reader of content in memory: a *bytes.Buffer, or what embeds one.
type buffered interface {
	Len() int
	Next(n int) []byte
}

// memory reads content that is in memory, if it is neither packed nor to be
// recoded.
func (w *walk) memory(name string, content []byte) bool {
	prefix := content[:min(len(content), PrefixSize)]
	if _, unpack := packing(prefix); unpack != nil || charsetOf(prefix) != plain || int64(len(content)) > w.left {
		return false
	}
	if w.limits.Memory > 0 {
		return false // a bytes.Buffer cannot be guarded
	}
	w.left -= int64(len(content))
	in := bytes.NewBuffer(content)
	defer func() { *in = bytes.Buffer{} }() // decoders keep their reader until the next file
	if err := w.spend(cost.Expanded, int64(len(content))); err != nil {
		w.fail(Decoded{Name: name}, err, 0)
		return true
	}
	w.decode(name, in, prefix)
	return true
}

// content reads what begins at src: unpacks it, or decodes it. Level counts how
// often it was unpacked; at is the file itself when src is, and may be nil.
func (w *walk) content(name string, src io.Reader, at *access, level int) {
	if err := w.spend(cost.Expanded, 0); err != nil {
		w.fail(Decoded{Name: name}, err, 0)
		return
	}
	br := w.buffer(src)
	defer w.release(br)
	prefix, err := br.Peek(PrefixSize)
	if err != nil && err != io.EOF {
		w.fail(Decoded{Name: name}, err, 0)
		return
	}
	kind, unpack := packing(prefix)
	switch {
	case unpack == nil:
		if level == 0 && at != nil {
			w.size = at.size
		}
		w.decode(name, br, prefix)
	case level == maxNesting:
		w.fail(Decoded{Name: name}, errNesting, 0)
	default:
		w.packing = append(w.packing, kind)
		unpack(w, packed{name, br, at, level})
		w.packing = w.packing[:level]
	}
}

// decode calls the decoder of in, which begins with prefix.
func (w *walk) decode(name string, in io.Reader, prefix []byte) {
	d := Decoded{Name: name, Packing: slices.Clone(w.packing)}
	f, err := detect(w.formats, prefix)
	if errors.Is(err, profile.ErrUnrecognized) && len(prefix) > 0 {
		if f = claimed(w.formats, name); f != nil {
			err = nil
		}
	}
	if err != nil {
		w.fail(d, err, 0)
		return
	}
	d.Format = f
	var shift int64
	switch c := charsetOf(prefix); c {
	case utf8BOM:
		io.CopyN(io.Discard, in, markBytes) // they are in prefix
		shift = markBytes
	case utf16LE, utf16BE:
		text := w.buffer(c.reader(in))
		defer w.release(text)
		in, shift = text, unknownShift
	}
	if w.limits.Memory > 0 {
		in = &memoryGuard{r: in, limits: w.limits}
	}
	if _, ok := in.(*bytes.Buffer); !ok {
		in = &frameGuard{in, w}
	}
	if f.whole && w.size > 0 {
		in = sized{in, int(min(w.size, w.limits.Message))}
	}
	decoder, ok := w.decoders[f.Name]
	if !ok {
		decoder = f.NewDecoder()
		w.decoders[f.Name] = decoder
	}
	w.symbols.Limit(w.limits.Frames, 0)
	if w.StackBytes > 0 {
		w.symbols.LimitStacks(w.stacks, w.moreStacks)
	}
	limits := w.limits
	limits.Room = w
	p, err := decoder.Decode(in, w.symbols, limits)
	if w.symbols.Full() {
		err = w.noRoom()
		w.Reset()
	}
	if err != nil {
		w.fail(d, err, shift)
		return
	}
	if w.Finish != nil {
		w.Finish(p)
	}
	warnEmpty(p)
	d.Profile = p
	w.ended = w.ended || !w.yield(d, nil)
}

// warnEmpty adds a warning to a profile without samples of which the reader says nothing.
func warnEmpty(p *profile.Profile) {
	for i := range p.Tables {
		if p.Tables[i].Len() > 0 {
			return
		}
	}
	if len(p.Warnings) == 0 {
		p.Warnf("the file holds no samples")
	}
}

// unknownShift says that offsets in the text are none in the content.
const unknownShift = -1

// fail hands an error to the caller. Shift is what was taken off in front of the
// content that the error's offset counts in.
func (w *walk) fail(d Decoded, err error, shift int64) {
	pe := &profile.ParseError{Offset: -1, Err: err}
	if placed, ok := err.(*profile.ParseError); ok {
		pe = new(*placed)
	}
	pe.Source = d.Name
	switch {
	case shift == unknownShift:
		pe.Offset = -1
	case pe.Offset >= 0:
		pe.Offset += shift
	}
	if end := w.limit(); end != nil && !errors.Is(err, profile.ErrTooLarge) {
		pe.Err = end // a decompressor or a decoder made something else of it
	}
	w.ended = w.ended || !w.yield(d, pe)
	w.ended = w.ended || w.limit() != nil // every further member would fail
}

// limit returns the limit of the whole walk that was reached, or nil.
func (w *walk) limit() error {
	switch {
	case w.stopped != nil:
		return w.stopped
	case w.left < 0:
		return w.tooLarge()
	case w.bomb():
		return errBomb
	}
	return nil
}

// buffer returns a buffered reader of src, large enough to peek.
func (r *Reader) buffer(src io.Reader) *bufio.Reader {
	if n := len(r.buffers); n > 0 {
		br := r.buffers[n-1]
		r.buffers = r.buffers[:n-1]
		br.Reset(src)
		return br
	}
	return bufio.NewReaderSize(src, PrefixSize)
}

func (r *Reader) release(br *bufio.Reader) {
	br.Reset(nil)
	r.buffers = append(r.buffers, br)
}
