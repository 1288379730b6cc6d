package fleet

import (
	"context"
	"errors"
	"fmt"
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
	client *kgo.Client
	topic  string

	records, bytes, windows prometheus.Counter
	failure                 atomic.Pointer[error]
}

// deliverWithin is how long Kafka may take for a record. Then the push fails, and the program
// sends it again.
const deliverWithin = 20 * time.Second

// NewGateway creates the topic if it is missing, and connects to it.
func NewGateway(ctx context.Context, l Log) (*Gateway, error) {
	most, err := l.create(ctx)
	if err != nil {
		return nil, err
	}
	client, err := l.client(kgo.DefaultProduceTopic(l.Topic), kgo.RequiredAcks(kgo.AllISRAcks()), kgo.ProducerLinger(0),
		kgo.ProducerBatchCompression(kgo.ZstdCompression()), kgo.ProducerBatchMaxBytes(most), kgo.RecordDeliveryTimeout(deliverWithin))
	if err != nil {
		return nil, err
	}
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "dendro_gateway_" + name, Help: help})
	}
	return &Gateway{client: client, topic: l.Topic,
		records: counter("records_total", "Records that Kafka has acknowledged."),
		bytes:   counter("record_bytes_total", "Bytes of these records before compression."),
		windows: counter("windows_total", "Windows in these records."),
	}, nil
}

// Part returns the gateway as a part of a server.
func (g *Gateway) Part() server.Part {
	return server.Part{Name: "gateway", Metrics: []prometheus.Collector{g.records, g.bytes, g.windows},
		Ready: func(context.Context) error {
			if err := g.failure.Load(); err != nil {
				return *err
			}
			return nil
		}}
}

// Close ends the connections.
func (g *Gateway) Close() { g.client.Close() }

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
		err = fmt.Errorf("writing to topic %s: %w", g.topic, err)
		g.failure.Store(&err)
		return nil, err
	}
	g.failure.Store(nil)
	outcomes := make([]continuous.Outcome, len(list))
	for _, chunk := range refused {
		outcomes[slices.Index(list, chunk[0])] = continuous.TooLarge
	}
	g.windows.Add(float64(len(list) - len(refused)))
	return outcomes, nil
}

// produce writes chunks of windows as records, and returns those that no message can have.
func (g *Gateway) produce(ctx context.Context, chunks [][]*continuous.Window) (refused [][]*continuous.Window, err error) {
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
	for _, result := range g.client.ProduceSync(ctx, records...) {
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
