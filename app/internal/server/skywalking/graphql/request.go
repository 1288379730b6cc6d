package graphql

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/dendroprof/dendro/app/internal/server"
)

// maxBody is the maximum size of a request in bytes. The longest requests of clients list
// about a hundred ranges of time.
const maxBody = 1 << 20

// request is a GraphQL request, not parsed yet.
type request struct {
	query     string
	operation string // name; empty: the only one
	variables map[string]any
}

// refusal is the error for a body that is not a request.
type refusal struct {
	status int
	reason string
}

// Error returns the reason.
func (r *refusal) Error() string { return r.reason }

// ServeHTTP answers a request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q, err := readRequest(w, r)
	if err != nil {
		refuse(w, r, err)
		return
	}
	a, status := h.answer(r.Context(), q)
	contentType := "application/json"
	if strings.Contains(strings.ToLower(r.Header.Get("Accept")), "charset=utf-8") {
		contentType += "; charset=utf-8"
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	if err := a.write(r.Context(), w); err != nil {
		// The client disconnected or stopped reading.
		panic(http.ErrAbortHandler)
	}
}

// refuse answers a body that is not a request.
func refuse(w http.ResponseWriter, r *http.Request, err error) {
	no, ok := errors.AsType[*refusal](err)
	if !ok {
		if p := server.BodyProblem(err); p != nil {
			writeProblem(w, r, p)
			return
		}
		no = &refusal{http.StatusBadRequest, err.Error()}
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(no.status)
	fmt.Fprintln(w, no.reason)
}

// writeProblem writes a problem as GraphQL errors, which clients show.
func writeProblem(w http.ResponseWriter, r *http.Request, p *server.Problem) {
	server.WriteProblemAs(w, r, p, "application/json", func(p *server.Problem) any {
		return map[string]any{"data": nil, "errors": []any{map[string]any{
			"message": p.Text(), "extensions": map[string]any{"classification": aborted, "problem": p}}}}
	})
}

// readRequest reads a request in any of its forms.
func readRequest(w http.ResponseWriter, r *http.Request) (*request, error) {
	contentType, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	raw := contentType == "application/graphql"
	if err != nil || !raw && contentType != "application/json" && !strings.HasSuffix(contentType, "+json") {
		return nil, &refusal{http.StatusUnsupportedMediaType, "the content type must be application/json or application/graphql"}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return nil, err
	}
	q := &request{query: strings.ToValidUTF8(string(body), "\uFFFD")} // like JSON
	if !raw {
		if q, err = parseRequest(body); err != nil {
			return nil, &refusal{http.StatusBadRequest, "the body is no request: " + err.Error()}
		}
	}
	if strings.TrimSpace(q.query) == "" {
		return nil, &refusal{http.StatusBadRequest, "the request has no query"}
	}
	return q, nil
}

// parseRequest reads a request in JSON.
func parseRequest(body []byte) (*request, error) {
	var in struct {
		Query         string          `json:"query"`
		OperationName string          `json:"operationName"`
		Variables     map[string]any  `json:"variables"`
		Extensions    json.RawMessage `json:"extensions"` // ignored
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var mismatch *json.UnmarshalTypeError
	switch err := d.Decode(&in); {
	case errors.As(err, &mismatch) && mismatch.Field == "":
		return nil, fmt.Errorf("an object with \"query\" is expected, not %s; send a batch one by one", mismatch.Value)
	case errors.As(err, &mismatch):
		return nil, fmt.Errorf("%q cannot be %s", mismatch.Field, mismatch.Value)
	case err != nil:
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF { //nolint:errorlint // Token returns io.EOF itself
		return nil, errors.New("something follows it")
	}
	for name, v := range in.Variables {
		in.Variables[name] = plain(v)
	}
	return &request{in.Query, in.OperationName, in.Variables}, nil
}

// plain replaces json.Number, which type checks take for a text, by int64 for integers and
// float64 for others.
func plain(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := strconv.ParseFloat(v.String(), 64) // out of range it is infinite, which is no valid argument
		return f
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = plain(v[name])
		}
	}
	return v
}

// failure is an answer without data.
func failure(class string, errs ...*gqlerror.Error) *answer {
	for _, e := range errs {
		e.Path = nil // clients do not know paths of variables
		e.Extensions = map[string]any{"classification": class}
	}
	return &answer{errors: errs}
}
