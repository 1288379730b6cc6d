// Package ingest imports profiles into a store: it reads sources in parallel, labels
// them with benchmark and test run, and normalises names. One writer stores them in the
// order of the sources, in transactions of many files.
//
//	sources ──▶ workers: open → detect → decode → normalise → project ──▶ writer: Put ──▶ report
//
// Each worker keeps its tables from file to file: a known path costs one array look-up.
// A file, or a member of an archive, is committed as a whole and reported after the
// commit. A bad file is reported with place and reason and does not stop the others.
//
// Memory is bounded by the tables of distinct paths, which do not grow with the number
// of files, and by the few hundred files, or parts of archives, in flight.
package ingest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/dendroprof/dendro/normalize"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// Options are the parameters of an import.
type Options struct {
	Limits     profile.Limits
	Normalizer *normalize.Normalizer // nil: the built-in rules
	Workers    int                   // 0: one per core
	Layout     *Layout               // labels from paths; nil: none
	Defaults   Label                 // from flags, for all sources
	Metrics    *Metrics              // joined by benchmark name; nil: none
	Types      []string              // value types to import; empty: all
	ByThread   bool                  // the normalised thread name becomes the root
	KeepSource bool                  // keep the originals
	Conflict   store.Conflict
	DryRun     bool // read and label, store nothing

	// Finish, if not nil, is called with each profile that was read, concurrently.
	Finish func(*profile.Profile)

	Environment Environment // of the process; labels profiles whose run nothing else describes

	// Runs is shared by concurrent importers into one store; nil: there is only one.
	Runs *Runs
}

// Status is the result of importing a source or a member of an archive.
type Status string

// The statuses.
const (
	Stored    Status = "stored"
	Unchanged Status = "unchanged" // stored before
	Skipped   Status = "skipped"   // found in a directory or archive, and not a profile
	Failed    Status = "failed"
)

// Result is the report on one source or member after its commit.
type Result struct {
	File     string            `json:"file"`
	Status   Status            `json:"status"`
	Error    string            `json:"error,omitempty"`
	Err      error             `json:"-"`
	Profiles []store.ProfileID `json:"profiles,omitempty"`
	Run      string            `json:"run,omitempty"`
	Date     time.Time         `json:"date,omitzero"`
	Commit   string            `json:"commit,omitempty"`
	Branch   string            `json:"branch,omitempty"`
	Group    string            `json:"group,omitempty"`
	Bench    string            `json:"benchmark,omitempty"`
	Types    []string          `json:"types,omitempty"`
	Metrics  []string          `json:"metrics,omitempty"`
	Guessed  []Guess           `json:"guessed,omitempty"` // labels that nothing gave
	Dumps    int               `json:"dumps,omitempty"`   // thread dumps in the file, each with a run of its own; Run is that of the first
	Samples  int64             `json:"samples,omitempty"` // of all value types together
	Warnings []string          `json:"warnings,omitempty"`

	// Taken is the number of samples of the value type that has the most.
	Taken int64 `json:"-"`

	// Last marks the last result of a source; Bytes is the source's size.
	Last  bool  `json:"-"`
	Bytes int64 `json:"-"`
}

// Summary counts the results of an import.
type Summary struct {
	Files     int           `json:"files"` // stored and unchanged
	Profiles  int           `json:"profiles"`
	Unchanged int           `json:"unchanged"` // files
	Skipped   int           `json:"skipped"`
	Failed    int           `json:"failed"`
	Samples   int64         `json:"samples"`
	Elapsed   time.Duration `json:"elapsedNanos"`
}

// Limits of a transaction. It costs a few milliseconds whatever its size, and a store
// may write large ones more efficiently, so files wait for each other. They wait
// briefly, and large files only for a few, so that workers and writer run in parallel.
const (
	batchFiles = 128
	batchRows  = 500_000 // values of call paths
	batchWait  = 150 * time.Millisecond

	// A large archive is sent to the writer in parts: small ones while it is the
	// current source, and a larger first one while others are before it.
	partFiles, firstFiles = 16, 128
	partRows, firstRows   = 50_000, 100_000

	// ahead is the maximum number of files or parts that a worker may read while the
	// writer commits: enough that workers do not wait.
	ahead = 64
)

// Importer imports into one store. It keeps its tables from call to call, so reuse it
// for repeated imports (a server, a watcher).
type Importer struct {
	o       Options
	writer  *writer
	workers []*worker
	at      map[string]int // of each benchmark: the worker that knows its paths
	load    []int          // of each worker: how many benchmarks it has
}

// New returns an importer into st.
func New(st store.Destination, o Options) *Importer {
	if o.Normalizer == nil {
		o.Normalizer = normalize.New(nil)
	}
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	return &Importer{o: o, writer: newWriter(st, o), at: map[string]int{}}
}

// Import imports sources and calls report once per result, from one goroutine, in the
// order of the sources. It returns an error that stopped the import (the store failed,
// the context ended); do not use the importer after that. Errors of single files are in
// their results and counted as failed. Calls must not overlap.
func (im *Importer) Import(ctx context.Context, sources []Source, report func(Result)) (Summary, error) {
	began := time.Now()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	n := min(im.o.Workers, len(sources))
	for len(im.workers) < n {
		im.workers = append(im.workers, newWorker(im.o))
	}
	// A source needs a token until the writer has committed it, so that no worker runs
	// far ahead of a slow file.
	tokens := make(chan struct{}, 2*batchFiles+im.o.Workers)
	w := im.writer
	w.report, w.sum = report, Summary{}
	w.current.set(0)
	done := work(ctx, im.workers[:n], im.distribute(ctx, sources, n, tokens), &w.current)
	err := w.run(ctx, done, func(n int) {
		for range n {
			<-tokens
		}
	})
	w.sum.Elapsed = time.Since(began)
	return w.sum, err
}

// queueSlack is how much longer the queue of a worker may be than the shortest before a
// benchmark moves to another worker.
const queueSlack = 4

// distribute queues the sources in order, one per token. Files of one benchmark go to
// the worker that knows most of their paths, unless its queue is too long.
func (im *Importer) distribute(ctx context.Context, sources []Source, workers int, tokens chan<- struct{}) []chan job {
	queues := make([]chan job, workers)
	for w := range queues {
		queues[w] = make(chan job, 4*queueSlack)
	}
	go func() {
		for _, q := range queues {
			defer close(q)
		}
		for i := range sources {
			select {
			case tokens <- struct{}{}:
			case <-ctx.Done():
				return
			}
			select {
			case queues[im.choose(&sources[i], queues)] <- job{i, &sources[i]}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return queues
}

// choose returns the worker for a source.
func (im *Importer) choose(s *Source, queues []chan job) int {
	for len(im.load) < len(queues) {
		im.load = append(im.load, 0)
	}
	best := 0 // shortest queue, then fewest benchmarks
	for w := range queues {
		if c := cmp.Compare(len(queues[w]), len(queues[best])); c < 0 || c == 0 && im.load[w] < im.load[best] {
			best = w
		}
	}
	key := s.Label.Or(fromPath(s.Name, false)).Benchmark
	w, known := im.at[key]
	if known && w < len(queues) && len(queues[w]) <= len(queues[best])+queueSlack {
		return w
	}
	if known {
		im.load[w]--
	}
	im.load[best]++
	im.at[key] = best
	return best
}

// work lets each worker read the jobs of its queue. It closes the result after the last
// one.
func work(ctx context.Context, workers []*worker, queues []chan job, current *currentSource) <-chan *batch {
	done := make(chan *batch, ahead*len(workers))
	var wg sync.WaitGroup
	for i, wk := range workers {
		wg.Go(func() {
			for j := range queues[i] {
				wk.read(j, outlet{ctx, done, current})
			}
		})
	}
	go func() { wg.Wait(); close(done) }()
	return done
}

// outlet sends the batches of a worker to the writer.
type outlet struct {
	ctx     context.Context
	done    chan<- *batch
	current *currentSource
}

// full reports whether a part of an archive is large enough to be sent. Sending waits
// until the archive is the current source, so earlier parts are larger.
func (o outlet) full(b *batch) bool {
	if len(b.items) < partFiles && b.rows() < partRows {
		return false
	}
	return len(b.items) >= firstFiles || b.rows() >= firstRows || o.current.is(b.index)
}

// send returns false if the import has stopped. Parts of a large archive are sent while
// it is the current source; otherwise they would pile up behind a slow source.
func (o outlet) send(b *batch) bool {
	if !b.last && !o.current.wait(o.ctx, b.index) {
		return false
	}
	select {
	case o.done <- b:
		return true
	case <-o.ctx.Done():
		return false
	}
}

// Run imports sources into st with an importer of its own.
func Run(ctx context.Context, st store.Destination, sources []Source, o Options, report func(Result)) (Summary, error) {
	return New(st, o).Import(ctx, sources, report)
}

// job is one source for a worker; index is its position.
type job struct {
	index  int
	source *Source
}

// batch is the result of reading one source, or a part of a large archive: one item per
// member that is a profile or an error.
type batch struct {
	index int
	more  bool // other batches of the source came before
	last  bool // it is the source's last
	bytes int64
	items []item
}

// rows returns the number of values of call paths in the batch.
func (b *batch) rows() int {
	n := 0
	for i := range b.items {
		for _, f := range b.items[i].files {
			for _, r := range f.Records {
				n += r.Self.Len()
			}
		}
	}
	return n
}

type item struct {
	result Result
	files  []*store.File
	weak   bool        // the run's date is a guess
	added  testrun.Run // by the environment
}

// writer stores batches in the order of the sources.
type writer struct {
	st      store.Destination
	o       Options
	report  func(Result)
	sum     Summary
	runs    *Runs         // that are known
	loaded  bool          // the store's runs are among them
	current currentSource // the source whose results are reported
}

func newWriter(st store.Destination, o Options) *writer {
	w := &writer{st: st, o: o, runs: o.Runs}
	if w.runs == nil {
		w.runs = &Runs{}
	}
	return w
}

// loadRuns adds the runs of the store to those that are known.
func (w *writer) loadRuns(ctx context.Context) error {
	if w.loaded {
		return nil
	}
	profiles, err := w.st.Profiles(ctx, store.Query{})
	if err != nil {
		return err
	}
	for i := range profiles {
		w.runs.add(profiles[i].Run)
	}
	w.loaded = true
	return nil
}

// run stores batches in order until done is closed, and releases the tokens of
// committed sources.
func (w *writer) run(ctx context.Context, done <-chan *batch, release func(int)) error {
	waiting := map[int][]*batch{} // by source, each in order
	next := 0
	var ready []*batch
	rows := 0
	var timer <-chan time.Time
	flush := func() error {
		timer, rows = nil, 0
		if len(ready) == 0 {
			return nil
		}
		err := w.put(ctx, ready)
		sources := 0
		for _, b := range ready {
			if b.last {
				sources++
			}
		}
		release(sources)
		ready = ready[:0]
		return err
	}
	// moveReady moves the batches of the current source from waiting to ready.
	moveReady := func() {
		for len(waiting[next]) > 0 {
			b := waiting[next][0]
			waiting[next] = waiting[next][1:]
			ready = append(ready, b)
			rows += b.rows()
			if b.last {
				delete(waiting, next)
				next++
				w.current.set(next)
			}
		}
	}
	for {
		select {
		case b, ok := <-done:
			if !ok {
				if err := flush(); err != nil {
					return err
				}
				return context.Cause(ctx)
			}
			waiting[b.index] = append(waiting[b.index], b)
			moveReady()
			if len(ready) > 0 && timer == nil {
				timer = time.After(batchWait)
			}
			if len(ready) >= batchFiles || rows >= batchRows {
				if err := flush(); err != nil {
					return err
				}
			}
		case <-timer:
			if err := flush(); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// put commits the files of some batches in one transaction and reports them.
func (w *writer) put(ctx context.Context, batches []*batch) error {
	if err := w.loadRuns(ctx); err != nil {
		return err
	}
	var files []*store.File
	for _, b := range batches {
		for i := range b.items {
			w.dropGuesses(&b.items[i])
			files = append(files, b.items[i].files...)
		}
	}
	var outcomes []store.Outcome
	if len(files) > 0 && !w.o.DryRun {
		var err error
		if outcomes, err = w.st.Put(ctx, files, store.PutOptions{Conflict: w.o.Conflict, Rules: w.o.Normalizer.Version()}); err != nil {
			return err
		}
	} else {
		outcomes = make([]store.Outcome, len(files))
		for i := range files {
			outcomes[i].Stored = len(files[i].Records)
		}
	}
	at, missing := 0, 0
	var interrupted *store.InterruptedError
	for _, b := range batches {
		for i := range b.items {
			it := &b.items[i]
			n := len(it.files)
			of := outcomes[at : at+n]
			at += n
			if slices.ContainsFunc(of, func(o store.Outcome) bool { return errors.As(o.Err, &interrupted) }) {
				missing++
				continue
			}
			w.account(it, of)
			it.result.Last, it.result.Bytes = b.last && i == len(b.items)-1, b.bytes
			w.report(it.result)
		}
	}
	if interrupted != nil {
		return fmt.Errorf("%w; %d files that were read are not stored: repeat the import to continue it", interrupted.Err, missing)
	}
	return nil
}

// dropGuesses removes guesses that contradict what is known of the run: two files of one
// run may have different modification times, and a run may be imported from several places.
func (w *writer) dropGuesses(it *item) {
	for _, f := range it.files {
		f.Run = w.runs.resolve(f.Run, it.weak, it.added)
		it.result.Commit, it.result.Branch = f.Run.Commit, f.Run.Branch
	}
}

// account fills in an item's result from the store's results for its files.
func (w *writer) account(it *item, outcomes []store.Outcome) {
	r := &it.result
	stored, unchanged := 0, 0
	var errs []error
	for i, o := range outcomes {
		stored, unchanged = stored+o.Stored, unchanged+o.Unchanged
		if o.Err != nil {
			errs = append(errs, o.Err)
			continue
		}
		f := it.files[i]
		for _, rec := range f.Records {
			r.Profiles = append(r.Profiles, store.IDOf(f.Benchmark, f.Run.Key, rec.Type.Name))
		}
	}
	if err := errors.Join(errs...); err != nil && r.Err == nil {
		r.Err = err
		r.Status = Failed
	}
	switch {
	case r.Err != nil && r.Status == "":
		r.Status = Failed
	case r.Status != "":
	case stored == 0 && unchanged > 0:
		r.Status = Unchanged
	default:
		r.Status = Stored
	}
	if r.Err != nil {
		r.Error = r.Err.Error()
	}
	switch r.Status {
	case Stored, Unchanged:
		w.sum.Files++
		w.sum.Profiles += stored
		w.sum.Samples += r.Samples
		if r.Status == Unchanged {
			w.sum.Unchanged++
		}
	case Skipped:
		w.sum.Skipped++
	case Failed:
		w.sum.Failed++
	}
}

// runOf completes a label with the facts in the file itself. The suffix tells runs apart
// that are named after the same second.
func runOf(l Label, p *profile.Profile, mtime time.Time, suffix string) (run testrun.Run, weak bool, guesses []Guess) {
	run, weak = l.Run, l.WeakDate
	from := fromStart
	if run.Date.IsZero() {
		run.Date, weak = p.Start.UTC(), true
		if p.Start.IsZero() {
			run.Date, from = mtime.UTC(), fromMtime
		}
		if run.Date.IsZero() {
			run.Date = time.Now().UTC()
		}
		run.Date = run.Date.Truncate(time.Microsecond)
	}
	if run.Key == "" {
		run.Key = run.Date.Format(time.RFC3339Nano) + suffix
		if l.Run.Date.IsZero() {
			guesses = []Guess{{"run", from}}
		}
	}
	return run, weak, guesses
}
