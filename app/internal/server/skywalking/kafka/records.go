package kafka

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/dendroprof/dendro/app/internal/server/skywalking"
)

// topic defines how the records of a topic are stored.
type topic struct {
	name  string
	store func(s *skywalking.Session, ctx context.Context, msg []byte) error // nil: dropped
	// register stores records whose key begins with "register-"; nil: as the others.
	register func(s *skywalking.Session, ctx context.Context, msg []byte) error
}

// topics are all topics that agents write to. The Java agent waits for its topic of logs,
// whose default differs from the name in its configuration file.
var topics = []topic{
	{"skywalking-profilings", (*skywalking.Session).Snapshot, nil},
	{"skywalking-segments", (*skywalking.Session).Segment, nil},
	{"skywalking-managements", (*skywalking.Session).Ping, (*skywalking.Session).Properties},
	{"skywalking-metrics", (*skywalking.Session).JVMMetrics, nil},
	{name: "skywalking-meters"},
	{name: "skywalking-logs"},
	{name: "skywalking-logging"},
	{name: "skywalking-logs-json"},
}

// lastCommit is the maximum time of the last commit when the server ends.
const lastCommit = 10 * time.Second

// store stores the records and then commits their offsets. It retries until it succeeds;
// if the context ends first, nothing is committed and the records are read again.
func (f *Fetcher) store(ctx context.Context, fetches kgo.Fetches) {
	records := fetches.Records()
	if len(records) == 0 {
		return
	}
	tries := 0
	var done *tally
	if !f.health.Until(ctx, "records could not be stored", func() (err error) {
		if tries++; tries > 1 {
			f.retries.Inc()
		}
		done, err = f.storeRecords(ctx, records)
		return err
	}) {
		return
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), lastCommit)
	defer stop()
	if err := f.client.CommitRecords(ctx, records...); err != nil {
		f.log.Warn("offsets could not be committed; the records will be read again", "error", err)
	}
	f.account(fetches, done)
}

// outcome is what was done with a record.
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

// storeRecords stores records and returns when they are durable.
func (f *Fetcher) storeRecords(ctx context.Context, records []*kgo.Record) (*tally, error) {
	s := f.agents.NewSession(false)
	done := &tally{counts: map[outcome]int{}}
	for _, r := range records {
		t := f.topics[r.Topic]
		if t == nil || t.store == nil {
			done.counts[outcome{r.Topic, "dropped"}]++
			continue
		}
		store := t.store
		if t.register != nil && bytes.HasPrefix(r.Key, []byte("register-")) {
			store = t.register
		}
		switch err := store(s, ctx, r.Value); {
		case err == nil:
			done.counts[outcome{r.Topic, "processed"}]++
		case errors.Is(err, skywalking.ErrMalformed):
			done.counts[outcome{r.Topic, "poison"}]++
			done.poison = append(done.poison, poison{r, err})
		default:
			return nil, err
		}
	}
	return done, s.Wait(ctx)
}

// account counts and logs the outcomes of a batch.
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
