// Package server is the process that owns a store and answers over the network:
// one gRPC listener, one HTTP listener, and what every protocol behind them
// needs, in one place.
//
// A Part is a protocol: its gRPC services, its HTTP routes, its background work.
// The core knows no part by name; whoever starts the server lists them. For all
// of them it provides
//
//   - listeners with TLS whose certificates may be exchanged while it runs;
//   - tokens: one for agents (gRPC metadata), one or two for HTTP (bearer);
//   - a guard against web pages that reach for a server on this machine;
//   - limits on sizes, times and numbers, so that no client can exhaust it;
//   - errors in one form: problem details over HTTP, and over gRPC a status that
//     is never UNKNOWN;
//   - health, readiness, metrics, request ids and logs;
//   - an orderly end: what has begun may finish, for a while.
//
// The core knows no store and no protocol. It is safe for concurrent use after
// New.
package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

// Options say how a server listens, whom it trusts and what it bears. The zero
// value listens nowhere, trusts everybody who reaches it and has the default
// limits.
type Options struct {
	GRPCListen string // address of the gRPC listener; empty: none
	HTTPListen string // address of the HTTP listener; empty: none

	TLSCert, TLSKey string // PEM files, both or none; read again when they change

	AgentToken  string // what gRPC calls carry as `authentication`; empty: nothing is asked
	HTTPToken   string // bearer token for everything; empty: nothing is asked
	ReadToken   string // bearer token for questions; alone, nobody may change anything
	OpenMetrics bool   // /metrics needs no token

	// Hosts are further names by which clients may call a server without HTTP
	// tokens. Addresses and localhost are always allowed.
	Hosts []string

	// Pages answers what no route has, or reports that it did not; nil: no pages. It is
	// called without a token: what it sends is public.
	Pages func(http.ResponseWriter, *http.Request) bool

	Limits  Limits
	Version string       // of the program, for the metrics
	Log     *slog.Logger // nil: nothing is logged
}

// Limits bound what clients can make the server do. A field that is zero means
// its default.
type Limits struct {
	Body     int64 // bytes of a request's body as sent; default 16 MiB
	Upload   int64 // of a request that uploads profiles; default 4 GiB
	Inflated int64 // bytes of a body after its Content-Encoding was undone; default 16 GiB for uploads, 8 × Body else

	Requests int           // HTTP requests at a time; default 256
	Headers  time.Duration // until a request's headers are there; default 10 s
	Stall    time.Duration // without a byte of a body moving; default 60 s
	Idle     time.Duration // of a kept connection; default 2 min

	Streams uint32 // gRPC calls at a time on one connection; default 1,000
	Message int    // bytes of one gRPC message; default 50 MiB

	Drain time.Duration // for what has begun when the server ends; default 30 s
	// Streams of agents may go on for that long then. Most take a second or two;
	// some agents keep one open for as long as they live. Default 5 s.
	OpenStreams time.Duration
}

// withDefaults fills in the defaults.
func (l Limits) withDefaults() Limits {
	set(&l.Body, 16<<20)
	set(&l.Upload, 4<<30)
	set(&l.Requests, 256)
	set(&l.Headers, 10*time.Second)
	set(&l.Stall, time.Minute)
	set(&l.Idle, 2*time.Minute)
	set(&l.Streams, 1000)
	set(&l.Message, 50<<20)
	set(&l.Drain, 30*time.Second)
	set(&l.OpenStreams, 5*time.Second)
	return l
}

func set[T comparable](v *T, def T) {
	var zero T
	if *v == zero {
		*v = def
	}
}

// Server is a server that is ready to listen.
type Server struct {
	opts    Options
	parts   []Part
	log     *slog.Logger
	metrics *metrics
	http    *http.Server
	grpc    *grpc.Server
	health  *health.Server
	ending  atomic.Bool

	serving     context.Context // ends when the server begins to end
	stopServing context.CancelFunc

	httpListener, grpcListener net.Listener
}

// New makes a server of parts. Errors are those of the options: certificates
// that cannot be read, two parts with one route.
func New(opts Options, parts ...Part) (*Server, error) {
	opts.Limits = opts.Limits.withDefaults()
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{opts: opts, parts: parts, log: opts.Log, metrics: newMetrics(opts.Version, parts), health: health.NewServer()}
	s.serving, s.stopServing = context.WithCancel(context.Background())
	tls, err := loadTLS(opts.TLSCert, opts.TLSKey, opts.Log)
	if err != nil {
		return nil, err
	}
	s.grpc = s.newGRPC(tls)
	handler, err := s.newHandler()
	if err != nil {
		return nil, err
	}
	s.http = &http.Server{
		Handler:           handler,
		TLSConfig:         tls,
		ReadHeaderTimeout: opts.Limits.Headers,
		IdleTimeout:       opts.Limits.Idle,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(opts.Log.Handler(), slog.LevelDebug),
	}
	return s, nil
}

// Handler returns what answers HTTP requests, for servers of tests.
func (s *Server) Handler() http.Handler { return s.http.Handler }

// Listen takes the addresses of the options.
func (s *Server) Listen() (err error) {
	if s.grpcListener, err = listen(s.opts.GRPCListen, "--grpc-listen"); err != nil {
		return err
	}
	if s.httpListener, err = listen(s.opts.HTTPListen, "--http-listen"); err != nil {
		if s.grpcListener != nil {
			s.grpcListener.Close()
		}
		return err
	}
	s.warnOpen(s.grpcListener, s.opts.AgentToken == "", "--agent-token")
	s.warnOpen(s.httpListener, s.opts.openHTTP(), "--http-token")
	return nil
}

func listen(address, flag string) (net.Listener, error) {
	if address == "" {
		return nil, nil
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w (choose another address, or end what listens there)", flag, address, err)
	}
	return l, nil
}

// warnOpen warns of a listener that others than this machine reach and that
// asks for nothing.
func (s *Server) warnOpen(l net.Listener, open bool, flag string) {
	if l == nil || !open {
		return
	}
	if a, ok := l.Addr().(*net.TCPAddr); ok && !a.IP.IsLoopback() {
		s.log.Warn("everybody who reaches this address may use the server: set a token", "address", l.Addr().String(), "flag", flag)
	}
}

// HTTPAddr returns the address of the HTTP listener; empty without one.
func (s *Server) HTTPAddr() string { return addr(s.httpListener) }

// GRPCAddr returns the address of the gRPC listener; empty without one.
func (s *Server) GRPCAddr() string { return addr(s.grpcListener) }

func addr(l net.Listener) string {
	if l == nil {
		return ""
	}
	return l.Addr().String()
}

// TLS reports whether the listeners speak TLS.
func (s *Server) TLS() bool { return s.http.TLSConfig != nil }

// Serve answers until the context ends or something fails, then lets what has
// begun finish, for Limits.Drain at most, and ends the parts, which have as much
// time again. Listen comes first.
func (s *Server) Serve(ctx context.Context) error {
	// The parts outlive the listeners, so that what was accepted is still done.
	work, stopWork := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWork()
	// Handlers see the end only when the time to finish is over.
	calls, stopCalls := context.WithCancel(context.WithoutCancel(ctx))
	defer stopCalls()
	s.http.BaseContext = func(net.Listener) context.Context { return calls }

	failed := make(chan error, len(s.parts)+2)
	if s.httpListener != nil {
		go func() { failed <- s.serveHTTP() }()
	}
	if s.grpcListener != nil {
		go func() { failed <- wrap("gRPC listener", s.grpc.Serve(s.grpcListener)) }()
	}
	running := 0
	ended := make(chan error, len(s.parts))
	for _, p := range s.parts {
		if p.Run == nil {
			continue
		}
		running++
		go func() {
			err := wrap(p.Name, p.Run(work))
			if err != nil {
				failed <- err
			}
			ended <- nil
		}()
	}
	var errs []error
	select {
	case <-ctx.Done():
	case err := <-failed:
		errs = append(errs, err)
	}
	s.ending.Store(true)
	s.health.Shutdown()
	s.stopServing()
	s.log.Info("ending", "drain", s.opts.Limits.Drain.String())
	deadline, stop := context.WithTimeout(context.WithoutCancel(ctx), s.opts.Limits.Drain)
	defer stop()
	s.drain(deadline, stopCalls)
	stopWork()
	// The parts store what the calls brought: they have time of their own.
	partsEnd, stopParts := context.WithTimeout(context.WithoutCancel(ctx), s.opts.Limits.Drain)
	defer stopParts()
	for range running {
		select {
		case <-ended:
		case <-partsEnd.Done():
			errs = append(errs, errors.New("background work did not end in time"))
			return errors.Join(errs...)
		}
	}
	for len(failed) > 0 {
		errs = append(errs, <-failed)
	}
	return errors.Join(errs...)
}

func (s *Server) serveHTTP() error {
	var err error
	if s.TLS() {
		err = s.http.ServeTLS(s.httpListener, "", "")
	} else {
		err = s.http.Serve(s.httpListener)
	}
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return wrap("HTTP listener", err)
}

// drain closes the listeners and waits for what has begun; at the deadline it
// breaks off the rest, and calls of agents after Limits.OpenStreams.
func (s *Server) drain(deadline context.Context, stopCalls func()) {
	callsEnd, stop := context.WithTimeout(deadline, s.opts.Limits.OpenStreams)
	defer stop()
	graceful := make(chan struct{})
	go func() {
		s.grpc.GracefulStop()
		close(graceful)
	}()
	go func() {
		select {
		case <-graceful:
		case <-callsEnd.Done():
			s.log.Info("open streams of agents were broken off")
			s.grpc.Stop()
		}
	}()
	if s.http.Shutdown(deadline) != nil {
		s.log.Warn("requests were broken off: they did not end in time")
		stopCalls()
		s.http.Close()
	}
	<-graceful
}

// setServing says over gRPC that every service of the parts is there.
func (s *Server) setServing() {
	s.health.SetServingStatus("", healthpb.HealthCheckResponse_SERVING)
	for name := range s.grpc.GetServiceInfo() {
		s.health.SetServingStatus(name, healthpb.HealthCheckResponse_SERVING)
	}
}

func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
