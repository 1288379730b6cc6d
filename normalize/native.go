package normalize

import (
	"strings"

	"github.com/dendroprof/dendro/profile"
)

// unresolved reports whether a name is only an address, because the profiler found no
// symbol. Addresses change with every start of the program.
func unresolved(name string) bool {
	if name == "" || name == profile.NoName {
		return true
	}
	return len(name) > 2 && name[0] == '0' && name[1] == 'x' && run(name[2:], anyHex) == len(name)-2
}

func anyHex(c byte) bool { return digit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

// moduleName returns the pseudo function of a module: its file name in brackets.
// The folder differs from machine to machine; in files of compiled code that a
// virtual machine leaves for perf, so does the process id.
func moduleName(module string) string {
	m := strings.TrimRight(strings.TrimSuffix(module, " (deleted)"), `/\`)
	if i := strings.LastIndexAny(m, `/\`); i >= 0 {
		m = m[i+1:]
	}
	switch {
	case m == "":
		return profile.NoName
	case m[0] == '[' && m[len(m)-1] == ']':
		return m // [vdso], [kernel.kallsyms]
	case numbered(m, "perf-", ".map"):
		m = "perf.map"
	case numbered(m, "jitted-", ".so"):
		m = "jitted.so"
	}
	return "[" + m + "]"
}

// numbered reports whether s is a prefix, numbers with dashes, and a suffix.
func numbered(s, prefix, suffix string) bool {
	s, ok := strings.CutPrefix(s, prefix)
	s, ok2 := strings.CutSuffix(s, suffix)
	return ok && ok2 && s != "" && run(s, func(c byte) bool { return digit(c) || c == '-' }) == len(s)
}

// nativeName drops the hashes that compilers put into symbols and that change
// with the compiler, the dependencies or the whole build, not with the function:
// Rust's `::h0123456789abcdef` (legacy) and `crate[0123456789abcdef]::` (v0),
// and the module id of `name.llvm.1234567890` that LLVM gives to what a link-time
// optimisation made visible. Where async-profiler has no symbol, the path of the
// library is the name. A name with none of these is returned as it is.
func nativeName(name string) string {
	if name[0] == '/' && libraryPath(name) {
		return moduleName(name)
	}
	return dropRustHash(dropModuleID(dropCrateHashes(name)))
}

// libraryPath reports whether an absolute path is one of a shared library.
func libraryPath(path string) bool {
	base := path[strings.LastIndexByte(path, '/')+1:]
	return strings.HasSuffix(base, ".so") || strings.Contains(base, ".so.") || strings.HasSuffix(base, ".dylib")
}

// dropRustHash drops the `::h` and 16 hexadecimal digits that end a legacy name.
func dropRustHash(name string) string {
	const tail = len("::h") + 16
	n := len(name) - tail
	if n <= 0 || name[n:n+3] != "::h" || hexDigits(name[n+3:]) != 16 {
		return name
	}
	return name[:n]
}

// moduleIDs are the forms of a module id: raw, and of LLVM's and GNU's demanglers.
var moduleIDs = [...]struct{ before, after string }{
	{".llvm.", ""}, {" (.llvm.", ")"}, {" [clone .llvm.", "]"},
}

// dropModuleID drops `.llvm.` and the number behind it, at the end.
func dropModuleID(name string) string {
	for _, id := range moduleIDs {
		head, ok := strings.CutSuffix(name, id.after)
		n := len(head)
		for n > 0 && digit(head[n-1]) {
			n--
		}
		if !ok || n == len(head) {
			continue
		}
		if head, ok = strings.CutSuffix(head[:n], id.before); ok && head != "" {
			return head
		}
	}
	return name
}

// dropCrateHashes drops the disambiguators of v0 names: 12 to 16 hexadecimal
// digits in brackets after the name of a crate and before `::`. Fewer digits
// are improbable for a 64-bit hash and might be an array's length.
func dropCrateHashes(name string) string {
	var out []byte
	kept := 0 // the start of the rest of name that is not in out
	for from := 0; ; {
		i := strings.Index(name[from:], "]::")
		if i < 0 {
			break
		}
		end := from + i
		start := from + strings.LastIndexByte(name[from:end], '[')
		if start > from && crateHash(name[start+1:end]) && !ends(name[start-1:]) {
			out = append(out, name[kept:start]...)
			kept = end + 1
		}
		from = end + 1
	}
	if kept == 0 {
		return name
	}
	return string(append(out, name[kept:]...))
}

func crateHash(s string) bool {
	n := hexDigits(s)
	return n == len(s) && n >= 12 && n <= 16
}
