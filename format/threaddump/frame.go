package threaddump

import (
	"bytes"

	"github.com/dendroprof/dendro/internal/stacktext"
	"github.com/dendroprof/dendro/profile"
)

// frame is what the text of a frame says.
type frame struct {
	function profile.Function
	line     int32
	mode     profile.FrameType
}

// parseFrame parses a frame of any of the spellings:
//
//	shop.demo.Stuck.work(Stuck.java:15)
//	java.lang.Thread.sleep(java.base@17.0.15/Native Method)
//	java.base/java.lang.Thread.run(Thread.java:1474)
//	app//shop.demo.Stuck$$Lambda/0x000000003c041678.run(Unknown Source)
//	java.lang.Thread.run(Thread.java:924(Compiled Code))
//
// The module's name goes to Function.Module, without its version, so that the
// function stays the same when the JDK changes. Ok is false if there is no
// parenthesis, or nothing before it.
func parseFrame(text []byte) (f frame, ok bool) {
	text, f.mode = compiledMode(text)
	open, end := bytes.LastIndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open <= 0 || end < open {
		return f, false
	}
	name, module := splitModule(text[:open])
	place := text[open+1 : end]
	if i := bytes.IndexByte(place, '/'); i >= 0 && (bytes.IndexByte(place[:i], '@') > 0 || bytes.IndexByte(place[i+1:], '/') < 0) {
		module, place = place[:i], place[i+1:]
	}
	if i := bytes.IndexByte(module, '@'); i >= 0 {
		module = module[:i]
	}
	f.function = profile.Function{Name: stacktext.Clean(name), Module: stacktext.Clean(module), Kind: profile.KindJava}
	switch {
	case string(place) == "Native Method":
		f.mode = profile.FrameNative
	case string(place) == "Unknown Source", bytes.HasPrefix(place, []byte("Bytecode PC:")):
	default:
		file := place
		if i := bytes.LastIndexByte(place, ':'); i >= 0 {
			if n, ok := stacktext.Uint(place[i+1:]); ok {
				file = place[:i]
				if n <= 1<<31-1 {
					f.line = int32(n)
				}
			}
		}
		f.function.File = stacktext.Clean(file)
	}
	return f, len(f.function.Name) > 0
}

// compiledMode takes off how J9 says that code was compiled, or not.
func compiledMode(text []byte) ([]byte, profile.FrameType) {
	if rest, ok := bytes.CutSuffix(text, []byte("(Compiled Code))")); ok {
		return append(bytes.Clone(rest), ')'), profile.FrameJIT
	}
	return text, profile.FrameUnknown
}

// splitModule takes off the class loader and the module that stack trace elements
// have before the class: `loader/module@version/`, `module/`, `loader//`. The
// slash before the address of a hidden class is followed by a digit, as no
// package or class is.
func splitModule(name []byte) (class, module []byte) {
	end := -1
	for i := len(name) - 2; i > 0; i-- {
		if name[i] == '/' && name[i+1]-'0' > 9 {
			end = i
			break
		}
	}
	if end < 0 {
		return name, nil
	}
	module = name[:end]
	return name[end+1:], module[bytes.LastIndexByte(module, '/')+1:]
}

// parseSlashed parses a frame of a javacore, which has slashes in its class:
//
//	java/lang/Thread.run(Thread.java:924(Compiled Code))
func parseSlashed(text []byte) (frame, bool) {
	text = bytes.Clone(text)
	dots(text[:max(0, bytes.IndexByte(text, '('))])
	return parseFrame(text)
}

// dots makes dots of the slashes of a class, but for the one before the address
// of a hidden class.
func dots(class []byte) {
	for i, c := range class {
		if c == '/' && i+1 < len(class) && class[i+1]-'0' > 9 {
			class[i] = '.'
		}
	}
}
