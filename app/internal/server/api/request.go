package api

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/dendroprof/dendro/app/internal/endpoint"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/document"
	"github.com/dendroprof/dendro/query/facts"
	"github.com/dendroprof/dendro/query/param"
)

// bodyLimit bounds what a client sends of its own facts with a query.
const bodyLimit = 16 << 20

// readWith sets the fields of a request and of the form of its answer from the address
// and from the body, which if there is one is JSON with what only the client has.
func readWith(r *http.Request, request, form any) error {
	if err := readAddress(r, request, form); err != nil {
		return err
	}
	if r.Method == http.MethodPost && r.ContentLength != 0 {
		d := json.NewDecoder(http.MaxBytesReader(nil, r.Body, bodyLimit))
		d.DisallowUnknownFields()
		err := d.Decode(request)
		if err == nil {
			err = facts.Check(request)
		}
		if err != nil {
			return mistakef("the body: %w", err)
		}
		return param.Check(request)
	}
	return nil
}

// readAddress sets the fields of a request and of the form of its answer, given by
// pointer, from the address: a parameter has the name of the command's flag, or of a part
// of the path. A parameter that the request does not have is an error, since a selection
// that is silently ignored gives wrong answers.
func readAddress(r *http.Request, request, form any) error {
	list := append(param.Of(request), param.Of(form)...)
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
	return nil
}

// respond writes a result, in a file of the name if it is a table.
func respond(w http.ResponseWriter, f *endpoint.RowsForm, name string, result any) error {
	if f.IsSheet() {
		return respondFile(w, endpoint.SheetOf(name, result.(query.Result), f.Form)) // every answer about a file has a table
	}
	w.Header().Set("Content-Type", "application/json")
	write(w, f, result)
	return nil
}

// write writes a result as JSON.
func write(w io.Writer, f *endpoint.RowsForm, result any) {
	abortOn(document.Write(w, result, document.Form{Columns: f.Form == "columns" || f.Form == "compact", Compact: f.Form == "compact",
		Client: f.Client}))
}

// attach names an answer that is a file.
func attach(w http.ResponseWriter, mediaType, name string) {
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Content-Disposition", "attachment; filename="+strconv.Quote(name))
}

// asciiJSON returns JSON without characters that a header cannot have.
func asciiJSON(data []byte) string {
	var b strings.Builder
	for _, r := range string(data) {
		switch {
		case r < 0x80:
			b.WriteRune(r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		}
	}
	return b.String()
}
