package order

import (
	"maps"
	"slices"
	"strings"
)

// optionKey returns the options in one order, whatever order the map has.
func optionKey(options map[string]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(options)) {
		b.WriteString(name)
		b.WriteByte('=')
		b.WriteString(options[name])
		b.WriteByte('&')
	}
	return b.String()
}
