package folded

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dendroprof/dendro/format/internal/framename"
	"github.com/dendroprof/dendro/profile"
)

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
	fn, line := framename.Parse(name, mode)
	return spot{fn, line, mode}
}

// formatFrame spells a frame. Lines of other than Python functions are written
// only when withLines is set.
func formatFrame(fn *profile.Function, f profile.Frame, withLines bool) string {
	text := fn.Name
	switch {
	case f.Line > 0 && (strings.HasSuffix(fn.File, framename.PythonExt) || fn.Kind == profile.KindPython && framename.IsScript(fn.File)):
		text += " (" + fn.File + ":" + strconv.Itoa(int(f.Line)) + ")"
	case strings.HasSuffix(fn.File, framename.PythonExt):
		text += " (" + fn.File + ")"
	case withLines && f.Line > 0:
		text += ":" + strconv.Itoa(int(f.Line))
	}
	text += suffixes[f.Type]
	if text = strings.ReplaceAll(clean(text), ";", "|"); text == "" {
		return profile.NoName
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
