package profiles

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
	"github.com/dendroprof/dendro/testrun"
)

// metaRules is the key of table meta for the rules that names were normalised by.
const metaRules = "rules"

// metaCode is the key of table meta for store.Verdicts.Code.
const metaCode = "code"

// catalog holds benchmarks, runs, metrics and descriptions of profiles in memory:
// everything but values. It mirrors the committed state.
type catalog struct {
	mu       sync.Mutex
	rules    string
	benches  map[testrun.Benchmark]int32
	runs     map[string]runEntry
	metrics  map[pair][]testrun.Metric // primary first, then by name
	profiles map[store.ProfileID]*entry
	next     counters

	made    *listing // nil: to be made
	version uint64   // of the content: every commit changes it
}

// listing is what queries read of a state of the catalog. Nobody changes it.
type listing struct {
	profiles []store.Profile           // by date, run, import: the order of store.Query.Filter
	at       map[store.ProfileID]int32 // places in profiles
	seqs     []int32                   // ids of the rows of all profiles, ascending
}

// of returns the profiles that a query selects, which requests share. A query that only names profiles, as an
// analysis does for every benchmark, does not look at all others.
func (l *listing) of(q *store.Query) []store.Profile {
	named := store.Query{Profiles: q.Profiles, Types: q.Types}
	if len(q.Profiles) == 0 || !reflect.DeepEqual(*q, named) || slices.ContainsFunc(q.Profiles, store.ProfileID.IsShort) {
		return q.Filter(l.profiles)
	}
	var places []int32
	for _, id := range q.Profiles {
		if at, ok := l.at[id]; ok {
			places = append(places, at)
		}
	}
	slices.Sort(places)
	var some []store.Profile
	for _, at := range slices.Compact(places) {
		some = append(some, l.profiles[at])
	}
	return q.Filter(some)
}

// within returns how many of the ascending ids are in a range.
func within(ids []int32, lo, hi int32) int {
	from, _ := slices.BinarySearch(ids, lo)
	to, found := slices.BinarySearch(ids, hi)
	if found {
		to++
	}
	return to - from
}

// counters are the next free ids.
type counters struct{ bench, run, profile, source int32 }

type runEntry struct {
	id  int32
	run testrun.Run
}

// pair identifies metrics: ids of a benchmark and a run.
type pair struct{ bench, run int32 }

// noSlot is the slot of a profile whose rows of functions are not written.
const noSlot = int32(-1)

// entry is a stored profile. P.Run has only the key, and p.Metrics is empty: both
// belong to the run and may change. P.Seq is the dense id of the profile's rows.
type entry struct {
	p          store.Profile
	bench, run int32
	source     int32 // id in table source, or noSource
	slot       int32 // of its rows of functions, or noSlot
	divisor    int64 // of their values
}

const noSource = int32(-1)

func (e *entry) id() int32 { return int32(e.p.Seq) }

// listing returns what queries read.
func (cat *catalog) listing() *listing {
	cat.mu.Lock()
	defer cat.mu.Unlock()
	if cat.made != nil {
		return cat.made
	}
	n := len(cat.profiles)
	l := &listing{profiles: make([]store.Profile, 0, n), at: make(map[store.ProfileID]int32, n), seqs: make([]int32, 0, n)}
	runs := cat.runsByID()
	for _, e := range cat.profiles {
		p := e.p
		p.Run = runs[e.run]
		p.Measure(cat.metrics[pair{e.bench, e.run}])
		l.profiles = append(l.profiles, p)
		l.seqs = append(l.seqs, e.id())
	}
	slices.Sort(l.seqs)
	l.profiles = (&store.Query{}).Filter(l.profiles)
	for i := range l.profiles {
		l.at[l.profiles[i].ID] = int32(i)
	}
	cat.made = l
	return l
}

// runsByID returns the runs. The caller holds the lock.
func (cat *catalog) runsByID() map[int32]testrun.Run {
	runs := make(map[int32]testrun.Run, len(cat.runs))
	for _, r := range cat.runs {
		runs[r.id] = r.run
	}
	return runs
}

// waiting lists the metrics of benchmarks and runs that have no profile.
func (cat *catalog) waiting() (list []store.Measurement) {
	cat.mu.Lock()
	defer cat.mu.Unlock()
	has := map[pair]bool{}
	for _, e := range cat.profiles {
		has[pair{e.bench, e.run}] = true
	}
	benches, runs := map[int32]testrun.Benchmark{}, cat.runsByID()
	for b, id := range cat.benches {
		benches[id] = b
	}
	for at, metrics := range cat.metrics {
		if !has[at] {
			run := runs[at.run]
			run.Attributes = maps.Clone(run.Attributes)
			list = append(list, store.Measurement{Benchmark: benches[at.bench], Run: run, Metrics: slices.Clone(metrics)})
		}
	}
	return list
}

// count fills in the numbers of benchmarks, runs and profiles, and the rules.
func (cat *catalog) count(info *store.Info) {
	cat.mu.Lock()
	defer cat.mu.Unlock()
	info.Rules = cat.rules
	info.Benchmarks, info.Runs, info.Profiles = int64(len(cat.benches)), int64(len(cat.runs)), int64(len(cat.profiles))
}

// entry returns a stored profile, or nil.
func (cat *catalog) entry(id store.ProfileID) *entry {
	cat.mu.Lock()
	defer cat.mu.Unlock()
	return cat.profiles[id]
}

// change runs f, which applies a commit to the catalog.
func (cat *catalog) change(f func()) {
	cat.mu.Lock()
	defer cat.mu.Unlock()
	f()
	cat.made = nil
	cat.version++
}

// remove removes profiles, and what only they referred to, as removeUnused does in the
// file. The caller holds the lock.
func (cat *catalog) remove(gone map[store.ProfileID]*entry) {
	emptied := map[pair]bool{}
	for id, e := range gone {
		delete(cat.profiles, id)
		emptied[pair{e.bench, e.run}] = true
	}
	benches, runs := map[int32]bool{}, map[int32]bool{} // in use
	for _, e := range cat.profiles {
		delete(emptied, pair{e.bench, e.run})
		benches[e.bench], runs[e.run] = true, true
	}
	for at := range emptied {
		delete(cat.metrics, at)
	}
	for at := range cat.metrics {
		benches[at.bench], runs[at.run] = true, true
	}
	for _, e := range gone {
		if b := e.p.Benchmark; !benches[e.bench] {
			delete(cat.benches, b)
		}
		if !runs[e.run] {
			delete(cat.runs, e.p.Run.Key)
		}
	}
}

// benchRow is a row of table benchmark.
type benchRow struct {
	id int32
	testrun.Benchmark
	base   string // see testrun.Benchmark.Params
	params map[string]string
}

func (r *benchRow) fields() []any { return []any{&r.id, &r.Group, &r.Name, &r.base, &r.params} }

func (r *runEntry) fields() []any {
	run := &r.run
	return []any{&r.id, &run.Key, &run.Date, &run.Commit, &run.Branch, &run.Repository, &run.Machine, &run.Attributes}
}

// metricRow is a row of table metric.
type metricRow struct {
	pair
	testrun.Metric
	n int64
}

func (r *metricRow) fields() []any {
	return []any{&r.bench, &r.run, &r.Name, &r.Mean, &r.Unit, (*string)(&r.Better), &r.n, &r.Primary, (*string)(&r.Samples), &r.Error}
}

// profileRow is a row of table profile. What it has besides the entry is also in there, as another type.
type profileRow struct {
	entry
	id, scale, nodes int32
	parts            string
}

func (r *profileRow) fields() []any {
	p, t := &r.p, &r.p.Type
	return []any{&r.id, (*string)(&p.ID), &r.bench, &r.run, &t.Name, &t.Unit, &r.scale, &t.Period, &t.PeriodUnit, &t.PeriodName, &t.Original,
		&p.Profiler, &p.ProfilerVersion, (*int64)(&p.Duration), &p.Samples, &p.Sum, &r.nodes, &p.Hash, &p.File, &r.source, &r.parts, &p.Default,
		&r.slot, &r.divisor}
}

// load reads the catalogs from the file, and what only a writer needs.
func (cat *catalog) load(ctx context.Context, c *driver.Conn, write bool) error {
	cat.mu.Lock()
	defer cat.mu.Unlock()
	cat.rules, cat.made, cat.next = "", nil, counters{}
	cat.version++
	cat.benches, cat.runs = map[testrun.Benchmark]int32{}, map[string]runEntry{}
	cat.metrics, cat.profiles = map[pair][]testrun.Metric{}, map[store.ProfileID]*entry{}
	var err error
	if cat.rules, err = c.Meta(ctx, metaRules); err != nil {
		return err
	}
	benches, keys := map[int32]testrun.Benchmark{}, map[int32]string{}
	var b benchRow
	if err := c.Rows(ctx, "FROM benchmark", nil, b.fields(), func() error {
		cat.benches[b.Benchmark], benches[b.id] = b.id, b.Benchmark
		cat.next.bench = max(cat.next.bench, b.id+1)
		return nil
	}); err != nil {
		return err
	}
	var r runEntry
	if err := c.Rows(ctx, "FROM run", nil, r.fields(), func() error {
		cat.runs[r.run.Key], keys[r.id] = r, r.run.Key
		cat.next.run = max(cat.next.run, r.id+1)
		return nil
	}); err != nil {
		return err
	}
	var m metricRow
	if err := c.Rows(ctx, "FROM metric", nil, m.fields(), func() error {
		m.N = int(m.n)
		cat.metrics[m.pair] = store.MergeMetrics(cat.metrics[m.pair], []testrun.Metric{m.Metric})
		return nil
	}); err != nil {
		return err
	}
	var p profileRow
	if err := c.Rows(ctx, "FROM profile", nil, p.fields(), func() error { return cat.loaded(&p, benches, keys) }); err != nil {
		return err
	}
	if !write {
		return nil
	}
	n, err := c.Number(ctx, "SELECT coalesce(max(id) + 1, 0)::BIGINT FROM source")
	cat.next.source = int32(n)
	return err
}

// loaded adds a profile of the file.
func (cat *catalog) loaded(row *profileRow, benches map[int32]testrun.Benchmark, runs map[int32]string) error {
	e := row.entry
	b, ok := benches[e.bench]
	key, is := runs[e.run]
	if !ok || !is {
		return driver.Corruptf("profile %s has no benchmark or run", e.p.ID)
	}
	e.p.Benchmark, e.p.Run = b, testrun.Run{Key: key}
	e.p.Type.Scale, e.p.Nodes, e.p.Seq = int(row.scale), int(row.nodes), int64(row.id)
	e.p.Parts, e.p.HasSource = nonEmpty(strings.Fields(row.parts)), e.source != noSource
	cat.profiles[e.p.ID] = &e
	cat.next.profile = max(cat.next.profile, row.id+1)
	return nil
}

// nonEmpty returns nil for an empty list.
func nonEmpty(list []string) []string {
	if len(list) == 0 {
		return nil
	}
	return list
}
