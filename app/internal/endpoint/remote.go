package endpoint

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"strings"

	"github.com/dendroprof/dendro/app/internal/client"
	"github.com/dendroprof/dendro/query/facts"
	"github.com/dendroprof/dendro/query/param"
)

// Remote is a server.
type Remote struct{ Client *client.Client }

// RowsForm is how a result is encoded; every query of FormRows has its parameters.
type RowsForm struct {
	Form   string `param:"form" arg:"what" choices:"rows,columns,compact,tsv,csv" help:"rows of objects, columns (an array per field; compact: without those that follow from others), or the table as tsv or csv" group:"Output"`
	Client bool   `param:"client" help:"add the fields with which the command line prints the result" group:"Output"`
}

// IsSheet reports whether the form is a table for programs.
func (f *RowsForm) IsSheet() bool { return f.Form == "tsv" || f.Form == "csv" }

// Ask sends the question, and reads the document as the result that the server wrote.
func (r Remote) Ask(ctx context.Context, q Question) (any, error) {
	form := url.Values{"client": {"true"}}
	if q.Report != nil && q.Report.Page {
		form.Set("attach", "true")
	}
	body, err := r.send(ctx, q, form)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	result := q.empty()
	if err := json.NewDecoder(body).Decode(result); err != nil {
		return nil, fmt.Errorf("the answer of the server: %w", err)
	}
	return result, nil
}

// Document sends the question, and passes the document on.
func (r Remote) Document(ctx context.Context, q Question, columns bool, w io.Writer) error {
	form := url.Values{}
	if columns {
		form.Set("form", "columns")
	}
	f, err := r.file(ctx, q, form)
	if err != nil {
		return err
	}
	return f.Write(w)
}

// Sheet sends the question, and passes the table on.
func (r Remote) Sheet(ctx context.Context, q Question, format string) (*File, error) {
	return r.file(ctx, q, url.Values{"form": {format}})
}

// NotesHeader has the notes of a file, a JSON list of texts.
const NotesHeader = "Dendro-Notes"

// File sends the question, and passes the file on.
func (r Remote) File(ctx context.Context, q Question) (*File, error) { return r.file(ctx, q, nil) }

func (r Remote) file(ctx context.Context, q Question, form url.Values) (*File, error) {
	body, err := r.send(ctx, q, form)
	if err != nil {
		return nil, err
	}
	f := &File{Write: func(w io.Writer) error {
		_, err := io.Copy(w, body)
		return errors.Join(err, body.Close())
	}}
	_ = json.Unmarshal([]byte(body.Header.Get(NotesHeader)), &f.Notes) // a file without it has none
	return f, nil
}

// mostFacts bounds how often a server may ask for facts.
const mostFacts = 16

// send sends a question. The server may ask for facts of the client's repository, which are
// in the next attempt.
func (r Remote) send(ctx context.Context, q Question, form url.Values) (*client.Answer, error) {
	known := facts.Of(q.Request)
	if known != nil {
		known.Travel()
	}
	for range mostFacts {
		answer, err := r.sendOnce(ctx, q, form, known)
		needs, ok := errors.AsType[*facts.NeededError](err)
		if known == nil || !ok {
			return answer, err
		}
		if err := known.Learn(ctx, needs.Facts); err != nil {
			return nil, err
		}
	}
	return nil, errors.New("the server asks for ever more facts of the repository")
}

func (r Remote) sendOnce(ctx context.Context, q Question, form url.Values, known *facts.Facts) (*client.Answer, error) {
	values := url.Values(param.Values(q.Request))
	path := q.Path
	for name := range values { // a part of the path
		if part := "{" + name + "}"; strings.Contains(path, part) {
			path = strings.ReplaceAll(path, part, url.PathEscape(values.Get(name)))
			delete(values, name)
		}
	}
	maps.Copy(values, form)
	request := client.Request{Method: q.Method, Path: path, Values: values, Changes: q.Changes}
	if known != nil && !reflect.ValueOf(*known).IsZero() {
		var body bytes.Buffer
		if err := json.NewEncoder(&body).Encode(map[string]*facts.Facts{"facts": known}); err != nil {
			return nil, err
		}
		request.Method, request.Body = http.MethodPost, body.Bytes()
	}
	return r.Client.Ask(ctx, request)
}
