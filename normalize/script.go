package normalize

import "strings"

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

// scriptFile reports whether a file is source code of a scripting language.
// Readers of formats without languages leave the kind unknown; the same function must get
// the same name from all readers.
func scriptFile(file string) bool {
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
