package server

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
)

// Part is one protocol or service of a server. Every field but Name may be nil.
type Part struct {
	Name string // for messages and readiness

	// GRPC registers the part's services. Handlers return statuses; other errors are
	// converted with StatusOf.
	GRPC func(grpc.ServiceRegistrar)

	// Routes are the part's HTTP routes.
	Routes []Route

	// Run does the part's background work until the context ends, after the last call
	// was answered. The part completes its work before it returns. An error ends the
	// server.
	Run func(context.Context) error

	// Ready returns why the part cannot answer at the moment, or nil. It is called often
	// and must be quick.
	Ready func(context.Context) error

	// Notice returns what all answers of the server lack at the moment, for people; empty:
	// nothing. It is in the header Dendro-Missing of each.
	Notice func() string

	// Metrics are collected beside the server's own.
	Metrics []prometheus.Collector
}

// Every calls do each time that d has passed, until the context ends: the work of many a Part.
func Every(ctx context.Context, d time.Duration, do func(now time.Time)) {
	tick := time.NewTicker(d)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			do(time.Now()) // a tick may have waited
		case <-ctx.Done():
			return
		}
	}
}

// Route is a pattern of package net/http and its handler. Handlers write errors with
// WriteProblem. Answers are compressed if the client accepts it.
type Route struct {
	Pattern string // "GET /api/v1/runs"
	Handler http.Handler
	Needs   Needs
	Agents  bool // reports of agents: their token is enough, and success is logged as debugging only

	// Problem answers a request that is refused before the handler; nil: WriteProblem.
	Problem func(http.ResponseWriter, *http.Request, *Problem)

	Upload bool // the body may be as large as Limits.Upload, not only Limits.Body

	View bool // what the body is unpacked to stays in memory until the answer is made: Limits.View, Limits.Work

	Kind Kind // of work; default: Reports of agents, Imports if it changes something or is an upload, else Queries

	// Own: the handler does its own compression and decompression.
	Own bool
}

// kind returns the kind of work of a route.
func (r *Route) kind() Kind {
	switch {
	case r.Kind != usual:
		return r.Kind
	case r.Agents:
		return Reports
	case r.Upload || r.Needs == All:
		return Imports
	}
	return Queries
}

// Needs is the token that a route requires.
type Needs int

// The tokens that routes require. The zero value is the strictest.
const (
	All     Needs = iota // the HTTP token, if one is set
	Reading              // the HTTP token or the read token
	Nothing              // no token
)
