package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/dendroprof/dendro/internal/cost"
)

// newHandler returns the HTTP handler for the routes of the server and all its parts.
func (s *Server) newHandler() (h http.Handler, err error) {
	compress, err := newCompressor()
	if err != nil {
		return nil, err
	}
	rt := &router{server: s, compress: compress, mux: http.NewServeMux()}
	metricsNeed := Reading
	if s.opts.OpenMetrics {
		metricsNeed = Nothing
	}
	own := []Route{
		{Pattern: "GET /healthz", Handler: http.HandlerFunc(s.healthz), Needs: Nothing, Kind: Outside},
		{Pattern: "GET /readyz", Handler: http.HandlerFunc(s.readyz), Needs: Nothing, Kind: Outside},
		{Pattern: "GET /healthcheck", Handler: http.HandlerFunc(s.readyz), Needs: Nothing, Kind: Outside}, // as SkyWalking's OAP calls it
		{Pattern: "GET /metrics", Handler: s.metrics.handler(s.log), Needs: metricsNeed, Kind: Outside},
	}
	// ServeMux panics on invalid and duplicate patterns.
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("routes of the server's parts: %v", p)
		}
	}()
	rt.add(own)
	rt.add(s.sessionRoutes())
	for _, p := range s.parts {
		rt.add(p.Routes)
	}
	return rt, nil
}

// healthz reports that the process answers.
func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) {
	WriteJSON(w, http.StatusOK, map[string]string{"status": "ok"})
}

// readyz reports whether the server is ready. Details are only in the log, because the
// answer needs no token.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	status, code := "ready", http.StatusOK
	if s.ending.Load() {
		status, code = "ending", http.StatusServiceUnavailable
	}
	for _, p := range s.parts {
		if p.Ready == nil || code != http.StatusOK {
			continue
		}
		if err := p.Ready(r.Context()); err != nil {
			s.log.WarnContext(r.Context(), "not ready", "part", p.Name, "error", err)
			status, code = p.Name+" is not ready", http.StatusServiceUnavailable
		}
	}
	WriteJSON(w, code, map[string]string{"status": status})
}

// router dispatches requests to routes.
type router struct {
	server *Server
	mux    *http.ServeMux

	compress func(http.Handler) http.HandlerFunc
}

// add adds routes.
func (rt *router) add(routes []Route) {
	for _, r := range routes {
		e := &endpoint{Route: r, router: rt}
		if e.Problem == nil {
			e.Problem = WriteProblem
		}
		if !r.Own {
			e.Handler = rt.compress(r.Handler)
		}
		rt.mux.Handle(r.Pattern, e)
	}
}

// endpoint is the handler of a route with checks and limits.
type endpoint struct {
	Route
	router *router
}

// requestInfo describes an HTTP request for the log.
type requestInfo struct {
	id      string   // also in every problem
	problem *Problem // the answer, or the reason why it was aborted
	broken  bool     // the answer was aborted after a part was sent
	hidden  string   // directory whose name answers do not show
	agent   bool     // a report of an agent, of which there are many
	client  string   // see Client
}

type requestInfoKey struct{}

// infoOf returns the request of a handler's context; nil outside of a request.
func infoOf(ctx context.Context) *requestInfo {
	a, _ := ctx.Value(requestInfoKey{}).(*requestInfo)
	return a
}

// Explain says in the log entry of a request why it fails, or what of it did.
func Explain(ctx context.Context, detail string) {
	if a := infoOf(ctx); a != nil {
		a.problem = &Problem{Detail: detail}
	}
}

// Shown returns a text as the client of a request may see it: without the directory of the
// store. Files of the store keep their names.
func Shown(ctx context.Context, text string) string {
	if a := infoOf(ctx); a != nil {
		return WithoutDir(text, a.hidden)
	}
	return text
}

// WithoutDir returns a text without the name of a directory, other than the root; files in
// it keep their names.
func WithoutDir(text, dir string) string {
	if len(dir) < len("/x") {
		return text
	}
	return strings.ReplaceAll(text, strings.TrimSuffix(dir, "/")+"/", "")
}

// ServeHTTP answers a request. It has everything that happens before the route is looked
// up, and the log entry.
func (rt *router) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s := rt.server
	began := time.Now()
	a := &requestInfo{id: rand.Text()[:12], hidden: s.opts.StoreDir, client: s.opts.client(r.RemoteAddr, r.Header.Values("X-Forwarded-For"))}
	r = r.WithContext(context.WithValue(r.Context(), requestInfoKey{}, a))
	defer s.running.begin(r.Context())()
	rec := &recorder{ResponseWriter: w, conn: http.NewResponseController(w), ctx: r.Context(), request: r, unread: r.Body,
		pace:    newPace(&s.opts.Limits),
		notice:  s.notice,
		answers: &holding{budget: s.answers, client: a.client}}
	_ = rec.conn.SetWriteDeadline(time.Time{}) // clear that of the connection's previous request
	secure(w.Header())
	w.Header().Set("X-Request-Id", a.id)
	s.metrics.httpNow.Inc()
	defer s.metrics.httpNow.Dec()
	route := "none"
	defer func() {
		abort := s.recovered(recover(), rec, r, route)
		abort = s.sent(rec, r) || abort
		// For data that is still to be sent, and for the unread rest of the body.
		_ = rec.conn.SetWriteDeadline(time.Now().Add(2 * s.opts.Limits.Stall))
		_ = rec.conn.SetReadDeadline(time.Now().Add(s.opts.Limits.Stall))
		if rec.linger(); rec.lingers {
			_ = rec.conn.SetReadDeadline(time.Now())
		}
		s.finished(r, rec, route, time.Since(began))
		if abort {
			panic(http.ErrAbortHandler) // the client sees an aborted answer, not a short one
		}
	}()
	h, pattern := rt.mux.Handler(r)
	if problem := s.opts.guard(r, pattern == ""); problem != nil {
		s.metrics.refused.WithLabelValues("guard").Inc()
		WriteProblem(rec, r, problem)
		return
	}
	if pattern == "" {
		rec.direct = true // a page is in memory anyway
		probe := &discarded{header: http.Header{}}
		h.ServeHTTP(probe, r)
		if s.opts.Pages != nil && probe.status != http.StatusMethodNotAllowed && s.opts.Pages(rec, r) {
			route = "page"
			return
		}
		unrouted(rec, r, probe)
		return
	}
	route = pattern
	rt.mux.ServeHTTP(rec, r)
}

// aborted is the value that Abort panics with.
type aborted struct{ problem *Problem }

// Abort ends an answer that cannot be completed; it does not return. If nothing was sent,
// the answer becomes the problem. Otherwise the connection is closed, so that the client
// does not see a short answer as complete, and the problem is logged.
func Abort(p *Problem) { panic(aborted{p}) }

// recovered handles a panic of a handler: the answer becomes a problem if nothing was sent,
// otherwise the connection must be aborted.
func (s *Server) recovered(p any, rec *recorder, r *http.Request, route string) (abort bool) {
	var problem *Problem
	switch p := p.(type) {
	case nil:
		return false
	case aborted:
		problem = p.problem
	default:
		if p == http.ErrAbortHandler { // compared as in package net/http
			return true
		}
		s.metrics.panics.Inc()
		s.log.ErrorContext(r.Context(), "panic", "id", infoOf(r.Context()).id, "route", route, "panic", fmt.Sprint(p), "stack",
			string(debug.Stack()))
		problem = &Problem{Type: TypeInternal, Title: "Internal error", Status: http.StatusInternalServerError,
			Detail: "the server's log has the details"}
	}
	if rec.status == 0 {
		if rec.refused == nil { // otherwise that is the reason
			rec.discard()
			WriteProblem(rec, r, problem)
		}
		return false
	}
	a := infoOf(r.Context())
	a.problem, a.broken = problem, true
	return true
}

// sent sends what is left of an answer, and frees what the request has. It reports whether
// the connection must be aborted.
func (s *Server) sent(rec *recorder, r *http.Request) (abort bool) {
	defer func() {
		if rec.slot != nil {
			_ = rec.slot.enter(outside, 0)
		}
	}()
	err := rec.finish()
	switch {
	case err == nil:
		return false
	case rec.status == 0:
		s.metrics.refused.WithLabelValues("answers").Inc()
		rec.discard()
		WriteProblem(rec, r, busyProblem(err))
		_ = rec.finish() // the client may have disconnected
		return false
	}
	a := infoOf(r.Context())
	a.broken = true
	if a.problem == nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		return true
	}
	if a.problem == nil {
		a.problem = &Problem{Type: TypeTimeout, Title: "The answer was read too slowly", Status: rec.status}
	}
	return true
}

// unrouted answers a request without a route. What the mux answers tells whether only the method
// is wrong, and the clean form of the path.
func unrouted(w http.ResponseWriter, r *http.Request, probe *discarded) {
	switch {
	case probe.status == http.StatusMethodNotAllowed:
		w.Header().Set("Allow", probe.header.Get("Allow"))
		WriteProblem(w, r, &Problem{Type: TypeMethod, Title: "The method is not allowed", Status: http.StatusMethodNotAllowed,
			Detail: "this address allows " + probe.header.Get("Allow")})
	case probe.status >= 300 && probe.status < 400:
		w.Header().Set("Location", probe.header.Get("Location"))
		w.WriteHeader(probe.status)
	default:
		WriteProblem(w, r, &Problem{Type: TypeNotFound, Title: "Not found", Status: http.StatusNotFound,
			Detail: "/api/v1/openapi.json lists all addresses"})
	}
}

// discarded records the status and headers of an answer and drops its body.
type discarded struct {
	header http.Header
	status int
}

func (d *discarded) Header() http.Header { return d.header }

func (d *discarded) WriteHeader(status int) { d.status = status }

func (d *discarded) Write(b []byte) (int, error) { return len(b), nil }

// finished counts and logs an answered request.
func (s *Server) finished(r *http.Request, rec *recorder, route string, took time.Duration) {
	status := cmp.Or(rec.status, http.StatusOK)
	s.metrics.httpRequests.WithLabelValues(route, method(r.Method), strconv.Itoa(status)).Inc()
	s.metrics.httpSeconds.WithLabelValues(route).Observe(took.Seconds())
	a := infoOf(r.Context())
	level := slog.LevelInfo
	switch {
	case status >= 500 && status != http.StatusNotImplemented, a.broken && r.Context().Err() == nil: // otherwise the client disconnected
		level = slog.LevelError
	case a.agent && status < 400 && a.problem == nil, route == "GET /healthz", route == "GET /readyz", route == "GET /healthcheck",
		route == "GET /metrics", strings.Contains(route, " /fleet/"): // what readers ask workers
		level = slog.LevelDebug
	}
	attrs := []any{"id", a.id, "method", method(r.Method), "path", r.URL.Path, "status", status,
		"bytes", rec.written, "duration", took.Round(time.Microsecond).String(), "remote", r.RemoteAddr}
	if p := a.problem; p != nil {
		if p.Type != "" {
			attrs = append(attrs, "problem", p.Type)
		}
		attrs = append(attrs, "detail", cmp.Or(p.Detail, p.Title))
	}
	if a.broken {
		attrs = append(attrs, "broken", true)
	}
	s.log.Log(r.Context(), level, "request", attrs...)
}

// method limits the values that clients can cause in logs and labels.
func method(m string) string {
	switch m {
	case "GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS":
		return m
	}
	return "other"
}

// ServeHTTP checks the token, takes a slot, bounds the body and calls the handler.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s := e.router.server
	if e.Needs != Nothing {
		may, refused := s.granted(r, e.Agents)
		if p := authorize(may, refused, e.Needs); p != nil {
			s.metrics.refused.WithLabelValues("token").Inc()
			e.Problem(w, r, p)
			return
		}
		if may != All {
			r = r.WithContext(context.WithValue(r.Context(), readingKey{}, true))
		}
		useful(r.Context())
	}
	rec := w.(*recorder)
	infoOf(r.Context()).agent = e.Agents
	slot := s.slots.of(r.Context(), e.kind(), Client(r.Context()))
	slot.stop = func() { _ = rec.conn.SetReadDeadline(time.Now()) } // a server of tests has no deadlines
	first, wait := computing, s.slots.wait
	if r.ContentLength != 0 {
		first, wait = receiving, 0
	}
	if err := slot.enter(first, wait); err != nil {
		s.metrics.refused.WithLabelValues("busy").Inc()
		e.Problem(w, r, busyProblem(err))
		return
	}
	rec.slot = slot
	if e.kind() == Streams {
		rec.direct, rec.stays = true, true
	}
	limit, inflated := s.opts.Limits.Body, s.opts.Limits.Inflated
	if e.Upload {
		limit = s.opts.Limits.Upload
	}
	if inflated == 0 {
		inflated = inflation * limit
		if e.Upload {
			inflated = 16 << 30
		}
	}
	if r.ContentLength > limit {
		e.Problem(w, r, tooLarge(limit))
		return
	}
	r.Body = &body{ReadCloser: http.MaxBytesReader(w, r.Body, limit), conn: http.NewResponseController(w), pace: newPace(&s.opts.Limits),
		slot: slot}
	work := &holding{budget: s.work, client: slot.client}
	defer func() { work.release(math.MaxInt64) }()
	ctx, end := cost.Begin(r.Context(), s.opts.Limits.costs(&e.Route, work))
	defer end()
	r = r.WithContext(ctx)
	held := &holding{budget: s.messages, client: slot.client}
	defer func() { held.release(math.MaxInt64) }()
	if e.Own {
		r.Body = &counted{r.Body, r.Context(), held}
		e.Handler.ServeHTTP(w, r)
		return
	}
	if p := decompress(r, inflated); p != nil {
		s.metrics.refused.WithLabelValues("encoding").Inc()
		e.Problem(w, r, p)
		return
	}
	if !e.Upload {
		r.Body = &counted{r.Body, r.Context(), held}
	}
	e.Handler.ServeHTTP(w, r)
}

// busyProblem is the problem for a request that has no slot or no memory.
func busyProblem(err error) *Problem {
	return &Problem{Type: TypeBusy, Title: "The server is busy", Status: http.StatusServiceUnavailable, Detail: err.Error(),
		retryAfter: busyPause}
}

func tooLarge(limit int64) *Problem {
	return &Problem{Type: TypeTooLarge, Title: "The request is too large", Status: http.StatusRequestEntityTooLarge,
		Detail: fmt.Sprintf("the maximum size of a body is %d bytes (raise it with --max-body, after decompression with --max-inflated; for uploads of profiles with --max-upload)", limit)}
}

// BodyProblem returns the problem for an error of reading a request's body or of a limit of
// its costs, or nil when the error is another one.
func BodyProblem(err error) *Problem {
	var large *http.MaxBytesError
	var costly *cost.Exceeded
	switch {
	case errors.Is(err, ErrBusy):
		return busyProblem(err)
	case errors.As(err, &large):
		return tooLarge(large.Limit)
	case errors.As(err, &costly):
		return &Problem{Type: TypeCost, Title: "The request costs too much", Status: http.StatusUnprocessableEntity, Detail: err.Error()}
	case errors.Is(err, errStalled):
		return &Problem{Type: TypeTimeout, Title: "The body did not arrive in time", Status: http.StatusRequestTimeout, Detail: err.Error()}
	case errors.Is(err, errEncoding):
		return &Problem{Type: TypeEncoding, Title: "The body does not match its Content-Encoding", Status: http.StatusBadRequest,
			Detail: err.Error()}
	case errors.Is(err, errBroken):
		return &Problem{Type: TypeTimeout, Title: "The body broke off", Status: http.StatusBadRequest, Detail: err.Error()}
	}
	return nil
}
