package fleet

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
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
	records := make([]*kgo.Record, 0, len(list))
	chunks := byService(list)
	var encoding errgroup.Group
	for _, chunk := range chunks {
		r := &kgo.Record{Key: []byte(chunk[0].Series.Service)}
		records = append(records, r)
		encoding.Go(func() error {
			r.Value = record.Append(nil, chunk)
			return nil
		})
	}
	if err := encoding.Wait(); err != nil {
		return nil, err
	}
	var errs []error
	size := 0
	for _, result := range g.client.ProduceSync(ctx, records...) {
		errs, size = append(errs, result.Err), size+len(result.Record.Value)
	}
	if err := errors.Join(errs...); err != nil {
		err = fmt.Errorf("writing to topic %s: %w", g.topic, err)
		g.failure.Store(&err)
		return nil, err
	}
	g.failure.Store(nil)
	g.records.Add(float64(len(records)))
	g.windows.Add(float64(len(list)))
	g.bytes.Add(float64(size))
	return make([]continuous.Outcome, len(list)), nil
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
