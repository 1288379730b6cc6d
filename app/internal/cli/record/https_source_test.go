package record

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestDownloads(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/b/cpu.folded":
			io.WriteString(w, "main;a "+r.URL.Query().Get("sig")+"\n")
		case "/away":
			http.Redirect(w, r, plain.URL, http.StatusFound)
		default:
			http.NotFound(w, r)
		}
	}))
	defer s.Close()
	client := s.Client()
	client.CheckRedirect = download().CheckRedirect
	host := strings.TrimPrefix(s.URL, "https://")
	for _, c := range []struct{ path, want, err string }{
		{"/b/cpu.folded?sig=42", "main;a 42\n", ""},
		{"/none?sig=42", "", "the server answers 404 Not Found"},
		{"/away?sig=42", "", "which is not https"},
	} {
		sources, rest, err := withDownloads(client, []string{"file", s.URL + c.path})
		if err != nil || len(sources) != 1 || len(rest) != 1 || rest[0] != "file" {
			t.Fatal(sources, rest, err)
		}
		if name := sources[0].Name; name != host+strings.TrimSuffix(c.path, "?sig=42") {
			t.Errorf("name %s", name)
		}
		body, err := sources[0].Open()
		if err != nil {
			if c.err == "" || !strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), "sig=42") {
				t.Errorf("%s: %v", c.path, err)
			}
			continue
		}
		text, err := io.ReadAll(body)
		body.Close()
		if err != nil || string(text) != c.want || c.err != "" {
			t.Errorf("%s: %q, %v", c.path, text, err)
		}
	}
	for _, bad := range []string{"http://host/a", "s3://bucket/a", "file:///etc/passwd", "https://"} {
		if _, _, err := withDownloads(client, []string{bad}); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
}
