package threaddump

import (
	"bytes"

	"github.com/dendroprof/dendro/format/internal/stacktext"
)

// Sniff reports whether a text that begins with prefix has a thread dump of
// HotSpot in it. A log may come first: it asks for the line that begins a dump, or
// the header of a thread, anywhere. The headers of Thread.dump_to_file are so
// plain that a date must be above them.
func Sniff(prefix []byte) bool {
	switch text := bytes.TrimLeft(prefix, " \t\r\n"); {
	case len(text) > 0 && text[0] == '{':
		return bytes.HasPrefix(bytes.TrimLeft(text[1:], " \t\r\n"), []byte(`"threadDump"`)) || sniffBeans(text)
	case isArray(text):
		return sniffBeans(text)
	}
	dated := false
	for line := range bytes.Lines(prefix) {
		line = bytes.TrimRight(bytes.TrimLeft(line, " \t"), "\r\n")
		if len(line) == 0 {
			continue
		}
		if sniffForeign(line) {
			return true
		}
		switch line[0] {
		case 'F':
			if bytes.HasPrefix(line, fullMark) && bytes.Contains(line, []byte(" (")) {
				return true
			}
		case '"':
			if end := nameEnd(line); end > 0 && bytes.Contains(line[end:], []byte(" tid=0x")) && bytes.Contains(line[end:], []byte(" nid=")) {
				return true
			}
		case '#':
			if dated && isNumbered(line) {
				return true
			}
		case '1', '2':
			if !dated {
				_, dated = parseDate(line)
			}
		}
	}
	return false
}

// isArray reports whether a text begins as an array of objects in JSON does. gdb begins
// with `[New LWP 26657]`.
func isArray(text []byte) bool {
	return len(text) > 0 && text[0] == '[' && bytes.HasPrefix(bytes.TrimLeft(text[1:], " \t\r\n"), []byte("{"))
}

// isNumbered reports whether a line is the header of a thread in the text of
// Thread.dump_to_file.
func isNumbered(line []byte) bool {
	n := stacktext.Digits(line[1:])
	return n > 0 && bytes.HasPrefix(line[1+n:], []byte(` "`)) && bytes.IndexByte(line[n+3:], '"') >= 0
}

// SniffJavacore reports whether a text that begins with prefix is a javacore.
func SniffJavacore(prefix []byte) bool {
	for line := range bytes.Lines(prefix) {
		for _, tag := range javacoreTags {
			if bytes.HasPrefix(line, tag) {
				return true
			}
		}
	}
	return false
}

var javacoreTags = [][]byte{[]byte("1TISIGINFO "), []byte("3XMTHREADINFO "), []byte("1CIJAVAVERSION "), []byte("0SECTION  ")}
