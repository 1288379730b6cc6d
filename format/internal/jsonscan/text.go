package jsonscan

import (
	"encoding/binary"
	"encoding/hex"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/dendroprof/dendro/profile"
)

// Text reads a string. null is "".
func (s *Scanner) Text() string { return string(s.Bytes()) }

// Bytes reads a string. The bytes are valid up to the next call of any method.
func (s *Scanner) Bytes() []byte {
	c, ok := s.begin("a string")
	if !ok {
		return nil
	}
	if c != '"' {
		s.unexpected("a string")
		return nil
	}
	return s.string()
}

// Scalar reads a string, a number, true or false, and returns its content or its
// spelling: identifiers are numbers in some files and strings in others. Any other
// value is skipped and "".
func (s *Scanner) Scalar() string { return string(s.ScalarBytes()) }

// ScalarBytes is Scalar; the bytes are valid up to the next call of any method.
func (s *Scanner) ScalarBytes() []byte {
	switch s.Kind() {
	case String:
		return s.Bytes()
	case Number:
		token, _ := s.beginNumber()
		return token
	case Bool:
		if s.Bool() {
			return []byte("true")
		}
		return []byte("false")
	}
	s.Skip()
	return nil
}

// Bool reads true or false.
func (s *Scanner) Bool() bool {
	switch c, ok := s.begin("true or false"); {
	case !ok:
	case c == 't':
		s.word("true", "true or false")
		return s.err == nil
	case c == 'f':
		s.word("false", "true or false")
	default:
		s.unexpected("true or false")
	}
	return false
}

// string reads the string that begins at the quote at hand. The bytes are in the
// window or in s.text.
func (s *Scanner) string() []byte {
	p, plain := s.pos+1, true
	for {
		q := quote(s.buf, p, s.end)
		switch c := s.buf[q]; {
		case q >= s.end:
			if q-s.pos > s.limits.Line {
				s.fail(s.offset(s.pos), profile.TooLarge("string longer", int64(s.limits.Line), "--max-line"))
				return nil
			}
			read := q - s.pos
			if !s.more(s.pos) {
				s.pos = s.end
				s.unexpected("the end of a string")
				return nil
			}
			p = s.pos + read
		case c == '"':
			raw := s.buf[s.pos+1 : q]
			if len(raw) > s.limits.Line {
				s.fail(s.offset(s.pos), profile.TooLarge("string longer", int64(s.limits.Line), "--max-line"))
				return nil
			}
			at := s.offset(s.pos) + 1
			s.pos = q + 1
			if plain {
				return raw
			}
			return s.unquote(raw, at)
		case c == '\\':
			plain = false
			p = q + 1
			if p < s.end {
				p++ // whatever is escaped is no quote
			} else {
				read := q - s.pos
				if !s.more(s.pos) {
					s.pos = s.end
					s.unexpected("the end of a string")
					return nil
				}
				p = s.pos + read // see the backslash again
			}
		default: // not ASCII, or NUL
			plain = false
			p = q + 1
		}
	}
}

// skipString is string without its content.
func (s *Scanner) skipString() {
	for p := s.pos + 1; ; {
		q := quote(s.buf, p, s.end)
		switch {
		case q >= s.end:
			s.pos = s.end
			if !s.more(s.end) {
				s.unexpected("the end of a string")
				return
			}
			p = s.pos
		case s.buf[q] == '"':
			s.pos = q + 1
			return
		case s.buf[q] == '\\':
			if q+1 == s.end {
				s.pos = q
				if !s.more(q) {
					s.pos = s.end
					s.unexpected("the end of a string")
					return
				}
				q = s.pos
			}
			p = q + 2
		default:
			p = q + 1
		}
	}
}

// quote returns the position from p on of the first byte that is a quote, a
// backslash, NUL or not ASCII, or end.
func quote(buf []byte, p, end int) int {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	for p+8 <= end {
		w := binary.LittleEndian.Uint64(buf[p:])
		q, b := w^('"'*ones), w^('\\'*ones)
		// A high bit is set where a byte of q, b or w is 0, or of w not ASCII.
		if ((q-ones)&^q|(b-ones)&^b|(w-ones)&^w|w)&high != 0 {
			break
		}
		p += 8
	}
	for p < end && !special[buf[p]] {
		p++
	}
	return p
}

// special are the bytes at which quote stops.
var special = func() (t [256]bool) {
	t[0], t['"'], t['\\'] = true, true, true
	for c := utf8.RuneSelf; c < len(t); c++ {
		t[c] = true
	}
	return t
}()

// unquote returns the content of a string that is spelled raw and begins at an
// offset.
func (s *Scanner) unquote(raw []byte, at int64) []byte {
	out := s.text[:0]
	for i := 0; i < len(raw); {
		c := raw[i]
		switch {
		case c == '\\':
			r, n := escaped(raw[i:])
			if n == 0 {
				s.fail(at+int64(i), errEscape)
				return nil
			}
			if r == 0 && !s.KeepNUL {
				r = utf8.RuneError
			}
			out = utf8.AppendRune(out, r)
			i += n
		case c == 0 && !s.KeepNUL:
			out = utf8.AppendRune(out, utf8.RuneError)
			i++
		case c < utf8.RuneSelf:
			out = append(out, c)
			i++
		default:
			r, n := utf8.DecodeRune(raw[i:])
			out = utf8.AppendRune(out, r)
			i += n
		}
	}
	s.text = out
	return out
}

// escaped decodes the escape sequence at the start of raw; n is its length, 0 for
// one that does not exist.
func escaped(raw []byte) (r rune, n int) {
	switch raw[1] { // string saw that there is one
	case '"', '\\', '/':
		return rune(raw[1]), 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
		r, ok := hex4(raw[2:])
		switch {
		case !ok:
			return 0, 0
		case !utf16.IsSurrogate(r):
			return r, 6
		case len(raw) >= 12 && raw[6] == '\\' && raw[7] == 'u':
			if low, ok := hex4(raw[8:]); ok {
				if both := utf16.DecodeRune(r, low); both != utf8.RuneError {
					return both, 12
				}
			}
		}
		return utf8.RuneError, 6
	}
	return 0, 0
}

func hex4(b []byte) (r rune, ok bool) {
	if len(b) < 4 {
		return 0, false
	}
	var v [2]byte
	_, err := hex.Decode(v[:], b[:4])
	return rune(v[0])<<8 | rune(v[1]), err == nil
}
