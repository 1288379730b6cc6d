// Package server serves a store over the network: one gRPC listener, one HTTP listener,
// and what all protocols have in common.
//
// A Part is a protocol: its gRPC services, its HTTP routes, its background work. The
// caller of New lists the parts. For all of them the server provides
//
//   - TLS with certificates that are reloaded when their files change;
//   - tokens: one for agents (gRPC metadata), one or two for HTTP (bearer);
//   - protection against requests of other sites' web pages;
//   - limits of sizes, times and numbers of requests;
//   - errors: problem details over HTTP, and a status other than UNKNOWN over gRPC;
//   - health, readiness, metrics, request ids and logs;
//   - graceful shutdown.
//
// The package knows no store and no protocol.
package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"runtime/debug"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/dendroprof/dendro/internal/cost"
)

// Options configure a server. The zero value has no listeners, no tokens and the default
// limits.
type Options struct {
	GRPCListen string // address of the gRPC listener; empty: none
	HTTPListen string // address of the HTTP listener; empty: none

	TLSCert, TLSKey string // PEM files, both or none; read again when they change

	AgentToken  string // gRPC metadata `authentication`; empty: not required
	StoreDir    string // directory of the store, which answers do not show; empty: none
	HTTPToken   string // bearer token for everything; empty: not required
	ReadToken   string // bearer token for reading; without HTTPToken, nothing can be changed
	OpenMetrics bool   // /metrics needs no token

	// RequireTokens: listeners that other machines can reach need tokens. Otherwise it is a
	// warning.
	RequireTokens bool

	// Hosts are host names that clients may use for a server without HTTP tokens, besides
	// IP addresses and localhost.
	Hosts []string

	// Proxies are addresses whose header X-Forwarded-For names the client.
	Proxies []netip.Prefix

	// Pages answers requests without a route, and reports whether it did; nil: no pages.
	// It needs no token: what it sends is public.
	Pages func(http.ResponseWriter, *http.Request) bool

	Limits  Limits
	Version string       // of the program, for the metrics
	Log     *slog.Logger // nil: nothing is logged
}

// Limits are the limits for clients. Zero fields mean the defaults.
type Limits struct {
	Body     int64 // bytes of a request's body as sent; default 16 MiB
	Upload   int64 // bytes of an upload of profiles; default 4 GiB
	Inflated int64 // bytes of a decompressed body; default 16 GiB for uploads, otherwise 8 × Body

	View  int64 // bytes of an upload that is shown and not stored, after decompression; default 1 GiB
	Work  int64 // bytes in memory of requests that are computed: views, trees, graphs; default 2 GiB
	Steps int64 // of the patterns of one request: size of the pattern × bytes of texts; default 2^30, about two seconds

	Requests int   // concurrent HTTP requests of each kind that are received, and that are sent; default 256
	Answers  int64 // bytes of answers in memory that wait for slow clients; default 256 MiB
	Messages int64 // bytes of bodies and gRPC messages in memory; default 256 MiB

	Connections int // of each listener; default 4,096

	Headers time.Duration // to receive a request's headers; default 10 s
	Stall   time.Duration // without progress of a body or an answer; default 60 s
	Rate    int64         // minimum bytes per second of a body or an answer, after Stall; default 8 KiB
	Idle    time.Duration // of an idle connection; default 2 min

	Streams uint32 // concurrent gRPC calls of one connection; default 1,000
	Calls   int    // concurrent gRPC calls of all connections; default 8,192
	Message int    // bytes of one gRPC message; default 8 MiB

	Drain time.Duration // for running requests at shutdown; default 30 s
	// OpenStreams is the time for streams of agents at shutdown. Most streams take a
	// second or two; some agents keep one open until they exit. Default 5 s.
	OpenStreams time.Duration
}

// withDefaults fills in the defaults.
func (l Limits) withDefaults() Limits {
	l.Body = cmp.Or(l.Body, 16<<20)
	l.Upload = cmp.Or(l.Upload, 4<<30)
	l.View = cmp.Or(l.View, 1<<30)
	l.Work = cmp.Or(l.Work, 2<<30)
	l.Steps = cmp.Or(l.Steps, 1<<30)
	l.Requests = cmp.Or(l.Requests, 256)
	l.Answers = cmp.Or(l.Answers, 256<<20)
	l.Messages = cmp.Or(l.Messages, 256<<20)
	l.Connections = cmp.Or(l.Connections, 4096)
	l.Rate = cmp.Or(l.Rate, 8<<10)
	l.Headers = cmp.Or(l.Headers, 10*time.Second)
	l.Stall = cmp.Or(l.Stall, time.Minute)
	l.Idle = cmp.Or(l.Idle, 2*time.Minute)
	l.Streams = cmp.Or(l.Streams, 1000)
	l.Calls = cmp.Or(l.Calls, 8192)
	l.Message = cmp.Or(l.Message, 8<<20)
	l.Drain = cmp.Or(l.Drain, 30*time.Second)
	l.OpenStreams = cmp.Or(l.OpenStreams, 5*time.Second)
	return l
}

// costs returns what one request of a route may cost. What it keeps in memory is taken from
// held, which the caller releases when it ends.
func (l *Limits) costs(route *Route, held *holding) cost.Limits {
	costs := cost.Limits{
		Steps:  cost.Limit{Max: l.Steps, What: "steps of the patterns of a request", Flag: "--max-steps"},
		Memory: cost.Limit{Pool: held.more},
	}
	if route.View || route.kind() == Queries { // which may read original files
		costs.Expanded = cost.Limit{Max: l.View, What: "decompressed bytes of what is shown", Flag: "--max-view", Pool: held.more}
	}
	return costs
}

// Server is a server. It is safe for concurrent use.
type Server struct {
	opts    Options
	parts   []Part
	log     *slog.Logger
	metrics *metrics
	http    *http.Server
	grpc    *grpc.Server
	health  *health.Server
	ending  atomic.Bool

	sessions *sessions
	guesses  *guesses
	slots    *slots
	work     *Budget // bytes in memory of requests that are computed
	answers  *Budget // bytes of answers that wait to be sent
	messages *Budget // bytes of bodies and messages in memory
	calls    *Budget // gRPC calls of all connections
	running  running

	serving     context.Context // ends when the shutdown begins
	stopServing context.CancelFunc

	httpListener, grpcListener net.Listener
}

// New returns a server with the parts. It fails if a token is too short, a certificate
// cannot be read or two parts have the same route.
func New(opts Options, parts ...Part) (*Server, error) {
	if err := opts.CheckTokens(); err != nil {
		return nil, err
	}
	opts.Limits = opts.Limits.withDefaults()
	opts.Log = cmp.Or(opts.Log, slog.New(slog.DiscardHandler))
	s := &Server{opts: opts, parts: parts, log: opts.Log, metrics: newMetrics(opts.Version, parts), health: health.NewServer(),
		sessions: newSessions(), guesses: newGuesses(), slots: newSlots(opts.Limits.Requests),
		work:     NewBudget("bytes of requests being computed, --max-work", opts.Limits.Work, (opts.Limits.Work+1)/2),
		answers:  NewBudget("bytes of answers", opts.Limits.Answers, (opts.Limits.Answers+1)/2),
		calls:    NewBudget("calls", int64(opts.Limits.Calls), int64(opts.Limits.Calls+1)/2),
		messages: NewBudget("bytes of messages", opts.Limits.Messages, (opts.Limits.Messages+1)/2)}
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
		ConnContext:       withConnection,
		TLSConfig:         tls,
		ReadHeaderTimeout: opts.Limits.Headers,
		IdleTimeout:       opts.Limits.Idle,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(opts.Log.Handler(), slog.LevelDebug),
	}
	return s, nil
}

// Handler returns the HTTP handler, for tests.
func (s *Server) Handler() http.Handler { return s.http.Handler }

// Listen opens the listeners of the options.
func (s *Server) Listen() (err error) {
	if s.grpcListener, err = s.listen(s.opts.GRPCListen, "--grpc-listen"); err != nil {
		return err
	}
	if s.httpListener, err = s.listen(s.opts.HTTPListen, "--http-listen"); err != nil {
		if s.grpcListener != nil {
			s.grpcListener.Close()
		}
		return err
	}
	err = errors.Join(s.checkOpen(s.grpcListener, s.opts.AgentToken == "", "--agent-token-file", "DENDRO_AGENT_TOKEN"),
		s.checkOpen(s.httpListener, s.opts.openHTTP(), "--http-token-file", "DENDRO_HTTP_TOKEN"))
	for _, l := range []net.Listener{s.grpcListener, s.httpListener} {
		if err != nil && l != nil {
			l.Close()
		}
	}
	return err
}

func (s *Server) listen(address, flag string) (net.Listener, error) {
	if address == "" {
		return nil, nil
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w (choose another address, or stop the process that listens there)", flag, address, err)
	}
	n := int64(s.opts.Limits.Connections)
	return &connections{Listener: l, places: NewBudget("connections", n, (n+1)/2), client: s.opts.placeOf,
		refused: s.metrics.refused.WithLabelValues("connections"), idle: map[*connection]bool{}}, nil
}

// checkOpen warns about a listener without a token that other machines can reach, or with
// Options.RequireTokens refuses it.
func (s *Server) checkOpen(l net.Listener, open bool, flag, variable string) error {
	if l == nil || !open {
		return nil
	}
	a, ok := l.Addr().(*net.TCPAddr)
	switch {
	case !ok || a.IP.IsLoopback():
	case s.opts.RequireTokens:
		return fmt.Errorf("%s: without a token, everyone who can reach this address could use the server: set %s or %s, for example to what `openssl rand -hex 16` prints", a, variable, flag)
	default:
		s.log.Warn("no token: everyone who can reach this address can use the server", "address", a.String(), "flag", flag)
	}
	return nil
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

// Serve answers requests until the context ends or a listener or part fails. It then lets
// running requests finish, for at most Limits.Drain, and ends the parts, which have the
// same time. Call Listen first.
func (s *Server) Serve(ctx context.Context) error {
	// The parts run longer than the listeners, so that accepted data is still stored.
	work, stopWork := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWork()
	// The context of handlers ends only after Limits.Drain.
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
			err := wrap(p.Name, s.runPart(work, &p))
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
	s.log.Info("shutting down", "drain", s.opts.Limits.Drain.String())
	deadline, stop := context.WithTimeout(context.WithoutCancel(ctx), s.opts.Limits.Drain)
	defer stop()
	s.drain(deadline, stopCalls)
	stopWork()
	// The parts still store data of the calls: they have their own time.
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

// partPause is how long a part that panicked is paused.
const partPause = time.Second

// runPart does the background work of a part. If it panics, the panic is logged and the
// work begins again: one broken task or record must not end the server.
func (s *Server) runPart(ctx context.Context, p *Part) error {
	for {
		panicked, err := s.runOnce(ctx, p)
		if !panicked {
			return err
		}
		select {
		case <-time.After(partPause):
		case <-ctx.Done():
			return nil
		}
	}
}

func (s *Server) runOnce(ctx context.Context, p *Part) (panicked bool, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			s.Panicked("part "+p.Name, reason, debug.Stack())
			panicked = true
		}
	}()
	return false, p.Run(ctx)
}

// Panicked logs and counts a panic that was recovered.
func (s *Server) Panicked(where string, reason any, stack []byte) {
	s.metrics.panics.Inc()
	s.log.Error("panic", "where", where, "panic", fmt.Sprint(reason), "stack", string(stack))
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

// drain closes the listeners and waits for running requests. It aborts those that run at
// the deadline, and calls of agents after Limits.OpenStreams.
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
			s.log.Info("open streams of agents were closed")
			s.grpc.Stop()
		}
	}()
	waiting, stopWaiting := context.WithCancel(deadline)
	go s.running.whenLeft(waiting, func() {
		s.log.Info("requests were aborted: their clients had left")
		s.http.Close()
	})
	defer stopWaiting()
	if s.http.Shutdown(deadline) != nil {
		s.log.Warn("requests were aborted: they did not end in time")
		stopCalls()
		s.http.Close()
	}
	<-graceful
}

// setServing sets the gRPC health of all services.
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
