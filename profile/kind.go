package profile

import "fmt"

// Kind is the language or runtime of a function. It is an attribute of
// the function for filters and colours, never part of its identity.
type Kind uint8

// The kinds. New ones are added at the end: their numbers are stored.
const (
	KindUnknown   Kind = iota
	KindJava           // bytecode of a JVM: Java, Kotlin, Scala
	KindNative         // machine code without a better name: C, Rust, an unknown library
	KindCPP            // C++ and Objective-C, told by its names
	KindKernel         // the operating system's kernel
	KindVM             // a virtual machine's own code: JIT compiler, collector
	KindStub           // generated glue: vtable and interface stubs, adapters
	KindGo             // Go
	KindGoRuntime      // Go's runtime
	KindPython         //
	KindJS             // JavaScript, WebAssembly
	KindRuby           //
	KindDotNet         // .NET
	KindPHP            //
	KindRust           //
	KindClass          // not code: the allocated or locked class at the leaf
	KindLabel          // not code: a note that a runtime or browser puts on the stack
	KindJSLabel        // a label that belongs to JavaScript's view too (a DOM call)
)

var kindNames = [...]string{"", "java", "native", "cpp", "kernel", "vm", "stub", "go", "go-runtime",
	"python", "js", "ruby", "dotnet", "php", "rust", "class", "label", "js-label"}

// String returns the name that `--kind` takes; empty for KindUnknown.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind-%d", k)
}

// ParseKind is the inverse of String.
func ParseKind(name string) (Kind, error) {
	for k, n := range kindNames {
		if n == name {
			return Kind(k), nil
		}
	}
	return KindUnknown, fmt.Errorf("unknown kind %q; want one of %q", name, kindNames[1:])
}

// FrameType is how a frame's code was running: its compile mode, or that it
// is not compiled by a virtual machine at all. The names are those of
// async-profiler and JFR.
type FrameType uint8

// The frame types. Their numbers are stored.
const (
	FrameUnknown     FrameType = iota
	FrameInterpreted           // suffix _[0]
	FrameC1                    // suffix _[1]: compiled by the first tier
	FrameJIT                   // suffix _[j]: compiled by the top tier
	FrameInlined               // suffix _[i]: inlined into its caller
	FrameNative                //
	FrameCPP                   //
	FrameKernel                // suffix _[k]

	// FrameTypes is the number of frame types.
	FrameTypes = iota
)

var frameTypeNames = [FrameTypes]string{"", "interpreted", "c1", "jit", "inlined", "native", "cpp", "kernel"}

// String returns the type's name; empty for FrameUnknown.
func (t FrameType) String() string {
	if int(t) < len(frameTypeNames) {
		return frameTypeNames[t]
	}
	return fmt.Sprintf("frame-type-%d", t)
}

// CompileMode reports whether t is a compile mode of a virtual machine, that
// is, whether an analysis of compile modes counts it.
func (t FrameType) CompileMode() bool { return t >= FrameInterpreted && t <= FrameInlined }
