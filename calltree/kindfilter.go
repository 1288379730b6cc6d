package calltree

import (
	"fmt"
	"strings"

	"github.com/dendroprof/dendro/profile"
)

// KindFilter selects functions by language or kind. The zero value selects all.
//
// The filters `js` and `cpp` are those of Firefox Profiler's implementation filter:
// `js` selects JavaScript and the labels of its view; `cpp` selects what is not
// JavaScript, not code of another managed language, and not machine code generated at
// run time (an address as name and no module). Every other filter is the name of a
// profile.Kind and selects the functions of that kind.
type KindFilter string

// The filters with more than one kind.
const (
	AllKinds KindFilter = ""
	JS       KindFilter = "js"
	CPP      KindFilter = "cpp"
)

// ParseKindFilter parses the name of a filter: `js`, `cpp`, or a kind. The empty name
// and `combined` select all.
func ParseKindFilter(name string) (KindFilter, error) {
	if name == "" || name == "combined" {
		return AllKinds, nil
	}
	if _, err := profile.ParseKind(name); err != nil {
		return AllKinds, fmt.Errorf("kind filter: %w", err)
	}
	return KindFilter(name), nil
}

// Selects reports whether f passes the filter.
func (k KindFilter) Selects(f *profile.Function) bool {
	switch k {
	case AllKinds:
		return true
	case JS:
		return f.Kind == profile.KindJS || f.Kind == profile.KindJSLabel
	case CPP:
		return machineCode(f.Kind) && (f.Module != "" || !strings.HasPrefix(f.Name, "0x"))
	}
	return f.Kind.String() == string(k)
}

// machineCode reports whether the kind is not a managed language. Functions of unknown
// kind count as machine code, as in profiles of browsers.
func machineCode(k profile.Kind) bool {
	switch k {
	case profile.KindJS, profile.KindJava, profile.KindGo, profile.KindGoRuntime, profile.KindPython, profile.KindRuby,
		profile.KindDotNet, profile.KindPHP, profile.KindClass:
		return false
	}
	return true
}

// selected returns which functions pass the filter; nil means all.
func (k KindFilter) selected(functions []profile.Function) []bool {
	if k == AllKinds {
		return nil
	}
	pass := make([]bool, len(functions))
	for i := range functions {
		pass[i] = k.Selects(&functions[i])
	}
	return pass
}
