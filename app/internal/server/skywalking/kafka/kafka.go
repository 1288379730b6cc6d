// Package kafka receives data of agents of Apache SkyWalking through Kafka: the records of
// their topics are the messages of their gRPC calls, for package skywalking.
//
// All topics are created, because the Java agent sends nothing until all exist. All are
// consumed; meters and logs are dropped. Agents poll for tasks and report their end over
// gRPC even if they send data through Kafka.
//
//   - A topic's name is [alias separator] [namespace "-"] name: MirrorMaker 2 adds the
//     first part.
//   - Several servers with one store share the partitions in one consumer group. The
//     snapshots of a segment are spread over the partitions; their sequence restores the
//     order when they are read.
//   - Offsets are committed when the records are durable. Records that were not committed
//     are read again, and storing them again changes nothing.
//   - A record that cannot be decoded is counted, logged and skipped. If the store fails,
//     the records are retried until it works, and no others are read meanwhile.
//
// The package decodes only the keys of records.
package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/app/internal/server/brokers"
	"github.com/dendroprof/dendro/app/internal/server/skywalking"
	"github.com/dendroprof/dendro/internal/column"
)

// Options configure a Fetcher. Only Addresses is required.
type Options struct {
	brokers.Options
	Group     string // of consumers; default "dendro"
	Namespace string // the agents' plugin.kafka.namespace

	// Alias and Separator are those of MirrorMaker 2, if it copies the topics.
	Alias, Separator string

	Log *slog.Logger // nil: nothing is logged
}

// Sizes of batches and times between retries.
const (
	batchRecords = 5000
	fetchBytes   = 16 << 20
	// A broker may send more than it was asked for, and compressed batches grow. What is
	// beyond these sizes is refused.
	answerBytes = 2 * fetchBytes
	unpackBytes = 16 << 20 // of a fetch, decompressed: seven bytes may be a record, which takes two hundred

	// lookBack is where a group without offsets begins: records that agents sent during
	// the server's first start or the creation of a topic are read, days of old records
	// are not.
	lookBack = 15 * time.Minute
)

// Fetcher reads the records. Run its Part once.
type Fetcher struct {
	agents *skywalking.Agents
	opts   Options
	topics map[string]*topic // by full name
	log    *slog.Logger

	connection []kgo.Opt
	client     *kgo.Client // while it runs
	unpacker   *unpacker

	records *prometheus.CounterVec // topic, outcome
	retries prometheus.Counter
	lag     *prometheus.GaugeVec // topic, partition
	health  server.Health
}

// New returns a fetcher, which connects when it runs. Errors are about the options.
func New(agents *skywalking.Agents, o Options) (*Fetcher, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	o.Group = cmp.Or(o.Group, "dendro")
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	f := &Fetcher{agents: agents, opts: o, topics: map[string]*topic{}, log: o.Log, health: server.Health{Log: o.Log},
		unpacker: newUnpacker(unpackBytes),
		records: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "dendro_kafka_records_total",
			Help: "Records read from Kafka, by topic and outcome: processed, dropped (not used), poison (malformed)."}, []string{"topic", "outcome"}),
		retries: prometheus.NewCounter(prometheus.CounterOpts{Name: "dendro_kafka_retries_total",
			Help: "Batches of records that were retried because the store failed."}),
		lag: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "dendro_kafka_lag_records",
			Help: "Records of a partition that were not read yet when it was read last."}, []string{"topic", "partition"}),
	}
	for i := range topics {
		f.topics[o.prefix()+topics[i].name] = &topics[i]
	}
	var err error
	if f.connection, err = o.Client(); err == nil {
		f.connection = append(f.connection, kgo.FetchMaxBytes(fetchBytes), kgo.BrokerMaxReadBytes(answerBytes))
		err = kgo.ValidateOpts(slices.Concat(f.connection, f.consumer())...)
	}
	if err != nil {
		return nil, fmt.Errorf("options of Kafka: %w", err)
	}
	return f, nil
}

// check returns an error that names the flag to correct.
func (o *Options) check() error {
	if len(o.Addresses) == 0 {
		return errors.New("kafka: no broker: give --kafka-brokers host:port,…")
	}
	for i, b := range o.Addresses {
		if strings.TrimSpace(b) == "" {
			return fmt.Errorf("kafka: broker %d is empty: give --kafka-brokers host:port,…", i+1)
		}
	}
	return nil
}

// prefix returns the prefix of the names of topics.
func (o *Options) prefix() string {
	p := ""
	if o.Alias != "" {
		p = o.Alias + o.Separator
	}
	if o.Namespace != "" {
		p += o.Namespace + "-"
	}
	return p
}

// consumer returns the options of the consumer.
func (f *Fetcher) consumer() []kgo.Opt {
	return []kgo.Opt{
		kgo.ConsumerGroup(f.opts.Group),
		kgo.ConsumeTopics(f.names()...),
		kgo.ConsumeResetOffset(kgo.NewOffset().AfterMilli(time.Now().Add(-lookBack).UnixMilli())),
		kgo.DisableAutoCommit(),
		// Partitions are not reassigned while this member stores their records.
		kgo.BlockRebalanceOnPoll(),
		kgo.WithDecompressor(f.unpacker),
		kgo.MaxConcurrentFetches(1), // one answer in memory, of however many brokers
		kgo.FetchMaxPartitionBytes(fetchBytes / 4),
	}
}

func (f *Fetcher) names() []string {
	prefix := f.opts.prefix()
	return column.Of(topics, func(t topic) string { return prefix + t.name })
}

// Part returns the fetcher as a part of a server.
func (f *Fetcher) Part() server.Part {
	return server.Part{Name: "kafka", Run: f.run, Ready: f.health.Ready, Metrics: []prometheus.Collector{f.records, f.retries, f.lag}}
}

// run reads records until the context ends. Records that were read by then are stored and
// committed.
func (f *Fetcher) run(ctx context.Context) (err error) {
	create := func() error { return f.opts.Create(ctx, nil, f.names()...) }
	if !f.health.Until(ctx, "the topics could not be created", create) {
		return nil
	}
	// A client that starts before its topics exist would find them only seconds later.
	if f.client, err = kgo.NewClient(slices.Concat(f.connection, f.consumer())...); err != nil {
		return err
	}
	defer f.client.CloseAllowingRebalance()
	f.log.Info("reading from Kafka", "brokers", strings.Join(f.opts.Addresses, ","), "group", f.opts.Group, "prefix", f.opts.prefix())
	for ctx.Err() == nil {
		fetches := f.client.PollRecords(ctx, batchRecords)
		if fetches.IsClientClosed() {
			return nil
		}
		failed := false
		fetches.EachError(func(topic string, partition int32, err error) {
			switch tooLarge := (*kgo.ErrDecompressTooLarge)(nil); {
			case errors.Is(err, errFull):
			case errors.As(err, &tooLarge):
				f.skip(tooLarge)
			case ctx.Err() == nil:
				failed = true
				f.health.Set(fmt.Errorf("reading %s: %w", topic, err))
				f.log.Warn("reading from Kafka", "topic", topic, "partition", partition, "error", err)
			}
		})
		if !failed {
			f.health.Set(nil)
		}
		f.store(ctx, fetches)
		f.unpacker.reset()
		f.client.AllowRebalance()
	}
	return nil
}

// skip goes on behind a batch that is too large to be decompressed.
func (f *Fetcher) skip(batch *kgo.ErrDecompressTooLarge) {
	f.records.WithLabelValues(batch.Topic, "poison").Add(float64(batch.NextOffset - batch.Offset))
	f.log.Warn("a batch is skipped", "topic", batch.Topic, "partition", batch.Partition, "offset", batch.Offset, "error", batch)
	f.client.SetOffsets(map[string]map[int32]kgo.EpochOffset{batch.Topic: {batch.Partition: {Epoch: batch.Epoch, Offset: batch.NextOffset}}})
}
