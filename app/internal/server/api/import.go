package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"sync"

	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/app/internal/transfer"
	"github.com/dendroprof/dendro/ingest"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
)

// labelBytes bounds the part of a form that labels the files behind it.
const labelBytes = 1 << 20

// importUpload imports what is uploaded: one file or archive as the body, or a
// form with several. It answers with a line of JSON per file, after its commit:
// the line is the acknowledgement.
func (a *api) importUpload(w http.ResponseWriter, r *http.Request) error {
	var request importRequest
	if err := readAddress(r, &request, &struct{}{}); err != nil {
		return err
	}
	o, err := request.Options()
	if err != nil {
		return mistake(err)
	}
	o.Limits, o.Normalizer, o.Workers = a.Limits, a.Normalizer, a.Workers
	o.Conflict = map[string]store.Conflict{"refuse": store.Refuse, "replace": store.Replace, "add": store.Add}[request.Conflict]
	runs, done := a.importing.begin()
	defer done()
	o.Runs = runs
	im := ingest.New(a.Store, o)
	a.imports.Inc()
	defer a.imports.Dec()
	up := &upload{api: a, im: im, r: r, lines: newLines(w)}
	mediaType, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if mediaType == "multipart/form-data" {
		err = up.form()
	} else {
		err = up.file(request.Name, r.Body, ingest.Label{})
	}
	return up.lines.end(up.sum, err)
}

// importing is what imports under way share.
type importing struct {
	mu   sync.Mutex
	n    int
	runs *ingest.Runs
}

// begin counts an import; done ends it.
func (i *importing) begin() (runs *ingest.Runs, done func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.n++; i.n == 1 {
		i.runs = &ingest.Runs{}
	}
	return i.runs, func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.n--
	}
}

// importRequest is an upload; the fields of ingest.Request are those of `dendro import`.
type importRequest struct {
	ingest.Request
	Conflict string `param:"conflict" choices:"refuse,replace,add" help:"if a profile exists with different content: refuse it, replace the stored one, or add to it"`
	Name     string `param:"name" default:"upload" help:"name of the file, in messages"`
}

// upload is one import under way.
type upload struct {
	api   *api
	im    *ingest.Importer
	r     *http.Request
	lines *lines
	sum   ingest.Summary
}

// file imports one file or archive as it arrives.
func (up *upload) file(name string, content io.Reader, label ingest.Label) error {
	source := ingest.ReaderSource(name, content)
	source.Label = label
	var broken error
	sum, err := up.im.Import(up.r.Context(), []ingest.Source{source}, func(res ingest.Result) {
		up.api.imported.WithLabelValues(string(res.Status)).Inc()
		if p := server.BodyProblem(res.Err); p != nil && broken == nil {
			broken = res.Err // what comes behind it does not come
		}
		up.lines.result(res)
	})
	s := &up.sum
	s.Files, s.Profiles, s.Unchanged = s.Files+sum.Files, s.Profiles+sum.Profiles, s.Unchanged+sum.Unchanged
	s.Skipped, s.Failed, s.Samples, s.Elapsed = s.Skipped+sum.Skipped, s.Failed+sum.Failed, s.Samples+sum.Samples, s.Elapsed+sum.Elapsed
	return errors.Join(err, broken)
}

// form imports the files of a form in their order. A part named labels, as JSON,
// labels the files behind it.
func (up *upload) form() error {
	parts, err := up.r.MultipartReader()
	if err != nil {
		return mistake(err)
	}
	var label ingest.Label
	for files := 0; ; {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			if files == 0 {
				return mistakef("there is no file in the form")
			}
			return nil
		}
		if err != nil {
			if server.BodyProblem(err) != nil {
				return err
			}
			return mistakef("the form: %w", err)
		}
		if part.FormName() == "labels" {
			if label, err = labels(part); err != nil {
				return err
			}
			continue
		}
		name := part.FileName()
		if name == "" {
			return mistakef("the part %q of the form is no file: it has no file name", part.FormName())
		}
		files++
		if err := up.file(name, part, label); err != nil {
			return err
		}
	}
}

// labels reads a part that labels files.
func labels(part *multipart.Part) (ingest.Label, error) {
	data, err := io.ReadAll(io.LimitReader(part, labelBytes+1))
	if err != nil {
		return ingest.Label{}, err
	}
	if len(data) > labelBytes {
		return ingest.Label{}, mistakef("the labels have more than %d bytes", labelBytes)
	}
	label, err := ingest.ParseLabel("labels", data)
	if err != nil {
		return label, mistake(err)
	}
	return label, nil
}

// lines writes a line of JSON per file, each sent at once.
type lines struct {
	w     http.ResponseWriter
	conn  *http.ResponseController
	begun bool
	err   error // of the connection
}

func newLines(w http.ResponseWriter) *lines {
	l := &lines{w: w, conn: http.NewResponseController(w)}
	// Lines go out while the body still comes in.
	_ = l.conn.EnableFullDuplex() // HTTP/2 does it anyway, servers of tests need not
	return l
}

func (l *lines) result(res ingest.Result) {
	if res.Status == ingest.Failed && res.Err != nil && server.BodyProblem(res.Err) == nil {
		l.line(struct {
			ingest.Result
			Problem *server.Problem `json:"problem"`
		}{res, problemOf(readable(res.Err))})
		return
	}
	l.line(res)
}

// readable makes an error of a file, whatever it is, one of reading it.
func readable(err error) error {
	if problemOf(err).Type == transfer.ProblemPrefix+"failed" {
		return fmt.Errorf("%w: %w", profile.ErrMalformed, err)
	}
	return err
}

// line writes one line. A client that is gone hears no more; what was committed
// stays, and the rest ends with the request's context.
func (l *lines) line(v any) {
	if !l.begun {
		l.begun = true
		l.w.Header().Set("Content-Type", "application/x-ndjson")
	}
	data, err := json.Marshal(v)
	if err == nil && l.err == nil {
		if _, err = l.w.Write(append(data, '\n')); err == nil {
			err = l.conn.Flush()
		}
	}
	if l.err == nil {
		l.err = err
	}
}

// end writes what came of all of it: as the last line or, when there was none
// before, as the problem that the answer is.
func (l *lines) end(sum ingest.Summary, err error) error {
	switch {
	case err != nil && !l.begun:
		return err
	case err != nil:
		l.line(map[string]any{"summary": sum, "problem": problemOf(err)})
	default:
		l.line(map[string]any{"summary": sum})
	}
	return nil
}
