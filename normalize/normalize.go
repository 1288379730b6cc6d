// Package normalize gives functions names that stay the same from run to run,
// from profiler to profiler and from one spelling to another.
//
// Between profiles a function is one string. Some programs make names up while
// they run: a JVM numbers its lambda classes in the order of linking and adds
// their address, mocking and proxy libraries add random suffixes. In 18 starts
// of one program 311 of its 324 lambda names occurred in one start only; every
// one of them would be a new function in every run. Other names depend on who
// wrote them down (`a/b/C.m`, `a.b.C.m`, `a.b.C.m(I)V`) or mean nothing alone
// (`(anonymous)`, `0x7f12ab34cd56`).
//
// Four things happen to a name, in this order:
//
//  1. Addresses without a symbol become their module, `[libc.so.6]`.
//  2. Script functions get their file, `render (src/cart.js)`.
//  3. Names of a JVM lose what was generated, then signature and slashes;
//     native names lose the hashes that a compiler puts into them.
//  4. The user's rules are applied, see ReadRules.
//
// The result of the built-in rules is stable under them: applying them again
// changes nothing. A name that no rule knows is returned as it is, without an
// allocation. docs/method/names.md has every rule with its evidence and its
// price; Version identifies the set of them, because two stores compare only
// under the same one.
//
// The package does not demangle, does not read profiles and does not decide
// when names are normalised: file-to-file commands keep them by default.
package normalize

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"github.com/dendroprof/dendro/profile"
)

// builtin is the version of the built-in rules. It grows with every change that
// gives any name another normal form.
const builtin = "1"

// maxName is the maximum length of a normal form in bytes. Longer names are cut and
// carry the hash of the whole, so that two of them stay two.
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

// Version identifies the rules: "1", or "1+" and a hash of the user's rules.
func (n *Normalizer) Version() string {
	if n.user.Len() == 0 {
		return builtin
	}
	return builtin + "+" + n.user.hash
}

// Function returns f under the name that identifies it between profiles. All
// other fields stay as they are.
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

// families returns the groups of rules that apply to a kind of function. Kinds
// are often guesses: the folded reader takes every name with a `::` for C++ and
// every slash for Java. So the groups are as wide as the rules are safe.
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

// maxPasses bounds how often the rules are applied to one name. What one pass
// drops may bring two ends together that the next pass drops; no known name
// needs more than two passes, and the fuzz test looks for one that needs many.
const maxPasses = 8

// builtinName applies the built-in rules to the name of f until they change
// nothing more.
func builtinName(f profile.Function) string {
	name, of := f.Name, familyOf(f)
	for range maxPasses {
		if unresolved(name) {
			return moduleName(f.Module)
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

// wasCut reports whether a name is a result of cutLong, which no rule may touch
// again: its end is a hash and its beginning may be half of something.
func wasCut(name string) bool {
	const tail = len(cutMark) + 32
	if len(name) < maxName-utf8.UTFMax || len(name) > maxName {
		return false
	}
	end := name[len(name)-tail:]
	return strings.HasPrefix(end, cutMark) && hexDigits(end[len(cutMark):]) == 32
}
