package suite

import (
	"strings"
	"sync"
)

// volatile marks the digits of a name that another process start spells
// differently: the counter and the address of a hidden class. Offsets count
// from the start of the name, lengths of zero mean none.
type volatile struct {
	dec, decLen uint16
	hex, hexLen uint16
}

func (v volatile) any() bool { return v.decLen > 0 || v.hexLen > 0 }

// cutSuffix separates the compile state that async-profiler appends to a frame,
// _[j] _[i] _[k] _[0] or _[1], from the name. mark is 0 when there is none.
func cutSuffix(frame string) (name string, mark byte) {
	n := len(frame)
	if n < 5 || frame[n-1] != ']' || frame[n-4] != '_' || frame[n-3] != '[' {
		return frame, 0
	}
	switch m := frame[n-2]; m {
	case 'j', 'i', 'k', '0', '1':
		return frame[:n-4], m
	}
	return frame, 0
}

// Stable maps a frame of a generated profile to the name that is the same in
// every run: without annotation, lambda counters and class addresses. It undoes
// exactly what the generator adds; a product's normaliser knows many more
// patterns and may be used in its place where two stores are compared.
func Stable(frame string) string {
	name, _ := cutSuffix(frame)
	if i := strings.Index(name, lambda); i >= 0 {
		end := i + len(lambda)
		from := end
		for n := 1; n > 0; end += n {
			n = counterLen(name[end:])
		}
		name = name[:from] + name[end:]
	}
	for from := 0; ; {
		i := strings.Index(name[from:], "0x")
		if i < 0 {
			return name
		}
		at := from + i
		n := digits(name[at+2:], hexDigits)
		if n < 6 || at == 0 || strings.IndexByte("./+", name[at-1]) < 0 {
			from = at + 2
			continue
		}
		name = name[:at-1] + name[at+2+n:]
		from = at - 1
	}
}

// Memo makes a slow mapping of frames to names affordable: names is called once
// for all frames that differ in volatile digits alone. Without it an engine
// that maps the hundreds of new lambda names of each profile would be measured
// by the mapping. The result is safe for concurrent use if names is.
func Memo(names func(frame string) string) func(frame string) string {
	var known sync.Map // frame without digits, with its annotation → name
	return func(frame string) string {
		_, mark := cutSuffix(frame)
		key := Stable(frame) + "\x00" + string(rune(mark))
		if name, ok := known.Load(key); ok {
			return name.(string)
		}
		name := names(frame)
		known.Store(key, name)
		return name
	}
}

const lambda = "$$Lambda"

// counterLen returns the length of one part of a lambda's number at the start
// of s: $12, .0x7f, /0x7f, +0x7f or /12. It is 0 where a method name begins.
func counterLen(s string) int {
	if s == "" || strings.IndexByte("$./+", s[0]) < 0 {
		return 0
	}
	if address, ok := strings.CutPrefix(s[1:], "0x"); ok && s[0] != '$' {
		if n := digits(address, hexDigits); n > 0 {
			return 3 + n
		}
	}
	if n := digits(s[1:], "0123456789"); n > 0 && (s[0] == '$' || s[0] == '/') {
		return 1 + n
	}
	return 0
}

// findVolatile locates the digits that change. Addresses of archived lambdas
// (0x8000000..) come out of the class data archive and are the same in every
// start of one JVM.
func findVolatile(name string) volatile {
	var v volatile
	if i := strings.Index(name, "0x"); i >= 0 {
		h := i + 2
		n := digits(name[h:], hexDigits)
		if n >= 6 {
			if n < 12 && strings.HasPrefix(name[h:], "800") {
				return v
			}
			// The upper digits are the address space's, always the same.
			keep := max(0, n-10)
			v.hex, v.hexLen = uint16(h+keep), uint16(n-keep)
		}
	}
	if i := strings.Index(name, lambda+"$"); i >= 0 {
		d := i + len(lambda) + 1
		if n := digits(name[d:], "0123456789"); n > 0 {
			v.dec, v.decLen = uint16(d), uint16(n)
		}
	}
	return v
}

func digits(s, set string) int {
	n := 0
	for n < len(s) && strings.IndexByte(set, s[n]) >= 0 {
		n++
	}
	return n
}

// inScope moves a function into a separate package: the name of the scope is
// put before the last part of the package path, or behind a name without one.
// It keeps the spelling that makes a Java name Java and a Go name Go.
func inScope(f function, scope string) string {
	name := f.name
	switch f.kind {
	case java:
		// Only a slash that is part of the class name counts: an address such
		// as $$Lambda/0x… has one too, but lies behind the package.
		end := strings.IndexAny(name, "$.")
		if end < 0 {
			end = len(name)
		}
		if i := strings.LastIndexByte(name[:end], '/'); i >= 0 {
			return name[:i+1] + scope + "/" + name[i+1:]
		}
		return scope + "/" + name
	case golang:
		if i := strings.IndexByte(name, '.'); i >= 0 {
			return name[:i] + "/" + scope + name[i:]
		}
	}
	return name + "_" + scope
}

// asLambda turns a function into the method of a hidden class whose counter
// and address change in every run. Digits are a fixed number so that a renderer
// can overwrite them in place.
func asLambda(f function) function {
	name := Stable(f.name)
	class, method := name, "run"
	if i := strings.LastIndexByte(name, '.'); i > 0 {
		class, method = name[:i], name[i+1:]
	}
	class = strings.ReplaceAll(class, lambda, "")
	name = class + lambda + "$00000/0x00007f0000000000." + method
	return function{name: name, kind: f.kind, vol: findVolatile(name)}
}
