package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/app/internal/endpoint"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/listing"
	"github.com/dendroprof/dendro/query/trees"
)

// viewRequest is a query.TreeRequest of an uploaded file.
type viewRequest struct {
	trees.TreeRequest
	Name   string `param:"name" default:"upload" help:"name of the file, in messages" group:"Selection"`
	Format string `param:"format" arg:"name" default:"" help:"answer with a file: html (an offline page), pprof, folded, firefox, speedscope, …" group:"Output"`
	// One request instead of two: a file can be large.
	Activity bool `param:"activity" help:"to a tree of one profile, add when each of its threads had samples: of the whole file, with its labels and its number of markers" group:"Output"`
}

// viewUpload answers a TreeRequest of the file or archive in the body, and stores nothing.
func (a *api) viewUpload(w http.ResponseWriter, r *http.Request) error {
	var request viewRequest
	var f endpoint.RowsForm
	err := readAddress(r, &request, &f)
	if err != nil {
		return err
	}
	if request.Inputs, err = a.inputs(r.Context(), request.Name, r.Body, trees.NamesToCompare); err != nil {
		return err
	}
	switch request.Format {
	case "":
		result, err := trees.TreeView(&request.TreeRequest).Answer(r.Context(), nil, &request.TreeRequest)
		if err != nil {
			return err
		}
		if tree, is := result.(*trees.TreeResult); is && request.Activity && tree.Profiles == 1 {
			whole := trees.TreeRequest{Selection: query.Selection{Types: request.Types}, Inputs: request.Inputs,
				Filter: trees.Filter{SampleFilter: trees.SampleFilter{NoIdle: true}}}
			if tree.Activity, err = trees.Activity(r.Context(), nil, &whole); err != nil {
				return err
			}
		}
		return respond(w, &f, "tree", result)
	case "html":
		page, err := trees.TreePage(r.Context(), nil, &request.TreeRequest)
		return respondPage(w, page, err)
	}
	file, err := a.local().File(r.Context(), endpoint.Export.Of(
		&endpoint.ExportRequest{ExportRequest: trees.ExportRequest{Selection: request.Selection, Filter: request.Filter, Inputs: request.Inputs},
			FileFormat: endpoint.FileFormat{Format: request.Format}}))
	if err != nil {
		return err
	}
	file.Name = "profile" + strings.TrimPrefix(file.Name, "dendro")
	return respondFile(w, file)
}

// viewLinesRequest is a listing.Request of an uploaded file.
type viewLinesRequest struct {
	listing.Request
	Name string `param:"name" default:"upload" help:"name of the file, in messages" group:"Selection"`
}

// viewLines answers a listing.Request of the file or archive in the body, and stores nothing.
func (a *api) viewLines(w http.ResponseWriter, r *http.Request) error {
	var request viewLinesRequest
	var f endpoint.RowsForm
	err := readAddress(r, &request, &f)
	if err != nil {
		return err
	}
	if request.Inputs, err = a.inputs(r.Context(), request.Name, r.Body, trees.NamesToCompare); err != nil {
		return err
	}
	result, err := listing.List(r.Context(), nil, &request.Request)
	if err != nil {
		return err
	}
	if code := a.code(r.Context()); code != nil {
		if err := code.AddSource(r.Context(), result); err != nil {
			return err
		}
	}
	return respond(w, &f, "lines", result)
}

// inputs reads the profiles of a file or archive.
func (a *api) inputs(ctx context.Context, name string, body io.Reader, names trees.Names) (list []trees.Input, err error) {
	for d, err := range trees.Reader(ctx, a.Limits).Read(name, body) {
		if errors.Is(err, profile.ErrUnrecognized) && len(list) > 0 {
			continue // a further member of an archive
		}
		if err != nil {
			return nil, readable(err)
		}
		list = append(list, trees.NewInput(d.Name, d.Profile, names))
	}
	if len(list) == 0 {
		return nil, readable(errors.New("there is no profile in the file"))
	}
	return list, nil
}

// viewDiffRequest is a query.DiffRequest of two uploaded files, or of one and a part of the
// store.
type viewDiffRequest struct {
	trees.DiffRequest
	Format string `param:"format" arg:"name" choices:",html" default:"" help:"html: answer with an offline page" group:"Output"`
}

// viewDiff answers a DiffRequest of the parts base and head of a form; without one of them that
// side is of the store.
func (a *api) viewDiff(w http.ResponseWriter, r *http.Request) error {
	var request viewDiffRequest
	var f endpoint.RowsForm
	if err := readAddress(r, &request, &f); err != nil {
		return err
	}
	parts, err := r.MultipartReader()
	if err != nil {
		return mistake(err)
	}
	names := trees.NamesToCompare
	if request.OfStore() {
		names = trees.NamesNormalised // as the store's
	}
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return mistakef("the form: %w", err)
		}
		side := slices.Index([]string{"base", "head"}, part.FormName())
		if side < 0 {
			return mistakef("the form has a part %q: send the files as base and head", part.FormName())
		}
		list, err := a.inputs(r.Context(), part.FileName(), part, names)
		if err != nil {
			return err
		}
		request.Inputs[side] = append(request.Inputs[side], list...)
	}
	if len(request.Inputs[0])+len(request.Inputs[1]) == 0 {
		return mistakef("the form lacks a file: send base, head or both")
	}
	request.Limits = a.Limits
	if request.Format == "html" {
		page, err := trees.DiffPage(r.Context(), a.Store, &request.DiffRequest)
		return respondPage(w, page, err)
	}
	result, err := trees.DiffView(&request.DiffRequest).Answer(r.Context(), a.Store, &request.DiffRequest)
	if err != nil {
		return err
	}
	return respond(w, &f, "diff", result)
}
