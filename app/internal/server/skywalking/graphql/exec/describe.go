package exec

import (
	"maps"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/dendroprof/dendro/app/internal/server/skywalking/graphql/values"
	"github.com/dendroprof/dendro/internal/column"
)

// Introspection: the schema as answers to __schema and __type, whose fields the
// specification of GraphQL (October 2021, section 4) defines. Types refer to each other in
// circles, so that objects are made when they are written; limits keep documents from
// following the circles for long.

// later is an object whose fields are made when it is written.
func later(typ string, fields func() map[string]values.Value) values.Value {
	return func(w *values.Writer, of values.Field) { values.Object(typ, fields())(w, of) }
}

// listOf is a list of what f makes of the elements.
func listOf[T any](list []T, f func(T) values.Value) values.Value {
	all := column.Of(list, f)
	return values.List(all)
}

func flag(b bool) values.Value {
	if b {
		return values.Raw([]byte("true"))
	}
	return values.Raw([]byte("false"))
}

// describeSchema answers __schema.
func describeSchema(s *ast.Schema) values.Value {
	typ := func(def *ast.Definition) values.Value { return describeType(s, def) }
	return later("__Schema", func() map[string]values.Value {
		return map[string]values.Value{
			"description":      values.Text(s.Description),
			"types":            listOf(sortedValues(s.Types), typ),
			"queryType":        typ(s.Query),
			"mutationType":     typ(s.Mutation),
			"subscriptionType": typ(s.Subscription),
			"directives": listOf(sortedValues(s.Directives), func(d *ast.DirectiveDefinition) values.Value {
				return values.Object("__Directive", map[string]values.Value{
					"name":         values.Text(d.Name),
					"description":  values.Text(d.Description),
					"locations":    listOf(d.Locations, func(l ast.DirectiveLocation) values.Value { return values.Text(string(l)) }),
					"args":         arguments(s, d.Arguments),
					"isRepeatable": flag(d.IsRepeatable),
				})
			}),
		}
	})
}

func sortedValues[T any](m map[string]T) []T {
	var list []T
	for _, name := range slices.Sorted(maps.Keys(m)) {
		list = append(list, m[name])
	}
	return list
}

// describeType answers __type: a type by its definition; nil is null.
func describeType(s *ast.Schema, def *ast.Definition) values.Value {
	if def == nil {
		return values.Null
	}
	return later("__Type", func() map[string]values.Value {
		return map[string]values.Value{
			"kind":           values.Text(string(def.Kind)),
			"name":           values.Text(def.Name),
			"description":    values.Text(def.Description),
			"specifiedByURL": values.Text(argument(def.Directives, "specifiedBy", "url")),
			"isOneOf":        flag(def.Directives.ForName("oneOf") != nil),
			"fields":         describeFields(s, def),
			"interfaces":     values.List(nil),
			"possibleTypes":  values.List(nil),
			"enumValues":     enumValues(def),
			"inputFields":    inputFields(s, def),
			"ofType":         values.Null,
		}
	})
}

// describeReference describes the type of a field or argument.
func describeReference(s *ast.Schema, t *ast.Type) values.Value {
	kind, of := "LIST", t.Elem
	switch {
	case t.NonNull:
		bare := *t
		bare.NonNull = false
		kind, of = "NON_NULL", &bare
	case t.NamedType != "":
		return describeType(s, s.Types[t.NamedType])
	}
	empty := values.List(nil)
	return later("__Type", func() map[string]values.Value {
		return map[string]values.Value{"kind": values.Text(kind), "name": values.Null, "description": values.Null, "specifiedByURL": values.Null,
			"isOneOf": flag(false),
			"fields":  empty, "interfaces": empty, "possibleTypes": empty, "enumValues": empty, "inputFields": empty,
			"ofType": describeReference(s, of)}
	})
}

// argument returns the argument of a directive; empty: there is none.
func argument(list ast.DirectiveList, directive, name string) string {
	if d := list.ForName(directive); d != nil {
		if a := d.Arguments.ForName(name); a != nil {
			return a.Value.Raw
		}
	}
	return ""
}

// deprecation adds the fields that tell whether a definition is deprecated.
func deprecation(list ast.DirectiveList, fields map[string]values.Value) map[string]values.Value {
	fields["isDeprecated"] = flag(list.ForName(deprecated) != nil)
	fields["deprecationReason"] = values.Text(argument(list, deprecated, "reason"))
	return fields
}

const deprecated = "deprecated"

// kept is a list of definitions, without deprecated ones unless the field wants them.
func kept[T any](list []T, directives func(T) ast.DirectiveList, f func(T) values.Value) values.Value {
	return func(w *values.Writer, of values.Field) {
		shown := list
		if !w.Flag(of, "includeDeprecated") {
			shown = slices.DeleteFunc(slices.Clone(list), func(v T) bool { return directives(v).ForName(deprecated) != nil })
		}
		listOf(shown, f)(w, of)
	}
}

// describeFields lists the fields of an object, without those of introspection.
func describeFields(s *ast.Schema, def *ast.Definition) values.Value {
	if def.Kind != ast.Object {
		return values.List(nil)
	}
	fields := slices.DeleteFunc(slices.Clone(def.Fields), func(f *ast.FieldDefinition) bool { return strings.HasPrefix(f.Name, "__") })
	return kept(fields, func(f *ast.FieldDefinition) ast.DirectiveList { return f.Directives }, func(f *ast.FieldDefinition) values.Value {
		return values.Object("__Field", deprecation(f.Directives, map[string]values.Value{
			"name":        values.Text(f.Name),
			"description": values.Text(f.Description),
			"args":        arguments(s, f.Arguments),
			"type":        describeReference(s, f.Type),
		}))
	})
}

func enumValues(def *ast.Definition) values.Value {
	return kept(def.EnumValues, func(v *ast.EnumValueDefinition) ast.DirectiveList { return v.Directives },
		func(v *ast.EnumValueDefinition) values.Value {
			return values.Object("__EnumValue", deprecation(v.Directives, map[string]values.Value{
				"name":        values.Text(v.Name),
				"description": values.Text(v.Description),
			}))
		})
}

func inputFields(s *ast.Schema, def *ast.Definition) values.Value {
	if def.Kind != ast.InputObject {
		return values.List(nil)
	}
	return listOf(def.Fields, func(f *ast.FieldDefinition) values.Value {
		return inputValue(s, f.Name, f.Description, f.Type, f.DefaultValue, f.Directives)
	})
}

func arguments(s *ast.Schema, list ast.ArgumentDefinitionList) values.Value {
	return listOf(list, func(a *ast.ArgumentDefinition) values.Value {
		return inputValue(s, a.Name, a.Description, a.Type, a.DefaultValue, a.Directives)
	})
}

func inputValue(s *ast.Schema, name, description string, t *ast.Type, byDefault *ast.Value, directives ast.DirectiveList) values.Value {
	text := values.Value(values.Null)
	if byDefault != nil {
		text = values.Text(byDefault.String())
	}
	return values.Object("__InputValue", deprecation(directives, map[string]values.Value{
		"name":         values.Text(name),
		"description":  values.Text(description),
		"type":         describeReference(s, t),
		"defaultValue": text,
	}))
}
