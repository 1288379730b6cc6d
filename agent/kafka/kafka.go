// Package kafka lets the agent report through Kafka, as the Kafka reporter of
// SkyWalking's Java agent does: segments, snapshots and instances go to the topics
// skywalking-segments, skywalking-profilings and skywalking-managements. Tasks and
// their ends stay on gRPC, so the agent needs both addresses.
//
//	k, err := kafka.New(kafka.Options{Namespace: "prod"}, kgo.SeedBrokers("kafka:9092"))
//	…
//	defer k.Close()
//	stop, err := agent.Start(agent.Options{Service: "shop", Server: "oap:11800", Send: k.Send})
//
// Records have the keys and values that SkyWalking's consumers expect. A record is
// reported when the brokers have it; after a failure it is sent again, so it may
// come twice, which changes nothing. The package creates no topics.
package kafka

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/dendroprof/dendro/agent"
)

// Options name the topics.
type Options struct {
	Namespace string // put before each topic, with "-"; as plugin.kafka.namespace of other agents
}

// Client produces records. It is safe for concurrent use.
type Client struct {
	client *kgo.Client
	prefix string
}

// New returns a client for the brokers that the options of franz-go name. It does
// not wait for them.
func New(o Options, options ...kgo.Opt) (*Client, error) {
	c, err := kgo.NewClient(options...)
	if err != nil {
		return nil, fmt.Errorf("agent/kafka: %w", err)
	}
	k := &Client{client: c}
	if o.Namespace != "" {
		k.prefix = o.Namespace + "-"
	}
	return k, nil
}

// Send produces records and returns when the brokers have all of them. It is made
// for agent.Options.Send.
func (c *Client) Send(ctx context.Context, records []agent.Record) error {
	list := make([]*kgo.Record, len(records))
	for i, r := range records {
		list[i] = &kgo.Record{Topic: c.prefix + r.Topic, Key: []byte(r.Key), Value: r.Value}
	}
	if err := c.client.ProduceSync(ctx, list...).FirstErr(); err != nil {
		return fmt.Errorf("agent/kafka: producing %d records: %w", len(list), err)
	}
	return nil
}

// Close closes the connections. Call it after the agent has stopped.
func (c *Client) Close() { c.client.Close() }
