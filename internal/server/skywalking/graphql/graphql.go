// Package graphql answers the clients of Apache SkyWalking, swctl and its pages,
// over SkyWalking's query protocol: it translates between GraphQL and package
// traceprof.
//
//	POST /graphql ─▶ request ─▶ document ─▶ exec ─▶ resolver ─▶ traceprof
//	                 HTTP       syntax,     generated             │
//	                            limits,              values ◀─────┘
//	                            types                large trees, written while sent
//
// What is answered is what trace profiling needs: services, instances and
// endpoints to choose from, traces, tasks of all kinds, their logs and analyses;
// the names that clients of older versions use as well. There are no metrics and
// no topology.
//
// Clients see ids as package ids spells them, times in ms since 1970, and refused
// tasks as an answer with a reason, not as an error. Other errors have the form
// that SkyWalking's OAP gives them, with its status codes:
//
//	the body is no request                400 or 415, text
//	unknown fields, wrong types           400, errors with ValidationError, no data
//	variables that do not fit             200, the same
//	syntax                                200, errors with InvalidSyntax, no data
//	too much at once                      200, errors with ExecutionAborted, no data
//	a store that fails, an id that is none  200, errors with DataFetchingException, data null
//	an order with the token for reading   403, errors with ExecutionAborted, no data
//
// The package holds no rule of trace profiling.
package graphql

import (
	"log/slog"
	"time"

	graphqlexec "github.com/99designs/gqlgen/graphql"

	"github.com/dendroprof/dendro/internal/server"
	"github.com/dendroprof/dendro/internal/server/skywalking/graphql/exec"
	"github.com/dendroprof/dendro/internal/server/skywalking/uploads"
	"github.com/dendroprof/dendro/traceprof"
)

// Options say what is asked. Store and Dispatcher are of one store and must be
// set.
type Options struct {
	Store      traceprof.Store
	Dispatcher *traceprof.Dispatcher

	// Uploads has the recordings of async-profiler and pprof tasks; nil: there are
	// none.
	Uploads *uploads.Uploads

	Version string        // of this program
	TTL     time.Duration // how long traces are kept

	Now func() int64 // ms; nil: the system's clock
	Log *slog.Logger // nil: nothing is logged
}

// Handler answers GraphQL requests. It is safe for concurrent use.
type Handler struct {
	schema   graphqlexec.ExecutableSchema
	resolver *resolver
	log      *slog.Logger
}

// New returns what answers GraphQL requests.
func New(o Options) *Handler {
	if o.Now == nil {
		o.Now = func() int64 { return time.Now().UnixMilli() }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	r := &resolver{store: o.Store, dispatcher: o.Dispatcher, uploads: o.Uploads, version: o.Version, ttl: o.TTL, now: o.Now}
	return &Handler{
		schema:   exec.NewExecutableSchema(exec.Config{Schema: exec.Schema(), Resolvers: r}),
		resolver: r,
		log:      o.Log,
	}
}

// Part returns the protocol as a part of a server. The token for reading is enough
// for what orders nothing.
func (h *Handler) Part() server.Part {
	return server.Part{Name: "graphql", Routes: []server.Route{{Pattern: "POST /graphql", Handler: h, Needs: server.Reading, Problem: writeProblem}}}
}

// resolver answers the fields of Query and Mutation, each in a method of its
// name.
type resolver struct {
	store      traceprof.Store
	dispatcher *traceprof.Dispatcher
	uploads    *uploads.Uploads
	version    string
	ttl        time.Duration
	now        func() int64 // ms
}

// Query is the resolver of questions.
func (r *resolver) Query() exec.QueryResolver { return r }

// Mutation is the resolver of orders.
func (r *resolver) Mutation() exec.MutationResolver { return r }
