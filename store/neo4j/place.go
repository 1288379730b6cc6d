package neo4j

import (
	"errors"
	"slices"
	"sync"

	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/neo4j/internal/bolt"
	"github.com/dendroprof/dendro/testrun"
)

// filePut is the Put of one file; place may run several times.
type filePut struct {
	s        *Store
	file     *store.File
	opts     store.PutOptions
	contents []*content // of the records, once laid out
	unknown  int        // earlier bolt.Tries that may have been committed

	out   store.Outcome
	added additionsList
	epoch int64
	seq   int64
}

// additionsList holds the additions of all records of a file.
type additionsList []*additions

func (list additionsList) commit() {
	for _, l := range list {
		l.commit()
	}
}

// errDoomed reports that a deleted profile of the same identity still has nodes.
var errDoomed = errors.New("a profile of that identity is still being deleted")

// place stores the file in a transaction. All decisions come before the first change,
// except for locks.
func (p *filePut) place(t *bolt.Tx) error {
	p.out, p.added = store.Outcome{}, nil
	mark, have, err := p.enter(t)
	if err != nil {
		return err
	}
	if err := agreeOnRules(t, mark.Text("rules"), p.opts.Rules); err != nil {
		return err
	}
	run, err := store.MergeRun(have.run, p.file)
	if err != nil {
		return refusal{err}
	}
	steps := make([]step, len(p.file.Records))
	for i, r := range p.file.Records {
		st := step{id: store.IDOf(p.file.Benchmark, p.file.Run.Key, r.Type.Name)}
		st.old = have.profiles[st.id]
		if st.action, err = store.Decide(st.old, p.file, r, p.opts.Conflict); err != nil {
			return refusal{err}
		}
		steps[i] = st
	}
	metrics := store.MergeMetrics(have.metrics, p.file.Metrics)
	laid := p.layOut(steps)
	err = p.writeProps(t, have, &run, metrics)
	laid()
	if err != nil {
		return err
	}
	var sourced []string
	for i, r := range p.file.Records {
		if err := p.execute(t, i, r, steps[i], run, metrics); err != nil {
			return err
		}
		if steps[i].action != store.Sum {
			sourced = append(sourced, string(steps[i].id))
		}
	}
	return writeSource(t, sourced, p.file.Source)
}

// layOut begins to compute the contents to be stored, while the server works. Wait
// waits until they are complete.
func (p *filePut) layOut(steps []step) (wait func()) {
	var all sync.WaitGroup
	for i, st := range steps {
		if st.action == store.Place && p.contents[i] == nil {
			all.Go(func() { p.contents[i] = newContent(st.id, p.file.Records[i]) })
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
	run      testrun.Run
	hasRun   bool
	linked   bool // benchmark, run and measurement are there and connected
	metrics  []testrun.Metric
	profiles map[store.ProfileID]*store.Profile
}

// enter passes the gate, locks out other imports of the same benchmark and run, and
// returns the mark and what is stored.
func (p *filePut) enter(t *bolt.Tx) (mark bolt.Props, have *present, err error) {
	f := p.file
	keys := make([]string, len(f.Records))
	for i, rec := range f.Records {
		keys[i] = string(store.IDOf(f.Benchmark, f.Run.Key, rec.Type.Name))
	}
	r, err := t.One(passGate+`
		MERGE (m:Measurement {id: $id}) ON CREATE SET m.names = [], m.writes = 1 ON MATCH SET m.writes = m.writes + 1
		WITH mark, m OPTIONAL MATCH (r:TestRun {key: $run})
		RETURN mark, m {.*}, EXISTS { (:Benchmark)-[:MEASURED]->(m) }, r {.*},
			COLLECT { MATCH (p:Profile) WHERE p.key IN $keys RETURN p `+profileColumns+` },
			COLLECT { MATCH (p:Profile) WHERE p.seq > 0 RETURN p.seq ORDER BY p.seq DESC LIMIT 1 },
			EXISTS { MATCH (d:Doomed) WHERE d.key IN $keys }`,
		map[string]any{"slot": p.s.slot, "id": measurementID(f.Benchmark, f.Run.Key), "run": f.Run.Key, "keys": keys})
	if err != nil {
		return nil, nil, err
	}
	mark = r.Props(0)
	p.epoch, p.seq = mark.Int("epoch"), mark.Int("now")
	have = &present{metrics: readMeasurement(r.Props(1)), profiles: map[store.ProfileID]*store.Profile{}}
	have.linked, _ = r[2].(bool)
	if doomed, _ := r[6].(bool); doomed {
		return nil, nil, errDoomed
	}
	have.hasRun, have.run = r.Has(3), testrun.Run{Key: f.Run.Key}
	if have.hasRun {
		have.run = readRun(r.Props(3))
	}
	for _, n := range r.PropsList(4) {
		old := readProfile(n)
		have.profiles[old.ID] = &old
	}
	if newest := r.Ints(5); len(newest) > 0 {
		p.seq = max(p.seq, newest[0]+1)
	}
	return mark, have, nil
}

// step is what Put does with one record.
type step struct {
	id     store.ProfileID
	action store.Action
	old    *store.Profile
}

// writeProps stores the file's run, benchmark and metrics. Run becomes what the
// database then has.
func (p *filePut) writeProps(t *bolt.Tx, have *present, run *testrun.Run, metrics []testrun.Metric) error {
	f := p.file
	if !have.hasRun || !have.run.Same(*run) {
		if err := writeRun(t, f, run); err != nil {
			return err
		}
	}
	id := measurementID(f.Benchmark, f.Run.Key)
	if !have.linked {
		return t.Do(`MERGE (g:BenchmarkGroup {name: $benchmark.group})
			MERGE (b:Benchmark {key: $benchmark.key})
			FOREACH (_ IN CASE WHEN b.name IS NULL THEN [1] ELSE [] END | SET b += $benchmark CREATE (g)-[:HAS_BENCHMARK]->(b))
			WITH b MATCH (r:TestRun {key: $run}), (m:Measurement {id: $id})
			CREATE (b)-[:MEASURED]->(m)<-[:MEASURED]-(r)
			SET m += $metrics`, map[string]any{"benchmark": map[string]any(benchmarkProps(f.Benchmark)), "run": f.Run.Key, "id": id,
			"metrics": map[string]any(measurementProps(metrics))})
	}
	if slices.Equal(have.metrics, metrics) {
		return nil
	}
	return t.Do(`MATCH (m:Measurement {id: $id}) SET m += $metrics
		WITH m MATCH (r:TestRun {key: $run})-[:HAS_PROFILE]->(p:Profile)<-[:HAS_PROFILE]-(:Benchmark {key: $benchmark})
		SET p += $metric`, map[string]any{"id": id, "run": f.Run.Key, "benchmark": benchmarkKey(f.Benchmark),
		"metrics": map[string]any(measurementProps(metrics)), "metric": map[string]any(metricProps(metrics))})
}

// writeRun creates a run or adds to it, under a lock, because others may do the same.
// Merged becomes what the database then has.
func writeRun(t *bolt.Tx, f *store.File, merged *testrun.Run) error {
	run := f.Run
	run.Date = run.Date.UTC()
	r, err := t.One(`MERGE (r:TestRun {key: $key})
		ON CREATE SET r += $run, r.changes = 1
		ON MATCH SET r.changes = coalesce(r.changes, 1) + 1
		RETURN r {.*}`, map[string]any{"key": run.Key, "run": map[string]any(runProps(run))})
	if err != nil {
		return err
	}
	if r.Props(0).Int("changes") == 1 {
		*merged = run // new, and without profiles
		return nil
	}
	have := readRun(r.Props(0))
	if *merged, err = store.MergeRun(have, f); err != nil {
		return refusal{err}
	}
	if err := t.Do("MATCH (r:TestRun {key: $key}) SET r += $run", map[string]any{"key": run.Key, "run": map[string]any(runProps(*merged))}); err != nil {
		return err
	}
	if have.Date.Equal(merged.Date) {
		return nil
	}
	return t.Do("MATCH (:TestRun {key: $key})-[:HAS_PROFILE]->(p:Profile) SET p.date = $date", map[string]any{"key": run.Key, "date": merged.Date})
}
