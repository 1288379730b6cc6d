package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/continuous/merged"
	"github.com/dendroprof/dendro/continuous/record"
)

// WorkerOptions configure a Worker. All but Instance are required.
type WorkerOptions struct {
	Log      Log
	Group    string // of consumers
	Instance string // of this worker: one that comes back within Session keeps its partitions; empty: none does
	// Session is after how long without a sign of life Kafka gives the partitions to others.
	Session time.Duration
	// Open opens the store of a partition, or makes it.
	Open   func(ctx context.Context, partition int32) (PartitionStore, error)
	Hours  *Late[Hours] // takes finished hours; nil: there is no lake
	Logger *slog.Logger
}

// Hours hands hours over to a lake.
type Hours interface {
	io.Closer
	// Publish hands the finished hours of a partition over, each once, and returns how many. Hours
	// before whole may lack windows.
	Publish(ctx context.Context, partition int32, st continuous.HourStore, whole time.Time) (int, error)
	// Compact merges the files of days that ended, if that is worth its cost, and removes hours and days that are
	// too old. If several workers do it at once, the files of one remain.
	Compact(context.Context) (continuous.Compaction, error)
}

// PartitionStore is the store of a partition.
type PartitionStore interface {
	continuous.HourStore
	continuous.Follower
	// Upkeep rolls its windows up until the context ends, and calls rolled each time.
	Upkeep(ctx context.Context, rolled func(context.Context)) error
	Close() error
}

// Worker holds partitions of a topic. Run its Part once.
type Worker struct {
	opts   WorkerOptions
	log    *slog.Logger
	client atomic.Pointer[kgo.Client] // while it runs
	total  atomic.Int32               // partitions of the topic

	mu   sync.RWMutex
	held map[int32]*partition
	end  context.CancelCauseFunc // of the run, with the error that no retry mends

	health  server.Health          // of Kafka, and of the store
	lake    server.Health          // until it was opened
	compact time.Time              // when the lake was last compacted
	records *prometheus.CounterVec // outcome
	windows *prometheus.CounterVec // outcome
	lag     *prometheus.GaugeVec   // partition
}

// partition is one that this worker holds.
type partition struct {
	st     PartitionStore
	number int32
	reader record.Reader
	target int64                     // the end of the log when it was assigned
	caught func()                    // says that it was read up to there
	missed bool                      // records before the next are not in the log any more, and none was read since
	read   atomic.Pointer[time.Time] // from which on all windows were read, or will be
	kept   atomic.Pointer[time.Time] // from which on the store keeps windows, as it said last
	next   atomic.Int64              // position
	lost   atomic.Bool               // nobody knows who holds it
	last   atomic.Int64              // end of the log when it was read last
	stop   func()                    // of the upkeep
	ended  chan struct{}             // the upkeep has ended

	answering sync.RWMutex // for reading while the store answers, for writing when it is closed
}

// NewWorker returns a worker, which connects when it runs.
func NewWorker(o WorkerOptions) *Worker {
	counter := func(name, help, label string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "dendro_worker_" + name, Help: help}, []string{label})
	}
	return &Worker{opts: o, log: o.Logger, held: map[int32]*partition{},
		health: server.Health{Log: o.Logger}, lake: server.Health{Log: o.Logger},
		records: counter("records_total", "Records read, by outcome: stored, poison (malformed, skipped).", "outcome"),
		windows: counter("windows_total", "Windows read, by outcome: stored, repeated (pushed twice).", "outcome"),
		lag: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "dendro_worker_lag_records",
			Help: "Records of a partition that this worker holds and has not stored, when it was read last."}, []string{"partition"})}
}

// Part returns the worker as a part of a server: what it does, and what readers ask.
func (w *Worker) Part() server.Part {
	return server.Part{Name: "worker", Run: w.run, Routes: w.routes(), Metrics: []prometheus.Collector{w.records, w.windows, w.lag},
		Ready: func(ctx context.Context) error { return errors.Join(w.health.Ready(ctx), w.lake.Ready(ctx)) }}
}

// Windows returns the windows of the partitions that this worker holds.
func (w *Worker) Windows() continuous.Store {
	return &merged.Store{Parts: func(context.Context) (list []continuous.Store, answered func(), err error) {
		w.mu.RLock()
		defer w.mu.RUnlock()
		var open []*partition
		for _, p := range w.held {
			p.answering.RLock()
			list, open = append(list, p.st), append(open, p)
		}
		return list, func() {
			for _, p := range open {
				p.answering.RUnlock()
			}
		}, nil
	}}
}

// Sizes of what is read at once.
const (
	pollRecords = 2000
	fetchBytes  = 32 << 20
)

// run reads the log until the context ends.
func (w *Worker) run(ctx context.Context) (err error) {
	ctx, w.end = context.WithCancelCause(ctx)
	defer w.end(nil)
	if w.opts.Hours != nil { // it reads the log meanwhile
		var opening sync.WaitGroup
		defer opening.Wait()
		opening.Go(func() { w.lake.Until(ctx, "the lake does not answer", func() error { return w.opts.Hours.try(ctx) }) })
	}
	if !w.health.Until(ctx, "the topic could not be created or read", func() error {
		_, err := w.opts.Log.create(ctx)
		return err
	}) {
		return nil
	}
	opts := []kgo.Opt{
		kgo.ConsumerGroup(w.opts.Group), kgo.ConsumeTopics(w.opts.Log.Topic), kgo.Balancers(kgo.CooperativeStickyBalancer()),
		kgo.SessionTimeout(w.opts.Session), kgo.HeartbeatInterval(max(w.opts.Session/10, 300*time.Millisecond)),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.AutoCommitMarks(), // offsets in Kafka show the lag to others; what holds is in the stores
		kgo.BlockRebalanceOnPoll(),
		kgo.OnPartitionsAssigned(w.assigned), kgo.OnPartitionsRevoked(w.revoked), kgo.OnPartitionsLost(w.lost),
		kgo.AdjustFetchOffsetsFn(w.begin),
		kgo.FetchMaxBytes(fetchBytes), kgo.BrokerMaxReadBytes(2 * newMessage), kgo.MaxConcurrentFetches(1),
	}
	if w.opts.Instance != "" {
		opts = append(opts, kgo.InstanceID(w.opts.Instance))
	}
	client, err := w.opts.Log.client(opts...)
	if err != nil {
		return err
	}
	w.client.Store(client)
	defer func() {
		client.CloseAllowingRebalance()
		w.release(func(*partition) bool { return true })
	}()
	w.log.Info("reading windows from Kafka", "topic", w.opts.Log.Topic, "group", w.opts.Group, "instance", w.opts.Instance)
	for ctx.Err() == nil {
		fetches := client.PollRecords(ctx, pollRecords)
		if fetches.IsClientClosed() {
			break
		}
		w.health.Set(nil)
		fetches.EachError(func(topic string, partition int32, err error) {
			if ctx.Err() == nil {
				w.health.Set(fmt.Errorf("reading %s: %w", topic, err))
				w.log.Warn("reading from Kafka", "topic", topic, "partition", partition, "error", err)
			}
		})
		w.store(ctx, fetches)
		client.AllowRebalance()
	}
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// assigned opens the stores of partitions that this worker holds from now on.
func (w *Worker) assigned(ctx context.Context, client *kgo.Client, topics map[string][]int32) {
	numbers := topics[w.opts.Log.Topic]
	w.release(func(p *partition) bool { return p.lost.Load() })
	admin := kadm.NewClient(client)
	var starts, ends kadm.ListedOffsets
	if !w.health.Until(ctx, "the ends of the topic could not be read", func() (err error) {
		if ends, err = admin.ListEndOffsets(ctx, w.opts.Log.Topic); err == nil {
			starts, err = admin.ListStartOffsets(ctx, w.opts.Log.Topic)
		}
		return cmp.Or(err, ends.Error(), starts.Error())
	}) {
		return
	}
	w.total.Store(int32(len(ends[w.opts.Log.Topic])))
	for _, number := range numbers {
		start, _ := starts.Lookup(w.opts.Log.Topic, number)
		end, _ := ends.Lookup(w.opts.Log.Topic, number)
		p, err := w.open(ctx, number, start.Offset, end.Offset)
		if err != nil {
			w.end(fmt.Errorf("the store of partition %d: %w", number, err))
			return
		}
		w.mu.Lock()
		w.held[number] = p
		w.mu.Unlock()
		w.log.Info("holds a partition", "partition", number, "next", p.next.Load(), "end", end.Offset)
	}
}

func (w *Worker) open(ctx context.Context, number int32, start, end int64) (*partition, error) {
	st, err := w.opts.Open(ctx, number)
	if err != nil {
		return nil, err
	}
	at, err := st.Position(ctx)
	if err != nil {
		return nil, errors.Join(err, st.Close())
	}
	p := &partition{st: st, number: number, target: end, missed: at.Next < start, ended: make(chan struct{})}
	caught, reach := context.WithCancel(context.WithoutCancel(ctx))
	p.caught = reach
	p.kept.Store(&at.Kept)
	if p.missed {
		at.Next, at.From = start, continuous.Later(at.From, hourAfter(time.Now()))
		w.log.Warn("records are not in the log any more that this worker has not read", "partition", number, "until", start)
	}
	p.read.Store(&at.From)
	p.reached(at.Next)
	p.last.Store(end)
	upkeep, stop := context.WithCancel(context.WithoutCancel(ctx))
	p.stop = stop
	go func() {
		defer close(p.ended)
		select { // sums that lack what is to be read now would be made again
		case <-caught.Done():
		case <-time.After(catchUpWithin):
		case <-upkeep.Done():
		}
		if err := st.Upkeep(upkeep, func(ctx context.Context) {
			if at, err := st.Position(ctx); err == nil { // its answers have the error
				p.kept.Store(&at.Kept)
			}
			w.publish(ctx, p)
		}); err != nil {
			w.end(fmt.Errorf("partition %d: %w", number, err))
		}
	}()
	return p, nil
}

// catchUpWithin is how long the first sums of a partition wait until it was read.
const catchUpWithin = time.Minute

// reached says that all records before one are stored.
func (p *partition) reached(next int64) {
	if p.next.Store(next); next >= p.target {
		p.caught()
	}
}

// clocks is by how much the clocks of programs, gateways and brokers may differ.
const clocks = 10 * time.Minute

// hourAfter returns the first hour whose windows are all in records after one of a time: no window
// is pushed before it starts.
func hourAfter(t time.Time) time.Time {
	return t.UTC().Add(clocks + time.Hour - 1).Truncate(time.Hour)
}

// publish hands over the finished hours of a partition that was read up to where it ended.
func (w *Worker) publish(ctx context.Context, p *partition) {
	hours, open := w.opts.Hours.now()
	if !open || p.next.Load() < p.target || p.lost.Load() {
		return
	}
	began := time.Now()
	n, err := hours.Publish(ctx, p.number, p.st, *p.read.Load())
	switch {
	case ctx.Err() != nil:
	case err != nil:
		w.log.Error("hours could not be handed over to the lake; trying again", "partition", p.number, "error", err)
	case n > 0:
		w.log.Info("handed hours over to the lake", "partition", p.number, "hours", n, "took", time.Since(began).Round(time.Millisecond))
	}
	if began = time.Now(); err != nil || p.number != compacting || began.Sub(w.compact) < compactEvery {
		return
	}
	w.compact = began
	switch done, err := hours.Compact(ctx); {
	case ctx.Err() != nil:
	case err != nil:
		w.log.Error("the lake could not be compacted; trying again", "in", compactEvery.String(), "error", err)
	case done != continuous.Compaction{}:
		w.log.Info("compacted the lake", "files", done.Merged, "became", done.Made, "days_summed_up", done.Summed,
			"files_of_old_days", done.Expired, "old_files_removed", done.Removed, "took", time.Since(began).Round(time.Millisecond))
	}
}

// The worker that holds partition 0, which every topic has, compacts the lake: Kafka gives it to one. While
// it passes from one to another both may, and one of their commits counts.
const (
	compacting   = 0
	compactEvery = time.Hour
)

// begin says where each partition is read from: behind what its store has, whatever the group
// has committed.
func (w *Worker) begin(_ context.Context, offsets map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
	for number := range offsets[w.opts.Log.Topic] {
		if p := w.partition(number); p != nil {
			offsets[w.opts.Log.Topic][number] = kgo.NewOffset().At(p.next.Load()).WithEpoch(-1)
		}
	}
	return offsets, nil
}

// partition returns one that this worker holds, or nil.
func (w *Worker) partition(number int32) *partition {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.held[number]
}

// opened returns one that this worker holds, or nil. Its store is not closed before the caller unlocks
// answering.
func (w *Worker) opened(number int32) *partition {
	w.mu.RLock()
	defer w.mu.RUnlock()
	p := w.held[number]
	if p != nil {
		p.answering.RLock()
	}
	return p
}

// revoked hides partitions that others hold from now on.
func (w *Worker) revoked(_ context.Context, _ *kgo.Client, topics map[string][]int32) {
	numbers := topics[w.opts.Log.Topic]
	w.release(func(p *partition) bool { return slices.Contains(numbers, p.number) })
}

// lost keeps partitions until Kafka says who holds them: nobody may, while Kafka does not answer.
// Readers ask another worker if it does.
func (w *Worker) lost(_ context.Context, _ *kgo.Client, topics map[string][]int32) {
	for _, number := range topics[w.opts.Log.Topic] {
		if p := w.partition(number); p != nil {
			p.lost.Store(true)
			w.log.Warn("Kafka does not say any more who holds a partition; it is shown as it was read", "partition", number)
		}
	}
}

// release closes the stores of partitions. Their files stay: a worker that gets one back goes on
// where it was.
func (w *Worker) release(chosen func(*partition) bool) {
	var list []*partition
	w.mu.Lock()
	for number, p := range w.held {
		if chosen(p) {
			list = append(list, p)
			delete(w.held, number)
		}
	}
	w.mu.Unlock()
	for _, p := range list {
		p.stop()
		<-p.ended
		w.lag.DeleteLabelValues(strconv.Itoa(int(p.number)))
		p.answering.Lock() // nobody finds it any more
		if err := p.st.Close(); err != nil {
			w.log.Error("cannot close the store of a partition", "partition", p.number, "error", err)
		}
		w.log.Info("holds a partition no more", "partition", p.number, "next", p.next.Load())
	}
}

// store stores what was read, of each partition in one transaction with its position.
func (w *Worker) store(ctx context.Context, fetches kgo.Fetches) {
	var parts sync.WaitGroup
	fetches.EachPartition(func(f kgo.FetchTopicPartition) {
		p := w.partition(f.Partition)
		if p == nil || len(f.Records) == 0 {
			return
		}
		parts.Go(func() { w.storePartition(ctx, p, &f) })
	})
	parts.Wait()
}

func (w *Worker) storePartition(ctx context.Context, p *partition, f *kgo.FetchTopicPartition) {
	var list []*continuous.Window
	poison := 0
	for _, r := range f.Records {
		windows, err := p.reader.Read(r.Value)
		if err != nil {
			poison++
			w.log.Warn("a record is skipped", "partition", p.number, "offset", r.Offset, "error", err)
			continue
		}
		list = append(list, windows...)
	}
	next, from := f.Records[len(f.Records)-1].Offset+1, *p.read.Load()
	if p.missed {
		from = hourAfter(f.Records[0].Timestamp)
	}
	var outcomes []continuous.Outcome
	if !w.health.Until(ctx, "windows could not be stored", func() (err error) {
		if outcomes, err = p.st.PutRead(ctx, list, continuous.Position{Next: next, From: from}); err != nil {
			err = fmt.Errorf("partition %d: %w", p.number, err)
		}
		return err
	}) {
		return
	}
	p.read.Store(&from)
	p.missed = false
	repeated := 0
	for _, o := range outcomes {
		if o == continuous.Repeated {
			repeated++
		}
	}
	w.windows.WithLabelValues("repeated").Add(float64(repeated))
	w.windows.WithLabelValues("stored").Add(float64(len(outcomes) - repeated))
	p.reached(next)
	p.last.Store(max(f.HighWatermark, next))
	w.lag.WithLabelValues(strconv.Itoa(int(p.number))).Set(float64(p.last.Load() - next))
	w.records.WithLabelValues("poison").Add(float64(poison))
	w.records.WithLabelValues("stored").Add(float64(len(f.Records) - poison))
	w.client.Load().MarkCommitRecords(f.Records...)
}

// errNotHeld is the error of a partition that another worker may hold.
var errNotHeld = fmt.Errorf("this worker does not hold the partition: %w", merged.ErrMissing)
