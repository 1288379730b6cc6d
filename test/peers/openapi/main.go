// Command openapi validates answers of a server by its OpenAPI document. Each line of input is an
// exchange, or a document for those that follow.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"
)

// question is an exchange, a value of a schema of the document, or a document.
type question struct {
	Document []byte

	Schema string
	Value  any

	Method, URL string
	Status      int
	Header      http.Header
	Body        []byte
}

// answer says what is wrong; empty: nothing.
type answer struct {
	Wrong     string
	Undefined bool // the document does not describe such a request
}

func main() {
	// What is not JSON is described by its media type alone.
	for _, mediaType := range []string{"application/vnd.dendro.transfer", "text/markdown", "text/html", "application/xml",
		"text/tab-separated-values", "text/csv"} {
		openapi3filter.RegisterBodyDecoder(mediaType, openapi3filter.FileBodyDecoder)
	}
	openapi3filter.RegisterBodyDecoder("application/sarif+json", openapi3filter.JSONBodyDecoder)
	fmt.Println("ready")
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	var v validator
	for {
		var q question
		if err := in.Decode(&q); err == io.EOF {
			return
		} else if err != nil {
			log.Fatal(err)
		}
		var a answer
		if err := v.validate(&q); err != nil {
			var unknown *routers.RouteError
			a = answer{Wrong: err.Error(), Undefined: errors.As(err, &unknown)}
		}
		if err := out.Encode(a); err != nil {
			log.Fatal(err)
		}
	}
}

type validator struct {
	doc    *openapi3.T
	router routers.Router
}

func (v *validator) validate(q *question) (err error) {
	switch {
	case q.Document != nil:
		if v.doc, err = openapi3.NewLoader().LoadFromData(q.Document); err != nil {
			return err
		}
		if err = v.doc.Validate(context.Background()); err == nil {
			v.router, err = legacy.NewRouter(v.doc)
		}
		return err
	case q.Schema != "":
		return v.doc.Components.Schemas[q.Schema].Value.VisitJSON(q.Value)
	}
	r, err := http.NewRequest(q.Method, q.URL, nil)
	if err != nil {
		return err
	}
	r.Host = "localhost"
	route, path, err := v.router.FindRoute(r)
	if err != nil {
		return err
	}
	in := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: r, PathParams: path, Route: route},
		Status:                 q.Status, Header: q.Header,
		Options: &openapi3filter.Options{MultiError: true, IncludeResponseStatus: true},
	}
	in.SetBodyBytes(q.Body)
	return openapi3filter.ValidateResponse(context.Background(), in)
}
