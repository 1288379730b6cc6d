package exec

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/dendroprof/dendro/app/internal/server/skywalking/graphql/values"
)

// Executor runs operations. It is safe for concurrent use, as its resolver is.
type Executor struct {
	schema  *ast.Schema
	methods map[*ast.FieldDefinition]method
	structs map[reflect.Type]layout
}

// method is the method that answers a field.
type method struct {
	call       reflect.Value
	parameters ast.ArgumentDefinitionList
}

// layout says where a struct has the fields of an object, by their names.
type layout map[string][]int

// New returns an Executor for a schema, and a resolver with the methods of its fields. An
// error names the field that has no method, or one of another type.
func New(schema *ast.Schema, resolver any) (*Executor, error) {
	e := &Executor{schema: schema, methods: map[*ast.FieldDefinition]method{}, structs: map[reflect.Type]layout{}}
	for _, root := range []*ast.Definition{schema.Query, schema.Mutation} {
		for _, f := range root.Fields {
			if strings.HasPrefix(f.Name, "__") || values.IsAbsent(f) {
				continue
			}
			m := reflect.ValueOf(resolver).MethodByName(strings.ToUpper(f.Name[:1]) + f.Name[1:])
			if err := e.bind(f, m); err != nil {
				return nil, fmt.Errorf("%s.%s: %w", root.Name, f.Name, err)
			}
		}
	}
	return e, nil
}

func (e *Executor) bind(f *ast.FieldDefinition, m reflect.Value) error {
	if !m.IsValid() {
		return fmt.Errorf("%w", errNoMethod)
	}
	t := m.Type()
	if t.NumIn() != 1+len(f.Arguments) || t.In(0) != reflect.TypeFor[context.Context]() || t.NumOut() != 2 ||
		t.Out(1) != reflect.TypeFor[error]() {
		return fmt.Errorf("the method is %s; want a context and %d arguments, a value and an error", t, len(f.Arguments))
	}
	for i, a := range f.Arguments {
		if err := e.checkType(a.Type, t.In(1+i)); err != nil {
			return fmt.Errorf("argument %s: %w", a.Name, err)
		}
	}
	if err := e.checkType(f.Type, t.Out(0)); err != nil {
		return err
	}
	e.methods[f] = method{m, f.Arguments}
	return nil
}

var errNoMethod = fmt.Errorf("no method answers it")

// kinds are the kinds of Go values for scalars.
var kinds = map[string][]reflect.Kind{
	"String": {reflect.String}, "ID": {reflect.String}, "Boolean": {reflect.Bool},
	"Int": {reflect.Int, reflect.Int32}, "Long": {reflect.Int64}, "Float": {reflect.Float64},
}

// checkType compares a type of the schema with one of Go, and remembers the structs.
func (e *Executor) checkType(t *ast.Type, g reflect.Type) error {
	if g == valueType {
		return nil
	}
	if g.Kind() == reflect.Pointer {
		g = g.Elem()
	}
	if t.Elem != nil {
		if g.Kind() != reflect.Slice {
			return fmt.Errorf("%s is no list", g)
		}
		return e.checkType(t.Elem, g.Elem())
	}
	def := e.schema.Types[t.NamedType]
	want := kinds[def.Name]
	switch def.Kind {
	case ast.Enum:
		want = []reflect.Kind{reflect.String}
	case ast.Object, ast.InputObject:
		return e.checkStruct(def, g)
	}
	for _, k := range want {
		if k == g.Kind() {
			return nil
		}
	}
	return fmt.Errorf("%s is no %s", g, def.Name)
}

func (e *Executor) checkStruct(def *ast.Definition, g reflect.Type) error {
	if e.structs[g] != nil {
		return nil
	}
	if g.Kind() != reflect.Struct {
		return fmt.Errorf("%s is no %s", g, def.Name)
	}
	at := layout{}
	e.structs[g] = at
	for _, f := range reflect.VisibleFields(g) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			at[name] = f.Index
		}
	}
	for _, f := range def.Fields {
		index, ok := at[f.Name]
		if !ok {
			return fmt.Errorf("%s has no field %s of %s", g, f.Name, def.Name)
		}
		if err := e.checkType(f.Type, g.FieldByIndex(index).Type); err != nil {
			return fmt.Errorf("%s.%s: %w", def.Name, f.Name, err)
		}
	}
	return nil
}

// arguments returns the parameters of a call. The path of an error begins at the argument.
func (m method) arguments(schema *ast.Schema, ctx context.Context, given map[string]any) ([]reflect.Value, *FieldError) {
	in := []reflect.Value{reflect.ValueOf(ctx)}
	for i, p := range m.parameters {
		v := reflect.New(m.call.Type().In(1 + i)).Elem()
		d := decoder{schema: schema, path: ast.Path{ast.PathName(p.Name)}}
		if err := d.value(p.Type, given[p.Name], v); err != nil {
			return nil, &FieldError{Path: d.path, Err: err}
		}
		in = append(in, v)
	}
	return in, nil
}

// decoder reads an argument into a Go value. After an error, path is the place of it.
type decoder struct {
	schema *ast.Schema
	path   ast.Path
}

// value reads a valid value of the schema's type t: nil, a scalar, []any, map[string]any.
func (d *decoder) value(t *ast.Type, from any, to reflect.Value) error {
	if from == nil {
		return nil // of a pointer: absent; else the zero value
	}
	if to.Kind() == reflect.Pointer {
		to.Set(reflect.New(to.Type().Elem()))
		to = to.Elem()
	}
	if t.Elem != nil {
		return d.list(t, from, to)
	}
	switch def := d.schema.Types[t.NamedType]; {
	case def.Kind == ast.InputObject:
		return d.object(def, from, to)
	case def.Name == "Int" || def.Name == "Long":
		read := values.ReadLong
		if def.Name == "Int" {
			read = values.ReadInt
		}
		n, err := read(from)
		to.SetInt(n)
		return err
	case def.Name == "Boolean":
		b, ok := from.(bool)
		if to.SetBool(b); !ok {
			return &values.InputError{Reason: fmt.Sprintf("%v is neither true nor false", from)}
		}
	default:
		to.SetString(fmt.Sprint(from))
	}
	return nil
}

// list reads a list, or a value that stands for a list of it.
func (d *decoder) list(t *ast.Type, from any, to reflect.Value) error {
	items, ok := from.([]any)
	if !ok {
		items = []any{from}
	}
	to.Set(reflect.MakeSlice(to.Type(), len(items), len(items)))
	for i, item := range items {
		d.path = append(d.path, ast.PathIndex(i))
		if err := d.value(t.Elem, item, to.Index(i)); err != nil {
			return err
		}
		d.path = d.path[:len(d.path)-1]
	}
	return nil
}

func (d *decoder) object(def *ast.Definition, from any, to reflect.Value) error {
	members, ok := from.(map[string]any)
	if !ok {
		return &values.InputError{Reason: fmt.Sprintf("%v is no %s", from, def.Name)}
	}
	for _, f := range reflect.VisibleFields(to.Type()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		field := def.Fields.ForName(name)
		if field == nil {
			continue
		}
		v, ok := members[name]
		if !ok && field.DefaultValue != nil {
			v, _ = field.DefaultValue.Value(nil) // a constant
		}
		d.path = append(d.path, ast.PathName(name))
		if err := d.value(field.Type, v, to.FieldByIndex(f.Index)); err != nil {
			return err
		}
		d.path = d.path[:len(d.path)-1]
	}
	return nil
}
