package traceprof

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/dendroprof/dendro/internal/column"
	"github.com/dendroprof/dendro/internal/groupcommit"
)

// IntakeOptions are the options of an Intake. Zero fields mean the defaults.
type IntakeOptions struct {
	MaxDelay  time.Duration // maximum delay of a commit that waits for more data; 50 ms
	MaxBytes  int64         // approximate maximum of bytes that wait for a commit; 64 MiB
	MaxStacks int64         // approximate maximum of bytes of interned stacks; 128 MiB
	Now       func() int64  // the clock, in ms; nil: the system's
}

// ErrClosed is the error of a closed Intake.
var ErrClosed = errors.New("the intake of snapshots is closed")

// Intake receives data of agents over concurrent streams and stores it in batches: a
// commit takes the same few milliseconds for one snapshot as for thousands.
//
// Stacks are interned as they arrive: a known stack costs a hash of its bytes and a
// look-up, and is not decoded. Memory is bounded: data that waits for a commit by
// MaxBytes, beyond which streams block, and interned stacks by MaxStacks, beyond which
// they are evicted and decoded again.
//
// When the store fails, all streams with data in the batch get its error and none of that
// data is acknowledged. The next batch is tried as usual.
type Intake struct {
	st   Store
	opts IntakeOptions

	mu      sync.Mutex
	open    *batch // the batch being filled; nil: empty
	stacks  *intakeStacks
	pending int64         // bytes of the batches that are not committed
	room    chan struct{} // closed when pending falls; nil: no stream waits
	closed  bool
	metrics IntakeMetrics
	pace    groupcommit.Pace
	writer  *groupcommit.Writer
}

// IntakeMetrics counts what an Intake has done. Snapshots that the store had already
// count as stored: the store finds repeats when it reads them.
type IntakeMetrics struct {
	Snapshots, Segments, Instances int64         // stored
	Failed                         int64         // snapshots, segments and instances that the store refused
	Batches, FailedBatches         int64         // commits, and those of them that failed
	CommitTime                     time.Duration // of all commits
	PendingBytes                   int64         // now
	Stacks, StackBytes             int64         // distinct stacks in memory now, and their bytes
	NewStacks                      int64         // stacks that had to be decoded
}

// NewIntake returns an Intake that stores in st. Close it before st.
func NewIntake(st Store, o IntakeOptions) *Intake {
	if o.MaxDelay <= 0 {
		o.MaxDelay = 50 * time.Millisecond
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = 64 << 20
	}
	if o.MaxStacks <= 0 {
		o.MaxStacks = 128 << 20
	}
	if o.Now == nil {
		o.Now = func() int64 { return time.Now().UnixMilli() }
	}
	in := &Intake{st: st, opts: o, stacks: newIntakeStacks(o.MaxStacks)}
	in.writer = groupcommit.New(in.due)
	return in
}

// Metrics returns the counts.
func (in *Intake) Metrics() IntakeMetrics {
	in.mu.Lock()
	defer in.mu.Unlock()
	m := in.metrics
	m.PendingBytes = in.pending
	m.Stacks, m.StackBytes = in.stacks.known, in.stacks.tasks.Bytes()
	return m
}

// Err returns the error of the last commit if that failed less than 30 seconds ago.
func (in *Intake) Err() error {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.pace.Err()
}

// Close accepts no more data, stores what is pending and returns. If the context ends
// first, the rest is dropped and Close returns the context's error.
func (in *Intake) Close(ctx context.Context) error {
	in.mu.Lock()
	in.closed = true
	in.makeRoom()
	in.mu.Unlock()
	return in.writer.Close(ctx)
}

// makeRoom wakes the streams that wait for room. The caller holds the lock.
func (in *Intake) makeRoom() {
	if in.room != nil {
		close(in.room)
		in.room = nil
	}
}

// batch holds the data of one commit.
type batch struct {
	first  time.Time // when its first data arrived
	wanted bool      // a stream waits for it
	bytes  int64
	count  int64 // of snapshots

	parts     map[partKey]*Snapshots
	order     []*Snapshots
	instances map[InstanceKey]*Instance
	segments  []Segment

	done chan struct{} // closed when err is final
	err  error
}

type partKey struct {
	task, segment string
	language      Language
	stacks        *dictionary
}

// current returns the batch that is being filled. The caller holds the lock.
func (in *Intake) current() *batch {
	if in.open == nil {
		in.open = &batch{first: time.Now(), parts: map[partKey]*Snapshots{}, instances: map[InstanceKey]*Instance{}, done: make(chan struct{})}
		in.writer.Nudge()
	}
	return in.open
}

// due implements groupcommit.Next. A batch that a stream waits for is due at its pace, any
// other after MaxDelay.
func (in *Intake) due(now time.Time) (commit func(context.Context), wait time.Duration, closed bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	b := in.open
	if b == nil {
		return nil, -1, in.closed
	}
	due := b.first.Add(in.opts.MaxDelay)
	if b.wanted {
		due = in.pace.Due(due)
	}
	if wait = due.Sub(now); wait > 0 && !in.closed && b.bytes < in.opts.MaxBytes/2 {
		return nil, wait, in.closed
	}
	in.open = nil
	return func(ctx context.Context) { in.commit(ctx, b) }, 0, in.closed
}

// commit stores a batch and wakes the streams that wait for it.
func (in *Intake) commit(ctx context.Context, b *batch) {
	start := time.Now()
	err := groupcommit.Guarded(func() error { return b.store(ctx, in.st) })
	took := time.Since(start)

	in.mu.Lock()
	defer in.mu.Unlock()
	in.pace.Committed(start, took, err)
	m := &in.metrics
	m.Batches++
	m.CommitTime += took
	if err != nil {
		m.FailedBatches++
		m.Failed += b.count + int64(len(b.segments)+len(b.instances))
	} else {
		m.Snapshots += b.count
		m.Segments += int64(len(b.segments))
		m.Instances += int64(len(b.instances))
	}
	in.pending -= b.bytes
	in.makeRoom()
	b.parts, b.order, b.instances, b.segments = nil, nil, nil, nil // idle streams may still refer to the batch
	b.err = err
	close(b.done)
}

// store writes the batch: instances, segments, then the snapshots that refer to them.
func (b *batch) store(ctx context.Context, st Store) error {
	if len(b.instances) > 0 {
		list := make([]Instance, 0, len(b.instances))
		for _, i := range b.instances {
			list = append(list, *i)
		}
		if err := st.PutInstances(ctx, list...); err != nil {
			return err
		}
	}
	if len(b.segments) > 0 {
		if err := st.PutSegments(ctx, b.segments...); err != nil {
			return err
		}
	}
	if len(b.order) == 0 {
		return nil
	}
	list := column.Of(b.order, func(s *Snapshots) Snapshots { return *s })
	return st.PutSnapshots(ctx, list...)
}
