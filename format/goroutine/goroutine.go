// Package goroutine reads the texts in which Go programs show their stacks:
//
//   - tracebacks (`/debug/pprof/goroutine?debug=2`, SIGQUIT, a panic): one
//     goroutine after the other with its state;
//   - the profiles of `/debug/pprof/…?debug=1`, which are the oldest format of
//     pprof with the names of the functions as comments: goroutine, threadcreate,
//     goroutineleak and a program's own profiles, which count stacks; heap and
//     allocs; block and mutex.
//
// A traceback looks like this:
//
//	goroutine 24 [sync.Mutex.Lock, 5 minutes]:
//	sync.(*Mutex).Lock(...)
//		sync/mutex.go:46
//	main.cart(0xc000012345)
//		shop/main.go:54 +0x13
//
// A traceback becomes one sample a goroutine, with state, waiting time and creator;
// the others become what their protocol buffer form (package format/pprof) would
// be, with the same value types, so that the two add. What the text hides, the
// innermost functions of the runtime, is missing. docs/format/go.md has the
// grammar.
//
// The package does not read binary profiles and does not symbolise addresses. Time
// is linear in the text; memory is bounded by what is different in it and 32 bytes
// a sample.
package goroutine

import (
	"bytes"
	"path"
	"strings"

	"github.com/dendroprof/dendro/format/internal/stacktext"
	"github.com/dendroprof/dendro/profile"
)

// Name is the name of the format, as in Profile.Format.
const Name = "goroutine"

// NewDecoder returns a decoder. It skips what lies around tracebacks, which are found
// in logs. A profile of debug=1 is strict: a count that cannot be read is an error, and
// so is a text without a traceback or profile.
func NewDecoder() profile.Decoder { return stacktext.NewDecoder(Name, read) }

func read(r *stacktext.Reading) error {
	r.Profile.Profiler = "Go"
	t := &reader{Reading: r}
	for t.Next() {
		text := t.Text()
		if _, _, ok := header(text); ok {
			return t.tracebacks()
		}
		if kind, ok := kindOf(text); ok {
			return t.counts(kind)
		}
	}
	return t.Malformed("neither a traceback nor a profile of Go is in it")
}

// reader is the reading of one text.
type reader struct {
	*stacktext.Reading
	labels []profile.Label
	key    []byte
}

// addFrame adds the next frame, going outwards, of the stack in work: a function
// at a `file:line`.
func (t *reader) addFrame(function, place []byte, mode profile.FrameType) error {
	t.key = append(append(t.key[:0], byte(mode)), function...)
	t.key = append(append(t.key, 0), place...)
	return t.PushText(t.key, func() profile.FrameID {
		file, line := splitPlace(place)
		fn := profile.Function{Name: stacktext.Clean(function), File: stacktext.Clean(file)}
		fn.Kind = kindOfFunction(&fn)
		s := t.Profile.Symbols
		return s.Frame(profile.Frame{Function: s.Function(fn), Line: line, Type: mode})
	})
}

// splitPlace splits `shop/main.go:54`.
func splitPlace(place []byte) (file []byte, line int32) {
	if i := bytes.LastIndexByte(place, ':'); i >= 0 {
		if n, ok := stacktext.Uint(place[i+1:]); ok && n <= 1<<31-1 {
			return place[:i], int32(n)
		}
	}
	return place, 0
}

// kindOfFunction tells the runtime from the rest, and C from Go.
func kindOfFunction(fn *profile.Function) profile.Kind {
	switch {
	case fn.Name == elided:
		return profile.KindLabel
	case strings.HasPrefix(fn.Name, "runtime."), strings.HasPrefix(fn.Name, "runtime/internal/"),
		strings.HasPrefix(fn.Name, "internal/runtime/"):
		return profile.KindGoRuntime
	case fn.File == "":
		return profile.KindUnknown
	}
	switch path.Ext(fn.File) {
	case ".go", ".s", "":
		return profile.KindGo
	case ".cc", ".cpp", ".cxx":
		return profile.KindCPP
	}
	return profile.KindNative
}

// Sniff reports whether a text that begins with prefix is one of Go's. A profile
// says so in its first line; a traceback may come behind a log, so its header
// must be followed by what looks like a function.
func Sniff(prefix []byte) bool {
	first, _, _ := bytes.Cut(bytes.TrimLeft(prefix, "\r\n"), []byte("\n"))
	if _, ok := kindOf(bytes.TrimRight(first, "\r")); ok {
		return true
	}
	for rest := prefix; len(rest) > 0; {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte("\n"))
		if _, _, ok := header(bytes.TrimRight(line, "\r")); !ok {
			continue
		}
		function, _, whole := bytes.Cut(rest, []byte("\n"))
		function = bytes.TrimRight(function, "\r")
		if isCall(function) || bytes.HasSuffix(function, unavailable) || !whole && len(function) == 0 {
			return true
		}
	}
	return false
}
