package server

import (
	"context"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
)

// Part is one protocol or service of a server. Every field but Name may be nil.
type Part struct {
	Name string // for messages and readiness

	// GRPC registers the part's services. Errors of their handlers should be
	// statuses; others are answered as StatusOf says.
	GRPC func(grpc.ServiceRegistrar)

	// Routes are what the part answers over HTTP.
	Routes []Route

	// Run does the part's background work until the context ends, which is after
	// the last call was answered. What the part still holds then is its to finish
	// before it returns. An error ends the server.
	Run func(context.Context) error

	// Ready reports why the part cannot answer at the moment, or nil. It is asked
	// often and must be quick.
	Ready func(context.Context) error

	// Metrics are collected beside the server's own.
	Metrics []prometheus.Collector
}

// Route is a pattern of package net/http with what answers it. Handlers end by
// writing an answer; errors are written with WriteProblem. What they write is
// compressed and flushed as the client and the handler wish.
type Route struct {
	Pattern string // "GET /api/v1/runs"
	Handler http.Handler
	Needs   Needs

	// Problem writes why a request may not reach the handler; nil: WriteProblem.
	Problem func(http.ResponseWriter, *http.Request, *Problem)

	Upload bool // the body may be as large as Limits.Upload, not only Limits.Body

	// Own says that the handler does its own compression and decompression: the
	// body is as it was sent, the answer goes out as it is written.
	Own bool
}

// Needs says what a client must show to use a route.
type Needs int

// What routes need. The zero value is the most.
const (
	All     Needs = iota // the HTTP token, if there is one
	Reading              // the HTTP token or the one for reading
	Nothing              // no token
)
