package neo4j

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/neo4j/internal/bolt"
	"github.com/dendroprof/dendro/testrun"
)

// runProps returns the properties of a run's node. Each attribute is a property, so
// that Cypher can query it.
func runProps(r testrun.Run) bolt.Props {
	n := bolt.Props{"key": r.Key}
	if !r.Date.IsZero() {
		n["date"] = r.Date.UTC()
	}
	bolt.Set(n, "commit", r.Commit)
	bolt.Set(n, "branch", r.Branch)
	bolt.Set(n, "repository", r.Repository)
	bolt.Set(n, "machine", r.Machine)
	for k, v := range r.Attributes {
		n[attribute+k] = v
	}
	return n
}

// attribute is the prefix of a run's attributes in property names.
const attribute = "attr_"

func readRun(n bolt.Props) testrun.Run {
	r := testrun.Run{
		Key: n.Text("key"), Date: n.Time("date"), Commit: n.Text("commit"), Branch: n.Text("branch"),
		Repository: n.Text("repository"), Machine: n.Text("machine"),
	}
	for k := range n {
		if name, ok := strings.CutPrefix(k, attribute); ok {
			if r.Attributes == nil {
				r.Attributes = map[string]string{}
			}
			r.Attributes[name] = n.Text(k)
		}
	}
	return r
}

// benchmarkProps returns the properties of a benchmark's node: its identity and the
// parts of its name.
func benchmarkProps(b testrun.Benchmark) bolt.Props {
	base, params := b.Params()
	n := bolt.Props{"key": benchmarkKey(b), "group": b.Group, "name": b.Name, "base": base}
	for _, p := range params {
		n["param_"+p.Key] = p.Value
	}
	return n
}

// profileProps returns the properties of a profile's node without its tree.
func profileProps(p *store.Profile) bolt.Props {
	n := bolt.Props{
		"key": string(p.ID), "seq": p.Seq, "valueType": p.Type.Name, "unit": p.Type.Unit,
		"samples": p.Sum, "rows": p.Samples, "nodes": int64(p.Nodes), "hash": p.Hash, "file": p.File,
	}
	bolt.Set(n, "scale", int64(p.Type.Scale))
	bolt.Set(n, "period", p.Type.Period)
	bolt.Set(n, "periodUnit", p.Type.PeriodUnit)
	bolt.Set(n, "periodName", p.Type.PeriodName)
	bolt.Set(n, "original", p.Type.Original)
	bolt.Set(n, "profiler", p.Profiler)
	bolt.Set(n, "profilerVersion", p.ProfilerVersion)
	bolt.Set(n, "duration", int64(p.Duration))
	bolt.Set(n, "hasSource", p.HasSource)
	bolt.Set(n, "default", p.Default)
	if len(p.Parts) > 0 {
		n["parts"] = p.Parts
	}
	if !p.Run.Date.IsZero() {
		n["date"] = p.Run.Date.UTC()
	}
	maps.Copy(n, metricProps(p.Metrics))
	return n
}

// profileColumns are the properties that readProfile reads, without the lists of a
// tree.
const profileColumns = `{.key, .seq, .valueType, .unit, .scale, .period, .periodUnit, .periodName, .original, .samples, .rows,
	.nodes, .functions, .modes, .hash, .parts, .file, .profiler, .profilerVersion, .duration, .hasSource, .default}`

func readProfile(n bolt.Props) store.Profile {
	hasSource, _ := n["hasSource"].(bool)
	byDefault, _ := n["default"].(bool)
	p := store.Profile{
		ID: store.ProfileID(n.Text("key")), Seq: n.Int("seq"),
		Type: profile.ValueType{Name: n.Text("valueType"), Unit: n.Text("unit"), Scale: int(n.Int("scale")), Period: n.Int("period"),
			PeriodUnit: n.Text("periodUnit"), PeriodName: n.Text("periodName"), Original: n.Text("original")},
		Profiler: n.Text("profiler"), ProfilerVersion: n.Text("profilerVersion"), Duration: time.Duration(n.Int("duration")),
		Samples: n.Int("rows"), Sum: n.Int("samples"), Nodes: int(n.Int("nodes")), Hash: n.Text("hash"), File: n.Text("file"),
		HasSource: hasSource, Default: byDefault,
	}
	if n["parts"] != nil {
		p.Parts = n.Texts("parts")
	}
	return p
}

// metricProps returns the properties of a profile's node for its primary metric.
func metricProps(list []testrun.Metric) bolt.Props {
	if len(list) == 0 {
		return bolt.Props{"metricMean": nil, "metricUnit": nil}
	}
	return bolt.Props{"metricMean": list[0].Mean, "metricUnit": list[0].Unit}
}

// measurementProps returns metrics as lists, which a node can have.
func measurementProps(list []testrun.Metric) bolt.Props {
	names, units, better := make([]string, len(list)), make([]string, len(list)), make([]string, len(list))
	means, counts, primary := make([]float64, len(list)), make([]int64, len(list)), make([]bool, len(list))
	samples, errors := make([]string, len(list)), make([]float64, len(list))
	for i, m := range list {
		names[i], units[i], better[i], means[i], counts[i], primary[i] = m.Name, m.Unit, string(m.Better), m.Mean, int64(m.N), m.Primary
		samples[i], errors[i] = string(m.Samples), m.Error
	}
	return bolt.Props{"names": names, "means": means, "units": units, "better": better, "counts": counts, "primary": primary, "samples": samples, "errors": errors}
}

func readMeasurement(n bolt.Props) []testrun.Metric {
	names, units, better := n.Texts("names"), n.Texts("units"), n.Texts("better")
	means, counts, primary := bolt.Column[float64](n["means"]), bolt.Column[int64](n["counts"]), bolt.Column[bool](n["primary"])
	samples, errors := n.Texts("samples"), bolt.Column[float64](n["errors"]) // none in stores of older versions
	var list []testrun.Metric
	for i := range min(len(names), len(units), len(better), len(means), len(counts), len(primary)) {
		list = append(list, testrun.Metric{Name: names[i], Mean: means[i], Unit: units[i], Better: testrun.Better(better[i]), N: int(counts[i]), Primary: primary[i]})
		if i < min(len(samples), len(errors)) {
			list[i].Samples, list[i].Error = testrun.Samples(samples[i]), errors[i]
		}
	}
	return list
}

// selection is the set of profiles that a query reads.
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

// selectProfiles lists the selected profiles.
func selectProfiles(t *bolt.Tx, q store.Query) (*selection, error) {
	runs, benchmarks, metrics := map[string]testrun.Run{}, map[string]testrun.Benchmark{}, map[int64][]testrun.Metric{}
	where, params := narrow(q)
	var all []store.Profile
	counts := map[store.ProfileID][2]int64{}
	type pair struct{ benchmark, run string }
	var pairs []pair
	if err := t.Each(`MATCH (b:Benchmark)-[:HAS_PROFILE]->(p:Profile)<-[:HAS_PROFILE]-(r:TestRun) `+where+`
		RETURN b.key, r.key, p `+profileColumns, params, func(r bolt.Row) error {
		p := readProfile(r.Props(2))
		if _, twice := counts[p.ID]; twice {
			return bolt.Changed("a profile is being replaced")
		}
		counts[p.ID] = [2]int64{r.Props(2).Int("functions"), r.Props(2).Int("modes")}
		all, pairs = append(all, p), append(pairs, pair{r.Text(0), r.Text(1)})
		return nil
	}); err != nil {
		return nil, err
	}
	if err := t.Each("MATCH (r:TestRun) RETURN r {.*}", nil, func(r bolt.Row) error {
		runs[r.Props(0).Text("key")] = readRun(r.Props(0))
		return nil
	}); err != nil {
		return nil, err
	}
	if err := t.Each("MATCH (b:Benchmark) RETURN b.key, b.group, b.name", nil, func(r bolt.Row) error {
		benchmarks[r.Text(0)] = testrun.Benchmark{Group: r.Text(1), Name: r.Text(2)}
		return nil
	}); err != nil {
		return nil, err
	}
	if err := t.Each("MATCH (m:Measurement) WHERE m.names <> [] RETURN m {.*}", nil, func(r bolt.Row) error {
		metrics[r.Props(0).Int("id")] = readMeasurement(r.Props(0))
		return nil
	}); err != nil {
		return nil, err
	}
	for i := range all {
		p := &all[i]
		run, known := runs[pairs[i].run]
		b, is := benchmarks[pairs[i].benchmark]
		if !known || !is {
			return nil, bolt.Changed("a profile is new")
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

// narrow returns the condition of a query that the database may apply without changing
// its meaning: profiles by id, if no text of the query may be a glob, which depends on
// all profiles.
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

// withSelection selects profiles and runs f in one transaction, perhaps several times.
// F first empties what it fills.
func (s *Store) withSelection(ctx context.Context, q store.Query, f func(t *bolt.Tx, sel *selection) error) (sel *selection, err error) {
	err = bolt.Again(ctx, func() error {
		return s.db.Read(ctx, func(t *bolt.Tx) error {
			if sel, err = selectProfiles(t, q); err != nil {
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
	sel, err := s.withSelection(ctx, q, func(*bolt.Tx, *selection) error { return nil })
	if err != nil {
		return nil, err
	}
	return sel.profiles, nil
}

// Info implements store.Reader. Until Compact, Functions and Paths include those of
// deleted profiles, as far as the model keeps them.
func (s *Store) Info(ctx context.Context) (info store.Info, err error) {
	err = s.db.Read(ctx, func(t *bolt.Tx) error {
		r, err := t.One(`MATCH (d:Dendro {id: 'dendro'})
			RETURN d.schema, d.rules, COUNT { MATCH (:Benchmark) }, COUNT { MATCH (:TestRun) }, COUNT { MATCH (:Profile) },
				COUNT { MATCH (:`+s.model.functions()+`) }`, nil)
		if err != nil {
			return err
		}
		info = store.Info{
			Engine: "neo4j", Location: s.db.Address.String(), Schema: int(r.Int(0)), Rules: r.Text(1),
			Benchmarks: r.Int(2), Runs: r.Int(3), Profiles: r.Int(4), Functions: r.Int(5),
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
	err = s.db.Read(ctx, func(t *bolt.Tx) error {
		list = nil
		return t.Each(`MATCH (b:Benchmark)-[:MEASURED]->(m:Measurement)<-[:MEASURED]-(r:TestRun)
			WHERE m.names <> [] AND NOT EXISTS { (b)-[:HAS_PROFILE]->(:Profile)<-[:HAS_PROFILE]-(r) }
			RETURN b.group, b.name, r {.*}, m {.*}`, nil, func(r bolt.Row) error {
			list = append(list, store.Measurement{Benchmark: testrun.Benchmark{Group: r.Text(0), Name: r.Text(1)},
				Run: readRun(r.Props(2)), Metrics: readMeasurement(r.Props(3))})
			return nil
		})
	})
	return list, err
}

// Source implements store.Reader.
func (s *Store) Source(ctx context.Context, id store.ProfileID) (data []byte, err error) {
	found := false
	err = s.db.Read(ctx, func(t *bolt.Tx) error {
		found = false
		return t.Each("MATCH (:Profile {key: $key})-[:HAS_SOURCE]->(s:Source) RETURN s.data", map[string]any{"key": string(id)}, func(r bolt.Row) error {
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
