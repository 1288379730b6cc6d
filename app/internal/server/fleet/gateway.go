package fleet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/continuous/record"
)

// Gateway puts windows into a topic. It keeps nothing.
type Gateway struct {
	log    Log
	client atomic.Pointer[kgo.Client] // nil: it has not been connected yet
	keep   atomic.Int64               // how long the topic keeps records, a time.Duration; 0: for good
	health server.Health              // until then; later that of the intake says what fails

	records, bytes, windows prometheus.Counter
}

// deliverWithin is how long Kafka may take for a record. Then the push fails, and the program
// sends it again.
const deliverWithin = 20 * time.Second

// errNotConnected is the error of a gateway that waits for Kafka.
var errNotConnected = errors.New("no answer from Kafka yet")

// NewGateway returns a gateway, which connects when it runs.
func NewGateway(l Log, log *slog.Logger) *Gateway {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "dendro_gateway_" + name, Help: help})
	}
	g := &Gateway{log: l, health: server.Health{Log: log},
		records: counter("records_total", "Records that Kafka has acknowledged."),
		bytes:   counter("record_bytes_total", "Bytes of these records before compression."),
		windows: counter("windows_total", "Windows in these records."),
	}
	g.health.Set(errNotConnected)
	return g
}

// Connect creates the topic if it is missing, and connects to it.
func (g *Gateway) Connect(ctx context.Context) error {
	topic, err := g.log.create(ctx)
	if err != nil {
		return err
	}
	g.keep.Store(int64(topic.keep))
	client, err := g.log.client(kgo.DefaultProduceTopic(g.log.Topic), kgo.RequiredAcks(kgo.AllISRAcks()), kgo.ProducerLinger(0),
		kgo.ProducerBatchCompression(kgo.ZstdCompression()), kgo.ProducerBatchMaxBytes(topic.message), kgo.RecordDeliveryTimeout(deliverWithin))
	if err == nil {
		g.client.Store(client)
	}
	return err
}

// MaxAge implements continuous.Aging. A window that is older than half of what the topic keeps could be
// of an hour that a worker, which reads the topic again later, does not have whole: such a worker
// hands none over.
func (g *Gateway) MaxAge() (time.Duration, string) {
	if half := time.Duration(g.keep.Load()) / 2; half > 0 && half < Latest {
		return half, "retention.ms of topic " + g.log.Topic + ", it is half of that"
	}
	return Latest, ""
}

// Part returns the gateway as a part of a server.
func (g *Gateway) Part() server.Part {
	return server.Part{Name: "gateway", Metrics: []prometheus.Collector{g.records, g.bytes, g.windows},
		Run: func(ctx context.Context) error {
			if g.health.Until(ctx, "the topic could not be created or read", func() error { return g.Connect(ctx) }) {
				g.health.Log.Info("writing windows to Kafka", "topic", g.log.Topic)
				<-ctx.Done()
			}
			return nil
		},
		Ready: g.health.Ready}
}

// Close ends the connections.
func (g *Gateway) Close() {
	if client := g.client.Load(); client != nil {
		client.Close()
	}
}

// maxPaths is how many values of paths a record has at most, but for one with a single window.
const maxPaths = 1 << 15

// PutWindows writes windows to the topic, and returns when all in-sync brokers have them. None
// is known to be repeated: a worker finds that out.
func (g *Gateway) PutWindows(ctx context.Context, list []*continuous.Window) ([]continuous.Outcome, error) {
	refused, err := g.produce(ctx, byService(list))
	var alone [][]*continuous.Window // of records that are too large, each window
	for _, chunk := range refused {
		for i := range chunk {
			alone = append(alone, chunk[i:i+1])
		}
	}
	if err == nil && len(alone) > len(refused) {
		refused, err = g.produce(ctx, alone)
	}
	if err != nil {
		return nil, fmt.Errorf("writing to topic %s: %w", g.log.Topic, err)
	}
	outcomes := make([]continuous.Outcome, len(list))
	for _, chunk := range refused {
		outcomes[slices.Index(list, chunk[0])] = continuous.TooLarge
	}
	g.windows.Add(float64(len(list) - len(refused)))
	return outcomes, nil
}

// produce writes chunks of windows as records, and returns those that no message can have.
func (g *Gateway) produce(ctx context.Context, chunks [][]*continuous.Window) (refused [][]*continuous.Window, err error) {
	client := g.client.Load()
	if client == nil {
		return nil, errNotConnected
	}
	records := make([]*kgo.Record, 0, len(chunks))
	of := map[*kgo.Record][]*continuous.Window{}
	var encoding errgroup.Group
	for _, chunk := range chunks {
		r := &kgo.Record{Key: []byte(chunk[0].Series.Service)}
		records, of[r] = append(records, r), chunk
		encoding.Go(func() error {
			r.Value = record.Append(nil, chunk)
			return nil
		})
	}
	if err := encoding.Wait(); err != nil {
		return nil, err
	}
	var errs []error
	for _, result := range client.ProduceSync(ctx, records...) {
		switch {
		case errors.Is(result.Err, kerr.MessageTooLarge):
			refused = append(refused, of[result.Record])
		case result.Err == nil:
			g.records.Inc()
			g.bytes.Add(float64(len(result.Record.Value)))
		default:
			errs = append(errs, result.Err)
		}
	}
	return refused, errors.Join(errs...)
}

// byService groups windows for records: those of one service, in their order.
func byService(list []*continuous.Window) (chunks [][]*continuous.Window) {
	open := map[string]int{} // of a service: its last chunk
	paths := map[string]int{}
	for _, w := range list {
		service := w.Series.Service
		at, ok := open[service]
		if !ok || paths[service]+w.Self.Len() > maxPaths {
			at, paths[service] = len(chunks), 0
			open[service], chunks = at, append(chunks, nil)
		}
		chunks[at] = append(chunks[at], w)
		paths[service] += w.Self.Len()
	}
	return chunks
}
