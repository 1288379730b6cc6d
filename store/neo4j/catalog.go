package neo4j

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"context"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// runFacts returns what a run's node says. Attributes are properties of their
// own, so that Cypher can ask for them.
func runFacts(r testrun.Run) facts {
	n := facts{"key": r.Key}
	if !r.Date.IsZero() {
		n["date"] = r.Date.UTC()
	}
	set(n, "commit", r.Commit)
	set(n, "branch", r.Branch)
	set(n, "repository", r.Repository)
	set(n, "machine", r.Machine)
	for k, v := range r.Attributes {
		n[attribute+k] = v
	}
	return n
}

// attribute begins the names of properties that are attributes of a run.
const attribute = "attr_"

func readRun(n facts) testrun.Run {
	r := testrun.Run{
		Key: n.text("key"), Date: n.time("date"), Commit: n.text("commit"), Branch: n.text("branch"),
		Repository: n.text("repository"), Machine: n.text("machine"),
	}
	for k := range n {
		if name, ok := strings.CutPrefix(k, attribute); ok {
			if r.Attributes == nil {
				r.Attributes = map[string]string{}
			}
			r.Attributes[name] = n.text(k)
		}
	}
	return r
}

// benchmarkFacts returns what a benchmark's node says: its identity, and what
// its name does.
func benchmarkFacts(b testrun.Benchmark) facts {
	base, params := b.Params()
	n := facts{"key": benchmarkKey(b), "group": b.Group, "name": b.Name, "base": base}
	for _, p := range params {
		n["param_"+p.Key] = p.Value
	}
	return n
}

// profileFacts returns what a profile's node says, but for its tree.
func profileFacts(p *store.Profile) facts {
	n := facts{
		"key": string(p.ID), "seq": p.Seq, "valueType": p.Type.Name, "unit": p.Type.Unit,
		"samples": p.Sum, "rows": p.Samples, "nodes": int64(p.Nodes), "hash": p.Hash, "file": p.File,
	}
	set(n, "scale", int64(p.Type.Scale))
	set(n, "period", p.Type.Period)
	set(n, "periodUnit", p.Type.PeriodUnit)
	set(n, "periodName", p.Type.PeriodName)
	set(n, "original", p.Type.Original)
	set(n, "profiler", p.Profiler)
	set(n, "profilerVersion", p.ProfilerVersion)
	set(n, "duration", int64(p.Duration))
	set(n, "hasSource", p.HasSource)
	if len(p.Parts) > 0 {
		n["parts"] = p.Parts
	}
	if !p.Run.Date.IsZero() {
		n["date"] = p.Run.Date.UTC()
	}
	maps.Copy(n, metricFacts(p.Metrics))
	return n
}

// profileColumns are the properties that readProfile reads; the lists of a tree
// are not among them.
const profileColumns = `{.key, .seq, .valueType, .unit, .scale, .period, .periodUnit, .periodName, .original, .samples, .rows,
	.nodes, .functions, .modes, .hash, .parts, .file, .profiler, .profilerVersion, .duration, .hasSource}`

func readProfile(n facts) store.Profile {
	hasSource, _ := n["hasSource"].(bool)
	p := store.Profile{
		ID: store.ProfileID(n.text("key")), Seq: n.int("seq"),
		Type: profile.ValueType{Name: n.text("valueType"), Unit: n.text("unit"), Scale: int(n.int("scale")), Period: n.int("period"),
			PeriodUnit: n.text("periodUnit"), PeriodName: n.text("periodName"), Original: n.text("original")},
		Profiler: n.text("profiler"), ProfilerVersion: n.text("profilerVersion"), Duration: time.Duration(n.int("duration")),
		Samples: n.int("rows"), Sum: n.int("samples"), Nodes: int(n.int("nodes")), Hash: n.text("hash"), File: n.text("file"),
		HasSource: hasSource,
	}
	if n["parts"] != nil {
		p.Parts = n.texts("parts")
	}
	return p
}

// metricFacts returns what a profile's node says of its metric, the primary one:
// nothing when there is none.
func metricFacts(list []testrun.Metric) facts {
	if len(list) == 0 {
		return facts{"metricMean": nil, "metricUnit": nil}
	}
	return facts{"metricMean": list[0].Mean, "metricUnit": list[0].Unit}
}

// measurementFacts returns the metrics as lists, which a node can have.
func measurementFacts(list []testrun.Metric) facts {
	names, units, better := make([]string, len(list)), make([]string, len(list)), make([]string, len(list))
	means, counts, primary := make([]float64, len(list)), make([]int64, len(list)), make([]bool, len(list))
	for i, m := range list {
		names[i], units[i], better[i], means[i], counts[i], primary[i] = m.Name, m.Unit, string(m.Better), m.Mean, int64(m.N), m.Primary
	}
	return facts{"names": names, "means": means, "units": units, "better": better, "counts": counts, "primary": primary}
}

func readMeasurement(n facts) []testrun.Metric {
	names, units, better := n.texts("names"), n.texts("units"), n.texts("better")
	means, counts, primary := column[float64](n["means"]), column[int64](n["counts"]), column[bool](n["primary"])
	var list []testrun.Metric
	for i := range min(len(names), len(units), len(better), len(means), len(counts), len(primary)) {
		list = append(list, testrun.Metric{Name: names[i], Mean: means[i], Unit: units[i], Better: testrun.Better(better[i]), N: int(counts[i]), Primary: primary[i]})
	}
	return list
}

// addMetrics returns the metrics with more of them; those of one name are
// replaced. The primary one comes first, then they are in order of names.
func addMetrics(have, more []testrun.Metric) []testrun.Metric {
	byName := map[string]testrun.Metric{}
	for _, m := range slices.Concat(have, more) {
		byName[m.Name] = m
	}
	return slices.SortedFunc(maps.Values(byName), func(a, b testrun.Metric) int {
		if a.Primary != b.Primary {
			if a.Primary {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.Name, b.Name)
	})
}

// changedError says that what was read or written does not agree with itself
// because somebody changed it meanwhile: the whole is tried again.
type changedError struct{ what string }

func (e *changedError) Error() string { return "the store changed meanwhile: " + e.what }

// selection is what a question reads.
type selection struct {
	profiles  []store.Profile
	functions []int64 // of each profile: how many function rows it has
	modes     []int64 // likewise: how many vectors of compile modes
	place     map[string]int
}

func (s *selection) keys() []string {
	keys := make([]string, len(s.profiles))
	for i := range s.profiles {
		keys[i] = string(s.profiles[i].ID)
	}
	return keys
}

// choose lists the selected profiles.
func (t *tx) choose(q store.Query) (*selection, error) {
	runs, benchmarks, metrics := map[string]testrun.Run{}, map[string]testrun.Benchmark{}, map[int64][]testrun.Metric{}
	where, params := narrow(q)
	var all []store.Profile
	counts := map[store.ProfileID][2]int64{}
	type pair struct{ benchmark, run string }
	var pairs []pair
	if err := t.each(`MATCH (b:Benchmark)-[:HAS_PROFILE]->(p:Profile)<-[:HAS_PROFILE]-(r:TestRun) `+where+`
		RETURN b.key, r.key, p `+profileColumns, params, func(r row) error {
		p := readProfile(r.facts(2))
		if _, twice := counts[p.ID]; twice {
			return &changedError{"a profile is being replaced"}
		}
		counts[p.ID] = [2]int64{r.facts(2).int("functions"), r.facts(2).int("modes")}
		all, pairs = append(all, p), append(pairs, pair{r.text(0), r.text(1)})
		return nil
	}); err != nil {
		return nil, err
	}
	if err := t.each("MATCH (r:TestRun) RETURN r {.*}", nil, func(r row) error {
		runs[r.facts(0).text("key")] = readRun(r.facts(0))
		return nil
	}); err != nil {
		return nil, err
	}
	if err := t.each("MATCH (b:Benchmark) RETURN b.key, b.group, b.name", nil, func(r row) error {
		benchmarks[r.text(0)] = testrun.Benchmark{Group: r.text(1), Name: r.text(2)}
		return nil
	}); err != nil {
		return nil, err
	}
	if err := t.each("MATCH (m:Measurement) WHERE m.names <> [] RETURN m {.*}", nil, func(r row) error {
		metrics[r.facts(0).int("id")] = readMeasurement(r.facts(0))
		return nil
	}); err != nil {
		return nil, err
	}
	for i := range all {
		p := &all[i]
		run, known := runs[pairs[i].run]
		b, is := benchmarks[pairs[i].benchmark]
		if !known || !is {
			return nil, &changedError{"a profile is new"}
		}
		p.Run, p.Benchmark = run, b
		p.Run.Attributes = maps.Clone(run.Attributes)
		p.Metrics = slices.Clone(metrics[measurementID(b, run.Key)])
	}
	sel := &selection{profiles: q.Filter(all), place: map[string]int{}}
	for i := range sel.profiles {
		n := counts[sel.profiles[i].ID]
		sel.functions, sel.modes = append(sel.functions, n[0]), append(sel.modes, n[1])
		sel.place[string(sel.profiles[i].ID)] = i
	}
	return sel, nil
}

// narrow returns the part of a query that the database may select by without
// changing its meaning: profiles by id, as long as no text of the query may be a
// glob, which depends on what else there is.
func narrow(q store.Query) (where string, params map[string]any) {
	if len(q.Profiles) == 0 {
		return "", nil
	}
	for _, list := range [][]string{q.Groups, q.Benchmarks, q.Branches, q.Machines, q.Runs, q.Types} {
		if slices.ContainsFunc(list, func(text string) bool { return strings.ContainsAny(text, "*?") }) {
			return "", nil
		}
	}
	keys := make([]string, len(q.Profiles))
	for i, id := range q.Profiles {
		keys[i] = string(id)
	}
	return "WHERE p.key IN $keys", map[string]any{"keys": keys}
}

// tries is how often a question is asked again that met changes, and an import
// that met another.
const tries = 12

// again calls f until it does not fail because of changes by others.
func again(ctx context.Context, f func() error) error {
	for try := 1; ; try++ {
		err := f()
		var changed *changedError
		if err == nil || try == tries || !errors.As(err, &changed) && !hasCode(err, codeNoEntity, codeConstraint) {
			return err
		}
		pause := time.Duration(1<<try) * time.Millisecond
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause/2 + rand.N(pause)):
		}
	}
}

// ask reads the answer to a question about the profiles that q selects, all of
// it in one transaction. What f fills it empties first.
func (s *Store) ask(ctx context.Context, q store.Query, f func(t *tx, sel *selection) error) (sel *selection, err error) {
	err = again(ctx, func() error {
		return s.graph.read(ctx, func(t *tx) error {
			if sel, err = t.choose(q); err != nil {
				return err
			}
			return f(t, sel)
		})
	})
	if err != nil {
		return nil, err
	}
	return sel, nil
}

// Profiles implements store.Reader.
func (s *Store) Profiles(ctx context.Context, q store.Query) ([]store.Profile, error) {
	sel, err := s.ask(ctx, q, func(*tx, *selection) error { return nil })
	if err != nil {
		return nil, err
	}
	return sel.profiles, nil
}

// Info implements store.Reader. Functions and paths include those of deleted
// profiles until Compact, as far as the model keeps them.
func (s *Store) Info(ctx context.Context) (info store.Info, err error) {
	err = s.graph.read(ctx, func(t *tx) error {
		r, err := t.one(`MATCH (d:Dendro {id: 'dendro'})
			RETURN d.schema, d.rules, COUNT { MATCH (:Benchmark) }, COUNT { MATCH (:TestRun) }, COUNT { MATCH (:Profile) },
				COUNT { MATCH (:`+s.model.functions()+`) }`, nil)
		if err != nil {
			return err
		}
		info = store.Info{
			Engine: "neo4j", Location: s.graph.address.String(), Schema: int(r.int(0)), Rules: r.text(1),
			Benchmarks: r.int(2), Runs: r.int(3), Profiles: r.int(4), Functions: r.int(5),
		}
		info.Paths, err = s.model.paths(t)
		return err
	})
	if err != nil {
		return store.Info{}, fmt.Errorf("info: %w", err)
	}
	return info, nil
}

// Waiting implements store.Reader.
func (s *Store) Waiting(ctx context.Context) (list []store.Measurement, err error) {
	err = s.graph.read(ctx, func(t *tx) error {
		list = nil
		return t.each(`MATCH (b:Benchmark)-[:MEASURED]->(m:Measurement)<-[:MEASURED]-(r:TestRun)
			WHERE m.names <> [] AND NOT EXISTS { (b)-[:HAS_PROFILE]->(:Profile)<-[:HAS_PROFILE]-(r) }
			RETURN b.group, b.name, r {.*}, m {.*}`, nil, func(r row) error {
			list = append(list, store.Measurement{Benchmark: testrun.Benchmark{Group: r.text(0), Name: r.text(1)},
				Run: readRun(r.facts(2)), Metrics: readMeasurement(r.facts(3))})
			return nil
		})
	})
	return list, err
}

// Source implements store.Reader.
func (s *Store) Source(ctx context.Context, id store.ProfileID) (data []byte, err error) {
	found := false
	err = s.graph.read(ctx, func(t *tx) error {
		found = false
		return t.each("MATCH (:Profile {key: $key})-[:HAS_SOURCE]->(s:Source) RETURN s.data", map[string]any{"key": string(id)}, func(r row) error {
			data, _ = r[0].([]byte)
			found = true
			return nil
		})
	})
	if err == nil && !found {
		err = store.ErrNoSource
	}
	return data, err
}
