package api

import (
	"encoding/json"
	"maps"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

func TestDocument(t *testing.T) {
	l := newLab(t)
	if err := l.doc.Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
	var served map[string]any
	l.get("/api/v1/openapi.json", &served)
	if served["openapi"] != l.doc.OpenAPI {
		t.Errorf("served is %v", served["openapi"])
	}
}

// TestRoutesAreDescribed wants every route in the document, and the reverse.
func TestRoutesAreDescribed(t *testing.T) {
	l := newLab(t)
	var routes, described []string
	for _, r := range newAPI(Options{Store: l.st}).routes() {
		routes = append(routes, r.Pattern)
	}
	for path, item := range l.doc.Paths.Map() {
		for method := range item.Operations() {
			described = append(described, method+" "+path)
		}
	}
	slices.Sort(routes)
	slices.Sort(described)
	if !slices.Equal(routes, described) {
		t.Errorf("routes:\n%s\ndescribed:\n%s", strings.Join(routes, "\n"), strings.Join(described, "\n"))
	}
	ids := map[string]bool{}
	for _, item := range l.doc.Paths.Map() {
		for _, op := range item.Operations() {
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
	for path, item := range l.doc.Paths.Map() {
		for method, op := range item.Operations() {
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

func queryParameters(op *openapi3.Operation) []string {
	names := map[string]bool{}
	for _, p := range op.Parameters {
		if p.Value.In == "query" {
			names[p.Value.Name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}
