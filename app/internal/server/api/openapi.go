package api

import (
	_ "embed"
	"encoding"
	"encoding/json"
	"maps"
	"net/http"
	"path"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/dendroprof/dendro/app/internal/transfer"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/param"
)

// openAPI describes the addresses that are no queries; it is written by hand.
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
	for _, e := range a.queries() {
		item, ok := paths[e.path].(map[string]any)
		if !ok {
			item = map[string]any{}
			paths[e.path] = item
		}
		item[strings.ToLower(e.method)] = e.operation(schemas)
	}
	for _, r := range a.engineRoutes() {
		address := strings.TrimPrefix(r.Pattern, "POST ")
		content := map[string]any{transfer.ContentType: map[string]any{"schema": map[string]any{"type": "string", "format": "binary"}}}
		paths[address] = map[string]any{"post": map[string]any{"operationId": "store-" + path.Base(address), "tags": []any{"engine"},
			"summary": "A method of the engine contract.", "requestBody": map[string]any{"required": true, "content": content},
			"responses": map[string]any{"200": map[string]any{"description": "The result.", "content": content}, "default": map[string]any{"$ref": "#/components/responses/Problem"}}}}
	}
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

// operation describes an endpoint.
func (e *endpoint) operation(s *schemas) map[string]any {
	parameters := []any{}
	for _, p := range append(param.Of(e.request), param.Of(e.form)...) {
		parameters = append(parameters, describeParameter(p))
	}
	content := map[string]any{}
	switch e.form.(type) {
	case *reportFormat:
		for name, mediaType := range mediaTypes {
			schema := map[string]any{"type": "string"}
			if name == "json" || name == "sarif" {
				schema = map[string]any{"type": "object"}
			}
			content[mediaType] = map[string]any{"schema": schema}
		}
	case *pageForm:
		content["text/html"] = map[string]any{"schema": map[string]any{"type": "string"}}
	case *fileFormat:
		content["application/octet-stream"] = map[string]any{"schema": map[string]any{"type": "string", "format": "binary"}}
	default:
		var list []any
		for _, r := range e.results {
			list = append(list, s.of(reflect.TypeOf(r)))
		}
		schema := list[0]
		if len(list) > 1 {
			schema = map[string]any{"anyOf": list}
		}
		content["application/json"] = map[string]any{"schema": schema}
	}
	op := map[string]any{"operationId": e.id, "tags": []any{e.tag}, "summary": e.summary, "parameters": parameters,
		"responses": map[string]any{"200": map[string]any{"description": "The result.", "content": content}, "default": map[string]any{"$ref": "#/components/responses/Problem"}}}
	if e.upload {
		binary := map[string]any{"type": "string", "format": "binary"}
		content["text/html"] = map[string]any{"schema": map[string]any{"type": "string"}}
		content["application/octet-stream"] = map[string]any{"schema": binary}
		body, schema := "application/octet-stream", binary
		if _, ok := e.request.(*viewDiffRequest); ok {
			body, schema = "multipart/form-data", map[string]any{"type": "object", "properties": map[string]any{"base": binary, "new": binary}}
		}
		op["requestBody"] = map[string]any{"required": true, "content": map[string]any{body: map[string]any{"schema": schema}}}
	}
	if f, ok := reflect.TypeOf(e.request).Elem().FieldByName("Facts"); ok && e.method == "POST" {
		op["requestBody"] = map[string]any{"content": map[string]any{"application/json": map[string]any{
			"schema": map[string]any{"type": "object", "properties": map[string]any{"facts": s.of(f.Type)}}}}}
	}
	return op
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
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
	noName        = regexp.MustCompile(`[^A-Za-z0-9._-]+`)
)

// of returns the schema of a type.
func (s *schemas) of(t reflect.Type) map[string]any {
	if rows, ok := t.MethodByName("All"); ok && t.Kind() == reflect.Struct && strings.HasPrefix(t.Name(), "Rows[") {
		return map[string]any{"type": "array", "items": s.of(rows.Type.Out(0).In(0).In(0))}
	}
	switch {
	case t == reflect.TypeFor[query.Number]():
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
	case t.Implements(jsonMarshaler) || reflect.PointerTo(t).Implements(jsonMarshaler):
		return map[string]any{}
	case t.Implements(textMarshaler):
		return map[string]any{"type": "string"}
	}
	switch t.Kind() {
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.String:
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

// object describes a struct, once.
func (s *schemas) object(t reflect.Type) map[string]any {
	name := strings.Trim(noName.ReplaceAllString(strings.ReplaceAll(t.String(), "github.com/dendroprof/dendro/internal/", ""), "-"), "-")
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
	for i := range t.NumField() {
		f := t.Field(i)
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
			if name == "" {
				name = f.Name
			}
			properties[name] = s.of(f.Type)
			switch {
			case name == "rows": // or, in columns, these
				properties["columns"] = map[string]any{"type": "object"}
			case !strings.Contains(options, "omit"):
				*required = append(*required, name)
			}
		}
	}
}
