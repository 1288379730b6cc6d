package api

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestDocument(t *testing.T) {
	l := newLab(t)
	l.ask(exchange{})
	w := l.serve(httptest.NewRequest("GET", "/api/v1/openapi.json", nil))
	var served, want any
	if json.Unmarshal(w.Body.Bytes(), &served) != nil || json.Unmarshal(l.doc, &want) != nil || !reflect.DeepEqual(served, want) {
		t.Errorf("served is %.200s", w.Body)
	}
	for of, name := range schemaNames {
		if text := w.Body.String(); !strings.Contains(text, `schemas/`+name+`"`) || strings.Contains(text, `schemas/`+of+`"`) {
			t.Errorf("%s is not described as %s", of, name)
		}
	}
	for _, broken := range []exchange{
		{Method: "GET", URL: "/api/v1/info", Status: 200, Header: w.Header(), Body: []byte(`{"product": 1}`)},
		{Method: "GET", URL: "/api/v1/info", Status: 200, Header: http.Header{"Content-Type": {"text/css"}}, Body: []byte(`{}`)},
		{Method: "GET", URL: "/api/v1/none", Status: 200},
		{Schema: "ImportLine", Value: "text"},
	} {
		if l.ask(broken).Wrong == "" {
			t.Errorf("%+v is as described", broken)
		}
	}
}

// pathOperation is what the document says of a method of a path.
type pathOperation struct {
	Summary, OperationID string
	Parameters           []struct{ Name, In string }
}

// operations lists the operations of the document by path and method.
func (l *lab) operations() map[string]map[string]pathOperation {
	l.t.Helper()
	var doc struct {
		Paths map[string]map[string]json.RawMessage
	}
	err := json.Unmarshal(l.doc, &doc)
	paths := map[string]map[string]pathOperation{}
	for path, item := range doc.Paths {
		paths[path] = map[string]pathOperation{}
		for method, text := range item {
			var op pathOperation
			if method != "parameters" && err == nil { // of all methods
				err = json.Unmarshal(text, &op)
				paths[path][strings.ToUpper(method)] = op
			}
		}
	}
	if err != nil {
		l.t.Fatal(err)
	}
	return paths
}

// TestRoutesAreDescribed wants every route in the document, and the reverse.
func TestRoutesAreDescribed(t *testing.T) {
	l := newLab(t)
	var routes, described []string
	for _, r := range newAPI(Options{Store: l.st}).routes() {
		routes = append(routes, r.Pattern)
	}
	for path, item := range l.operations() {
		for method := range item {
			described = append(described, method+" "+path)
		}
	}
	slices.Sort(routes)
	slices.Sort(described)
	if !slices.Equal(routes, described) {
		t.Errorf("routes:\n%s\ndescribed:\n%s", strings.Join(routes, "\n"), strings.Join(described, "\n"))
	}
	ids := map[string]bool{}
	for _, item := range l.operations() {
		for _, op := range item {
			if op.Summary == "" || ids[op.OperationID] {
				t.Errorf("operation %q has no summary, or is there twice", op.OperationID)
			}
			ids[op.OperationID] = true
		}
	}
}

// TestParametersAreDescribed wants every parameter that a handler reads in the
// document, and the reverse. A parameter that nobody reads is answered with those
// that are.
func TestParametersAreDescribed(t *testing.T) {
	l := newLab(t)
	l.put()
	checked := 0
	for path, item := range l.operations() {
		for method, op := range item {
			want := queryParameters(op)
			if len(want) == 0 {
				continue
			}
			checked++
			w := l.serve(httptest.NewRequest(method, path+"?no-such-parameter=1", nil))
			var p struct{ Parameters []string }
			if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(p.Parameters, want) {
				t.Errorf("%s %s reads %v, described are %v", method, path, p.Parameters, want)
			}
		}
	}
	if checked < 14 {
		t.Errorf("only %d addresses have parameters", checked)
	}
}

func queryParameters(op pathOperation) []string {
	names := map[string]bool{}
	for _, p := range op.Parameters {
		if p.In == "query" {
			names[p.Name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}
