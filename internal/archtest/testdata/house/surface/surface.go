// Package surface is
// public and mentions
// types of an internal
// package in places that
// importers see and others.
package surface

import (
	_ "example.com/house/attic"
	"example.com/house/good"
	h "example.com/house/internal/hidden"
)

// Alias gives the type a name.
type Alias = h.Thing

// Fine mentions it where importers do not look.
type Fine struct {
	Alias Alias
	thing h.Thing
}

// Bad has it in an exported field and embeds it.
type Bad struct {
	Field []h.Thing
	*h.Thing
}

// BadFunc returns it.
func BadFunc() map[string]h.Thing { return nil }

// FineFunc uses it.
func FineFunc() int { _ = h.Make(); return good.Value }

// BadVar is one.
var BadVar h.Thing

func unexported(h.Thing) {}
