package web

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
)

// Report is the content of an offline page: answers of the API inside the app that shows
// them. README.md describes the format.
type Report struct {
	Title   string   `json:"title"`
	Start   string   `json:"start"` // the address that is shown first: "/diff?view=flame"
	Nav     []Link   `json:"nav,omitempty"`
	Answers []Answer `json:"answers"`
}

// Link is an entry of a report's navigation.
type Link struct {
	Title   string `json:"title"`
	Address string `json:"address"` // of the app
}

// Answer is what the API answers to all requests of a path that have the parameters of a
// query.
type Answer struct {
	Path  string          `json:"path"`            // below /api/v1/
	Query string          `json:"query,omitempty"` // as in an address
	Body  json.RawMessage `json:"body"`
}

// Write writes the report as one page that loads nothing. The data is compressed and in
// base 64, so that no name in it can be markup.
func (r *Report) Write(w io.Writer) error {
	before, after, ok := bytes.Cut(ReportTemplate(), []byte("<!--DATA-->"))
	if !ok {
		return fmt.Errorf("the page of reports has no place for data")
	}
	before = bytes.Replace(before, []byte("<!--TITLE-->"), []byte(html.EscapeString(r.Title)), 1)
	if _, err := w.Write(append(before, `<script type="application/octet-stream" id="dendro-data">`...)); err != nil {
		return err
	}
	text := base64.NewEncoder(base64.StdEncoding, w)
	packed := gzip.NewWriter(text)
	err := json.NewEncoder(packed).Encode(struct {
		Version int `json:"version"`
		*Report
	}{1, r})
	if err != nil {
		return err
	}
	if err := packed.Close(); err != nil {
		return err
	}
	if err := text.Close(); err != nil {
		return err
	}
	_, err = w.Write(append([]byte("</script>"), after...))
	return err
}
