package values

import (
	"slices"

	"github.com/vektah/gqlparser/v2/ast"
)

// directive marks a field of the schema that no resolver answers.
const directive = "absent"

// IsAbsent reports whether the schema says that a field's feature does not exist.
func IsAbsent(f *ast.FieldDefinition) bool {
	return f != nil && f.Directives.ForName(directive) != nil
}

// Absent returns the answer to a field whose feature does not exist, as a server without
// data of this kind answers: empty lists, false, 0, the first value of an enum (UNKNOWN) and
// null. An object that can consist of these is one, so that pages find their empty lists; any
// other is null where the schema allows it. The reason in the schema goes into the fields that
// clients show, errorReason and message; isEmptyValue is true.
func Absent(schema *ast.Schema, f *ast.FieldDefinition) Value {
	a := absence{schema: schema}
	if r := f.Directives.ForName(directive).Arguments.ForName("reason"); r != nil {
		a.reason = r.Value.Raw
	}
	return a.value(f.Type)
}

// absence makes the values of one answer.
type absence struct {
	schema *ast.Schema
	reason string
}

func (a absence) value(t *ast.Type) Value {
	if t.Elem != nil {
		return List(nil)
	}
	def := a.schema.Types[t.NamedType]
	switch {
	case def.Kind == ast.Object && (t.NonNull || !a.demands(def)):
		fields := map[string]Value{}
		for _, f := range def.Fields {
			switch f.Name {
			case "errorReason", "message":
				fields[f.Name] = Text(a.reason)
			case "isEmptyValue":
				fields[f.Name] = Raw([]byte("true"))
			default:
				fields[f.Name] = a.value(f.Type)
			}
		}
		return Object(def.Name, fields)
	case t.NonNull && def.Kind == ast.Enum:
		return Raw(Quote(def.EnumValues[0].Name))
	case !t.NonNull || def.Kind != ast.Scalar:
		return Null
	case def.Name == "Boolean":
		return Raw([]byte("false"))
	case def.Name == "Int" || def.Name == "Long":
		return Raw([]byte("0"))
	}
	return Raw([]byte(`""`))
}

// demands reports whether objects of a type have a value that is neither a list nor true or
// false.
func (a absence) demands(def *ast.Definition) bool {
	return slices.ContainsFunc(def.Fields, func(f *ast.FieldDefinition) bool {
		return f.Type.NonNull && f.Type.Elem == nil && f.Type.NamedType != "Boolean"
	})
}
