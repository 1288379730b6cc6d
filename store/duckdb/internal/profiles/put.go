package profiles

import (
	"context"
	"fmt"
	"slices"

	"github.com/dendroprof/dendro/internal/column"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
	"github.com/dendroprof/dendro/testrun"
)

// maxRawName is the maximum length of an example of a raw name in bytes; longer ones
// are cut.
const maxRawName = 1000

// Put implements store.Writer. It decides everything in memory and then writes one
// DuckDB transaction, which is durable when it is committed.
func (s *Store) Put(ctx context.Context, files []*store.File, opts store.PutOptions) ([]store.Outcome, error) {
	s.write.Lock()
	defer s.write.Unlock()
	if err := s.file.EnterToWrite(ctx); err != nil {
		return nil, err
	}
	defer s.file.Leave()
	if err := store.CheckRules(s.catalog.rules, opts.Rules); err != nil {
		return nil, fmt.Errorf("%s: %w", s.file.Path, err)
	}
	b := newBatch(&s.catalog, opts)
	outcomes := column.Of(files, b.add)
	if b.empty() {
		return outcomes, nil
	}
	if err := s.file.With(func(c *driver.Conn) error { return s.commitBatch(ctx, c, b) }); err != nil {
		s.dict.rollback()
		return nil, err
	}
	return outcomes, nil
}

// batch collects the changes of a Put: a layer over the catalog, which no other call
// changes at the same time.
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

// pending is a profile that will be written.
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
	if err := checkFile(f); err != nil {
		return store.Outcome{Err: fmt.Errorf("%s: %w", f.Name, err)}
	}
	run, runChanged, err := b.mergeRun(f)
	if err != nil {
		return store.Outcome{Err: err}
	}
	changed := map[store.ProfileID]*pending{}
	for _, r := range f.Records {
		next := &pending{records: []*store.Record{r}, entry: entry{source: noSource, p: store.NewProfile(f, r)}}
		old := b.lookup(next.p.ID)
		var stored *store.Profile
		if old != nil {
			stored = &old.p
		}
		action, err := store.Decide(stored, f, r, b.opts.Conflict)
		if err != nil {
			return store.Outcome{Err: err}
		}
		switch action {
		case store.Keep:
			out.Unchanged++
			continue
		case store.Sum:
			next = old.plus(next)
		case store.Place:
			if old != nil {
				next.old = old.old
			}
		}
		changed[next.p.ID] = next
		out.Stored++
	}
	b.accept(f, run, runChanged, changed)
	return out
}

// lookup returns the profile of an identity after the files before, or nil.
func (b *batch) lookup(id store.ProfileID) *pending {
	if p := b.profiles[id]; p != nil {
		return p
	}
	if e := b.cat.profiles[id]; e != nil {
		return &pending{entry: *e, old: e, sum: true}
	}
	return nil
}

// plus returns the sum of two profiles.
func (p *pending) plus(q *pending) *pending {
	sum := &pending{entry: p.entry, old: p.old, sum: p.sum}
	sum.records = slices.Concat(p.records, q.records)
	sum.p, sum.source = p.p.Plus(&q.p), noSource
	return sum
}

// accept adds the file to the batch.
func (b *batch) accept(f *store.File, run testrun.Run, runChanged bool, changed map[store.ProfileID]*pending) {
	at := pair{b.benchID(f.Benchmark), b.runID(run, runChanged)}
	list, ok := b.metrics[at]
	if !ok {
		list = b.cat.metrics[at]
	}
	if merged := store.MergeMetrics(list, f.Metrics); !slices.Equal(merged, list) {
		b.metrics[at] = merged
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
		p.bench, p.run, p.slot, p.divisor = at.bench, at.run, noSlot, 1
		if p.p.HasSource {
			p.source = source
		}
		p.p.Seq = int64(b.next.profile)
		b.next.profile++
		b.profiles[p.p.ID] = p
		b.order = append(b.order, p)
	}
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

// mergeRun returns the facts of the run with those of this file, and whether they changed.
func (b *batch) mergeRun(f *store.File) (run testrun.Run, changed bool, err error) {
	have, known := b.runs[f.Run.Key]
	if !known {
		have, known = b.cat.runs[f.Run.Key]
	}
	if !known {
		have.run.Key = f.Run.Key
	}
	run, err = store.MergeRun(have.run, f)
	return run, !known || !run.Same(have.run), err
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

// checkFile returns an error for a file that this engine never stores. A column of
// dates has nanoseconds.
func checkFile(f *store.File) error {
	if y := f.Run.Date.Year(); !f.Run.Date.IsZero() && (y < 1700 || y > 2261) {
		return fmt.Errorf("run %q: the date %s is outside of the years 1700 to 2261", f.Run.Key, f.Run.Date)
	}
	return f.Check()
}
