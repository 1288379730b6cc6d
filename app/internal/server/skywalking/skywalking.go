// Package skywalking receives data of unmodified agents of Apache SkyWalking: it translates
// between their protocols and package traceprof.
//
//	gRPC ──▶ services ─┐
//	HTTP ──▶ routes ───┼─▶ Session: encoded messages ─▶ traceprof.Intake ─▶ store
//	Kafka ─▶ kafka ────┘
//	         polls, reports ─▶ traceprof.Dispatcher ─▶ commands
//	         uploads ─▶ package uploads ─▶ ingest ─▶ store
//
// Other data of agents (metrics, meters, logs, events) is accepted and dropped: agents whose
// data is refused do not profile.
//
// Rules of the protocol:
//
//   - Agents treat UNAVAILABLE, PERMISSION_DENIED, UNAUTHENTICATED, RESOURCE_EXHAUSTED
//     and UNKNOWN as a broken connection and drop all their work. A malformed message is
//     INVALID_ARGUMENT, an error of the store INTERNAL, and an unknown task or instance
//     no error.
//   - UNIMPLEMENTED switches profiling off until the agent restarts: all services that
//     agents call exist, also under the names without a package that agents before 8.4
//     use.
//   - The reply to a stream of segments or snapshots is sent when they are durable.
//   - Messages are handled as they arrive. Some agents keep a stream open until they exit.
//   - Names of services and instances that are not UTF-8 or too long are corrected, not
//     refused.
//
// The rules of trace profiling are in package traceprof. GraphQL is in package graphql, Kafka
// in package kafka.
package skywalking

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/app/internal/server/skywalking/uploads"
	"github.com/dendroprof/dendro/traceprof"
)

// Options configure Agents. Dispatcher and Intake use Store. Uploads, Now and Log are
// optional.
type Options struct {
	Store      traceprof.Store
	Dispatcher *traceprof.Dispatcher
	Intake     *traceprof.Intake

	// Uploads stores the recordings of async-profiler and pprof tasks; nil: they are
	// refused as too large.
	Uploads *uploads.Uploads

	Now func() int64 // ms; nil: the system's clock
	Log *slog.Logger // nil: nothing is logged
}

// Agents handles the calls of agents. It is safe for concurrent use.
type Agents struct {
	opts    Options
	budget  *server.Budget // for recordings and Go profiles that are being received
	reading chan struct{}  // has an element while one of them is read
	counts  counts
}

// New returns an Agents.
func New(o Options) *Agents {
	if o.Now == nil {
		o.Now = func() int64 { return time.Now().UnixMilli() }
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return &Agents{opts: o, budget: server.NewBudget("bytes of recordings", maxHeld, maxHeld/2), reading: make(chan struct{}, 1),
		counts: newCounts()}
}

// maxHeld is the maximum memory for recordings and Go profiles that are being received:
// eight of the largest, hundreds of usual ones.
const maxHeld = 8 * uploads.MaxSize

// Part returns the agents' protocols as a part of a server. Its owner closes the intake
// after the server has ended.
func (a *Agents) Part() server.Part {
	return server.Part{Name: "skywalking", GRPC: a.Register, Routes: a.routes(), Run: a.Run, Ready: a.ready, Metrics: a.metrics()}
}

// ready returns why data of agents cannot be stored, or nil.
func (a *Agents) ready(context.Context) error { return a.opts.Intake.Err() }

// Run stores when instances were last seen, until the context ends.
func (a *Agents) Run(ctx context.Context) error {
	a.opts.Dispatcher.Live().Run(ctx, func(err error) {
		a.opts.Log.Error("cannot store when instances were seen; trying again", "error", err)
	})
	return nil
}
