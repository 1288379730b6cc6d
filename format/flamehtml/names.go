package flamehtml

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/dendroprof/dendro/profile"
)

const unknownName = "[unknown]"

// errNoParent is that of a box with nothing below it.
func errNoParent(b *box, texts []string) error {
	return fmt.Errorf("%w: nothing calls %q on level %d", profile.ErrMalformed, texts[b.text], b.level)
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

// parseName reads the name of a box: a function with, perhaps, its line
// (`C.m:20`) or its place in a Python file (`f (shop.py:8)`).
func parseName(text string, mode profile.FrameType) (profile.Function, int32) {
	name := strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
	if name == "" {
		return profile.Function{Name: unknownName}, 0
	}
	if function, file, line, ok := cutPlace(name); ok {
		return profile.Function{Name: function, File: file, Kind: profile.KindPython}, line
	}
	kind := kindOfName(name, mode)
	if base, line, ok := cutLine(name); ok && kind == profile.KindJava {
		return profile.Function{Name: base, Kind: kind}, line
	}
	return profile.Function{Name: name, Kind: kind}, 0
}

// cutPlace takes ` (file.py:N)` or ` (<pseudo>:N)` off the end.
func cutPlace(name string) (function, file string, line int32, ok bool) {
	i := strings.LastIndex(name, " (")
	if i <= 0 || !strings.HasSuffix(name, ")") {
		return "", "", 0, false
	}
	place := name[i+2 : len(name)-1]
	if strings.HasSuffix(place, ".py") {
		return name[:i], place, 0, true
	}
	file, line, ok = cutLine(place)
	script := strings.HasSuffix(file, ".py") || strings.HasPrefix(file, "<") && strings.HasSuffix(file, ">")
	return name[:i], file, line, ok && script
}

// cutLine takes `:N` off the end.
func cutLine(name string) (base string, line int32, ok bool) {
	i := strings.LastIndexByte(name, ':')
	if i <= 0 || name[i-1] == ':' {
		return "", 0, false
	}
	n, err := strconv.ParseUint(name[i+1:], 10, 31)
	return name[:i], int32(n), err == nil && n > 0 && name[i+1] != '0'
}

// kindOfName tells the kind of a function: by its color, which is what the mode
// of a page comes from, and by its name where the color leaves it open.
func kindOfName(name string, mode profile.FrameType) profile.Kind {
	switch {
	case isClass(name, mode):
		return profile.KindClass
	case mode == profile.FrameKernel:
		return profile.KindKernel
	case mode == profile.FrameCPP, strings.Contains(name, "::"):
		return profile.KindCPP
	case mode.CompileMode():
		return profile.KindJava
	case name[0] == '[':
		return profile.KindUnknown
	case strings.HasSuffix(name, " stub"), strings.HasPrefix(name, "I2C/C2I adapters"):
		return profile.KindStub
	case mode == profile.FrameUnknown && !strings.ContainsAny(name, " \t") && strings.IndexByte(name, '/') > 0:
		return profile.KindJava
	}
	return profile.KindNative
}

// isClass reports whether a box is a class, with which stacks of allocations and
// locks end, rather than code.
func isClass(name string, mode profile.FrameType) bool {
	if strings.HasSuffix(name, "[]") {
		return true
	}
	if mode != profile.FrameInlined && mode != profile.FrameKernel || strings.ContainsAny(name, "/: (") {
		return false
	}
	dot := strings.LastIndexByte(name, '.')
	return dot > 0 && dot < len(name)-1 && name[dot+1] >= 'A' && name[dot+1] <= 'Z'
}
