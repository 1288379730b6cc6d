package server

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"
)

// recorder remembers what was answered, and gives up on clients that do not take
// it: there is a deadline while something is written, and only then.
type recorder struct {
	http.ResponseWriter
	conn    *http.ResponseController
	stall   time.Duration
	status  int
	written int64
}

func (w *recorder) WriteHeader(status int) {
	if w.status == 0 && status >= 200 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *recorder) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	w.patience(w.stall)
	n, err := w.ResponseWriter.Write(b)
	w.patience(0)
	w.written += int64(n)
	return n, err
}

// FlushError sends what was written so far; http.ResponseController calls it.
func (w *recorder) FlushError() error {
	w.patience(w.stall)
	defer w.patience(0)
	return w.conn.Flush()
}

// patience sets how long from now the client may take; 0: for ever. Servers of
// tests have no deadlines.
func (w *recorder) patience(d time.Duration) {
	deadline := time.Time{}
	if d > 0 {
		deadline = time.Now().Add(d)
	}
	_ = w.conn.SetWriteDeadline(deadline)
}

// Unwrap lets http.ResponseController through.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// worthwhile is how long an answer must be to be compressed.
const worthwhile = 1 << 10

// compressor compresses an answer if the client takes it and the handler has not
// encoded it. Whether it does is decided at the first flush or after worthwhile
// bytes, whichever comes first.
type compressor struct {
	http.ResponseWriter
	accepted bool
	status   int
	held     []byte
	decided  bool
	zip      *gzip.Writer // nil when the answer goes out as it is
}

var gzips = sync.Pool{New: func() any {
	w, err := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed)
	if err != nil {
		panic(err) // the level is a constant of that package
	}
	return w
}}

func compress(w http.ResponseWriter, r *http.Request) *compressor {
	return &compressor{ResponseWriter: w, accepted: r.Method != http.MethodHead && acceptsGzip(r.Header.Get("Accept-Encoding"))}
}

// acceptsGzip reads an Accept-Encoding header: gzip is named and not refused.
func acceptsGzip(header string) bool {
	for _, part := range strings.Split(header, ",") {
		name, params, _ := strings.Cut(part, ";")
		if name = strings.TrimSpace(name); !strings.EqualFold(name, "gzip") && name != "*" {
			continue
		}
		q := strings.ReplaceAll(params, " ", "")
		return !strings.HasPrefix(q, "q=0") || strings.Trim(strings.TrimPrefix(q, "q=0"), ".0") != ""
	}
	return false
}

func (c *compressor) WriteHeader(status int) {
	switch {
	case status < 200:
		c.ResponseWriter.WriteHeader(status)
	case c.status == 0:
		c.status = status
	}
}

func (c *compressor) Write(b []byte) (int, error) {
	if c.status == 0 {
		c.status = http.StatusOK
	}
	if !c.decided {
		c.held = append(c.held, b...)
		if len(c.held) < worthwhile {
			return len(b), nil
		}
		return len(b), c.decide(true)
	}
	if c.zip != nil {
		return c.zip.Write(b)
	}
	return c.ResponseWriter.Write(b)
}

// decide sends the headers and what is held.
func (c *compressor) decide(large bool) error {
	c.decided = true
	h := c.Header()
	if h.Get("Content-Type") == "" && len(c.held) > 0 {
		h.Set("Content-Type", http.DetectContentType(c.held))
	}
	if h.Get("Content-Encoding") == "" && compressible(h.Get("Content-Type")) {
		h.Add("Vary", "Accept-Encoding")
		if c.accepted && large {
			h.Set("Content-Encoding", "gzip")
			h.Del("Content-Length")
			c.zip = gzips.Get().(*gzip.Writer)
			c.zip.Reset(c.ResponseWriter)
		}
	}
	if c.status != 0 {
		c.ResponseWriter.WriteHeader(c.status)
	}
	held := c.held
	c.held = nil
	if len(held) == 0 {
		return nil
	}
	_, err := c.Write(held)
	return err
}

// compressible says what is not compressed already.
func compressible(contentType string) bool {
	t, _, _ := strings.Cut(contentType, ";")
	return strings.HasPrefix(t, "text/") || strings.HasSuffix(t, "json") || strings.HasSuffix(t, "javascript") ||
		strings.HasSuffix(t, "xml") || strings.HasPrefix(t, "application/vnd.dendro.")
}

// FlushError sends what was written so far; http.ResponseController calls it.
func (c *compressor) FlushError() error {
	if !c.decided {
		if err := c.decide(true); err != nil {
			return err
		}
	}
	if c.zip != nil {
		if err := c.zip.Flush(); err != nil {
			return err
		}
	}
	return http.NewResponseController(c.ResponseWriter).Flush()
}

// Flush is FlushError for callers that look for an http.Flusher.
func (c *compressor) Flush() { _ = c.FlushError() }

// Unwrap lets http.ResponseController through to deadlines.
func (c *compressor) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// close ends the answer. It is not called after a panic: what was held is then
// dropped, so that the answer can still become a problem.
func (c *compressor) close() {
	if !c.decided && (c.status != 0 || len(c.held) > 0) {
		_ = c.decide(false)
	}
	if c.zip != nil {
		c.zip.Close()
		gzips.Put(c.zip)
		c.zip = nil
	}
}
