package normalize

import (
	"strings"

	"github.com/dendroprof/dendro/profile"
)

// v8Name returns the name that V8 gave a function to which Pyroscope's SDK for Node.js added
// path and line, as in `./src/cart.js:render:12`, and of others their name. The SDK leaves
// V8's name as the system name.
func v8Name(f *profile.Function) string {
	end := strings.LastIndexByte(f.Name, ':')
	if f.SystemName == "" || end < 0 || end+1 == len(f.Name) || digits(f.Name[end+1:]) != len(f.Name)-end-1 ||
		!strings.HasSuffix(f.Name[:end], ":"+f.SystemName) {
		return f.Name
	}
	if strings.HasPrefix(f.SystemName, "(anonymous:L#") {
		return "(anonymous)" // (anonymous:L#12:C#3)
	}
	return f.SystemName
}

// withFile returns the name of a script function with its file: neither
// `(anonymous)` nor `render` says which function it is, and there are no
// qualified names to fall back on. Lines are omitted because they move with every edit.
func withFile(name, file string) string {
	if file == "" {
		return name
	}
	suffix := " (" + file + ")"
	if strings.HasSuffix(name, suffix) {
		return name
	}
	return name + suffix
}

// anonymous reports whether a name is that of an anonymous function or empty.
func anonymous(name string) bool {
	switch name {
	case "(anonymous)", "<anonymous>", "anonymous", "<lambda>", "<module>", "{closure}":
		return true
	}
	return false
}

// scriptFile reports whether a file is source code of a scripting language, or a module of
// Node.js itself, node:fs.
// Readers of formats without languages leave the kind unknown; the same function must get
// the same name from all readers.
func scriptFile(file string) bool {
	if strings.HasPrefix(file, "node:") {
		return true
	}
	dot := strings.LastIndexByte(file, '.')
	if dot < 0 {
		return false
	}
	switch file[dot+1:] {
	case "js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx", "vue", "svelte", "py", "pyx", "rb", "erb", "php", "phtml":
		return true
	}
	return false
}
