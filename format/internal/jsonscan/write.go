package jsonscan

import (
	"bufio"
	"io"
	"strconv"
	"unicode/utf8"
)

// Writer writes JSON piece by piece. The first error comes back from Flush.
type Writer struct{ *bufio.Writer }

// NewWriter returns a writer to w.
func NewWriter(w io.Writer) Writer { return Writer{bufio.NewWriterSize(w, 64<<10)} }

// Put writes JSON and the texts of strings in turn.
func (w Writer) Put(parts ...string) {
	for i, part := range parts {
		if i%2 == 0 {
			w.WriteString(part)
		} else {
			w.Write(AppendText(w.AvailableBuffer(), part))
		}
	}
}

// Int writes a whole number.
func (w Writer) Int(v int64) { w.Write(strconv.AppendInt(w.AvailableBuffer(), v, 10)) }

// Fixed writes v · 10^-decimals.
func (w Writer) Fixed(v int64, decimals int) { w.Write(AppendFixed(w.AvailableBuffer(), v, decimals)) }

// List writes an array of n elements, each of which element writes.
func (w Writer) List(n int, element func(i int)) {
	w.WriteByte('[')
	for i := range n {
		if i > 0 {
			w.WriteByte(',')
		}
		element(i)
	}
	w.WriteByte(']')
}

// AppendFixed appends v · 10^-decimals as a number, with no more decimals than it
// takes. It is the inverse of Fixed.
func AppendFixed(b []byte, v int64, decimals int) []byte {
	if decimals == 0 {
		return strconv.AppendInt(b, v, 10)
	}
	if v < 0 {
		b = append(b, '-')
	}
	var spelled [32]byte
	digits := strconv.AppendUint(spelled[:0], magnitude(v), 10)
	if whole := len(digits) - decimals; whole > 0 {
		b = append(b, digits[:whole]...)
		digits = digits[whole:]
	} else {
		b = append(b, '0')
	}
	for len(digits) > 0 && digits[len(digits)-1] == '0' {
		digits = digits[:len(digits)-1]
		decimals--
	}
	if len(digits) == 0 {
		return b
	}
	b = append(b, '.')
	for range decimals - len(digits) {
		b = append(b, '0')
	}
	return append(b, digits...)
}

// AppendText appends a string with its quotes. What is not UTF-8 becomes U+FFFD.
func AppendText(b []byte, text string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
			i++
		case c >= '\b' && c <= '\r' && c != '\v':
			b = append(b, '\\', "btn_fr"[c-'\b'])
			i++
		case c < ' ' || c == 0x7f:
			b = append(b, `\u00`...)
			b = append(b, hex[c>>4], hex[c&15])
			i++
		case c < utf8.RuneSelf:
			b = append(b, c)
			i++
		default:
			r, n := utf8.DecodeRuneInString(text[i:])
			b = utf8.AppendRune(b, r)
			i += n
		}
	}
	return append(b, '"')
}
