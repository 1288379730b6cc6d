package api

import (
	_ "embed"
	"net/http"
)

// openAPI describes every address of the API. It is written by hand; the tests
// hold the handlers to it, and it to the handlers.
//
//go:embed openapi.json
var openAPI []byte

// document answers with the description of the API.
func (a *api) document(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(openAPI)
	return nil
}
