package folded

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dendroprof/dendro/profile"
)

// unknownName is written for a frame whose function has no name. It is perf's
// word for an address without a symbol.
const unknownName = "[unknown]"

// spot is what one piece of a stack says.
type spot struct {
	function profile.Function
	line     int32
	mode     profile.FrameType
}

// parseFrame reads a piece that clean has been over. It takes off the suffix of
// the compile mode, a Python place or a Java line; formatFrame puts all three
// back, so that text survives reading and writing.
func parseFrame(text string) spot {
	name, mode := cutMode(text)
	s := spot{mode: mode}
	if function, file, line, ok := cutPlace(name); ok {
		s.line = line
		s.function = profile.Function{Name: function, File: file, Kind: profile.KindPython}
		return s
	}
	if base, line, ok := cutLine(name); ok && guessKind(base, mode) == profile.KindJava {
		name, s.line = base, line
	}
	s.function = profile.Function{Name: name, Kind: guessKind(name, mode)}
	return s
}

// formatFrame spells a frame. Lines of other than Python functions are written
// only when withLines is set.
func formatFrame(fn *profile.Function, f profile.Frame, withLines bool) string {
	text := fn.Name
	switch {
	case f.Line > 0 && (strings.HasSuffix(fn.File, pythonExt) || fn.Kind == profile.KindPython && isScript(fn.File)):
		text += " (" + fn.File + ":" + strconv.Itoa(int(f.Line)) + ")"
	case strings.HasSuffix(fn.File, pythonExt):
		text += " (" + fn.File + ")"
	case withLines && f.Line > 0:
		text += ":" + strconv.Itoa(int(f.Line))
	}
	text += suffixes[f.Type]
	if text = strings.ReplaceAll(clean(text), ";", "|"); text == "" {
		return unknownName
	}
	return text
}

// suffixes of the frame types; empty where text has none.
var suffixes = [profile.FrameTypes]string{
	profile.FrameInterpreted: "_[0]",
	profile.FrameC1:          "_[1]",
	profile.FrameJIT:         "_[j]",
	profile.FrameInlined:     "_[i]",
	profile.FrameKernel:      "_[k]",
}

// cutMode takes off the suffix of the compile mode, which is the last four
// characters. A piece that is nothing but a suffix is a name.
func cutMode(text string) (name string, mode profile.FrameType) {
	if n := len(text) - 4; n > 0 && text[n] == '_' && text[n+1] == '[' && text[n+3] == ']' {
		for mode, suffix := range suffixes {
			if suffix != "" && suffix[2] == text[n+2] {
				return text[:n], profile.FrameType(mode)
			}
		}
	}
	return text, profile.FrameUnknown
}

// cutLine takes `:N` off the end of a name. The part before must not end in a
// colon, because `operator::5` is a name.
func cutLine(name string) (base string, line int32, ok bool) {
	i := strings.LastIndexByte(name, ':')
	if i <= 0 || name[i-1] == ':' {
		return "", 0, false
	}
	line, ok = lineNumber(name[i+1:])
	return name[:i], line, ok
}

// lineNumber reads a positive decimal number that is spelled as Itoa spells it.
func lineNumber(text string) (int32, bool) {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n <= 0 || !isDigit(text[0]) || text[0] == '0' {
		return 0, false
	}
	return int32(n), true
}

const pythonExt = ".py"

// isScript reports whether a file is one in which py-spy finds functions: a
// Python file, or a pseudo file such as `<string>` and `<frozen runpy>`.
func isScript(file string) bool {
	return strings.HasSuffix(file, pythonExt) ||
		len(file) > 2 && file[0] == '<' && file[len(file)-1] == '>'
}

// cutPlace takes ` (file.py:N)`, ` (<pseudo>:N)` or ` (file.py)` off the end.
func cutPlace(name string) (function, file string, line int32, ok bool) {
	if !strings.HasSuffix(name, ")") {
		return "", "", 0, false
	}
	i := strings.LastIndex(name, " (")
	if i <= 0 {
		return "", "", 0, false
	}
	function, place := name[:i], name[i+2:len(name)-1]
	if strings.HasSuffix(place, pythonExt) {
		return function, place, 0, true
	}
	if file, line, ok = cutLine(place); !ok || !isScript(file) {
		return "", "", 0, false
	}
	return function, file, line, true
}

// guessKind tells the kind of a function by the suffix of its frame and by its
// name, much as async-profiler does when it colours a frame without a suffix.
func guessKind(name string, mode profile.FrameType) profile.Kind {
	switch {
	case isClass(name, mode):
		return profile.KindClass
	case mode == profile.FrameKernel:
		return profile.KindKernel
	case strings.Contains(name, "::"), strings.HasPrefix(name, "-["), strings.HasPrefix(name, "+["):
		return profile.KindCPP // also Rust, and inlined frames of both
	case mode != profile.FrameUnknown:
		return profile.KindJava
	case name[0] == '[':
		return profile.KindUnknown // `[unknown]`, `[libc.so.6]`
	case strings.HasSuffix(name, " stub"), strings.HasPrefix(name, "I2C/C2I adapters"):
		return profile.KindStub
	case strings.Contains(name, ".(*"):
		return profile.KindGo
	case strings.ContainsAny(name, " \t"):
		return profile.KindNative // a C++ signature; Java names have no blanks
	case strings.IndexByte(name, '/') > 0,
		strings.IndexByte(name, '.') > 0 && name[0] >= 'A' && name[0] <= 'Z':
		return profile.KindJava
	}
	return profile.KindNative
}

// isClass reports whether a frame is a class rather than code. async-profiler
// ends a stack with the allocated or locked class, marked `_[i]` or `_[k]`:
// `byte[]`, `java.util.HashMap$Node`. Methods of the same recording are spelled
// with slashes, or their last part begins with a small letter or with `<`.
func isClass(name string, mode profile.FrameType) bool {
	if strings.HasSuffix(name, "[]") {
		return true
	}
	if mode != profile.FrameInlined && mode != profile.FrameKernel {
		return false
	}
	if i := strings.LastIndex(name, ".0x"); i > 0 && strings.Contains(name[:i], "$$") {
		name = name[:i] // a hidden class: `java.util.Comparator$$Lambda$27.0x00007f10`
	}
	dot := strings.LastIndexByte(name, '.')
	if dot <= 0 || dot == len(name)-1 || strings.ContainsAny(name, "/: (") {
		return false
	}
	return name[dot+1] >= 'A' && name[dot+1] <= 'Z'
}

// clean mends what a line of text cannot hold, or what would be read back
// differently: bytes that are not UTF-8 and NUL become U+FFFD, line feeds
// become blanks, blanks at the ends go.
func clean(text string) string {
	if !utf8.ValidString(text) || strings.IndexByte(text, 0) >= 0 {
		text = strings.ToValidUTF8(text, "\uFFFD")
		text = strings.ReplaceAll(text, "\x00", "\uFFFD")
	}
	if strings.IndexByte(text, '\n') >= 0 {
		text = strings.ReplaceAll(text, "\n", " ")
	}
	return strings.Trim(text, blanks)
}
