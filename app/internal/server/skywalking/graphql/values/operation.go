package values

import (
	"github.com/vektah/gqlparser/v2/ast"
)

// Operation is a valid operation of a document with the values of its variables.
type Operation struct {
	Doc       *ast.QueryDocument
	Operation *ast.OperationDefinition
	Variables map[string]any
}

// Field is a field of an answer: all places of a document that select it, merged.
type Field struct {
	*ast.Field                  // the first of them
	Selected   ast.SelectionSet // below it, of all
}

// Fields returns the fields that a selection has for objects of a type, in the order in
// which they are first named: fragments resolved, @skip and @include obeyed.
func (o *Operation) Fields(typ string, selected ast.SelectionSet) []Field {
	c := collection{op: o, typ: typ, fragments: map[string]bool{}}
	c.add(selected)
	return c.fields
}

// collection collects the fields of a selection.
type collection struct {
	op        *Operation
	typ       string
	fragments map[string]bool // that were added
	fields    []Field
}

func (c *collection) add(selected ast.SelectionSet) {
	for _, s := range selected {
		switch s := s.(type) {
		case *ast.Field:
			if c.op.includes(s.Directives) {
				c.addField(s)
			}
		case *ast.InlineFragment:
			if c.op.includes(s.Directives) {
				c.addFragment(s.TypeCondition, s.SelectionSet)
			}
		case *ast.FragmentSpread:
			if !c.fragments[s.Name] && c.op.includes(s.Directives) {
				c.fragments[s.Name] = true
				f := c.op.Doc.Fragments.ForName(s.Name) // validation has found it
				c.addFragment(f.TypeCondition, f.SelectionSet)
			}
		}
	}
}

func (c *collection) addField(f *ast.Field) {
	for i := range c.fields {
		if c.fields[i].Alias == f.Alias {
			have := &c.fields[i].Selected
			*have = append((*have)[:len(*have):len(*have)], f.SelectionSet...)
			return
		}
	}
	c.fields = append(c.fields, Field{f, f.SelectionSet})
}

func (c *collection) addFragment(typ string, selected ast.SelectionSet) {
	if typ == "" || typ == c.typ { // the schema has no interfaces and unions
		c.add(selected)
	}
}

// includes reports whether @skip and @include let a selection in.
func (o *Operation) includes(list ast.DirectiveList) bool {
	is := func(name string) (value, given bool) {
		d := list.ForName(name)
		if d == nil {
			return false, false
		}
		v, err := d.Arguments.ForName("if").Value.Value(o.Variables)
		value, _ = v.(bool)
		return value, err == nil
	}
	if skip, _ := is("skip"); skip {
		return false
	}
	include, given := is("include")
	return include || !given
}
