// Package perf holds what both forms of a recording of Linux perf have in common, the text
// of perf script and perf.data, so that both give the same profile:
//
//   - Event is what was counted, cycles or a clock, with the table of its samples;
//   - KindOf tells the kind of a function by its library.
//
// The package reads neither form, and does not look up names.
package perf

import (
	"slices"
	"strings"

	"github.com/dendroprof/dendro/profile"
)

// Compiled reports whether a library is the map or the image by which a JIT
// compiler tells perf of its code.
func Compiled(library string) bool {
	name := Base(library)
	return strings.HasPrefix(name, "perf-") && strings.HasSuffix(name, ".map") ||
		strings.HasPrefix(name, "jitted-") || strings.HasPrefix(library, "[JIT]")
}

// KindOf tells the kind of a function by its library, and by its name where that
// says no more than that the code is a compiler's.
func KindOf(symbol, library string) (profile.Kind, profile.FrameType) {
	switch {
	case kernel(library):
		return profile.KindKernel, profile.FrameKernel
	case Compiled(library):
		return compiledKind(symbol)
	case strings.HasPrefix(Base(library), "libjvm.so"):
		return profile.KindVM, profile.FrameCPP
	case strings.Contains(symbol, "::"):
		return profile.KindCPP, profile.FrameCPP
	case library == "" || symbol == profile.NoName:
		return profile.KindUnknown, profile.FrameUnknown
	}
	return profile.KindNative, profile.FrameNative
}

// kernel reports whether a library is the kernel or a module of it: a name in
// brackets that is none of the areas of a process.
func kernel(library string) bool {
	if strings.HasPrefix(library, "[") {
		list := []string{"[vdso", "[vsyscall", "[heap", "[stack", "[anon", "[unknown", "[JIT]", "[uprobes"}
		return !slices.ContainsFunc(list, func(area string) bool { return strings.HasPrefix(library, area) })
	}
	name := Base(library)
	for _, packed := range []string{".xz", ".zst", ".gz"} {
		name = strings.TrimSuffix(name, packed)
	}
	return strings.HasPrefix(name, "vmlinux") || strings.HasSuffix(name, ".ko") || strings.HasPrefix(name, "bpf_prog_")
}

// compiledKind tells languages by how their compilers spell names.
func compiledKind(symbol string) (profile.Kind, profile.FrameType) {
	for _, c := range []struct {
		prefix string
		kind   profile.Kind
		typ    profile.FrameType
	}{
		{"JS:", profile.KindJS, profile.FrameJIT}, {"LazyCompile:", profile.KindJS, profile.FrameJIT},
		{"Function:", profile.KindJS, profile.FrameJIT}, {"Script:", profile.KindJS, profile.FrameJIT},
		{"Builtin:", profile.KindVM, profile.FrameNative}, {"BytecodeHandler:", profile.KindVM, profile.FrameNative},
		{"Stub:", profile.KindStub, profile.FrameNative}, {"py::", profile.KindPython, profile.FrameInterpreted},
		{"Interpreter", profile.KindJava, profile.FrameInterpreted}, {"StubRoutines", profile.KindStub, profile.FrameNative},
		{"call_stub", profile.KindStub, profile.FrameNative},
	} {
		if strings.HasPrefix(symbol, c.prefix) {
			return c.kind, c.typ
		}
	}
	if strings.HasPrefix(symbol, "L") && strings.Contains(symbol, ";::") {
		return profile.KindJava, profile.FrameJIT
	}
	return profile.KindUnknown, profile.FrameJIT
}

// Base returns the last element of a path.
func Base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
