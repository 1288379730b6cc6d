package api

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/internal/param"
	"github.com/dendroprof/dendro/internal/query"
)

// bodyLimit bounds what a client sends of its own facts with a query.
const bodyLimit = 16 << 20

// encoding is how a result is encoded; every query has its parameters.
type encoding struct {
	Form string `param:"form" arg:"what" choices:"rows,columns" help:"rows of objects, or columns: an array per field" group:"Output"`
}

// read sets the fields of a request, given by pointer, and of the encoding of its
// result: see readRequest.
func read(r *http.Request, request any) (encoding, error) {
	var f encoding
	err := readRequest(r, request, append(param.Of(request), param.Of(&f)...))
	return f, err
}

// readRequest sets the parameters of a request from the address: a parameter has the
// name of the command's flag, or of a part of the path. A body, if there is one, is JSON
// with what only the client has. A parameter that the request does not have is an error,
// since a selection that is silently ignored gives wrong answers.
func readRequest(r *http.Request, request any, list []*param.Parameter) error {
	// Call paths are full of semicolons, and no client means to separate by them.
	values, err := url.ParseQuery(strings.ReplaceAll(r.URL.RawQuery, ";", "%3B"))
	if err != nil {
		return mistakef("the query of the address: %w", err)
	}
	var known []string
	for _, p := range list {
		texts := values[p.Name]
		if inPath := r.PathValue(p.Name); inPath != "" {
			texts = []string{inPath}
		} else {
			known = append(known, p.Name)
			delete(values, p.Name)
		}
		if len(texts) > 1 && !p.Repeatable() {
			return mistakef("%s is given %d times", p.Name, len(texts))
		}
		for _, text := range texts {
			if err := p.Set(text); err != nil {
				return mistakef("%s: %w", p.Name, err)
			}
		}
	}
	for name := range values {
		slices.Sort(known)
		return unknown(name, known)
	}
	if r.Method == http.MethodPost && r.ContentLength != 0 {
		d := json.NewDecoder(http.MaxBytesReader(nil, r.Body, bodyLimit))
		d.DisallowUnknownFields()
		if err := d.Decode(request); err != nil {
			return mistakef("the body: %w", err)
		}
	}
	return nil
}

// respond writes a result.
func respond(w http.ResponseWriter, f encoding, result any) error {
	w.Header().Set("Content-Type", "application/json")
	brokenOff(query.WriteJSON(w, result, f.Form == "columns"))
	return nil
}
