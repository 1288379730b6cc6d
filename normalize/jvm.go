package normalize

import (
	"regexp"
	"strings"

	"github.com/dendroprof/dendro/profile"
)

// jvmName applies the rules for names of a JVM once. The result is in dots.
func jvmName(name string, kind profile.Kind) string {
	if !suspicious(name, kind) {
		return name
	}
	name = dropGenerated(name, kind)
	if kind == profile.KindClass {
		name = classDescriptor(name)
	} else {
		name = dropSignature(name, kind)
	}
	return onePackage(dots(name, kind))
}

// onePackage gives proxies one package: before JDK 16 it was com.sun.proxy.
func onePackage(name string) string {
	if rest, ok := strings.CutPrefix(name, "com.sun.proxy.$Proxy"); ok {
		return "jdk.proxy.$Proxy" + rest
	}
	return name
}

// suspicious is a cheap test for a character or word that every rule of this file needs.
// Most names fail it and are not examined further.
func suspicious(name string, kind profile.Kind) bool {
	if kind == profile.KindClass && name[0] == '[' {
		return true
	}
	for i := range len(name) {
		switch c := name[i]; {
		case chars[c]&hint == 0:
		case c == '0':
			if i+1 < len(name) && name[i+1] == 'x' {
				return true
			}
		case c == 'A':
			if strings.HasPrefix(name[i:], "Accessor") {
				return true
			}
		default:
			return true
		}
	}
	return false
}

// char is a set of roles that a byte of a name may have.
type char uint8

const (
	hint   char = 1 << iota // suspicious examines it
	marker                  // a generated part may begin here
	part                    // of a Java identifier
)

var chars = func() (t [256]char) {
	for c := range t {
		b := byte(c)
		if b >= 0x80 || letter(b) || digit(b) || b == '_' || b == '$' {
			t[c] |= part
		}
		if b < 0x80 && generatedNames[b] != nil || b == '.' || b == '/' || b == '+' {
			t[c] |= marker
		}
	}
	for _, b := range []byte("$/(+0A") {
		t[b] |= hint
	}
	return t
}()

// generated is one kind of name that is generated at run time: a marker that stays,
// followed by a part that differs in every run.
type generated struct {
	marker string
	simple bool // only where a simple class name begins: `a.b.$Proxy1`, not `a.b.X$Proxy1`

	volatile volatile
}

// volatile returns how many bytes behind a marker stay and how many behind them are
// dropped: none if the text does not have the expected form.
type volatile func(rest string) (keep, drop int)

// pattern returns a volatile that keeps what matches keep and drops the match of drop behind it.
// The text must continue with a match of next. All three are regular expressions.
func pattern(keep, drop, next string) volatile {
	re := regexp.MustCompile("^" + keep + "(" + drop + ")" + next)
	return func(rest string) (int, int) {
		m := re.FindStringSubmatchIndex(rest)
		if m == nil {
			return 0, 0
		}
		return m[2], m[3] - m[2]
	}
}

// end matches the end of a word.
const end = `(?:$|[^\w\x{80}-\x{10ffff}])`

var (
	number = pattern("", `\d+`, end)
	// lambda matches what JVMs append to $$Lambda, in any combination: the number `$14` in
	// order of linking, the address of the hidden class `.0x…`, `/0x…`, `+0x…`, and an identity
	// hash `/321142942`. Simulated histories write `$*` for any number. A hex digest, as in
	// native images, stays.
	lambda = pattern("", `(?:\$\*|\$\d+|[./+]0x[\da-f]+|/\d+)+`, end)
	// lambdaForm matches what follows LambdaForm$MH and its relatives.
	lambdaForm = pattern("[A-Z]+", `(?:[./+]0x[\da-f]+|/\d+)(?:\$\*|\$\d+|[./+]0x[\da-f]+|/\d+)*`, end)
	// hidden matches the address at the end of the name of a hidden class, and an identity
	// hash after it. Anywhere else it may be a template argument or a part of a longer word.
	hidden       = pattern("", `[./+]0x[\da-f]{6,}(?:/\d+)?`, end)
	proxyPackage = pattern("", `\d+`, `[./]\$Proxy`)
	counters     = pattern("", `(?:\$\$\d+)+`, end)
	// cglib matches the hash of `$$EnhancerBySpringCGLIB$$1a2b` and a number after it that
	// avoids collisions (`_2`), also of FastClassBy… and KeyFactoryBy….
	cglib        = pattern("[A-Za-z]*By[A-Za-z]*", `(?:\$\$[\da-f]+(?:_\d*)?)+`, end)
	javassist    = pattern("", `[\da-f]+_[\da-f]+`, end) // the class hash and the counter of X_$$_jvst1a2_3
	javassistOld = pattern("", `_\d+`, end)              // the counter of X_$$_javassist_3
)

// generatedNames are the kinds by the first byte of their marker, tried in order.
// Evidence and prices are in docs/method/names.md.
var generatedNames = [128][]generated{
	'$': {
		{marker: "$$Lambda", volatile: lambda},
		{marker: "$Proxy", simple: true, volatile: number},
		// ByteBuddy names what it makes by 8 random characters; agents and
		// frameworks on top of it choose the word before them.
		{marker: "$auxiliary", volatile: random}, // SkyWalking: X$$sw$auxiliary$815cqm1
		{marker: "$ByteBuddy", volatile: random},
		{marker: "$HibernateProxy", volatile: random},
		{marker: "$MockitoMock", volatile: random},
		// CGLIB, since Spring 6 and before.
		{marker: "$$SpringCGLIB", volatile: counters},
		{marker: "$$FastClass", volatile: counters},
		{marker: "$$", volatile: cglib},
	},
	'L': {{marker: "LambdaForm$", volatile: lambdaForm}},
	'G': {
		{marker: "GeneratedMethodAccessor", simple: true, volatile: number},
		{marker: "GeneratedConstructorAccessor", simple: true, volatile: number},
		{marker: "GeneratedSerializationConstructorAccessor", simple: true, volatile: number},
	},
	// The package of proxies for interfaces that are not exported is numbered too.
	'j': {
		{marker: "jdk.proxy", simple: true, volatile: proxyPackage},
		{marker: "jdk/proxy", simple: true, volatile: proxyPackage},
	},
	'_': {
		{marker: "_$$_jvst", volatile: javassist},
		{marker: "_$$_javassist", volatile: javassistOld},
	},
}

// dropGenerated drops the parts that differ in every run: one pass from left to right,
// without a copy if there are none.
func dropGenerated(name string, kind profile.Kind) string {
	var space [128]byte
	out := space[:0]
	from := 0 // what of name is not yet in out
	// Outside of Java, `+` and an address may be an offset into a library. It is treated as
	// a hidden class only after a `$`.
	plus := kind == profile.KindJava || kind == profile.KindClass
	for i := 0; i < len(name); {
		if chars[name[i]]&marker == 0 {
			i++
			continue
		}
		keep, drop := 0, 0
		switch c := name[i]; c {
		case '.', '/', '+':
			if (plus || c != '+') && strings.HasPrefix(name[i+1:], "0x") {
				_, drop = hidden(name[i:])
			}
		default:
			plus = plus || c == '$'
			keep, drop = generatedAt(name, i)
		}
		if drop == 0 || i+keep == 0 { // never the whole of a name
			i++
			continue
		}
		out = append(out, name[from:i+keep]...)
		i += keep + drop
		from = i
	}
	if from > 0 {
		name = string(append(out, name[from:]...))
	}
	return dropCallSite(name)
}

// generatedAt returns how many bytes from i stay and how many after them are dropped.
func generatedAt(name string, i int) (keep, drop int) {
	kinds := generatedNames[name[i]]
	for k := range kinds {
		g := &kinds[k]
		if !strings.HasPrefix(name[i:], g.marker) || g.simple && !startsSimple(name, i) {
			continue
		}
		if keep, drop := g.volatile(name[i+len(g.marker):]); drop > 0 {
			return len(g.marker) + keep, drop
		}
	}
	return 0, 0
}

// random matches `$` and a word, repeatedly, except the word auxiliary, which is a marker
// itself.
func random(rest string) (keep, drop int) {
	for strings.HasPrefix(rest[drop:], "$") {
		s := rest[drop+1:]
		n := alphanumeric(s)
		if n == 0 || s[:n] == "auxiliary" || !ends(s[n:]) {
			break
		}
		drop += 1 + n
	}
	return 0, drop
}

// dropCallSite drops the counter of a Groovy call site, whose class is named after the
// called class and method: `java_util_List$iterator$7.call`. An anonymous class in a method
// looks the same, so the counter is dropped only if the prefix or the method shows that it
// is a call site.
func dropCallSite(name string) string {
	dot := strings.LastIndexByte(name, '.')
	class := name
	if dot >= 0 {
		class = name[:dot]
	}
	n := len(class)
	for n > 0 && digit(class[n-1]) {
		n--
	}
	if n == len(class) || n < 2 || class[n-1] != '$' || !strings.Contains(class[:n-1], "$") {
		return name
	}
	site := strings.HasPrefix(class, "java_")
	if dot >= 0 {
		switch name[dot+1:] {
		case "callStatic", "callCurrent", "callConstructor":
			site = true
		}
	}
	if !site {
		return name
	}
	return class[:n-1] + name[len(class):]
}

// startsSimple reports whether a simple class name begins at i.
func startsSimple(name string, i int) bool {
	return i == 0 || name[i-1] == '.' || name[i-1] == '/'
}

// ends reports whether a word ends before s.
func ends(s string) bool {
	return s == "" || s[0] < 0x80 && s[0] != '_' && !letter(s[0]) && !digit(s[0])
}

func digits(s string) int { return run(s, digit) }
func hexDigits(s string) int {
	return run(s, func(c byte) bool { return digit(c) || 'a' <= c && c <= 'f' })
}
func alphanumeric(s string) int { return run(s, func(c byte) bool { return digit(c) || letter(c) }) }

// run returns how many bytes at the beginning of s are of one sort.
func run(s string, is func(byte) bool) int {
	n := 0
	for n < len(s) && is(s[n]) {
		n++
	}
	return n
}

func digit(c byte) bool  { return '0' <= c && c <= '9' }
func upper(c byte) bool  { return 'A' <= c && c <= 'Z' }
func letter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
