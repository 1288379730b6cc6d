package calltree

import (
	"slices"

	"github.com/dendroprof/dendro/profile"
)

// Categories are the categories of a Symbols: the group of each, and the one for
// "unknown or mixed".
type Categories struct {
	list     []profile.Category
	group    []profile.CategoryID // of each category: the category of its group
	fallback profile.CategoryID   // the first grey group; 0 when none is grey
}

// NewCategories returns nil when the symbols have no categories.
func NewCategories(list []profile.Category) *Categories {
	if len(list) <= 1 {
		return nil
	}
	c := &Categories{list: list, group: make([]profile.CategoryID, len(list))}
	first := map[profile.Category]profile.CategoryID{}
	for i, cat := range list {
		key := profile.Category{Name: cat.Name, Color: cat.Color}
		if _, ok := first[key]; !ok || cat.Subcategory == "" {
			first[key] = profile.CategoryID(i)
		}
	}
	for i, cat := range list {
		c.group[i] = first[profile.Category{Name: cat.Name, Color: cat.Color}]
		if c.fallback == 0 && cat.Color == "grey" {
			c.fallback = c.group[i]
		}
	}
	return c
}

// resolve returns the category of every stack: of its frame, else of its caller, else
// the fallback. It runs before any transform, so that a removed frame passes its
// category to its callees.
func (c *Categories) resolve(sym *profile.Symbols) []profile.CategoryID {
	of := make([]profile.CategoryID, sym.Stacks.Len())
	for st := range of {
		own := sym.Frames[sym.Stacks.Item[st]].Category
		switch p := sym.Stacks.Parent[st]; {
		case own != 0:
			of[st] = own
		case p >= 0:
			of[st] = of[p]
		default:
			of[st] = c.fallback
		}
	}
	return of
}

// Unite returns the category of a node whose stacks have categories a and b.
func (c *Categories) Unite(a, b profile.CategoryID) profile.CategoryID {
	switch {
	case a == b:
		return a
	case c.group[a] == c.group[b]:
		return c.group[a]
	}
	return c.fallback
}

// nodeCategories returns the category of every call node. All stacks count, with or
// without samples.
func (s *stacks) nodeCategories() []profile.CategoryID {
	of := slices.Repeat([]profile.CategoryID{-1}, s.table.Len())
	for st, n := range s.node {
		switch {
		case n == NoNode:
		case of[n] < 0:
			of[n] = s.category[st]
		default:
			of[n] = s.kinds.Unite(of[n], s.category[st])
		}
	}
	return of
}

// CategoryName returns the name of the category of node n, without its
// subcategory; empty when the profile has none.
func (t *Table) CategoryName(n int32) string {
	if t.Category == nil {
		return ""
	}
	return t.Categories[t.Category[n]].Name
}
