// Package normalize gives functions the same name in all runs, profilers and notations.
//
// Across profiles a function is identified by its name. Some names are generated at run
// time: a JVM numbers its lambda classes in the order of linking and adds their address,
// mocking and proxy libraries add random suffixes. In 18 starts of one program 311 of its
// 324 lambda names occurred in only one start; each would be a new function in every run.
// Other names depend on the profiler (`a/b/C.m`, `a.b.C.m`, `a.b.C.m(I)V`) or are ambiguous
// alone (`(anonymous)`, `0x7f12ab34cd56`).
//
// A name is normalised in four steps:
//
//  1. Addresses without a symbol become their module, `[libc.so.6]`; mangled symbols of C++
//     and Rust become the names of their source.
//  2. Script functions get their file, `render (src/cart.js)`.
//  3. Names of a JVM lose generated parts, then signature and slashes; native names
//     lose the hashes of compilers.
//  4. The user's rules are applied, see ReadRules.
//
// Applying the built-in rules to their own result changes nothing. A name that no rule
// matches is returned without an allocation. docs/method/names.md documents every rule.
// Version identifies the set of rules: two stores can be compared only if it is equal.
//
// The package reads no profiles.
package normalize

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"github.com/dendroprof/dendro/profile"
)

// builtin is the version of the built-in rules. Increase it with every change of any normal
// form.
const builtin = "3"

// maxName is the maximum length of a normal form in bytes. Longer names are cut and
// get the hash of the whole name, so that they stay distinct.
const maxName = 4_000

// cutMark stands between the beginning of a cut name and its hash.
const cutMark = "…#"

// Normalizer applies the built-in rules and those of one user. It is immutable
// and safe for concurrent use.
type Normalizer struct {
	user *Rules
}

// New returns a normalizer; user may be nil.
func New(user *Rules) *Normalizer { return &Normalizer{user: user} }

// Version identifies the rules: "3", or "3+" and a hash of the user's rules.
func (n *Normalizer) Version() string {
	if n.user.Len() == 0 {
		return builtin
	}
	return builtin + "+" + n.user.hash
}

// Function returns f with its normalised name. Other fields do not change.
func (n *Normalizer) Function(f profile.Function) profile.Function {
	if !wasCut(f.Name) {
		f.Name = n.user.apply(cutLong(builtinName(f)))
	}
	return f
}

// family is a set of groups of rules.
type family uint8

const (
	familyJVM    family = 1 << iota // generated classes, signatures, slashes
	familyNative                    // hashes of compilers
	familyScript                    // qualified by the file
)

// families returns the groups of rules that apply to a kind of function. Kinds are often
// guesses: the folded reader treats every name with `::` as C++ and every slash as Java. So
// a group applies to all kinds for which its rules are safe.
var families = [...]family{
	profile.KindUnknown: familyJVM | familyNative,
	profile.KindJava:    familyJVM,
	profile.KindClass:   familyJVM,
	profile.KindStub:    familyJVM,
	profile.KindVM:      familyJVM,
	profile.KindKernel:  familyJVM, // async-profiler marks classes allocated outside a TLAB like kernel frames
	profile.KindNative:  familyJVM | familyNative,
	profile.KindCPP:     familyNative,
	profile.KindRust:    familyNative,
	profile.KindPython:  familyScript,
	profile.KindJS:      familyScript,
	profile.KindRuby:    familyScript,
	profile.KindPHP:     familyScript,
}

// maxPasses is the maximum number of times that the rules are applied to one name: dropping
// a part may create a new match. No known name needs more than two passes; a fuzz test
// searches for names that need more.
const maxPasses = 8

// builtinName applies the built-in rules to the name of f until it does not change.
func builtinName(f profile.Function) string {
	name, of := v8Name(&f), familyOf(f)
	for range maxPasses {
		if unresolved(name) {
			return moduleName(f.Module)
		}
		if of&familyScript == 0 {
			name = demangled(name)
		}
		if name[0] == '[' && name[len(name)-1] == ']' {
			return name // a pseudo frame: [break_deopt], [libc.so.6]
		}
		next := name
		switch {
		case of&familyScript != 0:
			return withFile(name, f.File)
		case of&familyJVM != 0:
			next = jvmName(next, f.Kind)
		}
		if of&familyNative != 0 {
			next = nativeName(next)
		}
		if next == name {
			break
		}
		name = next
	}
	return name
}

func familyOf(f profile.Function) family {
	if f.Kind == profile.KindUnknown && f.File != "" && (scriptFile(f.File) || anonymous(f.Name)) {
		return familyScript
	}
	if int(f.Kind) < len(families) {
		return families[f.Kind]
	}
	return 0
}

// cutLong shortens a name of more than maxName bytes to its beginning and the
// first half of the SHA-256 of the whole.
func cutLong(name string) string {
	if len(name) <= maxName {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	hash := hex.EncodeToString(sum[:16])
	n := maxName - len(cutMark) - len(hash)
	for n > 0 && !utf8.RuneStart(name[n]) {
		n--
	}
	return name[:n] + cutMark + hash
}

// wasCut reports whether a name is a result of cutLong, which no rule may change: its end is
// a hash and its beginning may be cut anywhere.
func wasCut(name string) bool {
	const tail = len(cutMark) + 32
	if len(name) < maxName-utf8.UTFMax || len(name) > maxName {
		return false
	}
	end := name[len(name)-tail:]
	return strings.HasPrefix(end, cutMark) && hexDigits(end[len(cutMark):]) == 32
}
