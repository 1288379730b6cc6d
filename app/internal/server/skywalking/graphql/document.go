package graphql

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"

	graphqlexec "github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator"

	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/app/internal/server/skywalking/graphql/values"
	"github.com/dendroprof/dendro/traceprof/ids"
)

// Classes of errors, which clients distinguish.
const (
	invalidSyntax = "InvalidSyntax"
	invalid       = "ValidationError"
	aborted       = "ExecutionAborted"
	failed        = "DataFetchingException"
)

// answer is an answer to a client.
type answer struct {
	errors gqlerror.List
	data   []byte         // JSON with gaps; nil: no key `data`
	gaps   *values.Answer // of data
}

// write sends an answer.
func (a *answer) write(ctx context.Context, w io.Writer) error {
	head := []byte("{")
	if len(a.errors) > 0 {
		list, err := json.Marshal(a.errors)
		if err != nil {
			return err
		}
		head = append(append(head, `"errors":`...), list...)
		if a.data != nil {
			head = append(head, ',')
		}
	}
	if a.data != nil {
		head = append(head, `"data":`...)
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	if a.data != nil {
		if err := a.gaps.Write(ctx, w, a.data); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, "}")
	return err
}

// answer answers a request with the status that clients expect.
func (h *Handler) answer(ctx context.Context, q *request) (a *answer, status int) {
	defer func() {
		if p := recover(); p != nil {
			err := h.panicked(ctx, p)
			a, status = failure(failed, gqlerror.Wrap(err)), http.StatusOK
		}
	}()
	doc, err := parser.ParseQueryWithTokenLimit(&ast.Source{Name: "query", Input: q.query}, maxTokens)
	if err != nil {
		return failure(invalidSyntax, asError(err, "Invalid syntax: ")), http.StatusOK
	}
	if err := checkLimits(doc); err != nil {
		return failure(aborted, gqlerror.Wrap(err)), http.StatusOK
	}
	if errs := validator.ValidateWithRules(h.schema.Schema(), doc, nil); len(errs) > 0 {
		for _, e := range errs {
			e.Message = "Validation error: " + e.Message
		}
		return failure(invalid, errs[:min(len(errs), maxErrors)]...), http.StatusBadRequest
	}
	op, err := operation(doc, q.operation)
	if err != nil {
		return failure(invalid, gqlerror.Wrap(err)), http.StatusOK
	}
	if op.Operation == ast.Mutation && !server.MayChange(ctx) {
		return failure(aborted, &gqlerror.Error{Message: "the token is for reading only"}), http.StatusForbidden
	}
	variables, err := validator.VariableValues(h.schema.Schema(), op, q.variables)
	if err != nil {
		return failure(invalid, variableError(op, err)), http.StatusOK
	}
	return h.execute(ctx, &graphqlexec.OperationContext{
		RawQuery: q.query, Doc: doc, Operation: op, OperationName: q.operation, Variables: variables,
	}), http.StatusOK
}

// operation returns the operation of a document that a request names.
func operation(doc *ast.QueryDocument, name string) (*ast.OperationDefinition, error) {
	if name == "" {
		switch len(doc.Operations) {
		case 0:
			return nil, errors.New("the document has no operation")
		case 1:
			return doc.Operations[0], nil
		}
		return nil, errors.New("the document has several operations: name one as operationName")
	}
	if op := doc.Operations.ForName(name); op != nil {
		return op, nil
	}
	return nil, fmt.Errorf("the document has no operation %.100q", name)
}

// execute runs an operation that is valid.
func (h *Handler) execute(ctx context.Context, op *graphqlexec.OperationContext) *answer {
	op.RecoverFunc = h.panicked
	op.ResolverMiddleware = func(ctx context.Context, next graphqlexec.Resolver) (any, error) { return next(ctx) }
	op.RootResolverMiddleware = func(ctx context.Context, next graphqlexec.RootResolver) graphqlexec.Marshaler { return next(ctx) }
	ctx = graphqlexec.WithOperationContext(ctx, op)
	ctx = graphqlexec.WithResponseContext(ctx, h.present, h.panicked)
	ctx = h.resolver.withRoster(ctx)
	ctx, gaps := values.NewAnswer(ctx)
	absent := setAsideAbsent(op)
	response := h.schema.Exec(ctx)(ctx)
	a := &answer{errors: append(graphqlexec.GetErrors(ctx), response.Errors...), data: response.Data, gaps: gaps}
	if bytes.HasPrefix(a.data, []byte("{")) {
		for _, f := range absent {
			a.data = gaps.AddField(a.data, f.Alias, values.Absent(h.schema.Schema(), f.Definition), f.Selections)
		}
	}
	if wrong := slices.DeleteFunc(slices.Clone(a.errors), func(e *gqlerror.Error) bool {
		return e.Extensions["classification"] != invalid
	}); len(wrong) > 0 {
		return failure(invalid, wrong...)
	}
	return a
}

// setAsideAbsent takes the fields of features that do not exist out of an operation, for
// which there are no resolvers, and returns them.
func setAsideAbsent(op *graphqlexec.OperationContext) (absent []graphqlexec.CollectedField) {
	var rest ast.SelectionSet
	for _, f := range graphqlexec.CollectFields(op, op.Operation.SelectionSet, []string{"Query", "Mutation"}) {
		if values.IsAbsent(f.Definition) {
			absent = append(absent, f)
			continue
		}
		merged := *f.Field
		merged.SelectionSet = f.Selections
		rest = append(rest, &merged)
	}
	if absent != nil {
		present := *op.Operation
		present.SelectionSet = rest
		op.Operation = &present
	}
	return absent
}

// present converts the error of a field to the form that clients know.
func (h *Handler) present(ctx context.Context, err error) *gqlerror.Error {
	e := asError(err, "")
	if e.Path == nil {
		e.Path = graphqlexec.GetPath(ctx)
	}
	if f := graphqlexec.GetFieldContext(ctx); f != nil && f.Field.Field != nil && f.Field.Position != nil {
		e.Locations = []gqlerror.Location{{Line: f.Field.Position.Line, Column: f.Field.Position.Column}}
	}
	var input *values.InputError
	if errors.As(err, &input) {
		e.Message = "Validation error: " + e.Message
		e.Extensions = map[string]any{"classification": invalid}
		return e
	}
	if !errors.Is(err, ids.ErrForm) && !errors.Is(err, context.Canceled) {
		h.log.WarnContext(ctx, "a GraphQL field failed", "field", e.Path.String(), "error", err)
	}
	e.Message = "Exception while fetching data (/" + slashed(e.Path) + ") : " + e.Message
	e.Extensions = map[string]any{"classification": failed}
	return e
}

// slashed returns the path of a field for messages.
func slashed(p ast.Path) string {
	var parts []string
	for _, e := range p {
		parts = append(parts, fmt.Sprint(e))
	}
	return strings.Join(parts, "/")
}

// panicked converts a panic to an error without details.
func (h *Handler) panicked(ctx context.Context, p any) error {
	h.log.ErrorContext(ctx, "panic in GraphQL", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	return errors.New("internal error: the server's log has the details")
}

// asError returns a GraphQL error with a prefix before the message.
func asError(err error, prefix string) *gqlerror.Error {
	var e *gqlerror.Error
	if !errors.As(err, &e) {
		return &gqlerror.Error{Err: err, Message: prefix + err.Error()}
	}
	return &gqlerror.Error{Err: e.Err, Message: prefix + e.Message, Path: e.Path, Locations: e.Locations}
}

// variableError names the variable with an invalid value, and where it is declared.
func variableError(op *ast.OperationDefinition, err error) *gqlerror.Error {
	e := asError(err, "")
	var name string
	if len(e.Path) > 1 {
		if p, ok := e.Path[1].(ast.PathName); ok {
			name = string(p)
		}
	}
	e.Message = fmt.Sprintf("Validation error: variable %s: %s", strings.TrimPrefix(e.Path.String(), "variable."), e.Message)
	if v := op.VariableDefinitions.ForName(name); v != nil && v.Position != nil {
		e.Locations = []gqlerror.Location{{Line: v.Position.Line, Column: v.Position.Column}}
	}
	return e
}
