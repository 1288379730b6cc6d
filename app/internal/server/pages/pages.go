// Package pages serves the built web app: its files, and its page at every address that a
// browser opens and no route has.
//
// The files are read, hashed and compressed once. An answer has an ETag of its content
// and must be validated by the browser before it is used again, so that a new version of
// the program shows at the next visit. The policy lets pages load scripts, styles and
// data from this server only.
package pages

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
)

// policy allows what the app needs, from this server only.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; " +
	"form-action 'none'; base-uri 'none'; frame-ancestors 'none'"

// Pages answers requests of browsers with the files of the app.
type Pages struct{ files map[string]*file }

// file is a file of the app as it is sent.
type file struct {
	mediaType, tag string
	plain, packed  []byte
}

// New reads the files of an app, whose page is index.html.
func New(app fs.FS) (*Pages, error) {
	p := &Pages{map[string]*file{}}
	err := fs.WalkDir(app, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := fs.ReadFile(app, name)
		if err != nil {
			return err
		}
		p.files["/"+name], err = newFile(name, content)
		return err
	})
	if err == nil && p.files["/index.html"] == nil {
		err = fmt.Errorf("%w: index.html", fs.ErrNotExist)
	}
	if err != nil {
		return nil, fmt.Errorf("web pages: %w", err)
	}
	p.files["/"] = p.files["/index.html"]
	return p, nil
}

func newFile(name string, content []byte) (*file, error) {
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(content); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	hash := sha256.Sum256(content)
	mediaType := mime.TypeByExtension(path.Ext(name))
	switch path.Ext(name) { // whatever the machine has in its tables
	case ".js":
		mediaType = "text/javascript; charset=utf-8"
	case ".svg":
		mediaType = "image/svg+xml"
	case ".ico":
		mediaType = "image/x-icon"
	}
	return &file{mediaType, `"` + hex.EncodeToString(hash[:12]) + `"`, content, packed.Bytes()}, nil
}

// Serve answers a GET or HEAD request that no route has, if it is for a file of the app or
// if a browser opens an address: that gets the page, which reads the address. Addresses of
// the API and of protocols are never pages. It reports whether it answered.
func (p *Pages) Serve(w http.ResponseWriter, r *http.Request) bool {
	f := p.files[r.URL.Path]
	if f == nil && isPage(r) {
		f = p.files["/"]
	}
	if f == nil || r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", f.tag)
	h.Set("Vary", "Accept-Encoding")
	if strings.Contains(r.Header.Get("If-None-Match"), f.tag) {
		w.WriteHeader(http.StatusNotModified)
		return true
	}
	content := f.plain
	if len(f.packed) < len(f.plain) && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		content = f.packed
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("Content-Type", f.mediaType)
	h.Set("Content-Length", strconv.Itoa(len(content)))
	if r.Method == http.MethodGet {
		_, _ = w.Write(content) // the client may have gone: the log says so
	}
	return true
}

// isPage reports whether a browser opens an address of the app: one that no protocol has.
func isPage(r *http.Request) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch first {
	case "api", "graphql", "v3", "browser":
		return false
	}
	return path.Ext(r.URL.Path) == "" && strings.Contains(r.Header.Get("Accept"), "text/html")
}
