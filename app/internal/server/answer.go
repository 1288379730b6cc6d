package server

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/klauspost/compress/gzhttp"
	"github.com/klauspost/compress/gzip"
)

// heldBytes is how much of an answer is buffered. Until then it can become a problem.
const heldBytes = 1 << 10

// recorder records the status and size of an answer and buffers its first bytes. It sets
// a deadline only while it sends, so that a client that stops reading is disconnected.
type recorder struct {
	http.ResponseWriter
	conn    *http.ResponseController
	stall   time.Duration
	status  int // sent; 0: none yet
	written int64

	pending int // status to send; 0: 200
	held    []byte
}

func (w *recorder) WriteHeader(status int) {
	switch {
	case status < 200:
		w.ResponseWriter.WriteHeader(status)
	case w.pending == 0:
		w.pending = status
	}
}

func (w *recorder) Write(b []byte) (int, error) {
	if w.status == 0 {
		if w.held = append(w.held, b...); len(w.held) < heldBytes {
			return len(b), nil
		}
		return len(b), w.send()
	}
	w.setDeadline(w.stall)
	n, err := w.ResponseWriter.Write(b)
	w.setDeadline(0)
	w.written += int64(n)
	return n, err
}

// send sends the status and the buffer.
func (w *recorder) send() error {
	w.status = cmp.Or(w.pending, http.StatusOK)
	w.ResponseWriter.WriteHeader(w.status)
	held := w.held
	if w.held = nil; len(held) == 0 {
		return nil
	}
	_, err := w.Write(held)
	return err
}

// finish sends the buffer at the end of a request.
func (w *recorder) finish() {
	if w.status == 0 && (w.pending != 0 || len(w.held) > 0) {
		_ = w.send() // the client may have disconnected
	}
}

// FlushError sends what was written so far; http.ResponseController calls it.
func (w *recorder) FlushError() error {
	if w.status == 0 {
		if err := w.send(); err != nil {
			return err
		}
	}
	w.setDeadline(w.stall)
	defer w.setDeadline(0)
	return w.conn.Flush()
}

// setDeadline sets the deadline for the client from now; 0: none. Servers of tests have no
// deadlines.
func (w *recorder) setDeadline(d time.Duration) {
	deadline := time.Time{}
	if d > 0 {
		deadline = time.Now().Add(d)
	}
	_ = w.conn.SetWriteDeadline(deadline)
}

// Flush is FlushError for callers that look for an http.Flusher.
func (w *recorder) Flush() { _ = w.FlushError() }

// Unwrap lets http.ResponseController through.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// newCompressor returns a wrapper that compresses the answers of a handler with gzip if the
// client accepts it, the content is compressible, and it has at least 1 KiB or is flushed
// before.
func newCompressor() (func(http.Handler) http.HandlerFunc, error) {
	wrap, err := gzhttp.NewWrapper(gzhttp.EnableZstd(false), gzhttp.CompressionLevel(gzip.BestSpeed), gzhttp.MinSize(1<<10), gzhttp.ContentTypeFilter(compressible))
	if err != nil {
		return nil, fmt.Errorf("compression of answers: %w", err)
	}
	return wrap, nil
}

// compressible reports whether content of a type is worth compressing.
func compressible(contentType string) bool {
	t, _, _ := strings.Cut(contentType, ";")
	return strings.HasPrefix(t, "text/") || strings.HasSuffix(t, "json") || strings.HasSuffix(t, "javascript") ||
		strings.HasSuffix(t, "xml") || strings.HasPrefix(t, "application/vnd.dendro.")
}
