// Package mcp offers the queries of a store as tools of the Model Context Protocol, so
// that assistants can look at profiles: which functions use the time, what became slower,
// why a request was slow.
//
//	arguments (JSON) ──param.Parameter──▶ query.XRequest ──query.X──▶ result ──render──▶ text
//
// The tools have the parameters of the commands of the same names. A result is the text
// that the command prints for people, or with format=json its document, at most
// Options.MaxBytes of it. Tools only read, unless Options.Writes adds those that create
// and stop tasks.
//
// The package computes nothing and opens nothing. It serves no files: profiles come from
// the store.
package mcp

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/dendroprof/dendro/app/internal/endpoint"
	"github.com/dendroprof/dendro/app/internal/render"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/document"
	"github.com/dendroprof/dendro/query/judge"
	"github.com/dendroprof/dendro/query/param"
	"github.com/dendroprof/dendro/query/trees"
	"github.com/dendroprof/dendro/report"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/table"
)

// Options configure the tools. The zero value is for a store that is only read.
type Options struct {
	Version  string // of the program
	SQL      SQL    // nil: no SQL is offered
	Traces   bool   // offer tools of trace profiling
	Writes   bool   // offer tools that create and stop tasks
	MaxBytes int    // of one result; 0: 40,000

	// Shown returns an error's text as clients may see it; nil: as it is.
	Shown func(text string) string

	// Panicked is called when a call panicked, which is a defect of Dendro; the caller gets
	// an error. Nil: nothing is done.
	Panicked func(tool string, panic any, stack []byte)
}

// SQL runs a user's query, of which at most as many rows are read as the request allows.
type SQL func(ctx context.Context, request *query.SQLRequest, text string) (*store.SQLAnswer, error)

// Of returns the SQL of a store; nil: it speaks none.
func Of(st store.Store) SQL {
	if _, ok := store.As[store.SQLSpeaker](st); !ok {
		return nil
	}
	return func(ctx context.Context, r *query.SQLRequest, text string) (*store.SQLAnswer, error) {
		return query.SQL(ctx, st, r, text)
	}
}

const instructions = `Dendro keeps profiles of benchmarks and services as call trees. Start with "overview" or "runs".
Select with benchmark, group, branch, commit, run, since, until, last. "top" and "tree" show where time goes, "diff" compares
two sets of runs (base-… and head-…, or last), "regressions" finds what became slower with its cause, "report" gives the
evidence. Trace profiling: "tasks", "task", "task_segments", "task_analysis". Self is the time in a function alone, total
includes its callees. Percentages are shares of the selected program.`

// New returns a server of the tools over a store, or a server, which stays open until the
// caller closes it.
func New(a endpoint.Asker, o Options) *sdk.Server {
	o.MaxBytes = cmp.Or(o.MaxBytes, 40_000)
	s := sdk.NewServer(&sdk.Implementation{Name: "dendro", Title: "Dendro", Version: cmp.Or(o.Version, "unknown")},
		&sdk.ServerOptions{Instructions: instructions})
	s.AddReceivingMiddleware(o.recovering)
	for _, t := range tools(a, &o) {
		s.AddTool(&sdk.Tool{Name: t.name, Description: t.description, InputSchema: schema(t.request()),
			Annotations: &sdk.ToolAnnotations{ReadOnlyHint: !t.writes, OpenWorldHint: new(bool), DestructiveHint: new(bool)}}, t.handler(&o))
	}
	return s
}

// recovering answers a request whose handler panics with an error, and ends the handler when
// its client leaves. The protocol's library runs each request in a goroutine of its own,
// where a panic would end the process.
func (o *Options) recovering(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, request sdk.Request) (result sdk.Result, err error) {
		defer func() {
			p := recover()
			if p == nil {
				return
			}
			name := method
			if call, ok := request.(*sdk.CallToolRequest); ok {
				name = call.Params.Name
			}
			if o.Panicked != nil {
				o.Panicked(name, p, debug.Stack())
			}
			result, err = nil, fmt.Errorf("%.60s: internal error; the log of Dendro has the details", name)
		}()
		ctx, done := whileConnected(ctx)
		defer done()
		return next(ctx, method, request)
	}
}

// Handler serves the tools over HTTP (the protocol's streamable transport), each request
// by itself. The caller authenticates requests and limits their bodies.
func Handler(a endpoint.Asker, o Options) http.Handler {
	s := New(a, o)
	h := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s },
		&sdk.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := bufio.NewReader(r.Body)
		if c := firstByte(body); c == '[' { // all of its calls would run at once, as one request
			http.Error(w, "a batch of messages: send one message per request", http.StatusBadRequest)
			return
		}
		r.Body = struct {
			io.Reader
			io.Closer
		}{body, r.Body}
		h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), clientKey{}, r.Context())))
	})
}

// firstByte returns the first byte of a text of JSON, which it skips white space before; 0: it has none.
func firstByte(text *bufio.Reader) byte {
	for {
		c, err := text.ReadByte()
		if err != nil {
			return 0
		}
		if strings.IndexByte(" \t\r\n", c) < 0 {
			text.UnreadByte()
			return c
		}
	}
}

// clientKey is the key of the context of an HTTP request. The protocol's library detaches
// the contexts of calls from it, but keeps its values.
type clientKey struct{}

// whileConnected returns a context that also ends when the client of an HTTP request leaves.
func whileConnected(ctx context.Context) (context.Context, context.CancelFunc) {
	client, ok := ctx.Value(clientKey{}).(context.Context)
	if !ok {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(client, cancel)
	return ctx, func() { stop(); cancel() }
}

// formatRequest is how a tool's result is written.
type formatRequest struct {
	Format string `param:"format" choices:"text,json" help:"text, or json: the document of the HTTP API"`
}

// schema describes the arguments of a tool.
func schema(request any) map[string]any {
	properties := map[string]any{}
	for _, p := range parametersOf(request, new(formatRequest)) {
		value := map[string]any{"type": p.JSONType()}
		if len(p.Choices) > 0 {
			value["enum"] = p.Choices
		}
		if p.Repeatable() {
			value = map[string]any{"type": "array", "items": map[string]any{"type": "string"}}
		}
		value["description"] = p.Help
		if text := p.String(); text != "" {
			value["description"] = fmt.Sprintf("%s (default %s)", p.Help, text)
		}
		properties[p.Name] = value
	}
	return map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
}

func parametersOf(request any, format *formatRequest) []*param.Parameter {
	return append(param.Of(request), param.Of(format)...)
}

// maxArguments is the maximum size of the arguments of a call, in bytes: as much as the
// address of a request over HTTP may have.
const maxArguments = 64 << 10

// set sets the parameters that the arguments of a call name, and the defaults of pages for
// the others: results are read by somebody who pays for each row.
func set(list []*param.Parameter, arguments json.RawMessage) error {
	if len(arguments) > maxArguments {
		return fmt.Errorf("arguments: more than %d bytes", maxArguments)
	}
	var given map[string]any
	if len(arguments) > 0 {
		d := json.NewDecoder(bytes.NewReader(arguments))
		d.UseNumber()
		if err := d.Decode(&given); err != nil {
			return fmt.Errorf("arguments: %w", err)
		}
	}
	for _, p := range list {
		for _, text := range param.Texts(given[p.Name]) {
			if err := p.Set(text); err != nil {
				return fmt.Errorf("%s: %w", p.Name, err)
			}
		}
		delete(given, p.Name)
		p.UsePage()
	}
	for name := range given {
		return fmt.Errorf("no parameter %.60q", name)
	}
	return nil
}

// handler answers calls of a tool. What the caller can mend is a result with an error, as
// the protocol has it.
func (t *tool) handler(o *Options) sdk.ToolHandler {
	return func(ctx context.Context, call *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		var out bytes.Buffer
		err := t.call(ctx, call.Params.Arguments, &out)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		text := bounded(out.String(), o.MaxBytes)
		if err != nil {
			if text = err.Error(); o.Shown != nil {
				text = o.Shown(text)
			}
			if several, ok := errors.AsType[*store.SeveralTypesError](err); ok {
				text += "\nset type to one of: " + strings.Join(several.Keys, ", ")
			}
		}
		return &sdk.CallToolResult{IsError: err != nil, Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil
	}
}

// textFindings is the default maximum number of findings in text.
const textFindings = 25

func (t *tool) call(ctx context.Context, arguments json.RawMessage, out *bytes.Buffer) error {
	request, format := t.request(), new(formatRequest)
	if err := set(parametersOf(request, format), arguments); err != nil {
		return err
	}
	findings := textFindings
	if r, ok := request.(*judge.RegressionsRequest); ok && r.Method == "default" && format.Format == "text" {
		findings, r.Rows = cmp.Or(r.Rows, textFindings), 0 // text limits what it shows, and counts the rest
	}
	result, err := t.answer(ctx, request)
	if err != nil {
		return err
	}
	if doc, ok := result.(*report.Report); ok {
		if format.Format == "text" {
			format.Format = "md"
		}
		return judge.WriteReport(out, doc, format.Format, report.Detail{Changes: 25, Traces: 3})
	}
	if format.Format == "json" {
		return document.Write(out, result, document.Form{})
	}
	o := &table.Output{W: out, Err: out, Format: "text"}
	switch r := result.(type) {
	case *judge.RegressionsResult:
		return render.Findings(o, r, findings, false, true)
	case *judge.BottlenecksResult:
		return render.Bottlenecks(o, request.(*judge.BottlenecksRequest), r)
	case *trees.BandResult:
		return render.Band(o, r, 25)
	case *query.FunctionNamesResult:
		return document.Write(out, r, document.Form{})
	case *rows:
		o.Notes(r.notes)
		return r.table.Stream(o, r.rows, maxRows)
	}
	return render.Result(o, result)
}

// bounded cuts a text at the end of a line, and says so.
func bounded(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	cut := strings.LastIndexByte(text[:limit], '\n') + 1
	return fmt.Sprintf("%s… cut at %d of %d bytes: narrow the selection, or set rows, depth or min-percent\n", strings.ToValidUTF8(text[:cmp.Or(cut, limit)], ""), limit, len(text))
}
