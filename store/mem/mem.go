// Package mem is the store engine that keeps everything in memory: for tests,
// for queries over a few files, and as the reference for other engines.
//
// It holds one calltree.Forest, a dictionary of all call node paths, and every
// profile as a sparse vector over it. A change takes the lock, builds new
// entries and links them in; an entry never changes afterwards. A query
// takes the lock only to list the entries it needs and a snapshot of the
// forest, so streams read without any lock and see the store as it was when
// they were requested.
//
// Trace profiling and windows of continuous profiles are separate, in plain maps and
// lists with other locks.
//
// Put costs time in proportion to the new paths and the values; a query, to the
// selected profiles, and one pass over the dictionary. Close drops everything.
package mem

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
	"github.com/dendroprof/dendro/traceprof"
)

var (
	_ store.Store     = (*Store)(nil)
	_ traceprof.Store = (*Store)(nil)
	_ store.Accepter  = (*Store)(nil)

	_ store.VerdictKeeper = (*Store)(nil)
	_ store.LinkKeeper    = (*Store)(nil)

	_ continuous.HourStore = (*Store)(nil)
	_ continuous.LineStore = (*Store)(nil)
)

// schema is the version in Info. There is no stored format.
const schema = 1

// Store is the engine. It is safe for concurrent use.
type Store struct {
	traces
	windows

	mu sync.RWMutex

	rules    string
	profiles map[store.ProfileID]*entry
	runs     map[string]testrun.Run
	metrics  map[pair][]testrun.Metric
	sources  map[store.ProfileID][]byte
	raw      rawNames
	accepted map[string]store.Acceptance // by finding
	links    map[string]string           // addresses by id
	verdicts map[testrun.Benchmark][]store.Verdict
	seq      int64 // of the newest profile

	// forest grows with Put and is replaced by Compact; entries are over it.
	// Queries read view, its snapshot after the last change, which sorts the names
	// once.
	forest, view *calltree.Forest
	translations calltree.Translations

	code int64 // store.Verdicts.Code
}

// pair is what metrics belong to.
type pair struct {
	benchmark testrun.Benchmark
	run       string
}

// New returns an empty store.
func New() *Store {
	s := &Store{
		traces:   newTraces(),
		windows:  windows{forest: new(calltree.Forest), series: map[continuous.Key]*series{}, progress: continuous.NewProgress()},
		profiles: map[store.ProfileID]*entry{},
		runs:     map[string]testrun.Run{},
		metrics:  map[pair][]testrun.Metric{},
		sources:  map[store.ProfileID][]byte{},
		raw:      rawNames{},
		accepted: map[string]store.Acceptance{},
		links:    map[string]string{},
		verdicts: map[testrun.Benchmark][]store.Verdict{},
		forest:   new(calltree.Forest),
	}
	s.publish()
	return s
}

// publish makes the forest visible to queries. The caller holds the lock.
func (s *Store) publish() { s.view = s.forest.Snapshot() }

// Close does nothing.
func (s *Store) Close() error { return nil }

// Info implements store.Reader. Functions and paths are those of the profiles,
// not what the forest still has of deleted ones.
func (s *Store) Info(ctx context.Context) (store.Info, error) {
	if err := ctx.Err(); err != nil {
		return store.Info{}, err
	}
	s.mu.RLock()
	info := store.Info{Slow: store.Slow(s),
		Engine:     "mem",
		Location:   "mem:",
		Schema:     schema,
		Rules:      s.rules,
		Benchmarks: int64(len(s.benchmarks())),
		Runs:       int64(len(s.runs)),
		Profiles:   int64(len(s.profiles)),
	}
	s.mu.RUnlock()
	stats, err := s.WindowStats(ctx)
	if err != nil {
		return store.Info{}, err
	}
	info.Series, info.Windows = stats.Series, stats.Windows[0]+stats.Windows[1]+stats.Windows[2]
	cut := s.everything()
	info.Functions, info.Paths = int64(len(cut.Functions)), int64(cut.Len())
	return info, nil
}

// benchmarks returns those that have a profile or metrics.
func (s *Store) benchmarks() map[testrun.Benchmark]bool {
	set := map[testrun.Benchmark]bool{}
	for _, e := range s.profiles {
		set[e.profile.Benchmark] = true
	}
	for p := range s.metrics {
		set[p.benchmark] = true
	}
	return set
}

// Waiting implements store.Reader.
func (s *Store) Waiting(ctx context.Context) (list []store.Measurement, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	has := map[pair]bool{}
	for _, e := range s.profiles {
		has[e.pair()] = true
	}
	for p, metrics := range s.metrics {
		if !has[p] {
			run := s.runs[p.run]
			run.Attributes = maps.Clone(run.Attributes)
			list = append(list, store.Measurement{Benchmark: p.benchmark, Run: run, Metrics: slices.Clone(metrics)})
		}
	}
	return list, nil
}

// Delete implements store.Writer. Metrics without a profile so far stay, and so do
// their runs.
func (s *Store) Delete(ctx context.Context, ids []store.ProfileID) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(s.profiles)
	emptied := map[pair]bool{}
	for _, id := range ids {
		if e := s.profiles[id]; e != nil {
			emptied[e.pair()] = true
			delete(s.profiles, id)
			delete(s.sources, id)
		}
	}
	runs := map[string]bool{}
	for _, e := range s.profiles {
		delete(emptied, e.pair())
		runs[e.profile.Run.Key] = true
	}
	for p := range emptied {
		delete(s.metrics, p)
	}
	for p := range s.metrics {
		runs[p.run] = true
	}
	for p := range emptied {
		if !runs[p.run] {
			delete(s.runs, p.run)
		}
	}
	if stored := s.benchmarks(); len(emptied) > 0 {
		maps.DeleteFunc(s.verdicts, func(b testrun.Benchmark, _ []store.Verdict) bool { return !stored[b] && b != (testrun.Benchmark{}) })
	}
	return before - len(s.profiles), nil
}

// Compact implements store.Writer: it rebuilds the forest from the stored profiles.
func (s *Store) Compact(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	fresh := new(calltree.Forest)
	tr := calltree.NewTranslation(interner{fresh, nil})
	profiles := make(map[store.ProfileID]*entry, len(s.profiles))
	for id, e := range s.profiles {
		profiles[id] = e.over(tr, s.forest)
	}
	s.profiles, s.forest, s.translations = profiles, fresh, calltree.Translations{}
	s.publish()
	maps.DeleteFunc(s.raw, func(name string, _ map[string]string) bool {
		_, ok := fresh.FindFunction(name)
		return !ok
	})
	return nil
}
