// Package tracing runs trace profiling in a server: it connects the protocols of agents and
// clients of Apache SkyWalking to a store, and does the background work.
//
//	agents (gRPC, HTTP, Kafka) ─▶ traceprof.Intake, uploads ─▶ store
//	clients (GraphQL) ──────────▶ traceprof.Dispatcher ──────▶ agents
//	finished tasks ─────────────▶ profiles of the store
//	old tasks, segments ────────▶ deleted (Options.TTL, Options.MaxBytes)
//
// The package translates no protocol: packages skywalking, graphql and kafka do. It
// reads no flags and no files.
package tracing

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/app/internal/server/skywalking"
	"github.com/dendroprof/dendro/app/internal/server/skywalking/graphql"
	"github.com/dendroprof/dendro/app/internal/server/skywalking/kafka"
	"github.com/dendroprof/dendro/app/internal/server/skywalking/uploads"
	"github.com/dendroprof/dendro/ingest"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/traceprof"
)

// Options configure trace profiling. Log must be set.
type Options struct {
	TTL      time.Duration // how long tasks, snapshots and segments are kept; 0: for ever
	MaxBytes int64         // of segments and snapshots, the oldest are deleted first; 0: no limit

	Kafka   kafka.Options // without brokers, Kafka is not used
	Intake  traceprof.IntakeOptions
	Ingest  ingest.Options // limits and normalizer of uploads and of finished tasks
	Version string         // of the program
	Log     *slog.Logger
}

// Tracing is trace profiling over one store. Close it after the server has ended.
type Tracing struct {
	Dispatcher *traceprof.Dispatcher
	Parts      []server.Part

	intake *traceprof.Intake
}

// New connects the parts. It returns nil if the store does not support traces.
func New(ctx context.Context, st store.Store, o Options) (*Tracing, error) {
	traces, ok := store.As[traceprof.Store](st)
	if !ok {
		return nil, nil
	}
	switch _, err := traces.Tasks(ctx, traceprof.TaskQuery{Limit: 1}); {
	case errors.Is(err, traceprof.ErrNotKept):
		o.Log.Warn("SkyWalking agents are not served", "reason", err)
		return nil, nil
	case err != nil:
		return nil, err
	}
	if err := traceprof.NoteStart(ctx, traces, time.Now().UnixMilli()); err != nil {
		return nil, err
	}
	if o.Intake.MaxStacks > 0 {
		traces.LimitStacks(2 * o.Intake.MaxStacks) // the ratio of the defaults
	}
	t := &Tracing{Dispatcher: traceprof.NewDispatcher(traces, traceprof.DispatcherOptions{}), intake: traceprof.NewIntake(traces, o.Intake)}
	recordings := uploads.New(st, uploads.Options{Ingest: o.Ingest})
	agents := skywalking.New(skywalking.Options{Store: traces, Dispatcher: t.Dispatcher, Intake: t.intake, Uploads: recordings, Log: o.Log})
	clients := graphql.New(graphql.Options{Store: traces, Dispatcher: t.Dispatcher, Uploads: recordings, Version: o.Version, TTL: o.TTL,
		Log: o.Log})
	finished := ingest.NewTraceTasks(traces, st, ingest.TraceOptions{Normalizer: o.Ingest.Normalizer,
		Report: func(r ingest.Result) { logTask(o.Log, r) }})
	t.Parts = []server.Part{agents.Part(), clients.Part(),
		{Name: "tasks", Run: untilEnd(finished.Run)},
		{Name: "delivery", Run: t.watch(o.Log)},
		{Name: "expiry", Run: func(ctx context.Context) error { return o.expire(ctx, traces, o.expireEvery()) }},
	}
	if len(o.Kafka.Addresses) == 0 {
		return t, nil
	}
	o.Kafka.Log = o.Log
	fetcher, err := kafka.New(agents, o.Kafka)
	if err != nil {
		return nil, errors.Join(err, t.Close())
	}
	t.Parts = append(t.Parts, fetcher.Part())
	return t, nil
}

// watch keeps the tasks that agents may receive in memory, until the context ends.
func (t *Tracing) watch(log *slog.Logger) func(context.Context) error {
	return func(ctx context.Context) error {
		t.Dispatcher.Watch(ctx, func(err error) { log.Error("cannot read the tasks for agents; trying again", "error", err) })
		return nil
	}
}

// Close stores pending data of agents. It may be called on nil.
func (t *Tracing) Close() error {
	if t == nil {
		return nil
	}
	return t.intake.Close(context.Background())
}

// untilEnd returns run without the error of a context that ended.
func untilEnd(run func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := run(ctx); ctx.Err() == nil {
			return err
		}
		return nil
	}
}

// logTask logs how storing a finished task as a profile ended.
func logTask(log *slog.Logger, r ingest.Result) {
	if r.Err != nil {
		log.Error("cannot store a finished task as a profile", "task", r.Run, "error", r.Err)
		return
	}
	log.Info("stored a finished task as a profile", "task", r.Run, "service", r.Group, "endpoint", r.Bench, "status", r.Status)
}

// expireEvery returns how often old traces are deleted. What is kept too long is at most a
// twentieth of the TTL; with a limit of bytes it is what arrives in five seconds.
func (o *Options) expireEvery() time.Duration {
	every := time.Minute
	if o.TTL > 0 {
		every = min(every, max(o.TTL/20, time.Second))
	}
	if o.MaxBytes > 0 {
		every = min(every, 5*time.Second)
	}
	return every
}

// expire deletes old traces, and those over the limit, until the context ends.
func (o *Options) expire(ctx context.Context, st traceprof.Store, every time.Duration) error {
	if o.TTL <= 0 && o.MaxBytes <= 0 {
		<-ctx.Done()
		return nil
	}
	// It waits first: tasks that ended while no server ran become profiles before.
	server.Every(ctx, every, func(now time.Time) {
		e := traceprof.Expiry{Now: now.UnixMilli(), MaxBytes: o.MaxBytes}
		if o.TTL > 0 {
			e.Before = e.Now - o.TTL.Milliseconds()
		}
		switch gone, err := st.Expire(ctx, e); {
		case ctx.Err() != nil:
		case err != nil:
			o.Log.Error("cannot delete old traces; trying again", "error", err)
		case gone != traceprof.Expired{}:
			o.Log.Info("deleted old traces", "tasks", gone.Tasks, "segments", gone.Segments, "instances", gone.Instances)
		}
	})
	return nil
}
