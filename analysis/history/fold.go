package history

import (
	"slices"
	"strings"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
)

// Language is the kind of program of a history: it decides which frames are the
// program's own.
type Language string

// The languages.
const (
	JVM    Language = "jvm"    // compiled while it runs: jumps between compile modes
	Go     Language = "go"     // compiled ahead, with a collector of its own
	Native Language = "native" // everything else
)

// Pseudo nodes of samples that belong to no call node.
const (
	environment = int32(-2) // no frame of the program
	idle        = int32(-3) // a waiting thread of a wall clock profile
)

// folded maps the nodes of a table to paths of the folded forest.
type folded struct {
	forest *calltree.Forest
	// own is the path of the samples that end in a node, or environment, or idle.
	own []int32
}

// fold maps every used node of a table to the call path of the program it belongs to:
//
//   - JVM: a stack ends with its last Java frame; kernel, VM and C frames below
//     count as its self. Stubs and java.lang.invoke, which the compiler adds and
//     removes, fold into their caller.
//   - Go: a stack ends with its last frame that is not the runtime's and one
//     runtime frame, so that runtime.mallocgc stays visible as a callee.
//     Preemption, and what the collector makes the program's goroutines do, fold
//     into their caller with all below. In a service the latter is environment,
//     like what the collector's own goroutines do: how much it is depends on the
//     heap and on the machine's load, which no benchmark keeps equal there.
//   - others: a stack ends before its kernel frames.
//
// A stack without a frame of the program is environment.
func fold(t *calltree.Table, used []bool, lang Language, wall, service bool) *folded {
	f := &folded{forest: &calltree.Forest{}, own: make([]int32, t.Len())}
	f.forest.Paths.Grow(t.Len())
	roles := make([]role, len(t.Functions))
	ids := make([]int32, len(t.Functions))
	for i := range t.Functions {
		roles[i] = roleOf(&t.Functions[i], lang, wall)
		ids[i] = f.forest.Function(t.Functions[i])
	}
	// full is the path of a node with all frames that a deeper frame of the program
	// has as callers.
	full := make([]int32, t.Len())
	closed := make([]bool, t.Len()) // descendants add no frames
	for n := range t.Len() {
		if !used[n] {
			continue
		}
		fn := t.Func[n]
		up, caller, shut := calltree.NoNode, environment, false
		above := program // for roots
		if p := t.Parent[n]; p != calltree.NoNode {
			up, caller, shut, above = full[p], f.own[p], closed[p], roles[t.Func[p]]
		}
		full[n], f.own[n], closed[n] = up, caller, shut
		switch r := roles[fn]; {
		case shut || r == glue:
		case r == absorbing, r == collecting && !service:
			closed[n] = true
		case r == collecting:
			f.own[n], closed[n] = environment, true
		case r == parked:
			f.own[n] = idle
		case r == program:
			full[n] = f.forest.Path(up, ids[fn])
			f.own[n] = full[n]
		case r == runtime:
			full[n] = f.forest.Path(up, ids[fn])
			if caller >= 0 && above == program {
				f.own[n] = full[n]
			}
		default: // foreign
			full[n] = f.forest.Path(up, ids[fn])
		}
	}
	return f
}

// role is the meaning of a frame in its stack.
type role uint8

const (
	program    role = iota // code of the program and its libraries
	foreign                // kernel, VM, C: kept above the program, cut below it
	runtime                // Go's runtime: one frame of it is kept below the program
	glue                   // folds into its caller
	absorbing              // folds into its caller with all its callees
	collecting             // work of the collector on the program's goroutines
	parked                 // waits: idle in a wall-clock profile
)

// roleOf returns the role of a function from its kind and from its name, because text
// formats only guess kinds.
func roleOf(fn *profile.Function, lang Language, wall bool) role {
	switch {
	case wall && waits(fn.Name), fn.Name == "(idle)" && fn.Kind == profile.KindVM: // of V8
		return parked
	case fn.Name == profile.NoName:
		return glue
	case fn.Kind == profile.KindKernel:
		return foreign
	}
	switch lang {
	case JVM:
		return jvmRole(fn)
	case Go:
		return goRole(fn.Name)
	}
	return program
}

func jvmRole(fn *profile.Function) role {
	switch fn.Kind {
	case profile.KindJava:
		if strings.HasPrefix(fn.Name, "java.lang.invoke.") {
			return glue
		}
		return program
	case profile.KindClass:
		return program
	case profile.KindStub:
		return glue
	}
	return foreign
}

func goRole(name string) role {
	switch {
	case !isGoRuntime(name) && name != "gcWriteBarrier": // of assembly, without a package
		return program
	case strings.HasPrefix(name, "runtime.asyncPreempt"):
		return absorbing
	case isCollector(name):
		return collecting
	}
	return runtime
}

// isCollector reports whether a function of Go's runtime runs only because the collector
// marks or sweeps, on whatever goroutine: write barriers, assists of allocations, the start
// of a cycle, and sweeping.
func isCollector(name string) bool {
	name = strings.TrimPrefix(name, "runtime.")
	switch name {
	case "wbMove", "wbZero", "gcStart", "gcMarkDone", "gcParkAssist", "gcmarknewobject", "gcMarkTinyAllocs", "deductAssistCredit",
		"deductSweepCredit", "sweepone", "(*sweepLocked).sweep", "(*mheap).reclaim":
		return true
	}
	list := []string{"gcWriteBarrier", "wbBufFlush", "(*wbBuf).", "bulkBarrierPreWrite", "gcAssistAlloc"}
	return slices.ContainsFunc(list, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

func isGoRuntime(name string) bool {
	return strings.HasPrefix(name, "runtime.") || strings.HasPrefix(name, "internal/runtime/") || strings.HasPrefix(name, "runtime/internal/")
}

// waits reports whether threads are idle in a function.
func waits(name string) bool {
	switch name {
	case "jdk.internal.misc.Unsafe.park", "sun.misc.Unsafe.park", "java.lang.Object.wait", "java.lang.Object.wait0",
		"java.lang.Thread.sleep", "java.lang.Thread.sleep0", "java.lang.Thread.sleepNanos0", "sun.nio.ch.EPoll.wait", "sun.nio.ch.Net.accept",
		"sun.nio.ch.Net.poll",
		"java.lang.ProcessHandleImpl.waitForProcessExit0", "java.lang.ref.Reference.waitForReferencePendingList",
		"runtime.gopark", "runtime.notesleep", "runtime.notetsleepg", "runtime.usleep",
		"epoll_wait", "__epoll_wait", "poll", "__poll", "select", "nanosleep", "pthread_cond_wait", "pthread_cond_timedwait":
		return true
	}
	return false
}

// languageOf returns the language of the functions of the used nodes. Go is tested first,
// because text formats classify any name with a slash as Java.
func languageOf(t *calltree.Table, used []bool) Language {
	is := make([]bool, len(t.Functions))
	for n, fn := range t.Func {
		is[fn] = is[fn] || used[n]
	}
	lang := Native
	for i := range t.Functions {
		switch fn := &t.Functions[i]; {
		case !is[i]:
		case fn.Kind == profile.KindGoRuntime, fn.Name == "runtime.mcall", fn.Name == "runtime.mallocgc", fn.Name == "runtime.gcBgMarkWorker",
			fn.Name == "runtime.main":
			return Go
		case fn.Kind == profile.KindJava:
			lang = JVM
		}
	}
	return lang
}
