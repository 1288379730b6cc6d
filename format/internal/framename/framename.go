// Package framename reads what profilers put into the name of a frame where their
// format has nothing but names: collapsed text and flame graph pages.
//
//	shop/Cart.total:20           a Java method at a line
//	hot_loop (shop.py:8)         a Python function at its place
//	byte[]                       an allocated class, by the color or suffix of the frame
//	std::sort<int>, -[A b]       C++ and Objective-C
//
// What a function is written in is a guess from its spelling, much as
// async-profiler guesses when it colors a frame. The package does not know suffixes
// and colors (those are the formats'), does not read thread frames, and changes no
// name.
package framename

import (
	"strconv"
	"strings"

	"github.com/dendroprof/dendro/profile"
)

// PythonExt ends the name of a Python file.
const PythonExt = ".py"

// Parse returns the function that a name spells, and its line, 0 if there is none.
// Mode is how the frame ran, as the format says.
func Parse(name string, mode profile.FrameType) (fn profile.Function, line int32) {
	if function, file, line, ok := CutPlace(name); ok {
		return profile.Function{Name: function, File: file, Kind: profile.KindPython}, line
	}
	if base, line, ok := CutLine(name); ok && Kind(base, mode) == profile.KindJava {
		return profile.Function{Name: base, Kind: profile.KindJava}, line
	}
	return profile.Function{Name: name, Kind: Kind(name, mode)}, 0
}

// CutLine takes `:N` off the end of a name. The part before must not end in a
// colon, because `operator::5` is a name.
func CutLine(name string) (base string, line int32, ok bool) {
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
	if err != nil || n <= 0 || text[0] < '1' || text[0] > '9' {
		return 0, false
	}
	return int32(n), true
}

// IsScript reports whether a file is one in which py-spy finds functions: a
// Python file, or a pseudo file such as `<string>` and `<frozen runpy>`.
func IsScript(file string) bool {
	return strings.HasSuffix(file, PythonExt) ||
		len(file) > 2 && file[0] == '<' && file[len(file)-1] == '>'
}

// CutPlace takes ` (file.py:N)`, ` (<pseudo>:N)` or ` (file.py)` off the end.
func CutPlace(name string) (function, file string, line int32, ok bool) {
	if !strings.HasSuffix(name, ")") {
		return "", "", 0, false
	}
	i := strings.LastIndex(name, " (")
	if i <= 0 {
		return "", "", 0, false
	}
	function, place := name[:i], name[i+2:len(name)-1]
	if strings.HasSuffix(place, PythonExt) {
		return function, place, 0, true
	}
	if file, line, ok = CutLine(place); !ok || !IsScript(file) {
		return "", "", 0, false
	}
	return function, file, line, true
}

// Kind guesses what a function is written in. The name is not empty.
func Kind(name string, mode profile.FrameType) profile.Kind {
	switch {
	case isClass(name, mode):
		return profile.KindClass
	case mode == profile.FrameKernel:
		return profile.KindKernel
	case mode == profile.FrameCPP, strings.Contains(name, "::"), strings.HasPrefix(name, "-["), strings.HasPrefix(name, "+["):
		return profile.KindCPP // also Rust, and inlined frames of both
	case mode.CompileMode():
		return profile.KindJava
	case name[0] == '[':
		return profile.KindUnknown // `[unknown]`, `[libc.so.6]`
	case strings.HasSuffix(name, " stub"), strings.HasPrefix(name, "I2C/C2I adapters"):
		return profile.KindStub
	case mode != profile.FrameUnknown:
		return profile.KindNative
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
// ends a stack with the allocated or locked class, marked like an inlined or a
// kernel frame: `byte[]`, `java.util.HashMap$Node`. Methods of the same recording
// are spelled with slashes, or their last part begins with a small letter or
// with `<`.
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
