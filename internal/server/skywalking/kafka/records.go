package kafka

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/dendroprof/dendro/internal/server/skywalking"
)

// topic is what the records of a topic are.
type topic struct {
	name string
	take func(ctx context.Context, s *skywalking.Session, r *kgo.Record) error // nil: of no use
}

// topics are those that agents write to. The Java agent's own default for logs is
// not the one in the configuration it is shipped with, and it waits for whichever
// it has.
var topics = []topic{
	{"skywalking-profilings", func(ctx context.Context, s *skywalking.Session, r *kgo.Record) error {
		return s.Snapshot(ctx, r.Value)
	}},
	{"skywalking-segments", func(ctx context.Context, s *skywalking.Session, r *kgo.Record) error {
		return s.Segment(ctx, r.Value)
	}},
	{"skywalking-managements", func(ctx context.Context, s *skywalking.Session, r *kgo.Record) error {
		if strings.HasPrefix(string(r.Key), "register-") {
			return s.Properties(ctx, r.Value)
		}
		return s.Ping(r.Value)
	}},
	{"skywalking-metrics", func(_ context.Context, s *skywalking.Session, r *kgo.Record) error {
		return s.JVMMetrics(r.Value)
	}},
	{"skywalking-meters", nil},
	{"skywalking-logs", nil},
	{"skywalking-logging", nil},
	{"skywalking-logs-json", nil},
}

// lastCommit is how long the last commit may take when the server ends.
const lastCommit = 10 * time.Second

// store stores the records and then commits their offsets. While the store fails
// it goes on trying; if the context ends before it succeeds, the offsets stay and
// the records come again.
func (f *Fetcher) store(ctx context.Context, fetches kgo.Fetches) {
	records := fetches.Records()
	if len(records) == 0 {
		return
	}
	tries := 0
	var done *tally
	if f.patiently(ctx, "records could not be stored", func(ctx context.Context) (err error) {
		if tries++; tries > 1 {
			f.retries.Inc()
		}
		done, err = f.take(ctx, records)
		return err
	}) != nil {
		return
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), lastCommit)
	defer stop()
	if err := f.client.CommitRecords(ctx, records...); err != nil {
		f.log.Warn("offsets could not be committed; the records will come again", "error", err)
	}
	f.account(fetches, done)
}

// outcome is what became of a record.
type outcome struct{ topic, what string }

// tally counts outcomes.
type tally struct {
	counts map[outcome]int
	poison []poison
}

type poison struct {
	record *kgo.Record
	err    error
}

// take hands on records and returns when they are durable.
func (f *Fetcher) take(ctx context.Context, records []*kgo.Record) (*tally, error) {
	s := f.agents.NewSession(false)
	done := &tally{counts: map[outcome]int{}}
	for _, r := range records {
		t := f.topics[r.Topic]
		if t == nil || t.take == nil {
			done.counts[outcome{r.Topic, "dropped"}]++
			continue
		}
		switch err := t.take(ctx, s, r); {
		case err == nil:
			done.counts[outcome{r.Topic, "taken"}]++
		case errors.Is(err, skywalking.ErrMalformed):
			done.counts[outcome{r.Topic, "poison"}]++
			done.poison = append(done.poison, poison{r, err})
		default:
			return nil, err
		}
	}
	return done, s.Wait(ctx)
}

// account counts and logs what became of a batch.
func (f *Fetcher) account(fetches kgo.Fetches, done *tally) {
	for o, n := range done.counts {
		f.records.WithLabelValues(o.topic, o.what).Add(float64(n))
	}
	for _, p := range done.poison {
		f.log.Warn("a record is skipped", "topic", p.record.Topic, "partition", p.record.Partition, "offset", p.record.Offset, "error", p.err)
	}
	fetches.EachPartition(func(p kgo.FetchTopicPartition) {
		if n := len(p.Records); n > 0 {
			f.lag.WithLabelValues(p.Topic, strconv.Itoa(int(p.Partition))).Set(float64(p.HighWatermark - p.Records[n-1].Offset - 1))
		}
	})
}
