package normalize

import (
	"regexp"
	"strings"

	"github.com/dendroprof/dendro/profile"
)

// unresolved reports whether a name is only an address, because the profiler found no
// symbol. Addresses change with every start of the program.
func unresolved(name string) bool {
	if name == "" || name == profile.NoName {
		return true
	}
	return strings.HasPrefix(name, "0x") && address.MatchString(name)
}

var address = regexp.MustCompile(`^0x[\da-fA-F]+$`)

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
	}
	return "[" + compiledFile.ReplaceAllString(m, "$1$2$3$4") + "]"
}

// compiledFile matches the names of files of compiled code.
var compiledFile = regexp.MustCompile(`^(?:(perf)-[\d-]+(\.map)|(jitted)-[\d-]+(\.so))$`)

// nativeName drops the hashes that compilers put into symbols and that change
// with the compiler, the dependencies or the whole build, not with the function:
// Rust's `::h0123456789abcdef` (legacy) and `crate[0123456789abcdef]::` (v0),
// and the module id of `name.llvm.1234567890` that LLVM gives to what a link-time
// optimisation made visible. Where async-profiler has no symbol, the path of the
// library is the name. A name with none of these is returned as it is.
func nativeName(name string) string {
	if name[0] == '/' && profile.IsSharedLibrary(name) {
		return moduleName(name)
	}
	for _, h := range compilerHashes {
		if strings.Contains(name, h.sign) && h.form.MatchString(name) {
			name = h.form.ReplaceAllString(name, "$1$2")
		}
	}
	return name
}

// compilerHashes are the forms of these hashes, with what stays in groups, and a part of each.
var compilerHashes = []struct {
	sign string
	form *regexp.Regexp
}{
	// Fewer digits are improbable for a 64-bit hash and might be an array's length.
	{"]::", regexp.MustCompile(`([\w\x{80}-\x{10ffff}])\[[\da-f]{12,16}\](::)`)},
	// Raw, and of LLVM's and GNU's demanglers.
	{".llvm.", regexp.MustCompile(`(?s)^(.+)(?:\.llvm\.\d+| \(\.llvm\.\d+\)| \[clone \.llvm\.\d+\])$`)},
	{"::h", regexp.MustCompile(`(?s)^(.+)::h[\da-f]{16}$`)},
}
