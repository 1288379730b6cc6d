package flamehtml

import (
	"strings"

	"github.com/dendroprof/dendro/format/internal/framename"
	"github.com/dendroprof/dendro/profile"
)

// errNoParent is that of a box with nothing below it.
func errNoParent(b *box, texts []string) error {
	return profile.Malformed("nothing calls %q on level %d", texts[b.text], b.level)
}

// cutThread reads a name that stands for a thread: `[name tid=7]`, `[tid=7]`, or
// py-spy's `thread (7): name`.
func cutThread(text string) (profile.Thread, bool) {
	t := profile.Thread{Frame: text}
	if inner, ok := strings.CutPrefix(text, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		i := strings.LastIndex(inner, "tid=")
		if !ok || i < 0 || i > 0 && inner[i-1] != ' ' || !consists(inner[i+len("tid="):], decimal) {
			return profile.Thread{}, false
		}
		t.Name, t.ID = strings.TrimSuffix(inner[:i], " "), inner[i+len("tid="):]
		return t, true
	}
	inner, ok := strings.CutPrefix(text, "thread (")
	if !ok {
		return profile.Thread{}, false
	}
	id, name, _ := strings.Cut(inner, ")")
	if hex, ok := strings.CutPrefix(id, "0x"); !consists(id, decimal) && !(ok && consists(hex, hexadecimal)) {
		return profile.Thread{}, false
	}
	t.ID = id
	t.Name, ok = strings.CutPrefix(name, ": ")
	return t, ok || name == ""
}

const (
	decimal     = "0123456789"
	hexadecimal = decimal + "abcdefABCDEF"
)

// consists reports whether a text is made of some of the given digits.
func consists(text, digits string) bool { return text != "" && strings.Trim(text, digits) == "" }

// parseName reads the name of a box: a function with, perhaps, its line or place.
func parseName(text string, mode profile.FrameType) (profile.Function, int32) {
	name := strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
	if name == "" {
		return profile.Function{Name: profile.NoName}, 0
	}
	return framename.Parse(name, mode)
}
