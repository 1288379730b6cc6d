package api

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/peer"
	"github.com/dendroprof/dendro/test/storetest"
)

// lab is a server of the API over a store, whose every answer is held to
// openapi.json.
type lab struct {
	t    *testing.T
	st   store.Store
	http http.Handler
	doc  []byte
}

func newLab(t *testing.T) *lab { return labOf(t, mem.New(), server.Options{}, Options{SQL: true}) }

func labOf(t *testing.T, st store.Store, core server.Options, o Options) *lab {
	t.Helper()
	o.Store, o.Version = st, "test"
	s, err := server.New(core, Part(o))
	if err != nil {
		t.Fatal(err)
	}
	text, err := newAPI(o).description()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	return &lab{t, st, s.Handler(), text}
}

// serve makes a request and validates the answer.
func (l *lab) serve(r *http.Request) *httptest.ResponseRecorder {
	l.t.Helper()
	r.Host = "localhost"
	w := httptest.NewRecorder()
	l.http.ServeHTTP(w, r)
	l.validate(r, w)
	return w
}

func (l *lab) validate(r *http.Request, w *httptest.ResponseRecorder) {
	l.t.Helper()
	if w.Header().Get("Content-Type") == "application/x-ndjson" {
		l.validateLines(w.Body.String())
		return
	}
	if w.Code == http.StatusNoContent && w.Body.Len() > 0 {
		l.t.Errorf("204 with a body %q", w.Body)
	}
	wrong := l.ask(exchange{Method: r.Method, URL: r.URL.String(), Status: w.Code, Header: w.Header(), Body: w.Body.Bytes()})
	switch {
	case wrong.Undefined && w.Code == http.StatusNotFound: // nothing is described there
	case wrong.Undefined:
		l.t.Fatalf("%s %s is answered %d and not described: %s", r.Method, r.URL, w.Code, wrong.Wrong)
	case wrong.Wrong != "" && w.Code != http.StatusNoContent:
		l.t.Errorf("%s %s: %d %.600s\nis not as described: %s", r.Method, r.URL, w.Code, w.Body, wrong.Wrong)
	}
}

func (l *lab) validateLines(text string) {
	l.t.Helper()
	for line := range strings.Lines(text) {
		var v any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			l.t.Errorf("line %q: %v", line, err)
		} else if wrong := l.ask(exchange{Schema: "ImportLine", Value: v}); wrong.Wrong != "" {
			l.t.Errorf("line %q is not as described: %s", line, wrong.Wrong)
		}
	}
}

// exchange is a line that test/peers/openapi reads: a document for those that follow, an exchange,
// or a value of a schema.
type exchange struct {
	Document []byte

	Method, URL string
	Status      int
	Header      http.Header
	Body        []byte

	Schema string
	Value  any
}

// verdict says what is wrong with an exchange; empty: nothing.
type verdict struct {
	Wrong     string
	Undefined bool // the document does not describe such a request
}

// validator is a program with the document that it has.
var validator struct {
	start sync.Once
	*peer.Peer
	err error
	mu  sync.Mutex
	doc []byte
}

// ask validates an exchange by the document of the lab.
func (l *lab) ask(e exchange) (answer verdict) {
	l.t.Helper()
	v := &validator
	v.start.Do(func() { v.Peer, v.err = peer.Open("openapi") })
	if v.err != nil {
		l.t.Fatal(v.err)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if !bytes.Equal(v.doc, l.doc) {
		if err := v.Ask(exchange{Document: l.doc}, &answer); err != nil || answer.Wrong != "" {
			l.t.Fatalf("the document: %s, %v", answer.Wrong, err)
		}
		v.doc = l.doc
	}
	if e.Method == "" && e.Schema == "" {
		return answer
	}
	if err := v.Ask(e, &answer); err != nil {
		l.t.Fatal(err)
	}
	return answer
}

// get asks and decodes an answer of 200.
func (l *lab) get(target string, into any) {
	l.t.Helper()
	w := l.serve(httptest.NewRequest("GET", target, nil))
	if w.Code != http.StatusOK {
		l.t.Fatalf("GET %s: %d %s", target, w.Code, w.Body)
	}
	if into != nil {
		if err := json.Unmarshal(w.Body.Bytes(), into); err != nil {
			l.t.Fatalf("GET %s: %v", target, err)
		}
	}
}

// post sends a body and returns the answer.
func (l *lab) post(target, contentType string, body io.Reader) *httptest.ResponseRecorder {
	l.t.Helper()
	r := httptest.NewRequest("POST", target, body)
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	return l.serve(r)
}

// problem demands a problem of a status and a kind and returns it.
func (l *lab) problem(w *httptest.ResponseRecorder, status int, kind string) map[string]any {
	l.t.Helper()
	var p map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || w.Code != status || p["type"] != "urn:dendro:problem:"+kind {
		l.t.Errorf("answered %d %s, want %d %s", w.Code, w.Body, status, kind)
	}
	return p
}

// put fills the store: two runs of a benchmark, and one of another with another
// value type.
func (l *lab) put() {
	l.t.Helper()
	im := storetest.NewImporter()
	first := im.File("shop", "checkout", "r1", profile.CPUSamples, "×6    ×2    ×2\nmain  main  main\nload  load  pay\nparse")
	second := im.File("shop", "checkout", "r2", profile.CPUSamples, "×9    ×2    ×2\nmain  main  main\nload  load  pay\nparse")
	first.Source = []byte("the original")
	first.Metrics = append(first.Metrics, storetest.Metric("time", 3))
	other := im.File("lab", "alloc", "r1", profile.Alloc, "×4096\nmain\nmake")
	out, err := l.st.Put(l.t.Context(), []*store.File{first, second, other}, store.PutOptions{Rules: "1"})
	for i := range out {
		if out[i].Err != nil {
			err = out[i].Err
		}
	}
	if err != nil {
		l.t.Fatal(err)
	}
}

// form writes a multipart form of parts "name;filename" → content.
func form(parts ...[3]string) (body *bytes.Buffer, contentType string) {
	const boundary = "dendro-test-boundary"
	body = &bytes.Buffer{}
	for _, p := range parts {
		body.WriteString("--" + boundary + "\r\nContent-Disposition: form-data; name=\"" + p[0] + "\"")
		if p[1] != "" {
			body.WriteString("; filename=\"" + p[1] + "\"")
		}
		body.WriteString("\r\n\r\n" + p[2] + "\r\n")
	}
	body.WriteString("--" + boundary + "--\r\n")
	return body, "multipart/form-data; boundary=" + boundary
}
