// Package agent reports a Go service to Dendro, or to Apache SkyWalking's OAP,
// and profiles its slow requests when a trace-profiling task asks for them:
//
//	stop, err := agent.Start(agent.Options{Service: "shop", Server: "127.0.0.1:11800"})
//	…
//	defer stop(context.Background())
//	http.ListenAndServe(":8080", agent.Handler(mux))
//
// A request becomes a segment: the spans of one trace in one goroutine. The
// header sw8 connects segments over processes. While a task runs for a segment's
// endpoint and the segment is older than the task's threshold, the stack of its
// goroutine is sampled every period, whether it computes, sleeps or waits. One
// pass over the goroutine profile serves all segments; a pprof label identifies
// them. Other goroutines that a request starts are sampled if [Go] starts them.
//
// Sampling costs nothing while no segment is past its threshold, and at most
// Options.Budget of one core otherwise: the more goroutines, the longer the
// period. Nothing blocks or fails the service: what the server does not accept
// in time is dropped, counted and logged.
//
// The package does not instrument libraries by itself and reports no metrics and
// no logs. gRPC interceptors are in package interceptor, Kafka and OpenTelemetry
// in modules of their own.
package agent

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
)

// Times of the protocol, as SkyWalking's agents have them.
const (
	flushEvery     = 500 * time.Millisecond
	heartbeat      = 30 * time.Second
	propertiesEach = 10 // heartbeats between two reports of the properties
	callTimeout    = 30 * time.Second
	stopTimeout    = 5 * time.Second // if the context of stop has no deadline
)

// agent is what runs between Start and stop.
type agent struct {
	Options
	process string // prefix of the ids of this process
	serial  atomic.Uint64

	conn  *grpc.ClientConn
	tasks *schedule
	out   *reporter

	connected chan struct{}      // wakes the control loop, capacity 1
	quit      context.CancelFunc // ends the loops
	abort     context.CancelFunc // ends the calls that report
	loops     sync.WaitGroup
}

// running is the agent of this process, nil if there is none.
var running atomic.Pointer[agent]

// Start starts the agent of this process. It is an error to start a second one
// before the first is stopped. Environment variables fill options that are not set.
//
// An unreachable server is no error: the agent tries until it is stopped. stop
// reports what is pending for as long as its context allows, at most 5 seconds if
// that has no deadline. Afterwards no goroutine of the agent is left, and Handler
// and the other functions only call what they wrap.
func Start(o Options) (stop func(context.Context) error, err error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	a := &agent{Options: o, process: randomHex(), connected: make(chan struct{}, 1)}
	if a.conn, err = dial(&o); err != nil {
		return nil, fmt.Errorf("agent: connecting to %s: %w", o.Server, err)
	}
	a.out = newReporter(a)
	a.tasks = newSchedule(a)
	if !running.CompareAndSwap(nil, a) {
		return nil, errors.Join(errors.New("agent: already started in this process; stop it first"), a.conn.Close())
	}
	a.start()
	var once sync.Once
	return func(ctx context.Context) (err error) {
		once.Do(func() { err = a.stop(ctx) })
		return err
	}, nil
}

// dial prepares a connection to the servers, which are tried in order.
func dial(o *Options) (*grpc.ClientConn, error) {
	var addresses []resolver.Address
	for _, s := range strings.Split(o.Server, ",") {
		if s = strings.TrimSpace(s); s != "" {
			addresses = append(addresses, resolver.Address{Addr: s, ServerName: s}) // the name for TLS
		}
	}
	servers := manual.NewBuilderWithScheme("dendro")
	servers.InitialState(resolver.State{Addresses: addresses})
	security := insecure.NewCredentials()
	if o.TLS != nil {
		security = credentials.NewTLS(o.TLS)
	}
	options := []grpc.DialOption{
		grpc.WithResolvers(servers),
		grpc.WithAuthority(addresses[0].Addr),
		grpc.WithTransportCredentials(security),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 500 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 10 * time.Second},
			MinConnectTimeout: 5 * time.Second,
		}),
		grpc.WithIdleTimeout(0),
		grpc.WithDisableServiceConfig(),
	}
	if o.Token != "" {
		options = append(options, grpc.WithPerRPCCredentials(token(o.Token)))
	}
	return grpc.NewClient("dendro:///servers", options...)
}

// token is the shared secret that SkyWalking's agents send as metadata.
type token string

// GetRequestMetadata returns the metadata of every call.
func (t token) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authentication": string(t)}, nil
}

// RequireTransportSecurity returns false: SkyWalking's port has no TLS by default.
func (t token) RequireTransportSecurity() bool { return false }

// start starts the loops, which end when stop cancels their context.
func (a *agent) start() {
	var ctx, calls context.Context
	ctx, a.quit = context.WithCancel(context.Background())
	calls, a.abort = context.WithCancel(context.Background())
	a.conn.Connect()
	a.loop(func() { a.watch(ctx) })
	a.loop(func() { a.control(ctx) })
	a.loop(func() { repeat(ctx, calls, a.out.sendSegments) })
	a.loop(func() { repeat(ctx, calls, a.out.sendSnapshots) })
}

// loop runs f in a goroutine that stop waits for. A panic in it is logged: it ends
// the loop, not the service.
func (a *agent) loop(f func()) {
	a.loops.Go(func() {
		defer func() {
			if p := recover(); p != nil {
				a.Logger.Error("agent: internal error, a part of the agent has stopped", "panic", p, "stack", string(debug.Stack()))
			}
		}()
		f()
	})
}

// repeat calls f every flushEvery, less often while it fails, until ctx ends.
func repeat(ctx, calls context.Context, f func(context.Context) error) {
	wait := flushEvery
	for sleep(ctx, wait) {
		if f(calls) == nil {
			wait = flushEvery
		} else {
			wait = min(2*wait, 10*flushEvery)
		}
	}
}

// sleep waits and reports whether the context still lives.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// watch keeps the connection and wakes control whenever it is established.
func (a *agent) watch(ctx context.Context) {
	for state := a.conn.GetState(); ; state = a.conn.GetState() {
		switch state {
		case connectivity.Idle:
			a.conn.Connect()
		case connectivity.Ready:
			select {
			case a.connected <- struct{}{}:
			default:
			}
		}
		if !a.conn.WaitForStateChange(ctx, state) {
			return
		}
	}
}

// control registers the instance and polls as soon as there is a connection, then
// at their intervals.
func (a *agent) control(ctx context.Context) {
	poll, beat := time.NewTicker(a.Interval), time.NewTicker(heartbeat)
	defer poll.Stop()
	defer beat.Stop()
	beats := 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.connected:
			a.out.register(ctx)
			a.tasks.poll(ctx)
			beats = 0
		case <-poll.C:
			a.tasks.poll(ctx)
		case <-beat.C:
			if beats++; beats%propertiesEach == 0 {
				a.out.register(ctx)
			} else {
				a.out.keepAlive(ctx)
			}
		}
	}
}

// stop ends the task, reports what is pending and waits for the loops.
func (a *agent) stop(ctx context.Context) error {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, stopTimeout)
		defer cancel()
	}
	running.CompareAndSwap(a, nil)
	defer context.AfterFunc(ctx, a.abort)()
	defer a.abort()
	a.tasks.close()
	a.quit()
	a.loops.Wait()
	err := errors.Join(a.out.sendSnapshots(ctx), a.out.sendSegments(ctx))
	if err != nil {
		err = fmt.Errorf("agent: stopped before everything was reported: %w", err)
	}
	return errors.Join(err, a.conn.Close())
}
