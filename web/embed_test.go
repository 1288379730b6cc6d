package web

import (
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"regexp"
	"strings"
	"testing"
)

// TestSizes holds the pages to their size when compressed.
func TestSizes(t *testing.T) {
	js, err := fs.ReadFile(App(), "assets/app.js")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range regexp.MustCompile("from ?[\"'`]\\./([^\"'`]+)").FindAllSubmatch(js, -1) { // that every page loads
		part, err := fs.ReadFile(App(), "assets/"+string(name[1]))
		if err != nil {
			t.Fatal(err)
		}
		js = append(js, part...)
	}
	css, err := fs.ReadFile(App(), "assets/app.css")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		content []byte
		limit   int
	}{{"scripts", js, 75 << 10}, {"assets/app.css", css, 6 << 10}, {"report.html", ReportTemplate(), 80 << 10}} {
		size := gzipped(t, c.content)
		t.Logf("%s: %d bytes, %d with gzip", c.name, len(c.content), size)
		if size > c.limit {
			t.Errorf("%s is %d bytes with gzip, more than %d", c.name, size, c.limit)
		}
	}
}

func gzipped(t *testing.T, content []byte) int {
	t.Helper()
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(w, bytes.NewReader(content)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Len()
}

func TestReportTemplate(t *testing.T) {
	page := string(ReportTemplate())
	for _, mark := range []string{"<!--TITLE-->", "<!--DATA-->"} {
		if n := strings.Count(page, mark); n != 1 {
			t.Errorf("the page has %d marks %s, want 1", n, mark)
		}
	}
	if !strings.Contains(page, "default-src 'none'") {
		t.Error("the page has no content security policy")
	}
	for _, link := range []string{`src="`, `href="http`, "url(http", "@import"} {
		if strings.Contains(page, link) {
			t.Errorf("the page loads something: %s", link)
		}
	}
}
