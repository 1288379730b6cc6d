// Package exec runs GraphQL documents of SkyWalking's query protocol: the methods of a
// resolver answer the fields of Query and Mutation.
//
//	schema/*.graphqls ─┐
//	resolver ──────────┴─New─▶ Executor ──Run──▶ values.Value, errors of fields
//
// A field is answered by the method of its name, which has a context and the field's
// arguments as parameters, in the schema's order, and returns a value and an error. The types
// of arguments and answers are those of SkyWalking's own Go clients, so that names, units and
// nullability stay the same: a field of an object is the field of the struct with its name as
// JSON tag. New compares all of them with the schema, so that a method or a field that is
// missing or has another type is found before the first request. Long answers are of type
// values.Value, which are written while they are sent. Fields with the directive @absent have
// no method: values.Absent answers them.
//
// Documents are parsed, limited and validated before; package graphql does that. Of the
// schema language, interfaces and unions are not supported: the protocol has none.
package exec

import (
	"context"
	"embed"
	"io/fs"
	"reflect"
	"sync"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/dendroprof/dendro/app/internal/server/skywalking/graphql/values"
)

//go:embed schema/*.graphqls
var schemaFiles embed.FS

// Schema returns the schema for validation and introspection. It is shared and read-only.
var Schema = sync.OnceValue(func() *ast.Schema {
	var sources []*ast.Source
	names, err := fs.Glob(schemaFiles, "schema/*.graphqls")
	for _, name := range names {
		var text []byte
		if text, err = schemaFiles.ReadFile(name); err != nil {
			break
		}
		sources = append(sources, &ast.Source{Name: name, Input: string(text)})
	}
	if err != nil {
		panic(err) // the files are embedded
	}
	schema := gqlparser.MustLoadSchema(sources...)
	delete(schema.Directives, "defer")  // nothing here is worth an answer in parts
	delete(schema.Directives, "absent") // for the server, not for documents
	return schema
})

// FieldError is the error of a field. The field's value is null, or that of the next field
// above it that may be null.
type FieldError struct {
	Path     ast.Path
	Position *ast.Position // in the document
	Err      error
}

// Error returns the message of the cause.
func (e *FieldError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *FieldError) Unwrap() error { return e.Err }

// inParallel is the maximum number of fields of one operation that are resolved at once.
const inParallel = 16

// Run runs an operation that is valid. Fields of a query are resolved in parallel, those of a
// mutation one after the other. It returns the data, null if a field that must have a value
// has none, and the errors in the order of the fields. A panic of a resolver becomes the error
// that recovered returns for it.
func (e *Executor) Run(ctx context.Context, op *values.Operation, recovered func(ctx context.Context, p any) error) (values.Value,
	[]*FieldError) {
	root, workers := e.schema.Query, inParallel
	if op.Operation.Operation == ast.Mutation {
		root, workers = e.schema.Mutation, 1
	}
	fields := op.Fields(root.Name, op.Operation.SelectionSet)
	list := make([]values.Value, len(fields))
	errs := make([][]*FieldError, len(fields))
	var wait sync.WaitGroup
	free := make(chan struct{}, workers)
	for i, f := range fields {
		free <- struct{}{}
		wait.Go(func() {
			defer func() { <-free }()
			list[i], errs[i] = e.root(ctx, op, root, f, recovered)
		})
	}
	wait.Wait()
	var failed []*FieldError
	data := values.Members(fields, list)
	for i, f := range fields {
		failed = append(failed, errs[i]...)
		switch {
		case list[i] != nil:
		case f.Definition.Type.NonNull:
			data = values.Null
		default:
			list[i] = values.Null
		}
	}
	return data, failed
}

// root answers one field of Query or Mutation; nil: null.
func (e *Executor) root(ctx context.Context, op *values.Operation, root *ast.Definition, f values.Field,
	recovered func(context.Context, any) error) (v values.Value, failed []*FieldError) {
	path := ast.Path{ast.PathName(f.Alias)}
	defer func() {
		if p := recover(); p != nil {
			v, failed = nil, []*FieldError{{path, f.Position, recovered(ctx, p)}}
		}
	}()
	switch {
	case f.Name == "__typename":
		return values.Raw(values.Quote(root.Name)), nil
	case f.Name == "__schema":
		return describeSchema(e.schema), nil
	case f.Name == "__type":
		name, _ := f.ArgumentMap(op.Variables)["name"].(string)
		return describeType(e.schema, e.schema.Types[name]), nil
	case values.IsAbsent(f.Definition):
		return values.Absent(e.schema, f.Definition), nil
	}
	m := e.methods[f.Definition]
	in, bad := m.arguments(e.schema, ctx, f.ArgumentMap(op.Variables))
	if bad != nil {
		bad.Path, bad.Position = append(path, bad.Path...), f.Position
		return nil, []*FieldError{bad}
	}
	out := m.call.Call(in)
	if err, _ := out[1].Interface().(error); err != nil {
		return nil, []*FieldError{{path, f.Position, err}}
	}
	if v, ok := out[0].Interface().(values.Value); ok {
		return v, nil
	}
	enc := encoder{e: e, op: op, path: path}
	if !enc.value(f.Definition.Type, out[0], f) {
		return nil, enc.failed
	}
	return values.Raw(enc.buf), enc.failed
}

// valueType is the type of answers that are written while they are sent.
var valueType = reflect.TypeFor[values.Value]()
