package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"
)

// newHandler returns what answers HTTP requests: the routes of all parts, and
// around them what is the same for every request.
func (s *Server) newHandler() (h http.Handler, err error) {
	compress, err := newCompressor()
	if err != nil {
		return nil, err
	}
	rt := &router{server: s, compress: compress, mux: http.NewServeMux(), slots: make(chan struct{}, s.opts.Limits.Requests)}
	metricsNeed := Reading
	if s.opts.OpenMetrics {
		metricsNeed = Nothing
	}
	own := []Route{
		{Pattern: "GET /healthz", Handler: http.HandlerFunc(s.healthz), Needs: Nothing},
		{Pattern: "GET /readyz", Handler: http.HandlerFunc(s.readyz), Needs: Nothing},
		{Pattern: "GET /metrics", Handler: s.metrics.handler(s.log), Needs: metricsNeed},
	}
	// ServeMux panics on patterns that are wrong or taken.
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

// healthz says that the process answers.
func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Write([]byte("{\"status\":\"ok\"}\n"))
}

// readyz says whether requests should be sent here. What is wrong is in the log:
// the answer needs no token.
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
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	fmt.Fprintf(w, "{\"status\":%s}\n", strconv.Quote(status))
}

// router sends requests to routes.
type router struct {
	server *Server
	mux    *http.ServeMux
	slots  chan struct{} // one for each request that may be answered at a time

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

// endpoint is a route with what every route needs around its handler.
type endpoint struct {
	Route
	router *router
}

// asked is what the log says of an HTTP request.
type asked struct {
	id      string   // every problem has it too
	problem *Problem // that the request was answered with, or that broke its answer off
	broken  bool     // the answer had begun
}

type askedKey struct{}

// askedOf returns what a handler's context belongs to; nil outside of a request.
func askedOf(ctx context.Context) *asked {
	a, _ := ctx.Value(askedKey{}).(*asked)
	return a
}

// ServeHTTP answers a request. Here is everything that comes before its route is
// looked up, and what is said of it afterwards.
func (rt *router) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s := rt.server
	began := time.Now()
	rec := &recorder{ResponseWriter: w, conn: http.NewResponseController(w), stall: s.opts.Limits.Stall}
	a := &asked{id: rand.Text()[:12]}
	r = r.WithContext(context.WithValue(r.Context(), askedKey{}, a))
	rec.setDeadline(0) // of the request before on this connection
	secure(w.Header())
	w.Header().Set("X-Request-Id", a.id)
	s.metrics.httpNow.Inc()
	defer s.metrics.httpNow.Dec()
	route := "none"
	defer func() {
		abort := s.recovered(recover(), rec, r, route)
		rec.finish()
		// For what is still to be sent, and for the rest of a body that nobody read.
		rec.setDeadline(2 * s.opts.Limits.Stall)
		_ = rec.conn.SetReadDeadline(time.Now().Add(s.opts.Limits.Stall))
		s.finished(r, rec, route, time.Since(began))
		if abort {
			panic(http.ErrAbortHandler) // the client sees a broken answer, not a short one
		}
	}()
	if problem := s.opts.guard(r); problem != nil {
		s.metrics.refused.WithLabelValues("guard").Inc()
		WriteProblem(rec, r, problem)
		return
	}
	h, pattern := rt.mux.Handler(r)
	if pattern == "" {
		if s.opts.Pages != nil && !otherMethod(r, h) && s.opts.Pages(rec, r) {
			route = "page"
			return
		}
		unrouted(rec, r, h)
		return
	}
	route = pattern
	rt.mux.ServeHTTP(rec, r)
}

// brokenOff is what BreakOff panics with.
type brokenOff struct{ problem *Problem }

// BreakOff ends an answer that cannot be finished; it does not return. While nothing
// was sent the answer becomes the problem. Else the client sees it break off, and
// not a short one, and the log has the problem.
func BreakOff(p *Problem) { panic(brokenOff{p}) }

// recovered ends an answer whose handler panicked, as a problem if nothing of it was
// sent; else the connection is to be broken off.
func (s *Server) recovered(p any, rec *recorder, r *http.Request, route string) (abort bool) {
	var problem *Problem
	switch p := p.(type) {
	case nil:
		return false
	case brokenOff:
		problem = p.problem
	default:
		if p == http.ErrAbortHandler { // it is compared as package net/http does
			return true
		}
		s.metrics.panics.Inc()
		s.log.ErrorContext(r.Context(), "panic", "id", askedOf(r.Context()).id, "route", route, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		problem = &Problem{Type: TypeInternal, Title: "Internal error", Status: http.StatusInternalServerError,
			Detail: "the server's log has the details"}
	}
	if rec.status == 0 {
		rec.pending, rec.held = 0, nil
		WriteProblem(rec, r, problem)
		return false
	}
	a := askedOf(r.Context())
	a.problem, a.broken = problem, true
	return true
}

// unrouted answers what has no route. The mux knows whether only the method is
// wrong, or where the path is in its clean form.
func unrouted(w http.ResponseWriter, r *http.Request, h http.Handler) {
	probe := &discarded{header: http.Header{}}
	h.ServeHTTP(probe, r)
	switch {
	case probe.status == http.StatusMethodNotAllowed:
		w.Header().Set("Allow", probe.header.Get("Allow"))
		WriteProblem(w, r, &Problem{Type: TypeMethod, Title: "This address takes other methods", Status: http.StatusMethodNotAllowed,
			Detail: "it takes " + probe.header.Get("Allow")})
	case probe.status >= 300 && probe.status < 400:
		w.Header().Set("Location", probe.header.Get("Location"))
		w.WriteHeader(probe.status)
	default:
		WriteProblem(w, r, &Problem{Type: TypeNotFound, Title: "There is nothing at this address", Status: http.StatusNotFound,
			Detail: "/api/v1/openapi.json lists what there is"})
	}
}

// otherMethod reports whether an address without a route for the request has one for
// another method.
func otherMethod(r *http.Request, h http.Handler) bool {
	probe := &discarded{header: http.Header{}}
	h.ServeHTTP(probe, r)
	return probe.status == http.StatusMethodNotAllowed
}

// discarded takes an answer for the sake of its status and headers.
type discarded struct {
	header http.Header
	status int
}

func (d *discarded) Header() http.Header { return d.header }

func (d *discarded) WriteHeader(status int) { d.status = status }

func (d *discarded) Write(b []byte) (int, error) { return len(b), nil }

// finished counts and logs an answered request.
func (s *Server) finished(r *http.Request, rec *recorder, route string, took time.Duration) {
	status := rec.status
	if status == 0 {
		status = http.StatusOK
	}
	s.metrics.httpRequests.WithLabelValues(route, method(r.Method), strconv.Itoa(status)).Inc()
	s.metrics.httpSeconds.WithLabelValues(route).Observe(took.Seconds())
	a := askedOf(r.Context())
	level := slog.LevelInfo
	switch {
	case status >= 500, a.broken && r.Context().Err() == nil: // else the client has gone
		level = slog.LevelError
	case route == "GET /healthz" || route == "GET /readyz" || route == "GET /metrics":
		level = slog.LevelDebug
	}
	says := []any{"id", a.id, "method", method(r.Method), "path", r.URL.Path, "status", status,
		"bytes", rec.written, "duration", took.Round(time.Microsecond).String(), "remote", r.RemoteAddr}
	if p := a.problem; p != nil {
		says = append(says, "problem", p.Type, "detail", cmp.Or(p.Detail, p.Title))
	}
	if a.broken {
		says = append(says, "broken", true)
	}
	s.log.Log(r.Context(), level, "request", says...)
}

// method bounds what a client can put into logs and labels.
func method(m string) string {
	switch m {
	case "GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS":
		return m
	}
	return "other"
}

// ServeHTTP checks the token, waits for nothing, bounds the body and calls the
// handler.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s := e.router.server
	if p := s.opts.authorize(r, e.Needs); p != nil {
		s.metrics.refused.WithLabelValues("token").Inc()
		e.Problem(w, r, p)
		return
	}
	if s.opts.authorize(r, All) != nil {
		r = r.WithContext(context.WithValue(r.Context(), readingKey{}, true))
	}
	if e.Needs != Nothing { // health is asked of a busy server too
		select {
		case e.router.slots <- struct{}{}:
			defer func() { <-e.router.slots }()
		default:
			s.metrics.refused.WithLabelValues("busy").Inc()
			e.Problem(w, r, &Problem{Type: TypeBusy, Title: "The server is busy", Status: http.StatusServiceUnavailable,
				Detail: "it answers as many requests as it may at a time: try again"})
			return
		}
	}
	limit, inflated := s.opts.Limits.Body, s.opts.Limits.Inflated
	if e.Upload {
		limit = s.opts.Limits.Upload
	}
	if inflated == 0 {
		inflated = 8 * limit
		if e.Upload {
			inflated = 16 << 30
		}
	}
	if r.ContentLength > limit {
		e.Problem(w, r, tooLarge(limit))
		return
	}
	r.Body = &body{ReadCloser: http.MaxBytesReader(w, r.Body, limit), conn: http.NewResponseController(w), stall: s.opts.Limits.Stall}
	if e.Own {
		e.Handler.ServeHTTP(w, r)
		return
	}
	if p := decompress(r, inflated); p != nil {
		s.metrics.refused.WithLabelValues("encoding").Inc()
		e.Problem(w, r, p)
		return
	}
	e.Handler.ServeHTTP(w, r)
}

func tooLarge(limit int64) *Problem {
	return &Problem{Type: TypeTooLarge, Title: "The request is too large", Status: http.StatusRequestEntityTooLarge,
		Detail: fmt.Sprintf("a body may have %d bytes", limit)}
}

// BodyProblem returns the problem for an error of reading a request's body, or
// nil when the error is another one.
func BodyProblem(err error) *Problem {
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return tooLarge(large.Limit)
	case errors.Is(err, errStalled):
		return &Problem{Type: TypeTimeout, Title: "The body did not come", Status: http.StatusRequestTimeout, Detail: err.Error()}
	case errors.Is(err, errEncoding):
		return &Problem{Type: TypeEncoding, Title: "The body is not compressed as Content-Encoding says", Status: http.StatusBadRequest, Detail: err.Error()}
	case errors.Is(err, errBroken):
		return &Problem{Type: TypeTimeout, Title: "The body broke off", Status: http.StatusBadRequest, Detail: err.Error()}
	}
	return nil
}
