package normalize

import (
	"cmp"
	"regexp"
	"strings"

	"github.com/dendroprof/dendro/profile"
)

// dots converts a Java method `a/b/C.m` or class `a/b/C` of a text format to the form of
// JFR and of stack traces, `a.b.C.m`. Other names do not change.
//
// The folded reader guesses Java from any slash, so the kind alone says little:
// `encoding/json.Marshal`, `github.com/x/y.F`, `I2C/C2I adapters(0xb)` and
// `src/Cart.js` arrive as Java or as unknown. What the JVM allows distinguishes them:
//
//   - A package has no dots, spaces or punctuation. A Go import path outside
//     the standard library begins with a domain.
//   - After the last slash there is exactly one dot, before the method. Go has more
//     (`json.structEncoder.encode`) or parentheses (`json.(*Decoder).Decode`).
//   - A class begins with a capital or contains a `$`, a Go package does not.
//     Lower-case classes are accepted under `com/`, `org/`, `java/` and the like,
//     which are not packages of Go's library.
//
// For a kind that is not Java, packages must be lower case, and the method neither
// capitalised nor a file extension.
func dots(name string, kind profile.Kind) string {
	slash := strings.LastIndexByte(name, '/')
	if slash <= 0 {
		return name
	}
	pkg := name[:slash]
	class, method, called := strings.Cut(name[slash+1:], ".")
	ok := false
	switch {
	case kind == profile.KindClass:
		ok = !called && classShape(class, true) && packageShape(pkg, false)
	case called && kind == profile.KindJava:
		ok = classShape(class, rooted(pkg)) && packageShape(pkg, false) && methodShape(method, true)
	case called:
		ok = classShape(class, rooted(pkg)) && packageShape(pkg, true) && methodShape(method, false) && !upper(method[0]) && !extension[method]
	default: // a class at the leaf of an allocation profile
		ok = classShape(class, false) && packageShape(pkg, true) && (kind == profile.KindJava || strings.Contains(pkg, "/"))
	}
	if !ok {
		return name
	}
	return strings.ReplaceAll(name, "/", ".")
}

// rooted reports whether a package begins like Java packages do and Go's do not.
func rooted(pkg string) bool {
	first, _, _ := strings.Cut(pkg, "/")
	switch first {
	case "java", "javax", "jakarta", "jdk", "sun", "com", "org", "kotlin", "kotlinx", "scala", "akka", "groovy", "clojure":
		return true
	}
	return false
}

// extension holds file extensions: `src/Cart.js` is not a method js.
var extension = map[string]bool{
	"js": true, "mjs": true, "cjs": true, "jsx": true, "ts": true, "tsx": true, "vue": true, "css": true, "html": true,
	"json": true, "xml": true, "txt": true, "md": true, "yaml": true, "yml": true, "c": true, "h": true, "cc": true,
	"cpp": true, "hpp": true, "rs": true, "go": true, "py": true, "rb": true, "php": true, "pl": true, "java": true,
	"kt": true, "scala": true, "cs": true, "swift": true, "so": true, "a": true, "o": true, "dll": true, "dylib": true,
	"exe": true, "wasm": true, "class": true, "jar": true,
}

// packageShape reports whether pkg is a Java package in slashes, of identifiers
// that begin with a small letter if lower is true.
func packageShape(pkg string, lower bool) bool {
	for more := true; more; {
		var word string
		word, pkg, more = strings.Cut(pkg, "/")
		if !identifier(word, false) || lower && upper(word[0]) {
			return false
		}
	}
	return true
}

// classShape reports whether class is the simple name of a class, with any
// number of `[]`. Without small, it must have a capital at the front or a `$`.
func classShape(class string, small bool) bool {
	for strings.HasSuffix(class, "[]") {
		class = class[:len(class)-2]
	}
	return identifier(class, true) && (small || upper(class[0]) || class[0] >= 0x80 || strings.Contains(class, "$"))
}

// methodShape reports whether method can be a method's name. The JVM forbids
// only `.;[/<>`, which Kotlin's tests use; free requires no more.
func methodShape(method string, free bool) bool {
	if method == "<init>" || method == "<clinit>" {
		return true
	}
	if free {
		return method != "" && !strings.ContainsAny(method, ".;[/<>:")
	}
	return identifier(method, true)
}

// identifier reports whether s is a Java identifier. With dash it may hold the
// `-` that Kotlin puts into the names of methods with inline classes.
func identifier(s string, dash bool) bool {
	if s == "" || digit(s[0]) || s[0] == '-' {
		return false
	}
	for i := range len(s) {
		if c := s[i]; chars[c]&part == 0 && (!dash || c != '-') {
			return false
		}
	}
	return true
}

// typeDescriptor matches the descriptor of a type. In folded text the `;` is a `|`.
const typeDescriptor = `\[*(?:[BCDFIJSZ]|L[^;|()[ ]+[;|])`

var (
	methodDescriptor = regexp.MustCompile(`^\((?:` + typeDescriptor + `)*\)(?:V|` + typeDescriptor + `)$`)
	arrayDescriptor  = regexp.MustCompile(`^(\[+)(?:([BCDFIJSZ])|L([^;|()[ ]+)[;|])$`)
)

// dropSignature drops the descriptor of a Java method, `C.m(ILjava/lang/String;)V`.
// The whole descriptor is parsed, so neither a C++ argument list nor a Go receiver is
// mistaken for one.
func dropSignature(name string, kind profile.Kind) string {
	open := strings.LastIndexByte(name, '(')
	if open <= 0 || !methodDescriptor.MatchString(name[open:]) {
		return name
	}
	head := name[:open]
	dot := strings.LastIndexByte(head, '.')
	if dot <= 0 || !methodShape(head[dot+1:], kind == profile.KindJava) || strings.ContainsAny(head[:dot], " :(<*") {
		return name
	}
	return head
}

var primitives = map[string]string{"B": "byte", "C": "char", "D": "double", "F": "float", "I": "int", "J": "long", "S": "short",
	"Z": "boolean"}

// classDescriptor returns an array class in Java syntax: `byte[]` for `[B`,
// `java/lang/String[]` for `[Ljava/lang/String;`. Other names do not change.
func classDescriptor(name string) string {
	m := arrayDescriptor.FindStringSubmatch(name)
	if m == nil {
		return name
	}
	return cmp.Or(primitives[m[2]], m[3]) + strings.Repeat("[]", len(m[1]))
}
