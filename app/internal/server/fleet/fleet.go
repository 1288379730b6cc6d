// Package fleet receives, keeps and reads the windows of pushed profiles with more than one
// process, with Kafka between them.
//
//	programs ─▶ Gateway (any number) ─▶ a topic ─▶ Worker (a consumer group) ◀─ Reader (any number)
//
// A Gateway is where an intake puts its windows: records of a topic, written by all in-sync
// brokers before a push is answered. All windows of a service are in one partition.
//
// A Worker holds some of the partitions, each in a store of its own: the windows of the records
// up to a position, which is in the same transaction. So whatever is killed, a partition is a
// function of its log: nothing is lost and nothing is there twice. Kafka decides who holds
// which; what a worker does not hold any more it does not show.
//
// A Reader asks the workers, each partition of the one that holds it, and adds up their answers
// (package merged). It says which workers, services and partitions are missing.
//
// The package knows no protocol by which programs push, and no engine: the caller opens stores.
package fleet

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/dendroprof/dendro/app/internal/server/brokers"
)

// Sizes of a message, which is a batch of records, in bytes.
const (
	newMessage   = 64 << 20 // the maximum of topics that Dendro makes
	leastMessage = 8 << 20  // the smallest maximum that is enough for profiles of usual programs
)

// Latest is the maximum age of a window when it is pushed to a fleet: workers hand hours over again
// for so long.
const Latest = 72 * time.Hour

// Log is the topic of a fleet.
type Log struct {
	brokers.Log
	Brokers brokers.Options // without Addresses
	// Keep is how long a new topic keeps its records: what a worker can read again.
	Keep time.Duration
}

// client returns a client with more options.
func (l *Log) client(more ...kgo.Opt) (*kgo.Client, error) {
	l.Brokers.Addresses = l.Addresses
	opts, err := l.Brokers.Client()
	if err != nil {
		return nil, err
	}
	return kgo.NewClient(append(opts, more...)...)
}

// settings are those of the topic that the parts of a fleet need to know.
type settings struct {
	message int32         // maximum of bytes
	keep    time.Duration // of records; 0: for good
}

// create creates the topic if it is not there, and returns its settings.
func (l *Log) create(ctx context.Context) (s settings, err error) {
	l.Brokers.Addresses = l.Addresses
	text := func(n int64) *string { s := strconv.FormatInt(n, 10); return &s }
	wanted := map[string]*string{"max.message.bytes": text(newMessage), "retention.ms": text(-1)}
	if l.Keep > 0 {
		wanted["retention.ms"] = text(l.Keep.Milliseconds())
	}
	if err := l.Brokers.Create(ctx, wanted, l.Topic); err != nil {
		return s, err
	}
	client, err := l.client()
	if err != nil {
		return s, err
	}
	defer client.Close()
	configs, err := kadm.NewClient(client).DescribeTopicConfigs(ctx, l.Topic)
	if err != nil {
		return s, fmt.Errorf("reading the settings of topic %s: %w", l.Topic, err)
	}
	s.message = leastMessage
	for _, c := range configs {
		for _, setting := range c.Configs {
			n, err := strconv.ParseInt(setting.MaybeValue(), 10, 64)
			switch {
			case setting.Key == "retention.ms" && err == nil && n > 0:
				s.keep = time.Duration(min(n, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
			case setting.Key != "max.message.bytes" || setting.Value == nil:
			case err != nil || n < leastMessage:
				return s, fmt.Errorf("topic %s takes messages of at most %s bytes: set its max.message.bytes to %d or more (kafka-configs.sh)",
					l.Topic, *setting.Value, leastMessage)
			default:
				s.message = int32(min(n, math.MaxInt32))
			}
		}
	}
	return s, nil
}
