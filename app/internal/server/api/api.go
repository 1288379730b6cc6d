// Package api answers over HTTP what the commands answer: the part of the server
// below /api/v1.
//
// Queries have the selection flags of the commands as query parameters, and their results
// are JSON; package endpoint lists them, and the tests hold the answers to their
// description. The command line, the web page, Python and tools of assistants send the same
// requests. Two addresses below /api/v1/store carry whole profiles in the binary form of
// package transfer, one way up and one down.
//
// A handler reads its parameters, makes one call into a public package and writes
// the answer; what a number means is decided there. Errors are problem details
// whose type is stable for every error of package store. Large answers are
// written as they are made.
//
// The package does not listen, authenticate or limit: the core in package server
// does, for every route.
package api

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/dendroprof/dendro/app/internal/endpoint"
	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/app/internal/transfer"
	"github.com/dendroprof/dendro/normalize"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/traceprof"
)

// Version is the version of the API. A change that a client could notice, other
// than a new address, parameter or member, makes a new one.
const Version = 1

// Options configure the API.
type Options struct {
	Store   store.Store
	Version string // of the program

	// Dispatcher makes and stops tasks of trace profiling; nil: one of the store's
	// own, if it keeps traces.
	Dispatcher *traceprof.Dispatcher

	// Code is the repository of the profiled code, for requests that may change the store;
	// nil: nobody sees code.
	Code endpoint.Code

	Links      int  // maximum number of short links in the store; 0: the default of package endpoint
	SQL        bool // users' own SQL is allowed
	Limits     profile.Limits
	Workers    int                   // of an import; 0: one per core
	Normalizer *normalize.Normalizer // nil: the built-in rules
	PutBytes   int64                 // of all uploads by other Dendros, which are held in memory; 0: 1 GiB
}

// code returns the repository for a request; nil: it sees none.
func (a *api) code(ctx context.Context) endpoint.Code {
	if a.Code == nil || !server.MayChange(ctx) {
		return nil
	}
	return a.Code
}

// api is the state of the handlers.
type api struct {
	Options
	imported  *prometheus.CounterVec // status
	imports   prometheus.Gauge
	importing importing
	puts      *server.Budget // bytes of uploads by other Dendros
	ready     readiness
	kept      kept
	started   time.Time
}

// Part returns the API as a part of a server.
func Part(o Options) server.Part {
	a := newAPI(o)
	return server.Part{Name: "api", Routes: a.routes(), Ready: a.isReady, Run: a.warm,
		Metrics: []prometheus.Collector{a.imported, a.imports, a.storeMetrics()}}
}

// warm lists the profiles before the first request does, which stores remember. If it fails, that
// request reports it.
func (a *api) warm(ctx context.Context) error {
	_, _ = a.Store.Profiles(ctx, store.Query{})
	return nil
}

func newAPI(o Options) *api {
	o.PutBytes = cmp.Or(o.PutBytes, 1<<30)
	if o.Normalizer == nil {
		o.Normalizer = normalize.New(nil)
	}
	if traces, ok := store.As[traceprof.Store](o.Store); ok && o.Dispatcher == nil {
		o.Dispatcher = traceprof.NewDispatcher(traces, traceprof.DispatcherOptions{})
	}
	return &api{Options: o, started: time.Now(), puts: server.NewBudget("bytes of uploads", o.PutBytes, o.PutBytes),
		imported: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "dendro_import_files_total",
			Help: "Files of imports by upload, by what became of them: stored, unchanged, skipped, failed."}, []string{"status"}),
		imports: prometheus.NewGauge(prometheus.GaugeOpts{Name: "dendro_imports_in_flight", Help: "Imports by upload under way."}),
	}
}

// routes lists all addresses. openapi.json describes the same list.
func (a *api) routes() []server.Route {
	ask := func(pattern string, h func(http.ResponseWriter, *http.Request) error) server.Route {
		return server.Route{Pattern: pattern, Needs: server.Reading, Handler: handler(h)}
	}
	change := func(pattern string, h func(http.ResponseWriter, *http.Request) error) server.Route {
		return server.Route{Pattern: pattern, Needs: server.All, Handler: handler(h)}
	}
	upload := func(pattern string, h func(http.ResponseWriter, *http.Request) error) server.Route {
		return server.Route{Pattern: pattern, Needs: server.All, Handler: handler(h), Upload: true}
	}
	routes := []server.Route{
		ask("GET /api/v1/info", a.info),
		ask("GET /api/v1/openapi.json", a.document),
		ask("GET /api/v1/profiles/{id}", a.profile),
		ask("GET /api/v1/profiles/{id}/source", a.source),
		change("DELETE /api/v1/profiles/{id}", a.deleteProfile),
		upload("POST /api/v1/import", a.importUpload),
		{Pattern: "POST /api/v1/sql", Needs: server.Reading, Kind: server.Streams, Handler: handler(a.sql)},
	}
	return slices.Concat(routes, a.queries(), a.streams())
}

// handler makes a handler of a function that returns its error before it writes
// anything; abortOn is for later ones.
func handler(h func(http.ResponseWriter, *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := h(w, r); err != nil {
			fail(w, r, err)
		}
	})
}

func (a *api) info(w http.ResponseWriter, r *http.Request) error {
	info, err := a.Store.Info(r.Context())
	if err != nil {
		return err
	}
	info.Location = server.Shown(r.Context(), info.Location)
	_, speaks := store.As[store.SQLSpeaker](a.Store)
	server.WriteJSON(w, http.StatusOK, transfer.About{Product: "dendro", Version: a.Version, API: Version, Transfer: transfer.Version,
		SQL: speaks && a.SQL, Traces: a.Dispatcher != nil, Store: info})
	return nil
}

// infoNow asks the store what it holds, not for long.
func (a *api) infoNow(ctx context.Context) (store.Info, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return a.Store.Info(ctx)
}

// readiness remembers for a moment whether the store answers.
type readiness struct {
	server.Health
	at atomic.Int64 // of the last look, Unix nanoseconds
}

// isReady asks the store for the least it can say, at most once a second. Whoever
// asked first may go: the answer is for the others too.
func (a *api) isReady(ctx context.Context) error {
	now, last := time.Now().UnixNano(), a.ready.at.Load()
	if now-last > int64(time.Second) && a.ready.at.CompareAndSwap(last, now) {
		_, err := a.infoNow(context.WithoutCancel(ctx))
		a.ready.Set(err)
	}
	return a.ready.Ready(ctx)
}

// traces returns the part of the store that keeps trace profiling.
func (a *api) traces() (traceprof.Store, error) {
	if a.Dispatcher == nil {
		return nil, notHere("this store keeps no trace profiling")
	}
	return a.Dispatcher.Store(), nil
}
