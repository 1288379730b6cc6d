package agent

import (
	"bufio"
	"cmp"
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
)

// SkyWalking's ids of net/http, and its layer of HTTP.
const (
	httpServer, httpClient = 5004, 5005
	httpLayer              = 3
)

// Handler returns a handler that makes a segment of each request that next serves.
// Its operation is METHOD:/path, as SkyWalking's agents name endpoints; where next
// is an [http.ServeMux] and the matching pattern has wildcards, the pattern's path.
// Other routers call [Name]. A status of 500 or more marks the request as failed.
//
//go:noinline
func Handler(next http.Handler) http.Handler {
	mux, _ := next.(*http.ServeMux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if running.Load() == nil {
			next.ServeHTTP(w, r)
			return
		}
		path := r.URL.Path
		if mux != nil {
			_, pattern := mux.Handler(r)
			if pattern = strings.TrimSuffix(pattern, "{$}"); strings.Contains(pattern, "{") {
				path = pattern[strings.IndexByte(pattern, '/'):]
			}
		}
		call := Call{Operation: r.Method + ":" + path, Header: r.Header.Get(headerName), Component: httpServer, Layer: httpLayer}
		Entry(r.Context(), call, func(ctx context.Context) error {
			s := current(ctx)
			if s == nil {
				next.ServeHTTP(w, r)
				return nil
			}
			s.tag(pair("http.method", r.Method), pair("url", r.Host+r.URL.Path))
			answer := &response{ResponseWriter: w}
			defer func() { s.answered(answer.status) }()
			next.ServeHTTP(answer, r.WithContext(ctx))
			return nil
		})
	})
}

// answered tags a span with a status, 0 for the one that was not set.
func (s *span) answered(code int) {
	code = cmp.Or(code, http.StatusOK)
	s.tag(pair("http.status_code", strconv.Itoa(code)))
	if code >= 500 {
		s.segment.mu.Lock()
		defer s.segment.mu.Unlock()
		if !s.segment.ended {
			s.IsError = true
		}
	}
}

// response notes the status of an answer. What else the writer can, it can too.
type response struct {
	http.ResponseWriter
	status int
}

// WriteHeader notes the first status that is final.
func (w *response) WriteHeader(status int) {
	if w.status == 0 && status >= 200 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Flush flushes where the writer can.
func (w *response) Flush() { _ = http.NewResponseController(w.ResponseWriter).Flush() }

// Hijack hands the connection over where the writer can.
func (w *response) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return http.NewResponseController(w.ResponseWriter).Hijack()
}

// ReadFrom keeps the writer's fast way to copy a file.
func (w *response) ReadFrom(r io.Reader) (int64, error) { return io.Copy(w.ResponseWriter, r) }

// Transport returns a round tripper that makes an exit span of each request in a
// segment and sends the header sw8 with it. A nil next is http.DefaultTransport.
// The span ends with the answer's header; its body is read later.
func Transport(next http.RoundTripper) http.RoundTripper {
	next = cmp.Or(next, http.DefaultTransport)
	return transport{next}
}

type transport struct{ next http.RoundTripper }

// RoundTrip sends a copy of the request with the header.
func (t transport) RoundTrip(r *http.Request) (answer *http.Response, err error) {
	call := Call{Operation: r.Method + ":" + r.URL.Path, Peer: r.URL.Host, Component: httpClient, Layer: httpLayer}
	err = Exit(r.Context(), call, func(ctx context.Context, header string) error {
		r := r
		if header != "" {
			r = r.Clone(ctx)
			r.Header.Set(headerName, header)
		}
		answer, err = t.next.RoundTrip(r)
		if s := current(ctx); s != nil && err == nil {
			s.tag(pair("http.method", r.Method), pair("url", r.URL.Host+r.URL.Path))
			s.answered(answer.StatusCode)
		}
		return err
	})
	return answer, err
}
