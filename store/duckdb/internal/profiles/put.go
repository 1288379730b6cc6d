package profiles

import (
	"context"
	"fmt"
	"maps"
	"math"

	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
	"github.com/dendroprof/dendro/testrun"
)

// maxRawName is where examples of raw names are cut.
const maxRawName = 1000

// Put implements store.Writer. Everything is decided in memory before anything
// is written; the writing is one DuckDB transaction, durable when it has been
// committed.
func (s *Store) Put(ctx context.Context, files []*store.File, opts store.PutOptions) ([]store.Outcome, error) {
	if err := s.file.EnterToWrite(ctx); err != nil {
		return nil, err
	}
	defer s.file.Leave()
	s.write.Lock()
	defer s.write.Unlock()
	if rules := s.catalog.rules; rules != "" && rules != opts.Rules {
		return nil, fmt.Errorf("%s: %w: %q there, %q now (see --renormalize)", s.file.Path, store.ErrOtherRules, rules, opts.Rules)
	}
	b := newBatch(&s.catalog, opts)
	outcomes := make([]store.Outcome, len(files))
	for i, f := range files {
		outcomes[i] = b.add(f)
	}
	if b.empty() {
		return outcomes, nil
	}
	if err := s.file.With(func(c *driver.Conn) error { return s.commitBatch(ctx, c, b) }); err != nil {
		s.dict.rollback()
		return nil, err
	}
	return outcomes, nil
}

// batch collects what a Put changes: a layer over the catalog, which no one else
// changes meanwhile.
type batch struct {
	cat  *catalog
	opts store.PutOptions
	next counters

	benches  map[testrun.Benchmark]int32  // new
	runs     map[string]runEntry          // new or changed
	metrics  map[pair][]testrun.Metric    // changed
	profiles map[store.ProfileID]*pending // new or changed
	order    []*pending                   // those that are written; later ones replace earlier ones
	records  []stored                     // whose functions and raw names are taken in
	sources  []sourceRow
	rules    bool // to be recorded
}

type stored struct {
	record *store.Record
	group  string
	idle   bool // nothing is written of it: its functions are still to be taken in
}

type sourceRow struct {
	id   int32
	data []byte
}

// pending is a profile that is going to be written.
type pending struct {
	entry
	records []*store.Record // to be added up
	old     *entry          // stored under the same identity, to be removed; or nil
	sum     bool            // the values of old are part of the sum
	dropped bool            // a later file of the batch took its place
}

func newBatch(cat *catalog, opts store.PutOptions) *batch {
	return &batch{cat: cat, opts: opts, next: cat.next, rules: cat.rules != opts.Rules,
		benches: map[testrun.Benchmark]int32{}, runs: map[string]runEntry{},
		metrics: map[pair][]testrun.Metric{}, profiles: map[store.ProfileID]*pending{}}
}

func (b *batch) empty() bool {
	return len(b.benches)+len(b.runs)+len(b.metrics)+len(b.profiles) == 0 && !b.rules
}

// add decides about a file: all of it goes into the batch, or nothing.
func (b *batch) add(f *store.File) (out store.Outcome) {
	fail := func(err error) store.Outcome {
		return store.Outcome{Err: fmt.Errorf("%s: %w", f.Name, err)}
	}
	if err := checkFile(f); err != nil {
		return fail(err)
	}
	run, runChanged, err := b.mergeRun(f.Run)
	if err != nil {
		return fail(fmt.Errorf("%w: %w", store.ErrConflict, err))
	}
	changed := map[store.ProfileID]*pending{}
	for _, r := range f.Records {
		id := store.IDOf(f.Benchmark, f.Run.Key, r.Type.Name)
		have := changed[id]
		if have == nil {
			have = b.lookup(id)
		}
		next, err := b.resolve(have, newPending(id, f, r))
		switch {
		case err != nil:
			return fail(err)
		case next == have:
			out.Unchanged++
		default:
			changed[id] = next
			out.Stored++
		}
	}
	b.accept(f, run, runChanged, changed)
	return out
}

// lookup returns the profile of that identity as it would be after the files
// before, or nil.
func (b *batch) lookup(id store.ProfileID) *pending {
	if p := b.profiles[id]; p != nil {
		return p
	}
	if e := b.cat.profiles[id]; e != nil {
		return &pending{entry: *e, old: e, sum: true}
	}
	return nil
}

func newPending(id store.ProfileID, f *store.File, r *store.Record) *pending {
	sum, _ := store.AddAbsolute(0, r.Self.Self) // checkFile has seen that it fits
	return &pending{records: []*store.Record{r}, entry: entry{source: noSource, p: store.Profile{
		ID: id, Benchmark: f.Benchmark, Run: testrun.Run{Key: f.Run.Key}, Type: r.Type,
		Profiler: r.Profiler, ProfilerVersion: r.ProfilerVersion, Duration: r.Duration,
		Samples: r.Samples, Sum: sum, Hash: r.Hash.String(), Parts: r.Parts, File: f.Name,
		HasSource: f.Source != nil,
	}}}
}

// resolve says what becomes of have when next is put: have itself if nothing
// changes.
func (b *batch) resolve(have, next *pending) (*pending, error) {
	switch {
	case have == nil:
		return next, nil
	case have.p.Hash == next.p.Hash, b.opts.Conflict != store.Replace && have.p.Contains(next.records[0].Hash):
		return have, nil
	case b.opts.Conflict == store.Replace:
		next.old = have.old
		return next, nil
	case b.opts.Conflict == store.Add:
		return have.plus(next)
	}
	p := &have.p
	return nil, &store.ConflictError{ID: p.ID, Old: p.File, New: next.p.File,
		Identity: fmt.Sprintf("%s, run %s, %s", p.Benchmark.String(), p.Run.Key, p.Type.Name)}
}

// plus returns the sum of two profiles. It has no source: no single file has
// its values.
func (p *pending) plus(q *pending) (*pending, error) {
	if a, b := p.p.Type.Key(), q.p.Type.Key(); a != b {
		return nil, fmt.Errorf("value types %s and %s do not add", a, b)
	}
	if p.p.Sum > math.MaxInt64-q.p.Sum || p.p.Samples > math.MaxInt64-q.p.Samples {
		return nil, fmt.Errorf("the sum of %s and %s exceeds 63 bits", p.p.File, q.p.File)
	}
	sum := &pending{entry: p.entry, old: p.old, sum: p.sum}
	sum.records = append(append(sum.records, p.records...), q.records...)
	sum.p.Sum += q.p.Sum
	sum.p.Samples += q.p.Samples
	sum.p.Duration += q.p.Duration
	sum.p.AddContent(&q.p)
	sum.p.File = min(p.p.File, q.p.File)
	sum.p.HasSource, sum.source = false, noSource
	return sum, nil
}

// accept puts the file into the batch.
func (b *batch) accept(f *store.File, run testrun.Run, runChanged bool, changed map[store.ProfileID]*pending) {
	at := pair{b.benchID(f.Benchmark), b.runID(run, runChanged)}
	list, ok := b.metrics[at]
	if !ok {
		list = b.cat.metrics[at]
	}
	for _, m := range f.Metrics {
		if !containsMetric(list, m) {
			list = withMetric(list, m)
			b.metrics[at] = list
		}
	}
	if len(changed) == 0 {
		return
	}
	source := noSource
	if f.Source != nil {
		source = b.next.source
		b.next.source++
		b.sources = append(b.sources, sourceRow{source, f.Source})
	}
	for _, r := range f.Records {
		p := changed[store.IDOf(f.Benchmark, f.Run.Key, r.Type.Name)]
		b.records = append(b.records, stored{r, f.Benchmark.Group, p == nil})
		if p == nil || b.profiles[p.p.ID] == p {
			continue
		}
		if before := b.profiles[p.p.ID]; before != nil {
			before.dropped = true
		}
		p.bench, p.run = at.bench, at.run
		if p.p.HasSource {
			p.source = source
		}
		p.p.Seq = int64(b.next.profile)
		b.next.profile++
		b.profiles[p.p.ID] = p
		b.order = append(b.order, p)
	}
}

func containsMetric(list []testrun.Metric, m testrun.Metric) bool {
	for _, have := range list {
		if have == m {
			return true
		}
	}
	return false
}

func (b *batch) benchID(bench testrun.Benchmark) int32 {
	if id, ok := b.cat.benches[bench]; ok {
		return id
	}
	id, ok := b.benches[bench]
	if !ok {
		id = b.next.bench
		b.next.bench++
		b.benches[bench] = id
	}
	return id
}

// mergeRun returns what is known of the run with this file, and whether that is
// more than before.
func (b *batch) mergeRun(r testrun.Run) (testrun.Run, bool, error) {
	r.Date = r.Date.UTC().Round(0)
	have, ok := b.runs[r.Key]
	if !ok {
		have, ok = b.cat.runs[r.Key]
	}
	if !ok {
		r.Attributes = maps.Clone(r.Attributes)
		return r, true, nil
	}
	merged, err := have.run.Merge(r)
	if err != nil {
		return r, false, err
	}
	return merged, !merged.Same(have.run), nil
}

func (b *batch) runID(r testrun.Run, changed bool) int32 {
	e, ok := b.runs[r.Key]
	if !ok {
		e, ok = b.cat.runs[r.Key]
	}
	if !ok {
		e.id = b.next.run
		b.next.run++
	}
	if changed {
		b.runs[r.Key] = runEntry{e.id, r}
	}
	return e.id
}

// checkFile finds what cannot be stored whatever the store holds. A column of dates
// has nanoseconds.
func checkFile(f *store.File) error {
	if y := f.Run.Date.Year(); !f.Run.Date.IsZero() && (y < 1700 || y > 2261) {
		return fmt.Errorf("run %q: the date %s is outside of the years 1700 to 2261", f.Run.Key, f.Run.Date)
	}
	return f.Check()
}
