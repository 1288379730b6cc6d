package api

import (
	"cmp"
	_ "embed"
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/dendroprof/dendro/app/internal/endpoint"
	"github.com/dendroprof/dendro/app/internal/transfer"
	"github.com/dendroprof/dendro/internal/column"
	"github.com/dendroprof/dendro/query/document"
	"github.com/dendroprof/dendro/query/facts"
	"github.com/dendroprof/dendro/query/listing"
	"github.com/dendroprof/dendro/query/param"
	"github.com/dendroprof/dendro/report"
)

// openAPI describes the addresses that are not in the list of endpoints.
//
//go:embed openapi.json
var openAPI []byte

// description returns the OpenAPI document: that of the file, and the queries, whose
// parameters and results are described from their types.
func (a *api) description() ([]byte, error) {
	var doc map[string]any
	if err := json.Unmarshal(openAPI, &doc); err != nil {
		return nil, err
	}
	paths := doc["paths"].(map[string]any)
	schemas := &schemas{known: map[string]any{}}
	describe := func(method, path string, operation map[string]any) {
		item, ok := paths[path].(map[string]any)
		if !ok {
			item = map[string]any{}
			paths[path] = item
		}
		item[strings.ToLower(method)] = operation
	}
	for _, e := range endpoint.All {
		about, q := e.Describe(), e.Blank()
		described := operation(schemas, &q)
		if about.Created != nil {
			described["requestBody"] = map[string]any{"description": "The task, if it is not in the address.",
				"content": map[string]any{"application/json": map[string]any{"schema": schemas.of(reflect.TypeOf(q.Request))}}}
			responses := described["responses"].(map[string]any)
			responses["201"] = responses["200"]
			delete(responses, "200")
		}
		describe(about.Method, about.Path, described)
		if facts.Of(q.Request) != nil {
			posted := operation(schemas, &q)
			posted["operationId"] = about.ID + "WithFacts"
			posted["summary"] = about.Summary + " The body has what only the client knows: acknowledged changes, and commits of its repository."
			posted["requestBody"] = map[string]any{"content": map[string]any{"application/json": map[string]any{
				"schema": map[string]any{"type": "object", "properties": map[string]any{"facts": schemas.of(reflect.TypeFor[facts.Facts]())}}}}}
			describe("POST", about.Path, posted)
		}
	}
	binary := map[string]any{"type": "string", "format": "binary"}
	describe("POST", "/api/v1/view", uploaded(schemas, "view", "A view of the file in the body, which is not stored.", new(viewRequest),
		endpoint.Trees, "application/octet-stream", binary))
	describe("POST", "/api/v1/view/lines", uploaded(schemas, "viewLines", "The lines of functions of the file in the body, which is not stored.", new(viewLinesRequest),
		[]any{new(listing.Result)}, "application/octet-stream", binary))
	describe("POST", "/api/v1/view/diff", uploaded(schemas, "viewDiff", "The diff of the files base and head of a form, which are not stored; a side without a file is of the store: the selection, narrowed by the parameters of that side.", new(viewDiffRequest), endpoint.Diffs,
		"multipart/form-data", map[string]any{"type": "object", "properties": map[string]any{"base": binary, "head": binary}}))
	profiles := map[string]any{transfer.ContentType: map[string]any{"schema": binary}}
	describe("POST", transfer.Put, described("putProfiles", "streams", "Store profiles of another Dendro.", nil, profiles))
	paths[transfer.Put].(map[string]any)["post"].(map[string]any)["requestBody"] = map[string]any{"required": true, "content": profiles}
	describe("POST", transfer.Get, described("getProfiles", "streams", "Profiles, or what was sampled of a task, for another Dendro.", nil, profiles))
	paths[transfer.Get].(map[string]any)["post"].(map[string]any)["requestBody"] = map[string]any{"required": true,
		"content": map[string]any{"application/json": map[string]any{"schema": schemas.of(reflect.TypeFor[transfer.Wanted]())}}}
	maps.Copy(doc["components"].(map[string]any)["schemas"].(map[string]any), schemas.known)
	return json.Marshal(doc)
}

// document answers with the description of the API.
func (a *api) document(w http.ResponseWriter, _ *http.Request) error {
	data, err := a.description()
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(data)
	return nil
}

// described is an operation with parameters and the content of its answer.
func described(id, tag, summary string, parameters []*param.Parameter, content map[string]any) map[string]any {
	list := column.Of(parameters, func(p *param.Parameter) any { return describeParameter(p) })
	return map[string]any{"operationId": id, "tags": []any{tag}, "summary": summary, "parameters": list,
		"responses": map[string]any{"200": map[string]any{"description": "The result.", "content": content},
			"304":     map[string]any{"description": "The result is that of the ETag in If-None-Match."},
			"default": map[string]any{"$ref": "#/components/responses/Problem"}}}
}

// operation describes an endpoint.
func operation(s *schemas, q *endpoint.Question) map[string]any {
	content := map[string]any{}
	text := map[string]any{"schema": map[string]any{"type": "string"}}
	switch q.Form {
	case endpoint.FormReport:
		for _, mediaType := range mediaTypes {
			content[mediaType] = text
		}
		content[mediaTypes["json"]] = map[string]any{"schema": s.of(reflect.TypeFor[report.Document]())}
		content[mediaTypes["sarif"]] = map[string]any{"schema": map[string]any{"type": "object"}}
	case endpoint.FormFile:
		for _, mediaType := range q.Types {
			if content[mediaType] = text; !strings.HasPrefix(mediaType, "text/") {
				content[mediaType] = map[string]any{"schema": map[string]any{"type": "string", "format": "binary"}}
			}
		}
	default:
		content["application/json"] = map[string]any{"schema": s.anyOf(q.Results)}
		content["text/tab-separated-values"], content["text/csv"] = text, text
	}
	op := described(q.ID, q.Tag, q.Summary, append(param.Of(q.Request), param.Of(formOf(q))...), content)
	for _, p := range op["parameters"].([]any) {
		if p := p.(map[string]any); strings.Contains(q.Path, fmt.Sprintf("{%s}", p["name"])) {
			p["in"], p["required"] = "path", true
		}
	}
	return op
}

// uploaded describes an address that answers a question about what is uploaded.
func uploaded(s *schemas, id, summary string, request any, results []any, body string, schema map[string]any) map[string]any {
	op := described(id, "queries", summary, append(param.Of(request), param.Of(&endpoint.RowsForm{})...), map[string]any{
		"application/json": map[string]any{"schema": s.anyOf(results)}, "text/html": map[string]any{"schema": map[string]any{"type": "string"}},
		"application/octet-stream": map[string]any{"schema": map[string]any{"type": "string", "format": "binary"}}})
	op["requestBody"] = map[string]any{"required": true, "content": map[string]any{body: map[string]any{"schema": schema}}}
	return op
}

// anyOf is the schema of one of several results.
func (s *schemas) anyOf(results []any) map[string]any {
	list := column.Of(results, func(r any) any { return s.of(reflect.TypeOf(r)) })
	if len(list) == 1 {
		return list[0].(map[string]any)
	}
	return map[string]any{"anyOf": list}
}

// describeParameter describes a parameter of an address.
func describeParameter(p *param.Parameter) map[string]any {
	schema := map[string]any{"type": p.JSONType()}
	if len(p.Choices) > 0 {
		schema["enum"] = p.Choices
	}
	if p.Repeatable() {
		schema = map[string]any{"type": "array", "items": map[string]any{"type": "string"}}
	} else if p.Default != "" && schema["type"] == "string" {
		schema["default"] = p.Default
	}
	return map[string]any{"name": p.Name, "in": "query", "description": p.Help, "schema": schema}
}

// schemas describes Go types as encoding/json writes them. Structs get a name, by which
// others refer to them.
type schemas struct{ known map[string]any }

var (
	jsonMarshaler   = reflect.TypeFor[json.Marshaler]()
	jsonUnmarshaler = reflect.TypeFor[json.Unmarshaler]()
	textMarshaler   = reflect.TypeFor[encoding.TextMarshaler]()
	noName          = regexp.MustCompile(`[^A-Za-z0-9._-]+`)
)

// of returns the schema of a type.
func (s *schemas) of(t reflect.Type) map[string]any {
	if rows, ok := t.MethodByName("All"); ok && t.Kind() == reflect.Struct && strings.HasPrefix(t.Name(), "Rows[") {
		return map[string]any{"type": "array", "items": s.of(rows.Type.Out(0).In(0).In(0))}
	}
	switch {
	case t == reflect.TypeFor[document.Number]():
		return map[string]any{"type": "number"}
	case t == reflect.TypeFor[time.Time]():
		return map[string]any{"type": "string", "format": "date-time"}
	case t.Kind() == reflect.Pointer:
		inner := s.of(t.Elem())
		if _, ok := inner["$ref"]; ok {
			return map[string]any{"nullable": true, "allOf": []any{inner}}
		}
		inner["nullable"] = true
		return inner
	case t.Implements(jsonMarshaler) || reflect.PointerTo(t).Implements(jsonMarshaler) || reflect.PointerTo(t).Implements(jsonUnmarshaler):
		return map[string]any{}
	case t.Implements(textMarshaler):
		return map[string]any{"type": "string"}
	}
	switch t.Kind() {
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.String:
		if values, ok := report.Values[t]; ok {
			return map[string]any{"type": "string", "enum": values}
		}
		return map[string]any{"type": "string"}
	case reflect.Float32, reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return map[string]any{"type": "integer"}
	case reflect.Slice, reflect.Array:
		return map[string]any{"type": "array", "nullable": t.Kind() == reflect.Slice, "items": s.of(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "nullable": true, "additionalProperties": s.of(t.Elem())}
	case reflect.Struct:
		return s.object(t)
	}
	return map[string]any{}
}

// schemaNames are the names of types in code that clients generated, where they are others than
// those of this program.
var schemaNames = map[string]string{
	"find.Result":      "trees.FindResult",
	"find.Row":         "trees.FindRow",
	"find.Sum":         "trees.FindSum",
	"find.SumsResult":  "trees.FindSumsResult",
	"growth.Result":    "trees.GrowthResult",
	"growth.Row":       "trees.GrowthRow",
	"listing.Function": "trees.FunctionLines",
	"listing.Line":     "trees.LineRow",
	"listing.Result":   "trees.LinesResult",
	"locks.Deadlock":   "trees.Deadlock",
	"locks.Row":        "trees.LockRow",
	"locks.Waiter":     "trees.LockWaiter",
}

// object describes a struct, once.
func (s *schemas) object(t reflect.Type) map[string]any {
	name := strings.Trim(noName.ReplaceAllString(strings.ReplaceAll(t.String(), "github.com/dendroprof/dendro/internal/", ""), "-"), "-")
	name = cmp.Or(schemaNames[name], name)
	ref := map[string]any{"$ref": "#/components/schemas/" + name}
	if _, ok := s.known[name]; ok {
		return ref
	}
	properties := map[string]any{}
	schema := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	s.known[name] = schema
	var required []string
	s.fields(t, properties, &required)
	if len(required) > 0 {
		schema["required"] = required
	}
	return ref
}

func (s *schemas) fields(t reflect.Type, properties map[string]any, required *[]string) {
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		switch {
		case f.Anonymous && name == "" && inner.Kind() == reflect.Struct:
			s.fields(inner, properties, required)
		case !f.IsExported() || name == "-" || f.Tag.Get("client") != "":
		default:
			name = cmp.Or(name, f.Name)
			of := f.Type
			if omitted := strings.Contains(options, "omit"); omitted {
				of = inner // it is not written, and never null
			} else if name != "rows" {
				*required = append(*required, name)
			}
			if properties[name] = s.of(of); name == "rows" { // or, in columns, these
				properties["columns"] = map[string]any{"type": "object"}
			}
		}
	}
}
