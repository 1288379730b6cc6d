package graphql

import (
	"errors"
	"fmt"

	"github.com/vektah/gqlparser/v2/ast"
)

// Limits of documents.
const (
	maxTokens = 15_000
	maxFields = 3000 // fields and fragments, counted as often as they are used
	maxDepth  = 100  // nested selections
	maxTypes  = 20   // __schema and __type
	maxSame   = 50   // fields of one name, or fragments, in one selection
	maxErrors = 20   // reported for one document
)

// lists are introspection fields that list types or parts of them. Nested in each other,
// their results multiply.
var lists = map[string]bool{"fields": true, "inputFields": true, "interfaces": true, "possibleTypes": true}

// checkLimits returns an error for a document that exceeds a limit. Call it before all
// other checks, whose time may be quadratic in what it limits.
func checkLimits(doc *ast.QueryDocument) error {
	c := &counter{doc: doc, known: map[place]size{}}
	var all size
	for _, op := range doc.Operations {
		all = all.beside(c.count(op.SelectionSet, outside))
	}
	for _, f := range doc.Fragments {
		all = all.beside(c.fragment(f.Name, outside))
	}
	switch {
	case all.fields > maxFields:
		return fmt.Errorf("maximum query complexity exceeded %d > %d", all.fields, maxFields)
	case all.depth > maxDepth:
		return fmt.Errorf("maximum query depth exceeded %d > %d", all.depth, maxDepth)
	case all.types > maxTypes:
		return fmt.Errorf("maximum number of __schema and __type exceeded %d > %d", all.types, maxTypes)
	case all.nested:
		return errors.New("introspection may not ask for the fields of fields' types")
	}
	c.left = maxFields * len(doc.Operations)
	for _, op := range doc.Operations {
		if err := c.checkSame([]ast.SelectionSet{op.SelectionSet}); err != nil {
			return err
		}
	}
	c.left = maxFields * len(doc.Fragments)
	for _, f := range doc.Fragments {
		if err := c.checkSame([]ast.SelectionSet{f.SelectionSet}); err != nil {
			return err
		}
	}
	return nil
}

// size measures a selection.
type size struct {
	fields, depth, types int
	nested               bool // lists in lists
}

// beside returns the size of two selections together.
func (s size) beside(o size) size {
	const most = 1 << 30 // nested fragments could overflow
	return size{min(s.fields+o.fields, most), max(s.depth, o.depth), min(s.types+o.types, most), s.nested || o.nested}
}

// within tells where in introspection a selection is.
type within int

const (
	outside within = iota
	inside         // in __schema or __type
	listed         // also in one of the lists
)

// place is a fragment where it is used.
type place struct {
	fragment string
	within   within
}

// counter measures selections, each fragment once for each depth of introspection.
type counter struct {
	doc   *ast.QueryDocument
	known map[place]size
	left  int // selections that checkSame may still visit: fragments can form cycles
}

func (c *counter) fragment(name string, in within) size {
	at := place{name, in}
	if s, ok := c.known[at]; ok {
		return s
	}
	c.known[at] = size{} // for cycles, which validation reports
	f := c.doc.Fragments.ForName(name)
	if f == nil {
		return size{}
	}
	s := c.count(f.SelectionSet, in)
	c.known[at] = s
	return s
}

func (c *counter) count(set ast.SelectionSet, in within) size {
	var all size
	for _, selection := range set {
		var s size
		switch selection := selection.(type) {
		case *ast.Field:
			types := selection.Name == "__schema" || selection.Name == "__type"
			list := in != outside && lists[selection.Name]
			next := in
			switch {
			case list:
				next = listed
			case types:
				next = max(in, inside)
			}
			s = c.count(selection.SelectionSet, next)
			s.nested = s.nested || list && in == listed
			if types {
				s.types++
			}
		case *ast.InlineFragment:
			s = c.count(selection.SelectionSet, in)
		case *ast.FragmentSpread:
			s = c.fragment(selection.Name, in)
		}
		s.fields, s.depth = s.fields+1, s.depth+1
		all = all.beside(s)
	}
	return all
}

// checkSame returns an error if merged selections contain a field too many times:
// validation compares each of them with each other.
func (c *counter) checkSame(sets []ast.SelectionSet) error {
	below := map[string][]ast.SelectionSet{}
	spread := map[string]bool{}
	for len(sets) > 0 {
		set := sets[len(sets)-1]
		sets = sets[:len(sets)-1]
		for _, selection := range set {
			if c.left--; c.left < 0 {
				return nil
			}
			switch selection := selection.(type) {
			case *ast.Field:
				below[selection.Alias] = append(below[selection.Alias], selection.SelectionSet)
			case *ast.InlineFragment:
				sets = append(sets, selection.SelectionSet)
			case *ast.FragmentSpread:
				if f := c.doc.Fragments.ForName(selection.Name); f != nil && !spread[selection.Name] {
					spread[selection.Name] = true
					sets = append(sets, f.SelectionSet)
				}
			}
		}
	}
	if len(spread) > maxSame {
		return fmt.Errorf("maximum number of fragments in one place exceeded %d > %d", len(spread), maxSame)
	}
	for name, list := range below {
		if len(list) > maxSame {
			return fmt.Errorf("%.100s: maximum number of times in one place exceeded %d > %d", name, len(list), maxSame)
		}
		if err := c.checkSame(list); err != nil {
			return err
		}
	}
	return nil
}
