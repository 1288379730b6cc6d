// Package intake turns profiles that programs push into windows, and stores them in
// batches.
//
//	decoded profile ─▶ labels, limits ─▶ normalised names ─▶ paths of one forest ─▶ windows ─▶ group commit
//
// A push is acknowledged after its commit. Pushes of many programs share a commit, which
// takes the same few milliseconds for one window as for hundreds. Memory is bounded: at most
// Options.Workers profiles are decoded at the same time, and at most Options.MaxBytes of
// windows wait for a commit; more is refused with ErrUnavailable, and the program may try
// again.
//
// A profile that outgrows a limit is cut where that keeps what it says (deep stacks lose
// their outermost frames, series for which there is no room become one), and refused
// otherwise. Both are counted, see Metrics. What one push may cost is counted before it is
// spent (package cost): windows with their labels in bytes, and call paths.
//
// The package knows no protocol and no format: callers decode with Worker.Decode and say
// what the types are called. It does not check who pushes.
package intake

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/internal/cost"
	"github.com/dendroprof/dendro/internal/groupcommit"
	"github.com/dendroprof/dendro/normalize"
	"github.com/dendroprof/dendro/profile"
)

// Options are the options of an Intake. Zero fields mean the defaults.
type Options struct {
	Normalizer *normalize.Normalizer // nil: the built-in rules
	Limits     profile.Limits        // of readers; Message, the bytes of a decompressed profile, is 32 MiB

	// Facts are names of labels, or prefixes that end in `*`, that describe a series and do
	// not make one; nil: DefaultFacts.
	Facts []string

	MaxSeries      int   // with labels that were pushed in the last hour, and types of services without; 50,000
	MaxLabels      int   // of a series; 64
	MaxLabelBytes  int   // of a label's name or value; 4,096
	MaxSeriesBytes int64 // of all labels of a series; 16 KiB
	MaxDepth       int   // frames of a stack; deeper ones lose outermost frames; 2,048
	MaxRate        int64 // bytes per second of a service, over ten seconds; 8 MiB
	MaxShare       int   // of one service, of series, paths, texts and windows that wait, in percent; 20

	// HasRoom is that of a store with limits (continuous.Limited); nil: there is room.
	HasRoom func(k continuous.Key, service string, bytes int64) bool

	// Lines says that somebody takes lines (Intake.TakeLines). Those that wait have as many bytes
	// as windows may (MaxBytes).
	Lines bool

	MaxAge time.Duration // of a window, from its end; older ones are refused; 0: no limit

	Workers  int           // profiles being decoded; one per core
	MaxDelay time.Duration // of a commit that waits for more windows; 50 ms
	MaxBytes int64         // maximum of bytes that wait for a commit, of which one push may have a quarter; 64 MiB
	MaxPaths int           // of the forest, from which another one begins; 2,000,000
	MaxText  int64         // the same of bytes of functions' names and places; 64 MiB
	Now      func() time.Time
}

func (o *Options) withDefaults() {
	def(&o.Limits.Message, 32<<20)
	if o.Normalizer == nil {
		o.Normalizer = normalize.New(nil)
	}
	if o.Facts == nil {
		o.Facts = DefaultFacts
	}
	def(&o.MaxSeries, 50_000)
	def(&o.MaxLabels, 64)
	def(&o.MaxLabelBytes, 4096)
	def(&o.MaxSeriesBytes, 16<<10)
	def(&o.MaxDepth, 2048)
	def(&o.MaxRate, 8<<20)
	o.MaxShare = o.Share()
	def(&o.Workers, runtime.GOMAXPROCS(0))
	def(&o.MaxDelay, 50*time.Millisecond)
	def(&o.MaxBytes, 64<<20)
	def(&o.MaxPaths, 2_000_000)
	def(&o.MaxText, 64<<20)
	if o.Now == nil {
		o.Now = time.Now
	}
	// A push is cut at MaxDepth; a reader would refuse it.
	o.Limits.Depth = max(o.Limits.Depth, 1<<20)
	o.Limits.Sums = true
}

// Share returns MaxShare, or its default.
func (o *Options) Share() int {
	if o.MaxShare <= 0 {
		return 20
	}
	return o.MaxShare
}

// part returns the share of one service of something.
func (o *Options) part(of int64) int64 { return of * int64(min(o.MaxShare, 100)) / 100 }

func def[T int | int64 | time.Duration](v *T, d T) {
	if *v <= 0 {
		*v = d
	}
}

// ErrClosed is the error of a closed Intake.
var ErrClosed = errors.New("the intake of pushed profiles is closed")

// Intake receives profiles. It is safe for concurrent use.
type Intake struct {
	st    continuous.Taker
	opts  Options
	turns chan struct{} // one of each worker that is free
	lines []*lineSet    // of all workers; nil: without Options.Lines

	paths  forest
	series activeSeries
	counts counts

	arrivals atomic.Uint64 // pushes without a time and an id

	mu      sync.Mutex
	free    []*Worker        // the last one worked last: it knows most, and its tables are in the caches
	open    *batch           // being filled; nil: empty
	pending int64            // bytes of the batches that are not committed
	waiting map[string]int64 // the same by service
	closed  bool
	pace    groupcommit.Pace
	writer  *groupcommit.Writer
}

// forest is the dictionary of paths that all workers share.
type forest struct {
	mu      sync.Mutex
	current *calltree.Forest
	text    int64 // bytes of the names and places of its functions
}

// New returns an Intake that stores in st. Close it before st.
func New(st continuous.Taker, o Options) *Intake {
	o.withDefaults()
	in := &Intake{st: st, opts: o, turns: make(chan struct{}, o.Workers), waiting: map[string]int64{}}
	in.paths.current = &calltree.Forest{}
	in.arrivals.Store(rand.Uint64()) // other receivers of one store count from elsewhere
	for range o.Workers {
		w := &Worker{in: in}
		if o.Lines {
			w.lines = newLineSet(&o, &in.counts.lostLines)
			in.lines = append(in.lines, w.lines)
		}
		w.reset()
		in.release(w)
	}
	in.series.init(&o)
	in.writer = groupcommit.New(in.due)
	return in
}

// Push calls fill with a worker, which decodes profiles and adds them, and returns when
// everything that was added is stored. If fill fails, nothing is. A panic of fill is an
// error: a reader that panics is a defect, which must not take other pushes with it. Client
// stands for who pushes, where clients share something; empty: nobody knows.
func (in *Intake) Push(ctx context.Context, client string, fill func(*Worker) error) error {
	b, at, err := in.fill(ctx, client, fill)
	if err != nil {
		in.counts.refuse(err)
		return err
	}
	if b == nil {
		return nil
	}
	select {
	case <-b.done:
		if b.err == nil && slices.Contains(b.outcomes[at.first:at.end], continuous.TooLarge) {
			err = fmt.Errorf("%w: a window of the push does not fit into a message of the topic (its max.message.bytes)", profile.ErrTooLarge)
			in.counts.refuse(err)
			return err
		}
		return b.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// placesIn are those of the windows of a push in its batch.
type placesIn struct{ first, end int }

// fill lets a worker fill windows, and adds them to the open batch; nil if there are none.
func (in *Intake) fill(ctx context.Context, client string, fill func(*Worker) error) (b *batch, at placesIn, err error) {
	if err := in.room(0); err != nil { // before the work is done
		return nil, at, err
	}
	ctx, end := cost.Begin(ctx, in.opts.push())
	defer end()
	select {
	case <-in.turns:
	case <-ctx.Done():
		return nil, at, context.Cause(ctx)
	}
	in.mu.Lock()
	last := len(in.free) - 1
	w := in.free[last]
	in.free = in.free[:last]
	in.mu.Unlock()
	defer in.release(w)
	w.cost, w.client = cost.Of(ctx), client
	if err = w.run(fill); err == nil {
		b, at, err = in.add(w)
	}
	if b == nil {
		in.series.settle(w.held, false, in.opts.Now())
	} else if w.lines != nil {
		w.lines.collect(w)
	}
	return b, at, err
}

// release lets other pushes have a worker.
func (in *Intake) release(w *Worker) {
	w.cool()
	in.mu.Lock()
	in.free = append(in.free, w)
	in.mu.Unlock()
	in.turns <- struct{}{}
}

// push returns what one push may cost.
func (o *Options) push() cost.Limits {
	return cost.Limits{
		Read: cost.Limit{Max: 4 * o.Limits.Message, What: "bytes of all profiles of a push after decompression",
			Flag: "--continuous-max-profile"},
		Expanded: cost.Limit{Max: o.MaxBytes / 4, What: "bytes of the windows of a push, with labels", Flag: "--continuous-max-pending"},
		Paths:    cost.Limit{Max: maxNewStacks, What: "call paths of the stacks of a push that are too deep"},
		Steps:    cost.Limit{Max: maxCutFrames, What: "frames of the stacks of a push that are too deep"},
	}
}

// run calls fill and turns a panic into an error.
func (w *Worker) run(fill func(*Worker) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			w.in.counts.panics.Add(1)
			w.reset()
			err = fmt.Errorf("%w: the reader panicked, which is a defect of Dendro: %v", profile.ErrMalformed, p)
		}
	}()
	w.windows, w.held, w.bytes = nil, nil, map[string]int64{}
	w.lined, w.lineRows = w.lined[:0], w.lineRows[:0]
	return fill(w)
}

// room returns ErrUnavailable if size bytes more have no room in the queue.
func (in *Intake) room(size int64) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.roomLocked(size)
}

func (in *Intake) roomLocked(size int64) error {
	switch {
	case in.closed:
		return ErrClosed
	case in.pending > 0 && in.pending+size > in.opts.MaxBytes:
		return refusal("queue", "bytes that wait for a commit", in.pending+size, in.opts.MaxBytes, "--continuous-max-pending").later(retryQueue)
	}
	return nil
}

// share returns a Refusal if size bytes more of a service exceed its share of the queue. What a
// service pushes while nothing of it waits has room.
func (in *Intake) share(service string, size int64) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	most := in.opts.part(in.opts.MaxBytes)
	if waiting := in.waiting[service]; waiting > 0 && waiting+size > most {
		return refusal("queue", "bytes of a service that wait for a commit", waiting+size, most,
			"--continuous-max-share").of(service).later(retryQueue)
	}
	return nil
}

// retryQueue is when a program whose push found a full queue should try again.
const retryQueue = 2 * time.Second

// batch holds the windows of one commit.
type batch struct {
	first   time.Time // when its first window arrived
	bytes   int64
	of      map[string]int64 // bytes by service
	windows []*continuous.Window
	held    []*active
	done    chan struct{} // closed when outcomes and err are final

	outcomes []continuous.Outcome
	err      error
}

// add adds the windows of a worker to the batch that is being filled.
func (in *Intake) add(w *Worker) (b *batch, at placesIn, err error) {
	if len(w.windows) == 0 {
		return nil, at, nil
	}
	size := int64(0)
	for _, n := range w.bytes {
		size += n
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if err := in.roomLocked(size); err != nil {
		return nil, at, err
	}
	if in.open == nil {
		in.open = &batch{first: time.Now(), of: map[string]int64{}, done: make(chan struct{})}
	}
	b = in.open
	at.first = len(b.windows)
	b.windows, b.held = append(b.windows, w.windows...), append(b.held, w.held...)
	b.bytes += size
	for service, n := range w.bytes {
		b.of[service] += n
		in.waiting[service] += n
	}
	in.pending += size
	in.writer.Nudge()
	at.end = len(b.windows)
	return b, at, nil
}

// due implements groupcommit.Next. A batch is due at its pace, and after MaxDelay at the
// latest.
func (in *Intake) due(now time.Time) (commit func(context.Context), wait time.Duration, closed bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	b := in.open
	if b == nil {
		return nil, -1, in.closed
	}
	if wait = in.pace.Due(b.first.Add(in.opts.MaxDelay)).Sub(now); wait > 0 && !in.closed && b.bytes < in.opts.MaxBytes/2 {
		return nil, wait, in.closed
	}
	in.open = nil
	return func(ctx context.Context) { in.commit(ctx, b) }, 0, in.closed
}

// commit stores a batch and wakes the pushes that wait for it.
func (in *Intake) commit(ctx context.Context, b *batch) {
	start := time.Now()
	var outcomes []continuous.Outcome
	err := groupcommit.Guarded(func() (err error) {
		outcomes, err = in.st.PutWindows(ctx, b.windows)
		return err
	})
	took := time.Since(start)
	in.counts.committed(outcomes, len(b.windows), took, err)
	in.series.settle(b.held, err == nil, in.opts.Now())
	if err != nil {
		err = &unavailable{fmt.Errorf("the store failed: %w", err), retryStore}
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.pace.Committed(start, took, err)
	in.pending -= b.bytes
	for service, n := range b.of {
		if in.waiting[service] -= n; in.waiting[service] <= 0 {
			delete(in.waiting, service)
		}
	}
	b.windows, b.held, b.of, b.outcomes, b.err = nil, nil, nil, outcomes, err
	close(b.done)
}

// retryStore is when a program whose push the store failed to write should try again.
const retryStore = 10 * time.Second

// Err returns the error of the last commit if that failed less than 30 seconds ago.
func (in *Intake) Err() error {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.pace.Err()
}

// Close accepts no more pushes, stores what is pending and returns. If the context ends
// first, the rest is dropped and Close returns the context's error.
func (in *Intake) Close(ctx context.Context) error {
	in.mu.Lock()
	in.closed = true
	in.mu.Unlock()
	return in.writer.Close(ctx)
}
