package api

import (
	"errors"
	"net/http"

	"github.com/dendroprof/dendro/format"
	"github.com/dendroprof/dendro/internal/query"
	"github.com/dendroprof/dendro/internal/server"
	"github.com/dendroprof/dendro/profile"
)

// viewRequest is a query.TreeRequest of an uploaded file.
type viewRequest struct {
	query.TreeRequest
	Name string `param:"name" default:"upload" help:"name of the file, in messages" group:"Selection"`
}

// viewEndpoint shows a file without storing it.
func (a *api) viewEndpoint(results []any) endpoint {
	return endpoint{method: "POST", path: "/api/v1/view", id: "view", tag: "queries", summary: "A view of the file in the body, which is not stored.",
		request: new(viewRequest), form: new(resultForm), results: results, needs: server.Reading, upload: true, handler: a.viewUpload}
}

// viewUpload answers a TreeRequest of the file or archive in the body, and stores nothing.
func (a *api) viewUpload(w http.ResponseWriter, r *http.Request) error {
	var request viewRequest
	var f resultForm
	if err := readAddress(r, &request, &f); err != nil {
		return err
	}
	for d, err := range format.NewReader(a.Limits).Read(request.Name, r.Body) {
		if errors.Is(err, profile.ErrUnrecognized) && len(request.Inputs) > 0 {
			continue // a further member of an archive
		}
		if err != nil {
			return readable(err)
		}
		request.Inputs = append(request.Inputs, query.NewInput(d.Name, d.Profile, query.NamesAsWritten))
	}
	if len(request.Inputs) == 0 {
		return readable(errors.New("there is no profile in the file"))
	}
	result, err := query.Tree(r.Context(), nil, &request.TreeRequest)
	if err != nil {
		return err
	}
	return respond(w, f, result)
}
