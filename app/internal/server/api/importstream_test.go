package api

import (
	"bufio"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/store/mem"
)

// TestImportAnswersWhileItReads reads the line of the first file before the second
// one is sent, with and without compression.
func TestImportAnswersWhileItReads(t *testing.T) {
	for _, coding := range []string{"gzip", "identity"} {
		st := mem.New()
		s, err := server.New(server.Options{}, Part(Options{Store: st, Version: "test"}))
		if err != nil {
			t.Fatal(err)
		}
		ts := httptest.NewServer(s.Handler())
		t.Cleanup(func() { ts.Close(); st.Close() })
		body, upload := io.Pipe()
		form := multipart.NewWriter(upload)
		second := make(chan struct{})
		go func() {
			file := func(name string) {
				w, err := form.CreateFormFile("file", name)
				if err == nil {
					_, err = io.WriteString(w, "main;a 1\n")
				}
				if err != nil {
					t.Error(err)
				}
			}
			file("a.folded")
			if _, err := form.CreatePart(map[string][]string{"Content-Disposition": {`form-data; name="file"; filename="b.folded"`}}); err != nil {
				t.Error(err)
			}
			<-second
			_, err := io.WriteString(upload, "main;b 1\n")
			if err == nil {
				err = form.Close()
			}
			upload.CloseWithError(err)
		}()
		r, err := http.NewRequest("POST", ts.URL+"/api/v1/import?run=r1", body)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", form.FormDataContentType())
		client := &http.Client{Transport: &http.Transport{DisableCompression: coding == "identity"}} // else it sends and decodes gzip
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if resp.Uncompressed != (coding == "gzip") {
			t.Errorf("%s: compressed %v", coding, resp.Uncompressed)
		}
		lines := bufio.NewScanner(resp.Body)
		if !lines.Scan() || !strings.Contains(lines.Text(), `"stored"`) {
			t.Errorf("%s: the first line is %q, %v", coding, lines.Text(), lines.Err())
		}
		close(second)
		rest := 0
		for lines.Scan() {
			rest++
		}
		if rest != 2 || lines.Err() != nil {
			t.Errorf("%s: %d lines after the first, %v", coding, rest, lines.Err())
		}
		resp.Body.Close()
	}
}
