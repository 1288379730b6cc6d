package api

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/dendroprof/dendro/app/internal/endpoint"
	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/query/facts"
	"github.com/dendroprof/dendro/query/judge"
	"github.com/dendroprof/dendro/report"
	"github.com/dendroprof/dendro/web"
)

// queries lists the routes of the endpoints, and of those whose requests have facts of the
// client, with POST and a body, too.
func (a *api) queries() []server.Route {
	var routes []server.Route
	for _, e := range endpoint.All {
		about := e.Describe()
		needs := server.Reading
		if about.Changes {
			needs = server.All
		}
		h := handler(func(w http.ResponseWriter, r *http.Request) error { return a.answer(w, r, e.Blank()) })
		routes = append(routes, server.Route{Pattern: about.Method + " " + about.Path, Needs: needs, Handler: h})
		if facts.Of(e.Blank().Request) != nil {
			routes = append(routes, server.Route{Pattern: "POST " + about.Path, Needs: needs, Handler: h})
		}
	}
	return append(routes,
		server.Route{Pattern: "POST /api/v1/view", Needs: server.Reading, Handler: handler(a.viewUpload), Upload: true, View: true},
		server.Route{Pattern: "POST /api/v1/view/lines", Needs: server.Reading, Handler: handler(a.viewLines), Upload: true, View: true},
		server.Route{Pattern: "POST /api/v1/view/diff", Needs: server.Reading, Handler: handler(a.viewDiff), Upload: true, View: true})
}

// local is what questions are answered from.
func (a *api) local() *endpoint.Local {
	l := &endpoint.Local{Store: a.Store, Limits: a.Limits, Links: a.Links, Version: a.Version}
	if a.Dispatcher != nil {
		l.Traces = a.Dispatcher.Store()
	}
	return l
}

// formOf returns the parameters of an answer's form.
func formOf(q *endpoint.Question) any {
	switch q.Form {
	case endpoint.FormFile:
		return &struct{}{}
	case endpoint.FormReport:
		return &reportFormat{}
	}
	return &endpoint.RowsForm{}
}

// answer answers a question whose request is in the address and the body.
func (a *api) answer(w http.ResponseWriter, r *http.Request, q endpoint.Question) error {
	form := formOf(&q)
	if err := readWith(r, q.Request, form); err != nil {
		return err
	}
	switch f := form.(type) {
	case *endpoint.RowsForm:
		return a.answerRows(w, r, q, f)
	case *reportFormat:
		return a.answerReport(w, r, q, f)
	}
	f, err := a.local().File(r.Context(), q)
	if err != nil {
		return err
	}
	return respondFile(w, f)
}

// answerRows writes a result.
func (a *api) answerRows(w http.ResponseWriter, r *http.Request, q endpoint.Question, f *endpoint.RowsForm) error {
	l := a.local()
	l.RowsOnly = f.IsSheet() || f.Client && f.Form == "rows"
	if f.IsSheet() {
		sheet, err := l.Sheet(r.Context(), q, f.Form)
		if err != nil {
			return err
		}
		return respondFile(w, sheet)
	}
	if !f.Client {
		l.Code = a.code(r.Context())
	}
	t := a.tagOf(a.keyOf(r, &q))
	if t.unchanged(w, r) {
		return nil
	}
	result, err := l.Ask(r.Context(), q)
	if err != nil {
		return err
	}
	if r.Method == http.MethodGet {
		respondTagged(w, r, t, f, result)
		return nil
	}
	if q.Created != nil {
		w.Header().Set("Location", q.Created(result))
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
	}
	return respond(w, f, "", result)
}

// reportFormat is how a report is encoded.
type reportFormat struct {
	Format string `param:"format" arg:"name" choices:"json,md,html,text,sarif,junit" help:"json, md, html, text, sarif or junit" group:"Output"`
	Client bool   `param:"client" help:"json: add what a program needs that writes the other formats itself" group:"Output"`
	Attach bool   `param:"attach" help:"add the diffs of a page; html has them" group:"Output"`
}

// mediaTypes of report formats.
var mediaTypes = map[string]string{"json": "application/json", "md": "text/markdown; charset=utf-8", "html": "text/html; charset=utf-8",
	"text":  "text/plain; charset=utf-8",
	"sarif": "application/sarif+json", "junit": "application/xml"}

// answerReport writes a report: a kept one, if the store has not changed since.
func (a *api) answerReport(w http.ResponseWriter, r *http.Request, q endpoint.Question, f *reportFormat) error {
	key, version, keeps := a.keyOf(r, &q)
	t := a.tagOf(key, version, keeps)
	if t.unchanged(w, r) {
		return nil
	}
	code := a.code(r.Context())
	body, found := []byte(nil), false
	if keeps {
		body, found = a.kept.get(key, version)
	}
	if !found {
		l := a.local()
		if l.Page = f.Attach || f.Format == "html"; !f.Client {
			l.Code = code
		}
		doc, err := endpoint.Answer[report.Report](r.Context(), l, q)
		if err != nil {
			return err
		}
		if body, err = encodeReport(f, doc, q.Report.Detail); err != nil {
			return err
		}
		if keeps {
			a.kept.put(key, version, body)
		}
	}
	if t.body = hash(body); t.unchanged(w, r) {
		return nil
	}
	if w.Header().Set("Content-Type", mediaTypes[f.Format]); f.Format == "html" {
		attach(w, mediaTypes["html"], "report.html") // opened here, the policy of this server would forbid its script
	}
	_, _ = w.Write(body)
	return nil
}

// encodeReport returns a report in its format.
func encodeReport(f *reportFormat, doc *report.Report, detail report.Detail) ([]byte, error) {
	var b bytes.Buffer // it is small, and may fail
	var err error
	if f.Client && f.Format == "json" {
		err = json.NewEncoder(&b).Encode(doc)
	} else {
		err = judge.WriteReport(&b, doc, f.Format, detail)
	}
	return b.Bytes(), err
}

// respondPage writes an offline page as a file.
func respondPage(w http.ResponseWriter, page *web.Report, err error) error {
	if err != nil {
		return err
	}
	attach(w, mediaTypes["html"], "dendro.html")
	abortOn(page.Write(w))
	return nil
}

// respondFile writes a file. An error before the first part of it still has its status.
func respondFile(w http.ResponseWriter, f *endpoint.File) error {
	out := &lateWriter{w: w, begin: func() {
		if attach(w, f.Type, f.Name); len(f.Notes) > 0 {
			notes, _ := json.Marshal(f.Notes) // of texts there is no error
			w.Header().Set(endpoint.NotesHeader, asciiJSON(notes))
		}
	}}
	err := f.Write(out)
	if err == nil {
		err = out.flush()
	}
	if err != nil && !out.begun {
		return mistake(err) // the format cannot hold it
	}
	abortOn(err)
	return nil
}

// lateWriter holds back the beginning of an answer.
type lateWriter struct {
	w     http.ResponseWriter
	begin func()
	begun bool
	held  []byte
}

// heldBytes is what a lateWriter holds back.
const heldBytes = 64 << 10

func (l *lateWriter) Write(p []byte) (int, error) {
	if !l.begun && len(l.held)+len(p) <= heldBytes {
		l.held = append(l.held, p...)
		return len(p), nil
	}
	if err := l.flush(); err != nil {
		return 0, err
	}
	return l.w.Write(p)
}

func (l *lateWriter) flush() error {
	if l.begun {
		return nil
	}
	l.begun = true
	l.begin()
	_, err := l.w.Write(slices.Clone(l.held))
	l.held = nil
	return err
}
