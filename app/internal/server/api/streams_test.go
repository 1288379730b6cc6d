package api

import (
	"bytes"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/app/internal/transfer"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/storetest"
)

// TestStreamBodies sends malformed and too large uploads and requests. What the streams
// carry is tested where both ends are, in package client.
func TestStreamBodies(t *testing.T) {
	l := labOf(t, speaking{Store: mem.New()}, server.Options{}, Options{SQL: true, PutBytes: 2000})
	for _, r := range newAPI(Options{Store: l.st}).streams() {
		path := strings.TrimPrefix(r.Pattern, "POST ")
		for name, body := range map[string]string{"nothing": "", "garbage": "\xff\xfe\xfd", "a page": "<html></html>"} {
			w := l.serve(httptest.NewRequest("POST", path, strings.NewReader(body)))
			if w.Code != 400 {
				t.Errorf("%s with %s: %d %s", path, name, w.Code, w.Body)
			}
		}
	}
	l.problem(l.serve(httptest.NewRequest("POST", transfer.Put, strings.NewReader("DNDR\x09"))), 400, "version")
	large := storetest.File("g", "b", "r", profile.CPUSamples, "A")
	large.Source = make([]byte, 3000)
	var message bytes.Buffer
	if err := transfer.WriteFiles(&message, []*store.File{large}, store.PutOptions{Rules: "r"}); err != nil {
		t.Fatal(err)
	}
	l.problem(l.post("/api/v1/store/put", transfer.ContentType, &message), 413, "too-large")
}

// TestBrokenStream wants an error in the midst of rows to arrive.
func TestBrokenStream(t *testing.T) {
	l := labOf(t, speaking{Store: mem.New(), fault: store.ErrCorrupt}, server.Options{}, Options{SQL: true})
	// JSON has a way to say it as long as nothing was sent.
	p := l.problem(l.post("/api/v1/sql", "text/plain", strings.NewReader("good")), 500, "corrupt")
	if p["detail"] != store.ErrCorrupt.Error() {
		t.Errorf("rows that fail at once: %v", p)
	}
	// Later the answer breaks off.
	ts := httptest.NewServer(l.http)
	defer ts.Close()
	resp, err := ts.Client().Post(ts.URL+"/api/v1/sql", "text/plain", strings.NewReader("long"))
	if err == nil {
		var b bytes.Buffer
		_, err = b.ReadFrom(resp.Body)
		resp.Body.Close()
	}
	if err == nil {
		t.Error("an answer whose rows failed looks whole")
	}
}

// TestProblems wants a status for every error that callers branch on, and every
// type of problem in the documentation.
func TestProblems(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"bad-request", "no-such-profile", "not-here", "unreadable-profile", "ended", "failed"}
	for _, p := range []string{server.TypeNotFound, server.TypeMethod, server.TypeUnauthorized, server.TypeForbidden, server.TypeTooLarge,
		server.TypeEncoding, server.TypeBusy, server.TypeInternal, server.TypeTimeout} {
		name, ok := strings.CutPrefix(p, transfer.ProblemPrefix)
		if !ok {
			t.Errorf("%s is no type of ours", p)
		}
		names = append(names, name)
	}
	for _, kind := range transfer.Kinds() {
		names = append(names, kind)
		if s := statuses[kind]; s.status < 400 || s.title == "" {
			t.Errorf("%s is answered %d %q", kind, s.status, s.title)
		}
	}
	for _, name := range names {
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("docs/api.md does not explain %s", name)
		}
	}
}

// TestMetricsAreDocumented wants every metric in the documentation.
func TestMetricsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/server.md")
	if err != nil {
		t.Fatal(err)
	}
	l := newLab(t)
	l.post("/api/v1/import?run=r", "application/octet-stream", strings.NewReader("a;b 1\n"))
	foreign := httptest.NewRequest("GET", "/api/v1/info", nil)
	foreign.Header.Set("Origin", "http://evil.example")
	l.serve(foreign)
	w := httptest.NewRecorder()
	l.http.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/metrics", nil))
	n := 0
	for line := range strings.Lines(w.Body.String()) {
		name, ok := strings.CutPrefix(line, "# HELP dendro_")
		if !ok {
			continue
		}
		n++
		if name = "dendro_" + strings.Fields(name)[0]; !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("docs/server.md does not explain %s", name)
		}
	}
	if n < 12 {
		t.Errorf("only %d metrics", n)
	}
}
