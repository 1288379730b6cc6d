// Package flame draws flame graphs as SVG, for documents: still pictures whose text can be
// selected. Pages are package web's.
//
// A Graph has the boxes of one call tree, of a stack chart, or of a diff. Package
// calltree computes their positions; this package draws them, with a title on every box.
// Names come from profiled programs: they are data in the picture, never markup.
package flame

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/dendroprof/dendro/profile"
)

// Graph is a flame graph: an icicle, roots on top.
type Graph struct {
	Title string // a line of text
	// Unit is that of the values: profile.ValueType.Unit, or "share" for
	// fractions. Scale is the power of ten that values are divided by.
	Unit  string
	Scale int

	Functions []profile.Function
	Boxes     []Box // a parent before its children
	// Root is 100%.
	Root Value

	Diff bool // values have a base
	Time bool // Start and End are milliseconds, not fractions of the width
	// Notes explain what is omitted and how to read the numbers.
	Notes []string
}

// Value is a number on both sides of a diff; of a tree it is New.
type Value struct{ Base, Head float64 }

// Box is one rectangle.
type Box struct {
	Func, Depth int32 // Func is an index in Graph.Functions
	Start, End  float64
	Self, Total Value
	// Noise is the difference that chance alone makes; smaller ones are drawn
	// without colour.
	Noise float64
}

// Limit keeps the n widest boxes, of equal ones the first, and returns how many it
// left out. As parents come before their children, none is kept without its parent.
func (g *Graph) Limit(n int) int {
	all := len(g.Boxes)
	if all <= n {
		return 0
	}
	widths := make([]float64, all)
	for i := range g.Boxes {
		widths[i] = g.Boxes[i].End - g.Boxes[i].Start
	}
	slices.Sort(widths)
	least := widths[all-n]
	wider, _ := slices.BinarySearchFunc(widths, least, func(w, least float64) int {
		if w > least {
			return 1
		}
		return -1
	})
	room := n - (all - wider) // for boxes of exactly the least width
	kept := make([]Box, 0, n)
	for _, b := range g.Boxes {
		switch w := b.End - b.Start; {
		case w > least:
			kept = append(kept, b)
		case w == least && room > 0:
			kept = append(kept, b)
			room--
		}
	}
	g.Boxes = kept
	return all - n
}

// Extent returns the range of Start and End, and the number of rows.
func (g *Graph) Extent() (start, end float64, rows int32) {
	end = 1
	if g.Time && len(g.Boxes) > 0 {
		start, end = g.Boxes[0].Start, g.Boxes[0].End
	}
	for _, b := range g.Boxes {
		if g.Time {
			start, end = min(start, b.Start), max(end, b.End)
		}
		rows = max(rows, b.Depth+1)
	}
	return start, end, rows
}

// change returns the relative growth of a box, from -1 (vanished) to 1 (new); 0 if it is
// within the noise.
func change(v Value, noise float64) float64 {
	delta, larger := v.Head-v.Base, max(v.Head, -v.Head, v.Base, -v.Base)
	if larger == 0 || max(delta, -delta) <= noise {
		return 0
	}
	return max(-1, min(1, delta/larger))
}

// hue returns a colour for a function, as degrees: one for all of a package or,
// without one, of a module.
func hue(f *profile.Function) int {
	key := cmp.Or(f.Package(), f.Module, f.File, f.Name)
	h := uint32(2166136261)
	for i := range len(key) {
		h = (h ^ uint32(key[i])) * 16777619
	}
	return int(h>>8) % 24 * 15
}

// visible replaces what has no glyph, reverses text or is not allowed in XML.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Co, unicode.Cs, unicode.Zl, unicode.Zp) || r == 0xFFFE || r == 0xFFFF {
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}
