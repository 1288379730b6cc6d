package normalize

import (
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// mangled reports whether a name may be a mangled symbol.
func mangled(name string) bool {
	symbol := strings.TrimLeft(name, "_")
	if len(symbol) < 2 || len(symbol) == len(name) || symbol[0] != 'Z' && symbol[0] != 'R' {
		return false
	}
	return symbol[1] > ' ' && symbol[1] < 0x7f && !strings.ContainsAny(name, " /;(")
}

// longestDemangled is the length, as a power of two, at which names end that a few bytes of
// substitutions make huge.
const longestDemangled = 14

// demangled returns the name of a symbol, or the name itself if it is none.
func demangled(name string) string {
	if !mangled(name) || len(name) > 1<<longestDemangled {
		return name
	}
	plain := demangle.Filter(name, demangle.MaxLength(longestDemangled))
	if plain == name && strings.HasPrefix(name, "__Z") { // macOS adds one to all symbols
		plain = demangle.Filter(name[1:], demangle.MaxLength(longestDemangled))
		if plain == name[1:] {
			return name
		}
	}
	return plain
}
