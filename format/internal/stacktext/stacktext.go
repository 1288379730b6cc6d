// Package stacktext holds what the readers of textual stack dumps have in
// common: a text seen line by line, and samples with threads, states and labels
// added to a profile.
//
//   - Lines shows a text of any size one line at a time and knows where it is.
//   - Frames remembers what the text of a frame stands for.
//   - Memory is both, as decoders keep them from one text for the next.
//   - Recorder collects samples: it interns threads, states, label sets and
//     stacks that are written innermost frame first, as all dumps write them.
//   - Notes counts what a reader left out, for a bounded number of warnings.
//
// Dumps repeat themselves: the next dump of a process has nearly all frames,
// threads and label sets of the one before. Every table here is therefore asked
// with bytes of the text in place, and makes strings only of what is new. Memory
// is bounded by what is different in the text, the longest line and a row of
// about 32 bytes per sample.
//
// The package knows no format: what a line means is the business of the readers.
package stacktext

import (
	"strings"
	"unicode/utf8"
)

// Clean returns text as a string that is valid UTF-8 without NUL: bytes that are
// not become U+FFFD.
func Clean(text []byte) string {
	s := string(text)
	if !utf8.ValidString(s) || strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
	}
	return s
}

// TrimLeft returns text without the blanks and tabs at its beginning.
func TrimLeft(text []byte) []byte {
	for len(text) > 0 && (text[0] == ' ' || text[0] == '\t') {
		text = text[1:]
	}
	return text
}

// Digits returns how many decimal digits text begins with.
func Digits(text []byte) int {
	n := 0
	for n < len(text) && text[n]-'0' <= 9 {
		n++
	}
	return n
}

// Uint reads the decimal digits that text consists of. Ok is false if it has
// other characters, none at all, or does not fit 63 bits.
func Uint(text []byte) (v int64, ok bool) {
	if len(text) == 0 || Digits(text) != len(text) {
		return 0, false
	}
	for _, c := range text {
		if v > (1<<63-1-int64(c-'0'))/10 {
			return 0, false
		}
		v = v*10 + int64(c-'0')
	}
	return v, true
}

// Hex reads the hexadecimal digits that text consists of, behind 0x if it begins
// so. Ok is false for other characters, none, or more than 64 bits.
func Hex(text []byte) (v uint64, ok bool) {
	if len(text) > 2 && text[0] == '0' && text[1]|0x20 == 'x' {
		text = text[2:]
	}
	if len(text) == 0 || len(text) > 16 {
		return 0, false
	}
	for _, c := range text {
		switch {
		case c-'0' <= 9:
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		v = v<<4 | uint64(c)
	}
	return v, true
}

// Nanos reads a decimal number, `12`, `1.25` or `.5`, of units of unit
// nanoseconds, digits beyond a nanosecond ignored. Ok is false for anything else
// and for what does not fit 63 bits.
func Nanos(text []byte, unit int64) (v int64, ok bool) {
	whole := Digits(text)
	if whole > 0 {
		n, fits := Uint(text[:whole])
		if !fits || n > (1<<63-1)/unit-1 {
			return 0, false
		}
		v = n * unit
	}
	rest := text[whole:]
	if len(rest) == 0 {
		return v, whole > 0
	}
	if rest[0] != '.' || len(rest) == 1 || Digits(rest[1:]) != len(rest)-1 {
		return 0, false
	}
	for _, c := range rest[1:] {
		unit /= 10
		v += int64(c-'0') * unit
	}
	return v, true
}
