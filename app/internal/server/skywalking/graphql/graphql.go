// Package graphql answers the clients of Apache SkyWalking, swctl and its pages,
// over SkyWalking's query protocol: it translates between GraphQL and package
// traceprof.
//
//	POST /graphql ─▶ request ─▶ document ─▶ exec ─▶ resolver ─▶ traceprof
//	                 HTTP       syntax,     methods               │
//	                            limits,              values ◀─────┘
//	                            types                large trees, written while sent
//
// It answers the queries that trace profiling needs: services, instances, endpoints,
// traces, tasks of all kinds, their logs and analyses, also under the names that older
// clients use. There are no metrics and no topology.
//
// Ids are those of package ids and times are in ms since 1970. A refused task is an answer
// with a reason, not an error. Other errors have the form and the status codes of
// SkyWalking's OAP:
//
//	the body is not a request             400 or 415, text
//	unknown fields, wrong types           400, errors with ValidationError, no data
//	invalid variables                     200, the same
//	syntax                                200, errors with InvalidSyntax, no data
//	limits exceeded                       200, errors with ExecutionAborted, no data
//	the store fails, an id is invalid     200, errors with DataFetchingException, data null
//	a mutation with the read token        403, errors with ExecutionAborted, no data
//
// The rules of trace profiling are in package traceprof.
package graphql

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/app/internal/server/skywalking/graphql/exec"
	"github.com/dendroprof/dendro/app/internal/server/skywalking/uploads"
	"github.com/dendroprof/dendro/traceprof"
)

// Options configure a Handler. Store and Dispatcher are required; Dispatcher uses Store.
type Options struct {
	Store      traceprof.Store
	Dispatcher *traceprof.Dispatcher

	// Uploads has the recordings of async-profiler and pprof tasks; nil: none.
	Uploads *uploads.Uploads

	Version string        // of this program
	TTL     time.Duration // how long traces are kept

	Now func() int64 // ms; nil: the system's clock
	Log *slog.Logger // nil: nothing is logged
}

// Handler answers GraphQL requests. It is safe for concurrent use.
type Handler struct {
	exec     *exec.Executor
	resolver *resolver
	log      *slog.Logger
}

// New returns a Handler.
func New(o Options) *Handler {
	if o.Now == nil {
		o.Now = func() int64 { return time.Now().UnixMilli() }
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	r := &resolver{o}
	e, err := exec.New(exec.Schema(), r)
	if err != nil {
		panic("graphql: " + err.Error()) // the resolver does not fit the schema, whatever the input
	}
	return &Handler{exec: e, resolver: r, log: o.Log}
}

// Part returns the protocol as a part of a server. The read token is enough for queries.
func (h *Handler) Part() server.Part {
	routes := []server.Route{{Pattern: "POST /graphql", Handler: h, Needs: server.Reading, Problem: writeProblem}}
	return server.Part{Name: "graphql", Routes: append(routes, h.resolver.status()...)}
}

// resolver answers the fields of Query and Mutation, each with the method of its name.
type resolver struct{ Options }
