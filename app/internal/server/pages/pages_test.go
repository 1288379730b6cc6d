package pages

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
)

func app(t *testing.T) *Pages {
	t.Helper()
	p, err := New(fstest.MapFS{"index.html": {Data: []byte("<!doctype html>" + strings.Repeat("x", 1000))},
		"assets/app.js": {Data: []byte("alert(1)")}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestServe(t *testing.T) {
	p := app(t)
	html := "text/html,*/*;q=0.8"
	for _, x := range []struct {
		method, target, accept string
		want                   string // beginning of the body, or "-": not answered
		mediaType              string
	}{
		{"GET", "/", "*/*", "<!doctype", "text/html"},
		{"GET", "/assets/app.js", "*/*", "alert", "text/javascript"},
		{"GET", "/profile?benchmark=a", html, "<!doctype", "text/html"},
		{"GET", "/a/deep/address", html, "<!doctype", "text/html"},
		{"GET", "/profile", "application/json", "-", ""},
		{"GET", "/missing.js", html, "-", ""},
		{"GET", "/api/v1/nothing", html, "-", ""},
		{"GET", "/v3/segments", html, "-", ""},
		{"GET", "/graphql", html, "-", ""},
		{"POST", "/", html, "-", ""},
		{"HEAD", "/", html, "", "text/html"},
	} {
		r := httptest.NewRequest(x.method, x.target, nil)
		r.Header.Set("Accept", x.accept)
		w := httptest.NewRecorder()
		if done := p.Serve(w, r); done != (x.want != "-") {
			t.Errorf("%s %s: answered %v", x.method, x.target, done)
			continue
		}
		if x.want == "-" {
			continue
		}
		if !strings.HasPrefix(w.Body.String(), x.want) || !strings.HasPrefix(w.Header().Get("Content-Type"), x.mediaType) {
			t.Errorf("%s %s: %q, %.20q", x.method, x.target, w.Header().Get("Content-Type"), w.Body)
		}
		if !strings.Contains(w.Header().Get("Content-Security-Policy"), "script-src 'self';") {
			t.Errorf("%s %s: policy %q", x.method, x.target, w.Header().Get("Content-Security-Policy"))
		}
	}
}

func TestCaching(t *testing.T) {
	p := app(t)
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("Accept-Encoding", "br, gzip")
	w := httptest.NewRecorder()
	p.Serve(w, r)
	tag := w.Header().Get("ETag")
	if w.Header().Get("Content-Encoding") != "gzip" || w.Body.Len() > 200 || tag == "" || w.Header().Get("Cache-Control") != "no-cache" {
		t.Errorf("%v, %d bytes", w.Header(), w.Body.Len())
	}
	r.Header.Set("If-None-Match", tag)
	w = httptest.NewRecorder()
	p.Serve(w, r)
	if w.Code != http.StatusNotModified || w.Body.Len() > 0 {
		t.Errorf("again: %d", w.Code)
	}
}

func TestNoPage(t *testing.T) {
	if _, err := New(fstest.MapFS{}); err == nil {
		t.Error("an app without a page is accepted")
	}
}
