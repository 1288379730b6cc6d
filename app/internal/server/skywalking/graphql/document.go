package graphql

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"runtime/debug"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator"

	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/app/internal/server/skywalking/graphql/exec"
	"github.com/dendroprof/dendro/app/internal/server/skywalking/graphql/values"
	"github.com/dendroprof/dendro/internal/column"
	"github.com/dendroprof/dendro/traceprof/ids"
)

// Classes of errors, which clients distinguish.
const (
	invalidSyntax = "InvalidSyntax"
	invalid       = "ValidationError"
	aborted       = "ExecutionAborted"
	dataFetching  = "DataFetchingException"
)

// answer is an answer to a client.
type answer struct {
	errors gqlerror.List
	data   values.Value // nil: no key `data`
	op     *values.Operation
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
	}
	out := values.NewWriter(ctx, w, a.op)
	if a.data == nil {
		out.Append(string(head) + "}")
		return out.Close()
	}
	if len(a.errors) > 0 {
		head = append(head, ',')
	}
	out.Append(string(head) + `"data":`)
	a.data(out, values.Field{})
	out.Append("}")
	return out.Close()
}

// answer answers a request with the status that clients expect.
func (h *Handler) answer(ctx context.Context, q *request) (a *answer, status int) {
	defer func() {
		if p := recover(); p != nil {
			err := h.panicked(ctx, p)
			a, status = failure(dataFetching, gqlerror.Wrap(err)), http.StatusOK
		}
	}()
	doc, err := parser.ParseQueryWithTokenLimit(&ast.Source{Name: "query", Input: q.query}, maxTokens)
	if err != nil {
		return failure(invalidSyntax, asError(err, "Invalid syntax: ")), http.StatusOK
	}
	if err := checkLimits(doc); err != nil {
		return failure(aborted, gqlerror.Wrap(err)), http.StatusOK
	}
	if errs := validator.ValidateWithRules(exec.Schema(), doc, nil); len(errs) > 0 {
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
	variables, err := validator.VariableValues(exec.Schema(), op, declared(op, q.variables))
	if err != nil {
		return failure(invalid, variableError(op, err)), http.StatusOK
	}
	return h.execute(ctx, &values.Operation{Doc: doc, Operation: op, Variables: variables}), http.StatusOK
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

// declared returns the variables under the names that the operation declares. Booster's
// page of async-profiler sends `taskID` for `$taskId`: a variable that is missing is one whose
// name differs in case only.
func declared(op *ast.OperationDefinition, given map[string]any) map[string]any {
	for _, d := range op.VariableDefinitions {
		if _, ok := given[d.Variable]; ok {
			continue
		}
		for name, value := range given {
			if strings.EqualFold(name, d.Variable) && op.VariableDefinitions.ForName(name) == nil {
				given = maps.Clone(given)
				given[d.Variable] = value
				break
			}
		}
	}
	return given
}

// execute runs an operation that is valid.
func (h *Handler) execute(ctx context.Context, op *values.Operation) *answer {
	data, failed := h.exec.Run(h.resolver.withRoster(ctx), op, h.panicked)
	a := &answer{data: data, op: op}
	var wrong gqlerror.List
	for _, f := range failed {
		e := h.present(ctx, f)
		if a.errors = append(a.errors, e); e.Extensions["classification"] == invalid {
			wrong = append(wrong, e)
		}
	}
	if wrong != nil {
		return failure(invalid, wrong...)
	}
	return a
}

// present converts the error of a field to the form that clients know.
func (h *Handler) present(ctx context.Context, f *exec.FieldError) *gqlerror.Error {
	e := asError(f.Err, "")
	e.Path, e.Locations = f.Path, []gqlerror.Location{{Line: f.Position.Line, Column: f.Position.Column}}
	if _, ok := errors.AsType[*values.InputError](f); ok {
		e.Message = "Validation error: " + e.Message
		e.Extensions = map[string]any{"classification": invalid}
		return e
	}
	if !errors.Is(f, ids.ErrForm) && !errors.Is(f, context.Canceled) {
		h.log.WarnContext(ctx, "a GraphQL field failed", "field", e.Path.String(), "error", f.Err)
	}
	e.Message = server.Shown(ctx, "Exception while fetching data (/"+slashed(e.Path)+") : "+e.Message)
	e.Extensions = map[string]any{"classification": dataFetching}
	return e
}

// slashed returns the path of a field for messages.
func slashed(p ast.Path) string {
	return strings.Join(column.Of(p, func(e ast.PathElement) string { return fmt.Sprint(e) }), "/")
}

// panicked converts a panic to an error without details.
func (h *Handler) panicked(ctx context.Context, p any) error {
	h.log.ErrorContext(ctx, "panic in GraphQL", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	return errors.New("internal error: the server's log has the details")
}

// asError returns a GraphQL error with a prefix before the message.
func asError(err error, prefix string) *gqlerror.Error {
	e, ok := errors.AsType[*gqlerror.Error](err)
	if !ok {
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
