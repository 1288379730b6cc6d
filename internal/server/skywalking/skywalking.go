// Package skywalking lets unmodified agents of Apache SkyWalking report to
// Dendro: it translates between their protocols and package traceprof.
//
//	gRPC ──▶ services ─┐
//	HTTP ──▶ routes ───┼─▶ Session: encoded messages ─▶ traceprof.Intake ─▶ store
//	Kafka ─▶ kafka ────┘
//	         polls, reports ─▶ traceprof.Dispatcher ─▶ commands
//	         uploads ─▶ package uploads ─▶ ingest ─▶ store
//
// What agents send besides (metrics, meters, logs, events) is accepted and
// dropped: an agent that is refused there goes on refusing to profile.
//
// The rules of the wire that the package keeps to:
//
//   - An agent takes UNAVAILABLE, PERMISSION_DENIED, UNAUTHENTICATED,
//     RESOURCE_EXHAUSTED and UNKNOWN for a broken connection and drops all its
//     work. A message that makes no sense is INVALID_ARGUMENT, a store that fails
//     INTERNAL, and the unknown (a task, an instance) is no error at all.
//   - UNIMPLEMENTED switches profiling off until the agent restarts: every service
//     that agents call is there, under the names of today and those without a
//     package, which agents before 8.4 use.
//   - The reply to a stream of segments or snapshots comes when they are durable.
//   - Messages are acted on as they come. Some agents keep a stream open for life.
//   - A service or instance that is not UTF-8 or too long is corrected, not refused.
//
// The package holds no rule of trace profiling and stores nothing itself. GraphQL
// is in package graphql, Kafka in package kafka, both beside their use of ids.
package skywalking

import (
	"context"
	"log/slog"
	"time"

	"github.com/dendroprof/dendro/internal/server"
	"github.com/dendroprof/dendro/internal/server/skywalking/uploads"
	"github.com/dendroprof/dendro/traceprof"
)

// Options say what agents report to. Store, Dispatcher and Intake are of one
// store; all but Uploads, Now and Log must be set.
type Options struct {
	Store      traceprof.Store
	Dispatcher *traceprof.Dispatcher
	Intake     *traceprof.Intake

	// Uploads takes the recordings of async-profiler and pprof tasks; nil: agents
	// get the answer that theirs are too large.
	Uploads *uploads.Uploads

	Now func() int64 // ms; nil: the system's clock
	Log *slog.Logger // nil: nothing is logged
}

// Agents answers agents. It is safe for concurrent use.
type Agents struct {
	store      traceprof.Store
	dispatcher *traceprof.Dispatcher
	intake     *traceprof.Intake
	uploads    *uploads.Uploads
	budget     *budget // of recordings and Go profiles that are not yet whole
	now        func() int64
	log        *slog.Logger
	counts     counts
}

// New returns what answers agents.
func New(o Options) *Agents {
	if o.Now == nil {
		o.Now = func() int64 { return time.Now().UnixMilli() }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Agents{store: o.Store, dispatcher: o.Dispatcher, intake: o.Intake, uploads: o.Uploads,
		budget: newBudget(maxHeld), now: o.Now, log: o.Log, counts: newCounts()}
}

// maxHeld is how many bytes of recordings and Go profiles on their way in are held
// at a time: eight of the largest, hundreds of usual ones.
const maxHeld = 8 * uploads.MaxSize

// Part returns the agents' protocols as a part of a server. The intake is its
// owner's to close after the server has ended.
func (a *Agents) Part() server.Part {
	return server.Part{Name: "skywalking", GRPC: a.Register, Routes: a.routes(), Run: a.Run, Ready: a.ready, Metrics: a.metrics()}
}

// ready returns why what agents send cannot be stored.
func (a *Agents) ready(context.Context) error { return a.intake.Err() }

// Run stores in the background when instances were seen, until the context ends.
func (a *Agents) Run(ctx context.Context) error {
	a.dispatcher.Live().Run(ctx, func(err error) {
		a.log.Error("cannot store when instances were seen; trying again", "error", err)
	})
	return nil
}
