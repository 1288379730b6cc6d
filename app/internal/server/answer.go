package server

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/gzhttp"
	"github.com/klauspost/compress/gzip"
)

// Bytes of an answer that are buffered before it is sent. Until then it can become a problem.
const (
	heldBytes  = 1 << 10  // of an answer that is sent while it is made
	smallBytes = 64 << 10 // of any other; more goes to a spool
	sendBytes  = 64 << 10 // of one write to the client
)

// MissingHeader is the header that says what an answer lacks. Characters other than those of ASCII
// are written as in Go.
const MissingHeader = "Dendro-Missing"

// notice returns what answers lack now, as the value of a header.
func (s *Server) notice() string {
	var list []string
	for _, p := range s.parts {
		if p.Notice == nil {
			continue
		}
		if text := p.Notice(); text != "" {
			list = append(list, strings.Trim(strconv.QuoteToASCII(text), `"`))
		}
	}
	return strings.Join(list, "; ")
}

// recorder is the way of an answer to the client. The answer of a Stream, or one that is
// flushed, is sent as it is made. Any other is made first, and then sent, so that a slow
// client keeps neither a slot nor what the answer was made of.
type recorder struct {
	http.ResponseWriter
	conn    *http.ResponseController
	ctx     context.Context
	request *http.Request
	unread  io.Reader // the body as it arrives
	lingers bool      // the answer refuses the body
	pace    pace
	slot    *slot // nil: none is needed
	notice  func() string
	answers *holding // memory of the spool
	direct  bool     // sent as it is made
	stays   bool     // in its stage while it is sent

	status  int // sent; 0: none yet
	written int64

	pending int // status to send; 0: 200
	held    []byte
	spool   *spool // nil: everything is in held
	refused error  // there was no memory for the answer
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
	switch {
	case w.refused != nil:
		return 0, w.refused
	case w.status != 0:
		return w.transmit(b)
	case w.spool != nil:
		return len(b), w.keep(b)
	}
	w.held = append(w.held, b...)
	switch {
	case w.direct && len(w.held) >= heldBytes:
		return len(b), w.send()
	case !w.direct && len(w.held) >= smallBytes:
		w.spool = newSpool(w.ctx, w.answers, w.Header().Get("Content-Encoding") == "")
		held := w.held
		w.held = nil
		return len(b), w.keep(held)
	}
	return len(b), nil
}

// keep adds to the spool. If there is no memory for it, or the client has left, the answer is
// refused.
func (w *recorder) keep(b []byte) error {
	if w.refused = w.ctx.Err(); w.refused == nil {
		w.refused = w.spool.write(b)
	}
	if w.refused != nil {
		w.spool.drop()
	}
	return w.refused
}

// send sends the status and what is buffered.
func (w *recorder) send() error {
	w.status = cmp.Or(w.pending, http.StatusOK)
	if text := w.notice(); text != "" {
		w.Header().Set(MissingHeader, text)
	}
	w.refusesBody()
	w.ResponseWriter.WriteHeader(w.status)
	held := w.held
	if w.held = nil; len(held) > 0 {
		if _, err := w.transmit(held); err != nil {
			return err
		}
	}
	if w.spool == nil {
		return nil
	}
	return w.spool.send(w.transmit)
}

// transmit sends bytes, at the pace that clients must keep.
func (w *recorder) transmit(b []byte) (n int, err error) {
	do := func() {
		for len(b) > 0 && err == nil {
			began := time.Now()
			// Servers of tests have no deadlines.
			_ = w.conn.SetWriteDeadline(w.pace.deadline(began))
			var k int
			k, err = w.ResponseWriter.Write(b[:min(len(b), sendBytes)])
			w.pace.moved(k, time.Since(began))
			n, b = n+k, b[k:]
		}
		_ = w.conn.SetWriteDeadline(time.Time{})
	}
	if w.slot == nil || w.stays {
		do()
	} else if busy := w.slot.waiting(sending, do); busy != nil && err == nil {
		err = busy
	}
	w.written += int64(n)
	return n, err
}

// finish sends what is buffered at the end of a request. It returns the error because of
// which the answer could not be made or sent.
func (w *recorder) finish() error {
	if w.status != 0 || w.refused != nil || w.pending == 0 && len(w.held) == 0 && w.spool == nil {
		return w.refused
	}
	if w.slot != nil {
		// A small answer goes out from where it is, if there is no place.
		if err := w.slot.enter(sending, 0); err != nil && w.spool != nil {
			w.refused = err
			w.spool.drop()
			return err
		}
		w.stays = true
	}
	return w.send()
}

// A client that is still sending its body sees the answer only if the server goes on reading
// for a while: closing the connection at once would reset it.
const (
	lingerBytes = 256 << 10 // of a body that package net/http reads by itself
	lingerTime  = 2 * time.Second
)

// refusesBody makes an answer go out before the whole body of its request was read, if it refuses
// a large one.
func (w *recorder) refusesBody() {
	r := w.request
	if w.status < 400 || w.status == http.StatusRequestTimeout || r.ProtoMajor != 1 || r.ContentLength >= 0 && r.ContentLength <= lingerBytes {
		return
	}
	if w.lingers = w.conn.EnableFullDuplex() == nil; w.lingers {
		w.Header().Set("Connection", "close")
	}
}

// linger sends such an answer, and reads the rest of the body until the client has stopped
// sending, for a time.
func (w *recorder) linger() {
	if !w.lingers || w.FlushError() != nil {
		return
	}
	_ = w.conn.SetReadDeadline(time.Now().Add(lingerTime))
	_, _ = io.Copy(io.Discard, w.unread) // the answer was sent: nobody needs to know how it ends
}

// discard drops what was written, if nothing was sent.
func (w *recorder) discard() {
	if w.spool != nil {
		w.spool.drop()
	}
	w.pending, w.held, w.spool, w.refused = 0, nil, nil, nil
}

// FlushError sends what was written so far; http.ResponseController calls it. From then on
// the answer is sent as it is made.
func (w *recorder) FlushError() error {
	w.direct = true
	if w.refused != nil {
		return w.refused
	}
	if w.status == 0 {
		if err := w.send(); err != nil {
			return err
		}
	}
	_ = w.conn.SetWriteDeadline(w.pace.deadline(time.Now()))
	defer w.conn.SetWriteDeadline(time.Time{}) //nolint:errcheck // servers of tests have no deadlines
	return w.conn.Flush()
}

// Flush is FlushError for callers that look for an http.Flusher.
func (w *recorder) Flush() { _ = w.FlushError() }

// Unwrap lets http.ResponseController through.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// newCompressor returns a wrapper that compresses the answers of a handler with gzip if the
// client accepts it, the content is compressible, and it has at least 1 KiB or is flushed
// before.
func newCompressor() (func(http.Handler) http.HandlerFunc, error) {
	wrap, err := gzhttp.NewWrapper(gzhttp.EnableZstd(false), gzhttp.CompressionLevel(gzip.BestSpeed), gzhttp.MinSize(1<<10),
		gzhttp.ContentTypeFilter(compressible))
	if err != nil {
		return nil, fmt.Errorf("compression of answers: %w", err)
	}
	return wrap, nil
}

// compressible reports whether content of a type is worth compressing.
func compressible(contentType string) bool {
	t, _, _ := strings.Cut(contentType, ";")
	return strings.HasPrefix(t, "text/") || strings.HasSuffix(t, "json") || strings.HasSuffix(t, "javascript") ||
		strings.HasSuffix(t, "xml") || strings.HasPrefix(t, "application/vnd.dendro.") || t == "application/proto"
}
