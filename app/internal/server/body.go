package server

import (
	"errors"
	"fmt"
	"io"
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
	errBroken   = errors.New("the body broke off")
	errEncoding = errors.New("the body cannot be decompressed")
)

// body is a request's body with a deadline for each read. A large upload and its handler
// have no time limit, but a stalled upload fails.
type body struct {
	io.ReadCloser
	conn  *http.ResponseController
	stall time.Duration
}

func (b *body) Read(p []byte) (int, error) {
	b.conn.SetReadDeadline(time.Now().Add(b.stall)) // servers of tests do not support it
	n, err := b.ReadCloser.Read(p)
	b.conn.SetReadDeadline(time.Time{}) // over HTTP/2 it would expire while the handler works
	var large *http.MaxBytesError
	switch {
	case err == nil || err == io.EOF || errors.As(err, &large): // readers return io.EOF itself
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = fmt.Errorf("%w (%s)", errStalled, b.stall)
	default:
		err = fmt.Errorf("%w: %w", errBroken, err)
	}
	return n, err
}

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
	var large *http.MaxBytesError
	if err == nil || err == io.EOF || errors.As(err, &large) || errors.Is(err, errStalled) || errors.Is(err, errBroken) { // readers return io.EOF itself
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
