package neo4j

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/neo4j/internal/bolt"
	"github.com/dendroprof/dendro/store/neo4j/internal/gate"
	"github.com/dendroprof/dendro/store/neo4j/internal/identity"
	"github.com/dendroprof/dendro/testrun"
)

// filePut is the Put of one file.
type filePut struct {
	file        *store.File
	measurement int64
	outcome     *store.Outcome
	done        bool // outcome is final

	have     *present
	steps    []step
	run      *storedRun
	metrics  []testrun.Metric
	contents []*content // of the records, once laid out
	tried    []bool     // records that an earlier attempt would have stored
	out      store.Outcome
}

func newFilePut(f *store.File, outcome *store.Outcome) *filePut {
	return &filePut{file: f, outcome: outcome, measurement: identity.Measurement(f.Benchmark, f.Run.Key),
		contents: make([]*content, len(f.Records)), tried: make([]bool, len(f.Records))}
}

// end makes an outcome final.
func (p *filePut) end(out store.Outcome) { *p.outcome, p.done = out, true }

// batchPut is the Put of several files of different measurements; place may run several
// times.
type batchPut struct {
	s       *Store
	files   []*filePut
	opts    store.PutOptions
	unknown int   // earlier attempts that may have been committed
	slot    int64 // of the gate

	runs  map[string]*storedRun
	rows  []*profileRow
	epoch int64
	seq   int64 // of the next profile
}

// profileRow is a profile to be written: its content and the parameters of
// createProfile.
type profileRow struct {
	*content
	group  string
	raw    map[int32]string // raw names by the forest's functions
	params map[string]any
	added  additions
}

// commit records what the transaction has stored.
func (b *batchPut) commit() {
	for _, r := range b.rows {
		r.added.commit()
	}
	for _, p := range b.files {
		p.end(p.out)
	}
}

// storedRun is a run as the database has it, and as the files change it.
type storedRun struct {
	has          bool
	have, merged testrun.Run
}

// errDoomed reports that a deleted profile of the same identity still has nodes.
var errDoomed = errors.New("a profile of that identity is still being deleted")

// place stores the files in a transaction. All decisions come before the first change,
// except for locks.
func (b *batchPut) place(t *bolt.Tx) error {
	b.runs, b.rows = map[string]*storedRun{}, nil
	rules, err := b.enter(t)
	if err != nil {
		return err
	}
	if err := agreeOnRules(t, rules, b.opts.Rules); err != nil {
		return err
	}
	for _, p := range b.files {
		if err := b.decide(p); err != nil {
			return &refusal{p, err}
		}
	}
	laid := b.layOut()
	err = b.writeProps(t)
	laid()
	if err != nil {
		return err
	}
	for _, p := range b.files {
		for i := range p.file.Records {
			if err := b.execute(t, p, i); err != nil {
				return err
			}
		}
	}
	if err := b.write(t); err != nil {
		return err
	}
	for _, p := range b.files {
		var sourced []string
		for _, st := range p.steps {
			if st.action != store.Sum {
				sourced = append(sourced, string(st.id))
			}
		}
		if err := writeSource(t, sourced, p.file.Source); err != nil {
			return err
		}
	}
	return nil
}

// decide decides about the records of a file. An error concerns this file only.
func (b *batchPut) decide(p *filePut) (err error) {
	p.out, p.steps, p.run = store.Outcome{}, nil, b.runs[p.file.Run.Key]
	merged, err := store.MergeRun(p.run.merged, p.file)
	if err != nil {
		return err
	}
	for _, r := range p.file.Records {
		st := step{id: store.IDOf(p.file.Benchmark, p.file.Run.Key, r.Type.Name)}
		st.old = p.have.profiles[st.id]
		if st.action, err = store.Decide(st.old, p.file, r, b.opts.Conflict); err != nil {
			return err
		}
		p.steps = append(p.steps, st)
	}
	p.run.merged, p.metrics = merged, store.MergeMetrics(p.have.metrics, p.file.Metrics)
	return nil
}

// layOut begins to compute the contents to be stored, while the server works. Wait waits
// until they are complete.
func (b *batchPut) layOut() (wait func()) {
	var all sync.WaitGroup
	for _, p := range b.files {
		for i, st := range p.steps {
			if st.action == store.Place && p.contents[i] == nil {
				all.Go(func() { p.contents[i] = newContent(st.id, p.file.Records[i]) })
			}
		}
	}
	return all.Wait
}

// agreeOnRules records the rules of the first import and refuses others.
func agreeOnRules(t *bolt.Tx, stored, imported string) error {
	if stored != "" || imported == "" {
		return store.CheckRules(stored, imported)
	}
	r, err := t.One(`MATCH (d:Dendro {id: 'dendro'}) SET d.attributes = d.attributes + 1 WITH d
		SET d.rules = CASE WHEN d.rules = '' THEN $rules ELSE d.rules END RETURN d.rules`, map[string]any{"rules": imported})
	if err != nil {
		return err
	}
	return store.CheckRules(r.Text(0), imported)
}

// present is what the database has of a file's benchmark and run.
type present struct {
	linked   bool // benchmark, run and measurement are there and connected
	metrics  []testrun.Metric
	profiles map[store.ProfileID]*store.Profile
}

// enter passes the gate, locks out other imports of the same benchmarks and runs, reads
// what is stored of them, and returns the rules of the database.
func (b *batchPut) enter(t *bolt.Tx) (rules string, err error) {
	inOrder := slices.SortedFunc(slices.Values(b.files), func(a, b *filePut) int { return cmp.Compare(a.measurement, b.measurement) })
	var ids []int64
	var runs []string
	var keys [][]string
	for _, p := range inOrder {
		var of []string
		for _, rec := range p.file.Records {
			of = append(of, string(store.IDOf(p.file.Benchmark, p.file.Run.Key, rec.Type.Name)))
		}
		ids, runs, keys = append(ids, p.measurement), append(runs, p.file.Run.Key), append(keys, of)
	}
	n, doomed := 0, false
	err = t.Each(gate.Pass+`, COLLECT { MATCH (p:Profile) WHERE p.seq > 0 RETURN p.seq ORDER BY p.seq DESC LIMIT 1 } AS newest
		UNWIND range(0, size($ids)-1) AS i
		MERGE (m:Measurement {id: $ids[i]}) ON CREATE SET m.names = [], m.writes = 1 ON MATCH SET m.writes = m.writes + 1
		WITH mark, newest, m, i, $keys[i] AS keys
		OPTIONAL MATCH (r:TestRun {key: $runs[i]})
		RETURN mark, newest, i, m {.*}, EXISTS { (:Benchmark)-[:MEASURED]->(m) }, r {.*},
			COLLECT { MATCH (p:Profile) WHERE p.key IN keys RETURN p `+profileColumns+` },
			EXISTS { MATCH (d:Doomed) WHERE d.key IN keys }`,
		map[string]any{"slot": b.slot, "ids": ids, "runs": runs, "keys": keys}, func(r bolt.Row) error {
			mark, p := r.Props(0), inOrder[r.Int(2)]
			n, rules, b.epoch, b.seq = n+1, mark.Text("rules"), mark.Int("epoch"), mark.Int("now")
			if newest := r.Ints(1); len(newest) > 0 {
				b.seq = max(b.seq, newest[0]+1)
			}
			p.have = &present{metrics: readMeasurement(r.Props(3)), profiles: map[store.ProfileID]*store.Profile{}}
			p.have.linked, _ = r[4].(bool)
			run := &storedRun{has: r.Has(5), have: testrun.Run{Key: p.file.Run.Key}}
			if run.has {
				run.have = readRun(r.Props(5))
			}
			run.merged = run.have
			b.runs[p.file.Run.Key] = run
			for _, props := range r.PropsList(6) {
				old := readProfile(props)
				p.have.profiles[old.ID] = &old
			}
			if d, _ := r[7].(bool); d {
				doomed = true
			}
			return nil
		})
	switch {
	case err != nil:
		return "", err
	case doomed:
		return "", errDoomed
	}
	return rules, bolt.CheckCount("measurements", int64(n), len(ids))
}

// step is what Put does with one record.
type step struct {
	id     store.ProfileID
	action store.Action
	old    *store.Profile
}

// writeProps stores the runs, benchmarks and metrics of the files.
func (b *batchPut) writeProps(t *bolt.Tx) error {
	if err := b.writeRuns(t); err != nil {
		return err
	}
	benchmarks := map[string]map[string]any{}
	var links []map[string]any
	for _, p := range b.files {
		key, metrics := identity.Benchmark(p.file.Benchmark), map[string]any(measurementProps(p.metrics))
		switch {
		case !p.have.linked:
			benchmarks[key] = benchmarkProps(p.file.Benchmark)
			links = append(links, map[string]any{"benchmark": key, "run": p.file.Run.Key, "id": p.measurement, "metrics": metrics})
		case !slices.Equal(p.have.metrics, p.metrics):
			if err := b.remeasure(t, p, key, metrics); err != nil {
				return err
			}
		}
	}
	if len(links) == 0 {
		return nil
	}
	var list []map[string]any
	for _, key := range slices.Sorted(maps.Keys(benchmarks)) {
		list = append(list, benchmarks[key])
	}
	if err := t.Do(`UNWIND $benchmarks AS x
		MERGE (g:BenchmarkGroup {name: x.group})
		MERGE (b:Benchmark {key: x.key})
		FOREACH (_ IN CASE WHEN b.name IS NULL THEN [1] ELSE [] END | SET b += x CREATE (g)-[:HAS_BENCHMARK]->(b))`, map[string]any{"benchmarks": list}); err != nil {
		return err
	}
	r, err := t.One(`UNWIND $links AS x
		MATCH (b:Benchmark {key: x.benchmark}) MATCH (r:TestRun {key: x.run}) MATCH (m:Measurement {id: x.id})
		CREATE (b)-[:MEASURED]->(m)<-[:MEASURED]-(r)
		SET m += x.metrics
		RETURN count(*)`, map[string]any{"links": links})
	if err != nil {
		return err
	}
	return bolt.CheckCount("measurements", r.Int(0), len(links))
}

// remeasure stores other metrics of a benchmark in a run, and those of its profiles.
func (b *batchPut) remeasure(t *bolt.Tx, p *filePut, benchmark string, metrics map[string]any) error {
	var changed []map[string]any
	if err := t.Each(`MATCH (m:Measurement {id: $id}) SET m += $metrics
		WITH m MATCH (:TestRun {key: $run})-[:HAS_PROFILE]->(p:Profile)<-[:HAS_PROFILE]-(:Benchmark {key: $benchmark})
		RETURN p `+profileColumns, map[string]any{"id": p.measurement, "metrics": metrics, "run": p.file.Run.Key, "benchmark": benchmark},
		func(r bolt.Row) error {
			old := readProfile(r.Props(0))
			changed = append(changed, map[string]any{"key": string(old.ID), "metric": map[string]any(metricProps(&old, p.metrics))})
			return nil
		}); err != nil || len(changed) == 0 {
		return err
	}
	return t.Do("UNWIND $changed AS x MATCH (p:Profile {key: x.key}) SET p += x.metric", map[string]any{"changed": changed})
}

// writeRuns creates the runs of the files or adds to them, under a lock, because others
// may do the same. Merged becomes what the database then has.
func (b *batchPut) writeRuns(t *bolt.Tx) error {
	var list []map[string]any
	for _, key := range slices.Sorted(maps.Keys(b.runs)) {
		if r := b.runs[key]; !r.has || !r.have.Same(r.merged) {
			list = append(list, runProps(r.merged))
		}
	}
	if len(list) == 0 {
		return nil
	}
	stored, err := t.One(`UNWIND $runs AS x
		MERGE (r:TestRun {key: x.key})
		ON CREATE SET r += x, r.changes = 1
		ON MATCH SET r.changes = coalesce(r.changes, 1) + 1
		RETURN collect(r {.*})`, map[string]any{"runs": list})
	if err != nil {
		return err
	}
	for _, n := range stored.PropsList(0) {
		if n.Int("changes") == 1 {
			continue // new, and without profiles
		}
		run := b.runs[n.Text("key")]
		run.have = readRun(n)
		run.merged = run.have
		for _, p := range b.files {
			if p.run == run {
				if run.merged, err = store.MergeRun(run.merged, p.file); err != nil {
					return &refusal{p, err}
				}
			}
		}
		if err := t.Do("MATCH (r:TestRun {key: $key}) SET r += $run",
			map[string]any{"key": run.have.Key, "run": map[string]any(runProps(run.merged))}); err != nil {
			return err
		}
		if run.have.Date.Equal(run.merged.Date) {
			continue
		}
		if err := t.Do("MATCH (:TestRun {key: $key})-[:HAS_PROFILE]->(p:Profile) SET p.date = $date", map[string]any{"key": run.have.Key, "date": run.merged.Date}); err != nil {
			return err
		}
	}
	return nil
}
