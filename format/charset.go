package format

import (
	"bytes"
	"encoding/binary"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// charset is how a text is encoded, as its byte order mark says, or the zeros between the
// letters of a text without one.
type charset uint8

const (
	plain     charset = iota // no mark: UTF-8, or no text at all
	utf8BOM                  // UTF-8 behind a mark
	utf16LE                  // little-endian
	utf16BE                  // big-endian
	markBytes = 3            // length of the mark of utf8BOM
)

func charsetOf(prefix []byte) charset {
	switch {
	case bytes.HasPrefix(prefix, []byte("\xef\xbb\xbf")):
		return utf8BOM
	case bytes.HasPrefix(prefix, []byte("\xff\xfe")):
		return utf16LE
	case bytes.HasPrefix(prefix, []byte("\xfe\xff")):
		return utf16BE
	case len(prefix) >= leastUnmarked && zeros(prefix[1:leastUnmarked]) && letters(prefix[:leastUnmarked]):
		return utf16LE
	case len(prefix) >= leastUnmarked && zeros(prefix[:leastUnmarked]) && letters(prefix[1:leastUnmarked]):
		return utf16BE
	}
	return plain
}

// leastUnmarked is how many bytes must be ASCII in UTF-16 for a text without a mark to be
// that: no binary format begins with so many letters and zeros in turn.
const leastUnmarked = 32

// zeros reports whether every other byte, from the first, is zero.
func zeros(b []byte) bool {
	for i := 0; i < len(b); i += 2 {
		if b[i] != 0 {
			return false
		}
	}
	return true
}

// letters reports whether every other byte, from the first, is of an ASCII text.
func letters(b []byte) bool {
	for i := 0; i < len(b); i += 2 {
		if c := b[i]; c > '~' || c < ' ' && c != '\t' && c != '\n' && c != '\r' {
			return false
		}
	}
	return true
}

// prefix returns the beginning of the content as a decoder would see it.
func (c charset) prefix(prefix []byte) []byte {
	switch c {
	case plain:
		return prefix
	case utf8BOM:
		return prefix[markBytes:]
	}
	text, _ := io.ReadAll(c.reader(bytes.NewReader(prefix))) // in memory, cannot fail
	return text
}

// reader returns a reader that turns the UTF-16 of r into UTF-8 without the mark.
func (c charset) reader(r io.Reader) io.Reader {
	t := &utf16Reader{r: r, order: binary.LittleEndian, first: true}
	if c == utf16BE {
		t.order = binary.BigEndian
	}
	return t
}

// utf16Reader turns UTF-16 into UTF-8. What is no UTF-16 becomes U+FFFD.
type utf16Reader struct {
	r     io.Reader
	order binary.ByteOrder
	first bool // the mark is still to come

	in    [4096]byte
	kept  int            // bytes of in that wait for those behind them
	out   []byte         // in space, not yet read
	space [3 * 2048]byte // no unit becomes more than 3 bytes
	err   error
}

func (t *utf16Reader) Read(b []byte) (int, error) {
	for len(t.out) == 0 {
		if t.err != nil {
			return 0, t.err
		}
		var n int
		n, t.err = t.r.Read(t.in[t.kept:])
		t.convert(t.in[:t.kept+n])
	}
	n := copy(b, t.out)
	t.out = t.out[n:]
	return n, nil
}

// convert fills out with what in says and keeps the bytes that say nothing yet:
// half a unit, or half a pair of them.
func (t *utf16Reader) convert(in []byte) {
	out := t.space[:0]
	for len(in) >= 2 {
		unit, size := rune(t.order.Uint16(in)), 2
		if utf16.IsSurrogate(unit) {
			if len(in) < 4 && t.err == nil {
				break
			}
			var low rune
			if len(in) >= 4 {
				low = rune(t.order.Uint16(in[2:]))
			}
			if unit = utf16.DecodeRune(unit, low); unit != utf8.RuneError {
				size = 4
			}
		}
		in = in[size:]
		if t.first {
			t.first = false
			if unit == '\ufeff' {
				continue
			}
		}
		out = utf8.AppendRune(out, unit)
	}
	if t.err != nil && len(in) == 1 {
		out = utf8.AppendRune(out, utf8.RuneError)
		in = nil
	}
	t.kept = copy(t.in[:], in)
	t.out = out
}
