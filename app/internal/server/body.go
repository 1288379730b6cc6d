package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// TypeTimeout is the problem type for a body that stalls or is incomplete.
const TypeTimeout = "urn:dendro:problem:timeout"

var (
	errStalled  = errors.New("no data of the body arrived in time")
	errEvicted  = fmt.Errorf("%w, and others needed its place", errStalled)
	errBroken   = errors.New("the body broke off")
	errEncoding = errors.New("the body cannot be decompressed")
)

// body is a request's body with a minimum rate. A large upload and its handler have no time
// limit, but a stalled or very slow upload fails.
type body struct {
	io.ReadCloser
	conn *http.ResponseController
	pace pace
	slot *slot // left while the server waits for the client
}

func (b *body) Read(p []byte) (n int, err error) {
	busy := b.slot.waiting(receiving, func() {
		began := time.Now()
		b.conn.SetReadDeadline(b.pace.deadline(began)) // servers of tests do not support it
		if b.slot.evicted.Load() {
			err = errEvicted
			return
		}
		n, err = b.ReadCloser.Read(p)
		b.pace.moved(n, time.Since(began))
		b.slot.got.Add(int64(n))
		b.conn.SetReadDeadline(time.Time{}) // over HTTP/2 it would expire while the handler works
	})
	switch {
	case busy != nil:
		err = busy
	case err == nil || err == io.EOF || errors.As(err, new(*http.MaxBytesError)): // readers return io.EOF itself
	case b.slot.evicted.Load():
		err = errEvicted
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = fmt.Errorf("%w (without progress in %s, or with less than %d bytes per second)", errStalled, b.pace.patience, b.pace.rate)
	default:
		err = fmt.Errorf("%w: %w", errBroken, err)
	}
	return n, err
}

// counted is a body whose bytes are reserved in a budget as they are read: its handler keeps
// them in memory.
type counted struct {
	io.ReadCloser
	ctx  context.Context
	held *holding
}

func (b *counted) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if busy := b.held.acquire(b.ctx, int64(n)); busy != nil {
		return 0, busy
	}
	return n, err
}

// Reserve returns the body of a request for a handler that keeps it in memory, in a budget of
// its own. Call release when nothing of it is in memory.
func Reserve(r *http.Request, b *Budget) (body io.Reader, release func()) {
	held := &holding{budget: b, client: Client(r.Context())}
	return &counted{r.Body, r.Context(), held}, func() { held.release(math.MaxInt64) }
}

// inflation is the default ratio of the maximum sizes after and before decompression.
const inflation = 8

// decompress makes a request's body return the decompressed content.
func decompress(r *http.Request, limit int64) *Problem {
	in := r.Body
	var open func() (io.ReadCloser, error)
	switch encoding := strings.ToLower(strings.TrimSpace(r.Header.Get("Content-Encoding"))); encoding {
	case "", "identity":
		return nil
	case "gzip", "x-gzip":
		open = func() (io.ReadCloser, error) { return gzip.NewReader(in) }
	case "zstd":
		open = func() (io.ReadCloser, error) {
			d, err := zstd.NewReader(in, zstd.WithDecoderMaxMemory(256<<20), zstd.WithDecoderConcurrency(1))
			if err != nil {
				return nil, err
			}
			return d.IOReadCloser(), nil
		}
	default:
		return &Problem{Type: TypeEncoding, Title: "The body's encoding is not known", Status: http.StatusUnsupportedMediaType,
			Detail: fmt.Sprintf("Content-Encoding is %.40q; gzip, zstd and identity are known", encoding)}
	}
	r.Body = &inflated{in: in, open: open, left: limit, limit: limit}
	r.Header.Del("Content-Encoding")
	r.Header.Del("Content-Length")
	r.ContentLength = -1
	return nil
}

// inflated is a decompressed body. The decompressor is created at the first read, because
// its constructor reads.
type inflated struct {
	in          io.ReadCloser
	open        func() (io.ReadCloser, error)
	out         io.ReadCloser
	left, limit int64
}

func (b *inflated) Read(p []byte) (int, error) {
	if b.out == nil {
		out, err := b.open()
		if err != nil {
			return 0, b.wrap(err)
		}
		b.out = out
	}
	if b.left == 0 {
		// One more byte tells whether this is the end.
		if n, err := b.out.Read(make([]byte, 1)); n == 0 {
			return 0, b.wrap(err)
		}
		return 0, &http.MaxBytesError{Limit: b.limit}
	}
	n, err := b.out.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, b.wrap(err)
}

// wrap separates errors of the encoding from those of the body underneath.
func (b *inflated) wrap(err error) error {
	// readers return io.EOF itself
	if err == nil || err == io.EOF || errors.As(err, new(*http.MaxBytesError)) || errors.Is(err, errStalled) || errors.Is(err, errBroken) ||
		errors.Is(err, ErrBusy) {
		return err
	}
	return fmt.Errorf("%w: %w", errEncoding, err)
}

func (b *inflated) Close() error {
	if b.out != nil {
		b.out.Close()
	}
	return b.in.Close()
}
