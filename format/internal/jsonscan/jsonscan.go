// Package jsonscan reads large JSON files of known shape: a pull parser that asks
// for the next value instead of building a tree of all of them.
//
//	for key := range s.Object() {
//		switch string(key) {
//		case "samples":
//			stacks = jsonscan.Ints(s, stacks, -1)
//		case "name":
//			name = s.Text()
//		} // what is not asked for is skipped
//	}
//	return s.End()
//
// A Scanner reads through a window of 64 KiB that grows only for a longer string,
// so memory does not depend on the size of the file. It allocates nothing but the
// strings and columns that its caller asks for. Errors stick: after the first one
// every method returns zero values and every loop ends, so a caller checks once,
// with End or Err. They are of type *profile.ParseError with the offset.
//
// The grammar is RFC 8259 with three kindnesses, because profilers write the names
// of programs as they find them: control characters in strings are taken as they
// are, what is not UTF-8, half a surrogate pair or NUL becomes U+FFFD, and a number
// may be in quotes. In
// values that are skipped only strings and brackets are looked at. null reads as
// the zero value of whatever was asked for: no elements, 0, "".
//
// Nesting takes one bit a level and no recursion. Neighbours: the readers of JSON
// formats below package format. The package knows none of these.
package jsonscan

import (
	"io"
	"iter"

	"github.com/dendroprof/dendro/profile"
)

// Kind says what the next value is.
type Kind uint8

// The kinds of values. None is the end of the content, or what is no value.
const (
	None Kind = iota
	Null
	Bool
	Number
	String
	Array
	Object
)

// Scanner reads one JSON text. Use New. It belongs to one goroutine.
type Scanner struct {
	KeepNUL bool // NUL stays NUL; otherwise it becomes U+FFFD

	window
	limits profile.Limits
	err    error

	// nesting has a bit per open container, 1 for an object; depth are open.
	nesting []uint64
	depth   int
	fresh   bool // the innermost container was just opened
	pending bool // a value is due: the key was read, or the comma before it

	at   int64  // where the value last begun begins
	key  []byte // of the field at hand
	text []byte // a string whose spelling is not its content
}

// New returns a Scanner of r. Of the limits it keeps Line, for the length of a
// string, and Depth: it reads containers nested up to four times as deep and
// some more, since a node of a tree in JSON is an object in a list.
func New(r io.Reader, l profile.Limits) *Scanner {
	s := &Scanner{}
	s.Reset(r, l)
	return s
}

// Reset begins to read r and keeps the buffers.
func (s *Scanner) Reset(r io.Reader, l profile.Limits) {
	s.window.reset(r)
	s.limits, s.err = l.WithDefaults(), nil
	s.nesting, s.depth, s.fresh, s.pending, s.at = s.nesting[:0], 0, false, true, 0
}

// Decoder decodes the files of one JSON format one after the other and keeps its
// buffers. It belongs to one goroutine.
type Decoder struct {
	name    string
	scanner Scanner
	read    func(*Scanner, *profile.Profile, profile.Limits) error
}

// NewDecoder returns a decoder of the named format. Read fills a profile from one
// file and calls End; the limits that it gets have no zero fields.
func NewDecoder(name string, read func(*Scanner, *profile.Profile, profile.Limits) error) *Decoder {
	return &Decoder{name: name, read: read}
}

// Decode reads one file from r up to its end. Functions, frames and stacks are added
// to symbols; nil means Symbols of its own. Errors are of type *profile.ParseError
// with an offset.
func (d *Decoder) Decode(r io.Reader, symbols *profile.Symbols, l profile.Limits) (*profile.Profile, error) {
	d.scanner.Reset(r, l)
	p := profile.New(symbols)
	p.Format = d.name
	if err := d.read(&d.scanner, p, l.WithDefaults()); err != nil {
		return nil, err
	}
	return p.Checked()
}

// Err returns the first error.
func (s *Scanner) Err() error { return s.err }

// Offset returns where the value that was asked for last begins.
func (s *Scanner) Offset() int64 { return s.at }

// Depth returns the number of containers that are open.
func (s *Scanner) Depth() int { return s.depth }

// Errorf makes an error of what the format forbids, at the value that was asked
// for last. It does nothing after an error.
func (s *Scanner) Errorf(format string, args ...any) {
	s.fail(s.at, profile.Malformed(format, args...))
}

// TooDeep makes it an error that a stack has more frames than the limit.
func (s *Scanner) TooDeep(limit int) { s.fail(s.at, profile.TooDeep(limit)) }

// Fail makes err the error, unless there is one already.
func (s *Scanner) Fail(err *profile.ParseError) {
	if s.err == nil {
		s.err = err
	}
}

// EntryBytes is the minimum number of bytes of memory of an entry of a table: a frame, a function, a library.
const EntryBytes = 192

// Take counts bytes of memory that the value asked for last takes (profile.Limits.Room).
func (s *Scanner) Take(bytes int64) {
	if err := s.limits.Take(bytes); err != nil {
		s.fail(s.at, err)
	}
}

func (s *Scanner) fail(at int64, err error) {
	s.Fail(&profile.ParseError{Offset: at, Err: err})
}

// unexpected reports the byte at hand, or that there is none.
func (s *Scanner) unexpected(want string) {
	at := s.offset(s.pos)
	switch {
	case s.pos < s.end:
		s.fail(at, profile.Malformed("%q where %s is expected", s.buf[s.pos], want))
	case s.readErr != nil:
		s.fail(at, s.readErr)
	default:
		s.Fail(&profile.ParseError{
			Offset: at, Err: profile.Malformed("%w where %s is expected", io.ErrUnexpectedEOF, want),
			Hint: "the file may have been cut off",
		})
	}
}

// End checks that nothing follows the value read, reads to the end of the content
// and returns the first error.
func (s *Scanner) End() error {
	if s.err == nil && s.pending {
		s.Skip()
	}
	if s.err == nil {
		if s.space(); s.pos < s.end || s.readErr != nil {
			s.unexpected("the end")
		}
	}
	return s.err
}

// Kind returns the kind of the next value without reading it.
func (s *Scanner) Kind() Kind {
	if s.err != nil || !s.pending {
		return None
	}
	switch c := s.space(); {
	case c == '"':
		return String
	case c == '{':
		return Object
	case c == '[':
		return Array
	case c == '-' || c-'0' <= 9:
		return Number
	case c == 't' || c == 'f':
		return Bool
	case c == 'n':
		return Null
	}
	return None
}

// begin goes to the next value and reports whether there is one; null is not.
func (s *Scanner) begin(want string) (byte, bool) {
	if s.err != nil {
		return 0, false
	}
	if !s.pending {
		s.Errorf("no %s here", want) // or asked for twice
		return 0, false
	}
	c := s.space()
	s.at = s.offset(s.pos)
	s.pending = false
	if c == 'n' {
		s.word("null", want)
		return 0, false
	}
	return c, true
}

// word reads one of the three words.
func (s *Scanner) word(word, want string) {
	s.need(len(word))
	if string(s.buf[s.pos:min(s.end, s.pos+len(word))]) != word {
		s.unexpected(want)
		return
	}
	s.pos += len(word)
}

// BeginObject enters an object; Key then reads its keys. It reports false for
// null, which is then read.
func (s *Scanner) BeginObject() bool { return s.beginContainer('{', 1, "an object") }

// BeginArray enters an array; More then goes to its elements. It reports false
// for null, which is then read.
func (s *Scanner) BeginArray() bool { return s.beginContainer('[', 0, "an array") }

func (s *Scanner) beginContainer(open byte, bit uint64, want string) bool {
	c, ok := s.begin(want)
	if !ok {
		return false
	}
	if c != open {
		s.unexpected(want)
		return false
	}
	s.pos++
	s.fresh = true
	return s.push(bit)
}

// spareDepth is how deep containers may be nested beyond four times Limits.Depth:
// trees are not at the top of their files.
const spareDepth = 60

// push opens a container behind its bracket.
func (s *Scanner) push(bit uint64) bool {
	if (s.depth-spareDepth)/4 >= s.limits.Depth {
		s.fail(s.offset(s.pos-1), profile.TooLarge("values nested deeper", int64(s.depth), "--max-depth"))
		return false
	}
	word, shift := s.depth/64, s.depth%64
	if word == len(s.nesting) {
		s.nesting = append(s.nesting, 0)
	}
	s.nesting[word] = s.nesting[word]&^(1<<shift) | bit<<shift
	s.depth++
	return true
}

// in returns the bit of the innermost container.
func (s *Scanner) in() uint64 {
	return s.nesting[(s.depth-1)/64] >> ((s.depth - 1) % 64) & 1
}

func (s *Scanner) pop() {
	s.depth--
	s.fresh, s.pending = false, false
}

// Key reads the next key of the object last entered; what is left of the value of
// the key before is skipped. At the end of the object it leaves it and reports
// false. The key is valid up to the next call of Key.
func (s *Scanner) Key() ([]byte, bool) {
	if !s.next('}', 1, "a comma or the end of the object") {
		return nil, false
	}
	if s.space() != '"' {
		s.unexpected("a key")
		return nil, false
	}
	s.at = s.offset(s.pos)
	s.key = append(s.key[:0], s.string()...)
	if s.err != nil {
		return nil, false
	}
	if s.space() != ':' {
		s.unexpected("a colon")
		return nil, false
	}
	s.pos++
	s.pending = true
	return s.key, true
}

// More goes to the next element of the array last entered; the element before is
// skipped if it was not read. At the end of the array it leaves it and reports
// false.
func (s *Scanner) More() bool {
	s.pending = s.next(']', 0, "a comma or the end of the array")
	return s.pending
}

// next goes to the next member of the innermost container, or leaves it.
func (s *Scanner) next(closing byte, bit uint64, want string) bool {
	if s.pending {
		s.Skip()
	}
	if s.err != nil {
		return false
	}
	if s.depth == 0 || s.in() != bit {
		s.Errorf("no such container is open")
		return false
	}
	c := s.space()
	switch {
	case c == closing:
		s.pos++
		s.pop()
		return false
	case s.fresh:
		s.fresh = false
		return true
	case c == ',':
		s.pos++
		return true
	}
	s.unexpected(want)
	return false
}

// Object ranges over the keys of the next value, an object. A value that the loop
// does not read is skipped, and so is the rest of the object when the loop ends
// early. The key is valid up to the next one on any level.
func (s *Scanner) Object() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if !s.BeginObject() {
			return
		}
		for level := s.depth; ; {
			key, ok := s.Key()
			if !ok {
				return
			}
			if !yield(key) {
				s.Leave(level)
				return
			}
		}
	}
}

// Array ranges over the elements of the next value, an array, with their indexes,
// in the manner of Object.
func (s *Scanner) Array() iter.Seq[int] {
	return func(yield func(int) bool) {
		if !s.BeginArray() {
			return
		}
		for level, i := s.depth, 0; s.More(); i++ {
			if !yield(i) {
				s.Leave(level)
				return
			}
		}
	}
}

// Skip reads the next value and forgets it.
func (s *Scanner) Skip() {
	c, ok := s.begin("a value")
	if !ok {
		return
	}
	switch {
	case c == '"':
		s.skipString()
	case c == '{', c == '[':
		s.pos++
		if s.push(bitOf(c)) {
			s.Leave(s.depth)
		}
	case c == 't':
		s.word("true", "a value")
	case c == 'f':
		s.word("false", "a value")
	default:
		s.at = s.offset(s.pos)
		s.number()
	}
}

// bitOf returns the bit of nesting for a bracket.
func bitOf(c byte) uint64 {
	if c == '{' || c == '}' {
		return 1
	}
	return 0
}

// Leave skips the rest of the container that is the level-th that is open, and
// with it all that are open inside.
func (s *Scanner) Leave(level int) {
	for s.err == nil && s.depth >= level {
		p := s.pos
		for !structural[s.buf[p]] {
			p++
		}
		s.pos = p
		switch c := s.buf[p]; c {
		case '"':
			s.skipString()
		case '{', '[':
			s.pos++
			s.push(bitOf(c))
		case '}', ']':
			if s.in() != bitOf(c) {
				s.unexpected("the other bracket")
				return
			}
			s.pos++
			s.pop()
		default: // NUL: most likely the end of the window
			if p < s.end {
				s.pos++
			} else if !s.more(p) {
				s.unexpected("the end of a value")
			}
		}
	}
	s.pending = false
}

// structural are the bytes at which skipping looks.
var structural = [256]bool{0: true, '"': true, '{': true, '[': true, '}': true, ']': true}
