package callpath

import (
	"strings"
	"unicode/utf8"
)

// Glob returns a test of whole texts: `*` matches any characters, `?` one, everything else
// itself. Building it costs time and memory in proportion to the glob, and a test at most
// the product of both lengths, whatever the glob is.
func Glob(glob string) func(text string) bool {
	parts := strings.Split(glob, "*")
	if len(parts) == 1 {
		return func(text string) bool { n, ok := prefix(text, glob); return ok && n == len(text) }
	}
	first, last := parts[0], parts[len(parts)-1]
	var middle []string // in this order, anywhere between the first and the last
	for _, p := range parts[1 : len(parts)-1] {
		if p != "" {
			middle = append(middle, p)
		}
	}
	return func(text string) bool {
		n, ok := prefix(text, first)
		if !ok {
			return false
		}
		text = text[n:]
		for _, p := range middle {
			end := find(text, p)
			if end < 0 {
				return false
			}
			text = text[end:]
		}
		return suffix(text, last)
	}
}

// prefix returns the length of the part of a text that a piece of a glob matches at its
// beginning. The piece has no `*`.
func prefix(text, piece string) (n int, ok bool) {
	for len(piece) > 0 {
		if n == len(text) {
			return 0, false
		}
		if piece[0] == '?' {
			_, width := utf8.DecodeRuneInString(text[n:])
			n, piece = n+width, piece[1:]
			continue
		}
		if text[n] != piece[0] {
			return 0, false
		}
		n, piece = n+1, piece[1:]
	}
	return n, true
}

// suffix reports whether a piece matches the end of a text.
func suffix(text, piece string) bool {
	if !strings.Contains(piece, "?") {
		return strings.HasSuffix(text, piece)
	}
	// As many characters as the piece has: an invalid byte is one.
	at := len(text)
	for range utf8.RuneCountInString(piece) {
		if at == 0 {
			return false
		}
		_, width := utf8.DecodeLastRuneInString(text[:at])
		at -= width
	}
	n, ok := prefix(text[at:], piece)
	return ok && at+n == len(text)
}

// find returns the end of the first match of a piece in a text, or -1.
func find(text, piece string) int {
	if !strings.Contains(piece, "?") {
		if at := strings.Index(text, piece); at >= 0 {
			return at + len(piece)
		}
		return -1
	}
	for at := 0; at < len(text); {
		if n, ok := prefix(text[at:], piece); ok {
			return at + n
		}
		_, width := utf8.DecodeRuneInString(text[at:])
		at += width
	}
	return -1
}
