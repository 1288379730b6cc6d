package stacktext

import (
	"bytes"

	"github.com/dendroprof/dendro/profile"
)

// JavaFrame is what the text of a frame of Java says.
type JavaFrame struct {
	Function profile.Function
	Line     int32
	Mode     profile.FrameType
}

// ParseJavaFrame parses a frame of any of the spellings:
//
//	shop.demo.Stuck.work(Stuck.java:15)
//	java.lang.Thread.sleep(java.base@17.0.15/Native Method)
//	java.base/java.lang.Thread.run(Thread.java:1474)
//	app//shop.demo.Stuck$$Lambda/0x000000003c041678.run(Unknown Source)
//	java.lang.Thread.run(Thread.java:924(Compiled Code))
//	java.lang.Thread.run(Thread.java:Unknown line)
//
// The module's name goes to Function.Module, without its version, so that the
// function stays the same when the JDK changes. Ok is false if there is no
// parenthesis, or nothing before it.
func ParseJavaFrame(text []byte) (f JavaFrame, ok bool) {
	text, f.Mode = compiledMode(text)
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
	f.Function = profile.Function{Name: Clean(name), Module: Clean(module), Kind: profile.KindJava}
	switch {
	case string(place) == "Native Method":
		f.Mode = profile.FrameNative
	case string(place) == "Unknown Source", bytes.HasPrefix(place, []byte("Bytecode PC:")),
		bytes.HasPrefix(place, []byte("<Unknown Source>:")):
	default:
		file := place
		if i := bytes.LastIndexByte(place, ':'); i >= 0 {
			if n, ok := Uint(place[i+1:]); ok {
				file = place[:i]
				if n <= 1<<31-1 {
					f.Line = int32(n)
				}
			} else if text := string(place[i+1:]); text == "Unknown line" || text == "Native method" {
				file = place[:i]
				if text == "Native method" {
					f.Mode = profile.FrameNative
				}
			}
		}
		f.Function.File = Clean(file)
	}
	return f, len(f.Function.Name) > 0
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

// Java returns the frame that a text spells, as parse reads it; false if it is none.
func (f *Frames) Java(text []byte, parse func([]byte) (JavaFrame, bool)) (profile.FrameID, bool) {
	frame, ok := f.Find(text)
	if !ok {
		var parsed JavaFrame
		if parsed, ok = parse(text); !ok {
			return 0, false
		}
		fn := f.symbols.Function(parsed.Function)
		frame = f.symbols.Frame(profile.Frame{Function: fn, Line: parsed.Line, Type: parsed.Mode})
		f.Add(text, frame)
	}
	return frame, true
}
