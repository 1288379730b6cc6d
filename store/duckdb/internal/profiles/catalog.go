package profiles

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dendroprof/dendro/profile"
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
	rows     map[int32]rowKey          // of the ids of profiles that have rows of functions
	slots    map[int32][]int32         // of each benchmark, those with rows, ascending
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

// rowKey is how the rows of functions of a profile are stored.
type rowKey struct {
	bench, slot int32
	divisor     int64 // of all values
}

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
	l := &listing{profiles: make([]store.Profile, 0, n), at: make(map[store.ProfileID]int32, n), seqs: make([]int32, 0, n),
		rows: map[int32]rowKey{}, slots: map[int32][]int32{}}
	runs := cat.runsByID()
	for _, e := range cat.profiles {
		p := e.p
		p.Run = runs[e.run]
		p.Measure(cat.metrics[pair{e.bench, e.run}])
		l.profiles = append(l.profiles, p)
		l.seqs = append(l.seqs, e.id())
		if e.slot != noSlot {
			l.rows[e.id()] = rowKey{e.bench, e.slot, e.divisor}
			l.slots[e.bench] = append(l.slots[e.bench], e.slot)
		}
	}
	slices.Sort(l.seqs)
	l.profiles = (&store.Query{}).Filter(l.profiles)
	for i := range l.profiles {
		l.at[l.profiles[i].ID] = int32(i)
	}
	for _, slots := range l.slots {
		slices.Sort(slots)
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

// load reads the catalogs from the file, and what only a writer needs.
func (cat *catalog) load(ctx context.Context, c *driver.Conn, write bool) error {
	cat.mu.Lock()
	defer cat.mu.Unlock()
	cat.rules, cat.made, cat.next = "", nil, counters{}
	cat.version++
	cat.benches, cat.runs = map[testrun.Benchmark]int32{}, map[string]runEntry{}
	cat.metrics, cat.profiles = map[pair][]testrun.Metric{}, map[store.ProfileID]*entry{}
	benches, keys := map[int32]testrun.Benchmark{}, map[int32]string{}
	for _, q := range []struct {
		sql  string
		each func(driver.Chunk) error
	}{
		{"SELECT value FROM meta WHERE key = '" + metaRules + "'", cat.loadRules},
		{"SELECT id, grp, name FROM benchmark", func(ch driver.Chunk) error { return cat.loadBenchmarks(ch, benches) }},
		{"SELECT id, key, date, commit_id, branch, repository, machine, attributes FROM run", func(ch driver.Chunk) error { return cat.loadRuns(ch, keys) }},
		{"SELECT bench, run, name, mean, unit, better, n, is_primary, samples, error FROM metric", cat.loadMetrics},
		{`SELECT id, uid, bench, run, type, unit, scale, period, period_unit, period_name, original, profiler, version,
			duration, samples, sum, nodes, hash, file, source, parts, is_default, slot, divisor FROM profile`, func(ch driver.Chunk) error { return cat.loadProfiles(ch, benches, keys) }},
	} {
		if err := c.Query(ctx, q.sql, nil, q.each); err != nil {
			return err
		}
	}
	if !write {
		return nil
	}
	n, err := c.Number(ctx, "SELECT coalesce(max(id) + 1, 0)::BIGINT FROM source")
	cat.next.source = int32(n)
	return err
}

func (cat *catalog) loadRules(ch driver.Chunk) error {
	for _, cat.rules = range ch.Texts(0) {
	}
	return nil
}

func (cat *catalog) loadBenchmarks(ch driver.Chunk, byID map[int32]testrun.Benchmark) error {
	groups, names := ch.Texts(1), ch.Texts(2)
	for i, id := range driver.Column[int32](ch, 0) {
		b := testrun.Benchmark{Group: groups[i], Name: names[i]}
		cat.benches[b], byID[id] = id, b
		cat.next.bench = max(cat.next.bench, id+1)
	}
	return nil
}

func (cat *catalog) loadRuns(ch driver.Chunk, keyOf map[int32]string) error {
	keys, dates, dated, attributes := ch.Texts(1), driver.Column[int64](ch, 2), ch.Valid(2), ch.TextMaps(7)
	commits, branches, repositories, machines := ch.Texts(3), ch.Texts(4), ch.Texts(5), ch.Texts(6)
	for i, id := range driver.Column[int32](ch, 0) {
		r := testrun.Run{Key: keys[i], Commit: commits[i], Branch: branches[i], Repository: repositories[i], Machine: machines[i],
			Attributes: attributes[i]}
		if dated.At(i) {
			r.Date = time.Unix(0, dates[i]).UTC()
		}
		cat.runs[r.Key], keyOf[id] = runEntry{id, r}, r.Key
		cat.next.run = max(cat.next.run, id+1)
	}
	return nil
}

func (cat *catalog) loadMetrics(ch driver.Chunk) error {
	benches, runs := driver.Column[int32](ch, 0), driver.Column[int32](ch, 1)
	names, means, units, better := ch.Texts(2), driver.Column[float64](ch, 3), ch.Texts(4), ch.Texts(5)
	ns, primary := driver.Column[int64](ch, 6), driver.Column[bool](ch, 7)
	samples, errors := ch.Texts(8), driver.Column[float64](ch, 9)
	for i := range names {
		at := pair{benches[i], runs[i]}
		cat.metrics[at] = store.MergeMetrics(cat.metrics[at], []testrun.Metric{{Name: names[i], Mean: means[i], Unit: units[i],
			Better: testrun.Better(better[i]), N: int(ns[i]), Primary: primary[i], Samples: testrun.Samples(samples[i]), Error: errors[i]}})
	}
	return nil
}

func (cat *catalog) loadProfiles(ch driver.Chunk, benches map[int32]testrun.Benchmark, runs map[int32]string) error {
	uids, bench, run := ch.Texts(1), driver.Column[int32](ch, 2), driver.Column[int32](ch, 3)
	types, units, scales, periods := ch.Texts(4), ch.Texts(5), driver.Column[int32](ch, 6), driver.Column[int64](ch, 7)
	periodUnits, periodNames, originals := ch.Texts(8), ch.Texts(9), ch.Texts(10)
	profilers, versions, durations := ch.Texts(11), ch.Texts(12), driver.Column[int64](ch, 13)
	samples, sums, nodes := driver.Column[int64](ch, 14), driver.Column[int64](ch, 15), driver.Column[int32](ch, 16)
	hashes, files, sources, parts := ch.Texts(17), ch.Texts(18), driver.Column[int32](ch, 19), ch.Texts(20)
	defaults, slots, divisors := driver.Column[bool](ch, 21), driver.Column[int32](ch, 22), driver.Column[int64](ch, 23)
	for i, id := range driver.Column[int32](ch, 0) {
		b, ok := benches[bench[i]]
		key, is := runs[run[i]]
		if !ok || !is {
			return driver.Corruptf("profile %s has no benchmark or run", uids[i])
		}
		e := &entry{bench: bench[i], run: run[i], source: sources[i], slot: slots[i], divisor: divisors[i], p: store.Profile{
			ID: store.ProfileID(uids[i]), Benchmark: b, Run: testrun.Run{Key: key},
			Type: profile.ValueType{Name: types[i], Unit: units[i], Scale: int(scales[i]), Period: periods[i],
				PeriodUnit: periodUnits[i], PeriodName: periodNames[i], Original: originals[i]},
			Profiler: profilers[i], ProfilerVersion: versions[i], Duration: time.Duration(durations[i]),
			Samples: samples[i], Sum: sums[i], Nodes: int(nodes[i]), Hash: hashes[i], Parts: nonEmpty(strings.Fields(parts[i])), File: files[i],
			HasSource: sources[i] != noSource, Default: defaults[i], Seq: int64(id),
		}}
		cat.profiles[e.p.ID] = e
		cat.next.profile = max(cat.next.profile, id+1)
	}
	return nil
}

// nonEmpty returns nil for an empty list.
func nonEmpty(list []string) []string {
	if len(list) == 0 {
		return nil
	}
	return list
}
