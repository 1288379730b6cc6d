package neo4j

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// Put implements store.Writer. Each file is a transaction of its own: when the
// server or the network fails in the middle, the files before are stored, and
// the outcomes of the others carry the error.
func (s *Store) Put(ctx context.Context, files []*store.File, opts store.PutOptions) ([]store.Outcome, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := s.writable(); err != nil || len(files) == 0 {
		return nil, err
	}
	select {
	case <-s.putting:
		defer func() { s.putting <- struct{}{} }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	outcomes := make([]store.Outcome, len(files))
	stored := false
	for i, f := range files {
		out, err := s.putFile(ctx, f, opts)
		switch {
		case err == nil:
			outcomes[i] = out
			stored = stored || out.Err == nil
		case !stored:
			return nil, err
		default:
			for k := i; k < len(files); k++ {
				outcomes[k].Err = err
			}
			return outcomes, nil
		}
	}
	return outcomes, nil
}

// refusal is an error that concerns one file only and belongs into its outcome.
type refusal struct{ error }

func (r refusal) Unwrap() error { return r.error }

// putFile stores one file. The error is one of the server, the network or the
// context: the other files would meet it too.
func (s *Store) putFile(ctx context.Context, f *store.File, opts store.PutOptions) (store.Outcome, error) {
	if err := checkFile(f); err != nil {
		return store.Outcome{Err: err}, nil
	}
	p := &placing{s: s, file: f, opts: opts, contents: make([]*content, len(f.Records))}
	err := again(ctx, func() error {
		for {
			err := s.graph.write(ctx, fmt.Sprintf("the import of %q", f.Name), p.place)
			var ahead *tooManyPaths
			switch {
			case err == nil:
				p.learned.commit()
				return nil
			case errors.As(err, &ahead):
				if err := s.writeAhead(ctx, ahead); err != nil {
					return err
				}
			case errors.Is(err, errDoomed):
				if err := s.sweep(ctx); err != nil {
					return err
				}
			case unknownCommit(err):
				// What has been stored is found by its content, and then is what this
				// file stored.
				p.unknown = true
			default:
				return err
			}
			if err := ctx.Err(); err != nil {
				return context.Cause(ctx)
			}
		}
	})
	var refused refusal
	switch {
	case err == nil:
		return p.out, nil
	case errors.As(err, &refused):
		return store.Outcome{Err: refused.error}, nil
	}
	var tooLarge *exhausted
	if errors.As(err, &tooLarge) {
		return store.Outcome{Err: fmt.Errorf("%s: %w", s.graph.address, err)}, nil
	}
	return store.Outcome{}, s.graph.explain(err)
}

// checkFile finds what cannot be stored whatever the store holds.
func checkFile(f *store.File) error {
	for _, m := range f.Metrics {
		if err := m.Check(); err != nil {
			return err
		}
	}
	for what, key := range map[string]string{"group": f.Benchmark.Group, "benchmark": benchmarkKey(f.Benchmark), "run": f.Run.Key} {
		if len(key) > maxName {
			return fmt.Errorf("the name of the %s is longer than %d bytes: %.60q…", what, maxName, key)
		}
	}
	texts := []string{f.Name, f.Benchmark.Group, f.Benchmark.Name, f.Run.Key}
	types := map[string]bool{}
	for _, r := range f.Records {
		if types[r.Type.Name] {
			return fmt.Errorf("%w: %q has two profiles of type %s", store.ErrConflict, f.Name, r.Type.Name)
		}
		types[r.Type.Name] = true
		texts = append(texts, r.Type.Name, r.Type.Unit)
		for _, v := range append([]store.ModeVector{{Vector: r.Self}}, r.Modes...) {
			if err := checkVector(r.Forest, v.Vector); err != nil {
				return fmt.Errorf("value type %s: %w", r.Type.Name, err)
			}
		}
	}
	for _, t := range texts {
		if strings.ToValidUTF8(t, "") != t {
			return fmt.Errorf("%w: %q is not UTF-8", profile.ErrMalformed, t)
		}
	}
	return nil
}

// checkVector demands that values lie on paths of the forest and can be added.
func checkVector(f *calltree.Forest, v calltree.Vector) error {
	paths := 0
	if f != nil {
		paths = f.Paths.Len()
	}
	if len(v.Nodes) != len(v.Self) {
		return fmt.Errorf("%w: %d paths but %d values", profile.ErrMalformed, len(v.Nodes), len(v.Self))
	}
	if i := slices.IndexFunc(v.Nodes, func(p int32) bool { return p < 0 || int(p) >= paths }); i >= 0 {
		return fmt.Errorf("%w: path %d of %d", profile.ErrMalformed, v.Nodes[i], paths)
	}
	if _, ok := addAbsolute(0, v.Self); !ok {
		return fmt.Errorf("%w: the sum of the values exceeds 63 bits", profile.ErrMalformed)
	}
	return nil
}

// addAbsolute adds absolute values to a sum; false when that leaves the int64
// range.
func addAbsolute(sum int64, values []int64) (int64, bool) {
	for _, v := range values {
		if sum += max(v, -v); sum < 0 || v == -v && v != 0 {
			return 0, false
		}
	}
	return sum, true
}

// placing is one file on its way into the database; place may run several times.
type placing struct {
	s        *Store
	file     *store.File
	opts     store.PutOptions
	contents []*content // of the records, made when first needed
	unknown  bool       // an earlier try may have been committed

	out     store.Outcome
	learned learnings
	epoch   int64
	seq     int64
}

// learnings are those of all records of a file.
type learnings []*learned

func (list learnings) commit() {
	for _, l := range list {
		l.commit()
	}
}

// errDoomed says that the remains of a deleted profile are in the way.
var errDoomed = errors.New("a profile of that identity is still being deleted")

// place stores the file in a transaction. All decisions come before the first
// change, but what locks.
func (p *placing) place(t *tx) error {
	p.out, p.learned = store.Outcome{}, nil
	mark, err := t.enter(p.s.slot)
	if err != nil {
		return err
	}
	p.epoch, p.seq = mark.int("epoch"), mark.int("now")
	if err := t.agreeOnRules(mark.text("rules"), p.opts.Rules); err != nil {
		return err
	}
	have, err := p.lock(t)
	if err != nil {
		return err
	}
	run, err := have.run.Merge(p.file.Run)
	if err != nil {
		return refusal{fmt.Errorf("%w: %w", store.ErrConflict, err)}
	}
	steps := make([]step, len(p.file.Records))
	for i, r := range p.file.Records {
		if steps[i], err = p.decide(have, r); err != nil {
			return refusal{err}
		}
	}
	metrics := addMetrics(have.metrics, p.file.Metrics)
	if err := p.writeFacts(t, have, &run, metrics); err != nil {
		return err
	}
	var sourced []string
	for i, r := range p.file.Records {
		if err := p.carryOut(t, i, r, steps[i], run, metrics); err != nil {
			return err
		}
		if steps[i].action != add {
			sourced = append(sourced, string(steps[i].id))
		}
	}
	return t.writeSource(sourced, p.file.Source)
}

// agreeOnRules records the rules of the first import and refuses others.
func (t *tx) agreeOnRules(have, want string) error {
	if have == want {
		return nil
	}
	if have == "" {
		r, err := t.one(`MATCH (d:Dendro {id: 'dendro'}) SET d.attributes = d.attributes + 1
			WITH d WHERE d.rules = '' OR d.rules = $rules SET d.rules = $rules RETURN count(*)`, map[string]any{"rules": want})
		if err != nil || r.int(0) == 1 {
			return err
		}
		have = "others"
	}
	return fmt.Errorf("%w: the store has %q, the import %q", store.ErrOtherRules, have, want)
}

// present is what the database has of a file's benchmark and run.
type present struct {
	run      testrun.Run
	hasRun   bool
	linked   bool // benchmark, run and measurement are there and connected
	metrics  []testrun.Metric
	profiles map[store.ProfileID]*store.Profile
	newest   int64 // seq of any profile
}

// lock keeps other imports of the same benchmark and run waiting, and returns
// what there is.
func (p *placing) lock(t *tx) (*present, error) {
	f := p.file
	id := measurementID(f.Benchmark, f.Run.Key)
	r, err := t.one(`MERGE (m:Measurement {id: $id}) ON CREATE SET m.names = [], m.writes = 1 ON MATCH SET m.writes = m.writes + 1
		RETURN m {.*}, EXISTS { (:Benchmark)-[:MEASURED]->(m) }`, map[string]any{"id": id})
	if err != nil {
		return nil, err
	}
	have := &present{metrics: readMeasurement(r.facts(0)), profiles: map[store.ProfileID]*store.Profile{}}
	have.linked, _ = r[1].(bool)
	keys := make([]string, len(f.Records))
	for i, rec := range f.Records {
		keys[i] = string(store.IDOf(f.Benchmark, f.Run.Key, rec.Type.Name))
	}
	r, err = t.one(`OPTIONAL MATCH (r:TestRun {key: $run})
		RETURN r {.*},
			COLLECT { MATCH (p:Profile) WHERE p.key IN $keys RETURN p `+profileColumns+` },
			COLLECT { MATCH (p:Profile) WHERE p.seq > 0 RETURN p.seq ORDER BY p.seq DESC LIMIT 1 },
			EXISTS { MATCH (d:Doomed) WHERE d.key IN $keys }`, map[string]any{"run": f.Run.Key, "keys": keys})
	if err != nil {
		return nil, err
	}
	if doomed, _ := r[3].(bool); doomed {
		return nil, errDoomed
	}
	have.hasRun, have.run = r.has(0), testrun.Run{Key: f.Run.Key}
	if have.hasRun {
		have.run = readRun(r.facts(0))
	}
	for _, n := range r.factList(1) {
		old := readProfile(n)
		have.profiles[old.ID] = &old
	}
	if newest := r.ints(2); len(newest) > 0 {
		p.seq = max(p.seq, newest[0]+1)
	}
	return have, nil
}

// step is what is to be done with one record.
type step struct {
	id     store.ProfileID
	action action
	old    *store.Profile
}

type action int

const (
	keep  action = iota // it is there already
	place               // it is new, or takes the place of the old one
	add                 // its values are added
)

// decide says what happens to a record.
func (p *placing) decide(have *present, r *store.Record) (step, error) {
	f := p.file
	st := step{id: store.IDOf(f.Benchmark, f.Run.Key, r.Type.Name), action: place}
	if st.old = have.profiles[st.id]; st.old == nil {
		return st, nil
	}
	switch c := p.opts.Conflict; {
	case st.old.Hash == r.Hash.String(), c != store.Replace && st.old.Contains(r.Hash):
		st.action = keep
		return st, nil
	case c == store.Replace:
		return st, nil
	case c == store.Add:
		st.action = add
		if old, now := st.old.Type.Key(), r.Type.Key(); old != now {
			return st, fmt.Errorf("%w: %q: values of type %s do not add to those of %s", store.ErrConflict, f.Name, now, old)
		}
		if _, ok := addAbsolute(st.old.Sum, r.Self.Self); !ok {
			return st, fmt.Errorf("%w: the sum of %q and %q exceeds 63 bits", store.ErrConflict, st.old.File, f.Name)
		}
		return st, nil
	}
	return st, &store.ConflictError{
		ID: st.id, Identity: fmt.Sprintf("%s, %s, %s", f.Benchmark, f.Run.Key, r.Type.Name), Old: st.old.File, New: f.Name,
	}
}

// writeFacts stores what the file says of its run and benchmark. Run becomes
// what the database then knows of it.
func (p *placing) writeFacts(t *tx, have *present, run *testrun.Run, metrics []testrun.Metric) error {
	f := p.file
	if !have.hasRun || !sameRun(have.run, *run) {
		if err := t.writeRun(f.Run, run); err != nil {
			return err
		}
	}
	id := measurementID(f.Benchmark, f.Run.Key)
	if !have.linked {
		return t.do(`MERGE (g:BenchmarkGroup {name: $benchmark.group})
			MERGE (b:Benchmark {key: $benchmark.key})
			FOREACH (_ IN CASE WHEN b.name IS NULL THEN [1] ELSE [] END | SET b += $benchmark CREATE (g)-[:HAS_BENCHMARK]->(b))
			WITH b MATCH (r:TestRun {key: $run}), (m:Measurement {id: $id})
			CREATE (b)-[:MEASURED]->(m)<-[:MEASURED]-(r)
			SET m += $metrics`, map[string]any{"benchmark": map[string]any(benchmarkFacts(f.Benchmark)), "run": f.Run.Key, "id": id,
			"metrics": map[string]any(measurementFacts(metrics))})
	}
	if slices.Equal(have.metrics, metrics) {
		return nil
	}
	return t.do(`MATCH (m:Measurement {id: $id}) SET m += $metrics
		WITH m MATCH (r:TestRun {key: $run})-[:HAS_PROFILE]->(p:Profile)<-[:HAS_PROFILE]-(:Benchmark {key: $benchmark})
		SET p += $metric`, map[string]any{"id": id, "run": f.Run.Key, "benchmark": benchmarkKey(f.Benchmark),
		"metrics": map[string]any(measurementFacts(metrics)), "metric": map[string]any(metricFacts(metrics))})
}

func sameRun(a, b testrun.Run) bool {
	return a.Date.Equal(b.Date) && a.Commit == b.Commit && a.Branch == b.Branch && a.Repository == b.Repository &&
		a.Machine == b.Machine && maps.Equal(a.Attributes, b.Attributes)
}

// writeRun makes a run or adds to what is known of it, under a lock: others may
// be doing so. Merged becomes what the database then has.
func (t *tx) writeRun(run testrun.Run, merged *testrun.Run) error {
	r, err := t.one(`MERGE (r:TestRun {key: $key}) ON CREATE SET r.changes = 1 ON MATCH SET r.changes = coalesce(r.changes, 0) + 1
		RETURN r {.*}`, map[string]any{"key": run.Key})
	if err != nil {
		return err
	}
	have := readRun(r.facts(0))
	if *merged, err = have.Merge(run); err != nil {
		return refusal{fmt.Errorf("%w: %w", store.ErrConflict, err)}
	}
	merged.Date = merged.Date.UTC()
	if err := t.do("MATCH (r:TestRun {key: $key}) SET r += $run", map[string]any{"key": run.Key, "run": map[string]any(runFacts(*merged))}); err != nil {
		return err
	}
	if r.facts(0).int("changes") == 1 || have.Date.Equal(merged.Date) {
		return nil // a new run has no profiles
	}
	return t.do("MATCH (:TestRun {key: $key})-[:HAS_PROFILE]->(p:Profile) SET p.date = $date", map[string]any{"key": run.Key, "date": merged.Date})
}

// carryOut does with a record what was decided.
func (p *placing) carryOut(t *tx, i int, r *store.Record, st step, run testrun.Run, metrics []testrun.Metric) error {
	if st.action == keep {
		if p.unknown {
			p.out.Stored++
		} else {
			p.out.Unchanged++
		}
		return nil
	}
	d := store.Profile{
		ID: st.id, Seq: p.seq + int64(i), Benchmark: p.file.Benchmark, Run: run, Metrics: metrics, Type: r.Type,
		Profiler: r.Profiler, ProfilerVersion: r.ProfilerVersion, Duration: r.Duration, Samples: r.Samples,
		Hash: r.Hash.String(), Parts: r.Parts, File: p.file.Name,
	}
	var c *content
	if st.action == add {
		sum, err := p.s.sum(t, st.old, r)
		if err != nil {
			return err
		}
		d.AddContent(st.old) // the order does not matter
		d.Samples, d.Duration, d.File, d.Seq = d.Samples+st.old.Samples, d.Duration+st.old.Duration, st.old.File, st.old.Seq
		d.Profiler, d.ProfilerVersion = st.old.Profiler, st.old.ProfilerVersion
		r, c = sum, newContent(st.id, sum)
	} else {
		if p.contents[i] == nil {
			p.contents[i] = newContent(st.id, r)
		}
		c = p.contents[i]
	}
	d.Sum, d.Nodes = c.sum, c.nodes
	if err := p.s.affordable(t, c, p.file.Name); err != nil {
		return err
	}
	if st.old != nil {
		if err := t.erase(p.s.model, st.old); err != nil {
			return err
		}
	}
	p.out.Stored++
	return p.write(t, c, &d, r)
}

// write stores the profile with its tree.
func (p *placing) write(t *tx, c *content, d *store.Profile, r *store.Record) error {
	c.origin = p.s.sources.of(c.forest, p.epoch)
	l := &learned{origin: c.origin, raw: map[rawKey]string{}}
	p.learned = append(p.learned, l)
	label := p.s.model.functions()
	if err := t.writeFunctions(label, c, l); err != nil {
		return err
	}
	if err := t.writeRawNames(label, p.file.Benchmark.Group, c, r.RawNames, l); err != nil {
		return err
	}
	n := profileFacts(d)
	n["functions"] = int64(len(c.rows))
	maps.Copy(n, p.s.model.properties(c))
	var modes []map[string]any
	for _, m := range c.modes {
		if m.Len() > 0 {
			paths, selfs := c.modeIDs(m.Vector)
			modes = append(modes, map[string]any{"id": int64(m.Mode), "mode": m.Mode.String(), "paths": paths, "selfs": selfs})
		}
	}
	n["modes"] = int64(len(modes))
	made, err := t.one(`MATCH (b:Benchmark {key: $benchmark}), (r:TestRun {key: $run})
		CREATE (b)-[:HAS_PROFILE]->(p:Profile)<-[:HAS_PROFILE]-(r) SET p = $profile
		FOREACH (m IN $modes | CREATE (p)-[:HAS_MODE]->(:ModeVector {id: m.id, mode: m.mode, paths: m.paths, selfs: m.selfs}))
		RETURN count(*)`,
		map[string]any{"benchmark": benchmarkKey(d.Benchmark), "run": d.Run.Key, "profile": map[string]any(n), "modes": modes})
	if err != nil {
		return err
	}
	if err := wrote("profiles", made.int(0), 1); err != nil {
		return err
	}
	return p.s.model.write(t, c, l)
}

// writeSource keeps the original of profiles, once for all of them, in place of
// one that they had.
func (t *tx) writeSource(keys []string, data []byte) error {
	if data == nil || len(keys) == 0 {
		return nil
	}
	if err := t.do(`MATCH (p:Profile)-[h:HAS_SOURCE]->(s:Source) WHERE p.key IN $keys DELETE h
		WITH DISTINCT s WHERE NOT EXISTS { ()-[:HAS_SOURCE]->(s) } DELETE s`, map[string]any{"keys": keys}); err != nil {
		return err
	}
	return t.do(`CREATE (s:Source {data: $data})
		WITH s MATCH (p:Profile) WHERE p.key IN $keys CREATE (p)-[:HAS_SOURCE]->(s) SET p.hasSource = true`, map[string]any{"keys": keys, "data": data})
}

// erase removes a profile that a transaction has found, with all that belongs to
// it alone. That another one did so first is a changedError.
func (t *tx) erase(m model, old *store.Profile) error {
	if err := m.erase(t, string(old.ID), int64(old.Nodes)); err != nil {
		return err
	}
	r, err := t.one(`MATCH (p:Profile {key: $key}) WHERE p.hash = $hash
		OPTIONAL MATCH (p)-[:HAS_MODE]->(m:ModeVector)
		OPTIONAL MATCH (p)-[:HAS_SOURCE]->(s:Source) WHERE COUNT { ()-[:HAS_SOURCE]->(s) } = 1
		WITH p, collect(m) AS modes, s
		FOREACH (m IN modes | DETACH DELETE m)
		DETACH DELETE s, p
		RETURN count(*)`, map[string]any{"key": string(old.ID), "hash": old.Hash})
	if err != nil {
		return err
	}
	return wrote("profiles", r.int(0), 1)
}
