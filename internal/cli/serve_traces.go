package cli

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/internal/ingest"
	"github.com/dendroprof/dendro/internal/server"
	"github.com/dendroprof/dendro/internal/server/skywalking"
	"github.com/dendroprof/dendro/internal/server/skywalking/graphql"
	"github.com/dendroprof/dendro/internal/server/skywalking/kafka"
	"github.com/dendroprof/dendro/internal/server/skywalking/uploads"
	"github.com/dendroprof/dendro/normalize"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/traceprof"
)

// traceOptions are the flags of `dendro serve` about trace profiling.
type traceOptions struct {
	ttl     time.Duration
	maxSize int64

	brokers       string
	kafka         kafka.Options
	kafkaPassword string // a file
}

func (o *traceOptions) addFlags(c *cobra.Command) {
	f := c.Flags()
	f.DurationVar(&o.ttl, "ttl", 72*time.Hour, "`time` for which tasks, their snapshots and segments are kept; 0: for ever")
	f.Int64Var(&o.maxSize, "max-traces", 0, "`bytes` of segments and snapshots at most, the oldest go first (default: no limit)")
	f.StringVar(&o.brokers, "kafka-brokers", "", "`host:port,…`: take what agents send through Kafka")
	f.StringVar(&o.kafka.Group, "kafka-group", "dendro", "`name` of the consumer group; servers over one store share one")
	f.StringVar(&o.kafka.Namespace, "kafka-namespace", "", "`name` before the topics, as agents have it (plugin.kafka.namespace)")
	f.StringVar(&o.kafka.Alias, "kafka-mm2-alias", "", "`alias` of the cluster that MirrorMaker 2 copies the topics from")
	f.StringVar(&o.kafka.Separator, "kafka-mm2-separator", ".", "`text` that MirrorMaker 2 puts behind the alias")
	f.Int32Var(&o.kafka.Partitions, "kafka-partitions", 0, "`n` partitions of topics that are not there yet (default 3)")
	f.Int16Var(&o.kafka.Replication, "kafka-replication", 0, "`n` replicas of topics that are not there yet (default: the brokers')")
	f.BoolVar(&o.kafka.TLS, "kafka-tls", false, "reach the brokers over TLS")
	f.StringVar(&o.kafka.User, "kafka-user", "", "`name` at the brokers (SASL)")
	f.StringVar(&o.kafkaPassword, "kafka-password-file", "", "`file` with the password at the brokers")
	f.Var(&choice{&o.kafka.Mechanism, []string{"plain", "scram-sha-256", "scram-sha-512"}}, "kafka-mechanism", "SASL `mechanism`: plain, scram-sha-256, scram-sha-512 (default plain)")
}

// tracing is trace profiling in a running server.
type tracing struct {
	store      traceprof.Store
	dispatcher *traceprof.Dispatcher
	intake     *traceprof.Intake
	parts      []server.Part
}

// newTracing puts together what agents and clients of Apache SkyWalking talk to.
// It must be closed after the server has ended. Nil: the store keeps no traces.
func (o *serveOptions) newTracing(ctx context.Context, st store.Store, names *normalize.Normalizer) (*tracing, error) {
	traces, ok := st.(traceprof.Store)
	if !ok {
		return nil, nil
	}
	switch _, err := traces.Tasks(ctx, traceprof.TaskQuery{Limit: 1}); {
	case errors.Is(err, traceprof.ErrNotKept):
		o.Log.Warn("agents of SkyWalking are not answered", "reason", err)
		return nil, nil
	case err != nil:
		return nil, err
	}
	t := &tracing{store: traces, dispatcher: traceprof.NewDispatcher(traces, traceprof.DispatcherOptions{}), intake: traceprof.NewIntake(traces, traceprof.IntakeOptions{})}
	recordings := uploads.New(st, uploads.Options{Ingest: ingest.Options{Limits: o.limits, Normalizer: names}})
	agents := skywalking.New(skywalking.Options{Store: traces, Dispatcher: t.dispatcher, Intake: t.intake, Uploads: recordings, Log: o.Log})
	clients := graphql.New(graphql.Options{Store: traces, Dispatcher: t.dispatcher, Uploads: recordings, Version: o.Version, TTL: o.traces.ttl, Log: o.Log})
	finished := ingest.NewTraceTasks(traces, st, ingest.TraceOptions{Normalizer: names, Report: func(r ingest.Result) { reportTask(o.Log, r) }})
	t.parts = []server.Part{agents.Part(), clients.Part(),
		{Name: "tasks", Run: untilEnd(finished.Run)},
		{Name: "expiry", Run: func(ctx context.Context) error { return o.traces.expire(ctx, traces, expireEvery, o.Log) }},
	}
	if o.traces.brokers == "" {
		return t, nil
	}
	fetcher, err := o.traces.fetcher(agents, o.Log)
	if err != nil {
		return nil, errors.Join(err, t.close())
	}
	t.parts = append(t.parts, fetcher.Part())
	return t, nil
}

// close stores what has been taken in.
func (t *tracing) close() error {
	if t == nil {
		return nil
	}
	return t.intake.Close(context.Background())
}

func (o *traceOptions) fetcher(agents *skywalking.Agents, log *slog.Logger) (*kafka.Fetcher, error) {
	k := o.kafka
	k.Brokers, k.Log = strings.Split(o.brokers, ","), log
	if o.kafkaPassword != "" {
		var err error
		if k.Password, err = readSecret("password of the brokers", o.kafkaPassword); err != nil {
			return nil, err
		}
	}
	return kafka.New(agents, k)
}

// untilEnd makes the end of the context no error of a loop.
func untilEnd(run func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := run(ctx); ctx.Err() == nil {
			return err
		}
		return nil
	}
}

// reportTask logs what became of a task that is over.
func reportTask(log *slog.Logger, r ingest.Result) {
	if r.Err != nil {
		log.Error("a task did not become a profile", "task", r.Run, "error", r.Err)
		return
	}
	log.Info("a task is a profile now", "task", r.Run, "service", r.Group, "endpoint", r.Bench, "status", r.Status)
}

// expireEvery is how often what is too old or too much goes.
const expireEvery = 5 * time.Minute

// expire removes what is too old or too much until the context ends.
func (o *traceOptions) expire(ctx context.Context, st traceprof.Store, every time.Duration, log *slog.Logger) error {
	if o.ttl <= 0 && o.maxSize <= 0 {
		<-ctx.Done()
		return nil
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		// Not at once: what ended while no server ran becomes a profile first.
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		e := traceprof.Expiry{Now: time.Now().UnixMilli(), MaxBytes: o.maxSize}
		if o.ttl > 0 {
			e.Before = e.Now - o.ttl.Milliseconds()
		}
		switch gone, err := st.Expire(ctx, e); {
		case ctx.Err() != nil:
		case err != nil:
			log.Error("old traces could not be removed; it is tried again", "error", err)
		case gone != traceprof.Expired{}:
			log.Info("old traces were removed", "tasks", gone.Tasks, "segments", gone.Segments, "instances", gone.Instances)
		}
	}
}
