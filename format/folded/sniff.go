package folded

import "bytes"

const (
	sniffedLines = 100
	// longLine is how much of a line without end Sniff needs to see.
	longLine = 4 << 10
)

// Sniff reports whether a text that begins with prefix looks like folded
// stacks: most of its first 100 lines end in a blank and a number, and one of
// them has a semicolon. Many texts have numbers at the ends of their lines, so
// ask after all formats that can be recognised by a word.
func Sniff(prefix []byte) bool {
	prefix = bytes.TrimPrefix(prefix, byteOrderMark)
	lines, good, semicolon := 0, 0, false
	for line := range bytes.Lines(prefix) {
		cut := line[len(line)-1] != '\n'
		line = bytes.TrimSuffix(line, []byte("\n"))
		if saysNothing(line) {
			continue
		}
		_, at, err := lastNumber(line)
		if err != nil && cut && lines > 0 {
			break // prefix ends in the middle of a line
		}
		if err != nil && cut {
			return looksLikeFrames(line)
		}
		if lines++; err == nil {
			good++
			semicolon = semicolon || bytes.IndexByte(line[:at], ';') >= 0
		}
		if lines == sniffedLines {
			break
		}
	}
	return semicolon && 2*good > lines
}

// certainLines is the number of lines that Certain sees.
const certainLines = 32

// Certain reports whether a text begins with so many plain lines of folded stacks that no
// other format is like it: each of them has a stack, a blank and a whole number, and half
// of them have semicolons. Asking all formats that are recognised by a word takes ten times
// as long.
func Certain(prefix []byte) bool {
	semicolons := 0
	for range certainLines {
		line, rest, whole := bytes.Cut(prefix, []byte("\n"))
		prefix = rest
		line = bytes.TrimSuffix(line, []byte("\r"))
		stack := bytes.TrimRight(line, "0123456789")
		if !whole || len(stack) < 2 || len(stack) == len(line) || stack[len(stack)-1] != ' ' ||
			bytes.IndexByte([]byte(" \t#;{[<\"'"), line[0]) >= 0 {
			return false
		}
		if bytes.IndexByte(stack, ';') >= 0 {
			semicolons++
		}
	}
	return 2*semicolons >= certainLines
}

// looksLikeFrames judges a prefix that is one long line without an end. Minified
// scripts and style sheets are such lines, too, with many semicolons; but
// between theirs stand braces, quotes and equal signs.
func looksLikeFrames(line []byte) bool {
	if len(line) < longLine {
		return false
	}
	semicolons, strange := 0, 0
	for _, c := range line {
		switch {
		case c == ';':
			semicolons++
		case c < ' ' && c != '\t', c == '{', c == '}', c == '=', c == '"', c == '\'':
			strange++
		}
	}
	return semicolons >= 2 && strange*100 <= len(line)
}
