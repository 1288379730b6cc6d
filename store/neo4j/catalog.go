package neo4j

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/neo4j/internal/bolt"
	"github.com/dendroprof/dendro/store/neo4j/internal/identity"
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
	n := bolt.Props{"key": identity.Benchmark(b), "group": b.Group, "name": b.Name, "base": base}
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
	maps.Copy(n, metricProps(p, p.Metrics))
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

// metricProps returns the properties of a profile's node for the metric that judges its
// value type, of all that are stored for its benchmark and run.
func metricProps(p *store.Profile, stored []testrun.Metric) bolt.Props {
	judged := *p
	judged.Measure(stored)
	m, ok := judged.Metric()
	if !ok {
		return bolt.Props{"metricMean": nil, "metricUnit": nil}
	}
	return bolt.Props{"metricMean": m.Mean, "metricUnit": m.Unit}
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
	return bolt.Props{"names": names, "means": means, "units": units, "better": better, "counts": counts, "primary": primary,
		"samples": samples, "errors": errors}
}

func readMeasurement(n bolt.Props) []testrun.Metric {
	names, units, better := n.Texts("names"), n.Texts("units"), n.Texts("better")
	means, counts, primary := bolt.Column[float64](n["means"]), bolt.Column[int64](n["counts"]), bolt.Column[bool](n["primary"])
	samples, errors := n.Texts("samples"), bolt.Column[float64](n["errors"])
	var list []testrun.Metric
	for i := range min(len(names), len(units), len(better), len(means), len(counts), len(primary), len(samples), len(errors)) {
		list = append(list, testrun.Metric{Name: names[i], Mean: means[i], Unit: units[i], Better: testrun.Better(better[i]), N: int(counts[i]),
			Primary: primary[i], Samples: testrun.Samples(samples[i]), Error: errors[i]})
	}
	return list
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
		info = store.Info{Slow: store.Slow(s),
			Engine: "neo4j", Location: s.db.Address.String(), Schema: int(r.Int(0)), Rules: r.Text(1),
			Benchmarks: r.Int(2), Runs: r.Int(3), Profiles: r.Int(4), Functions: r.Int(5),
		}
		info.Paths, err = s.model.paths(t)
		return err
	})
	if err != nil {
		return store.Info{}, fmt.Errorf("info: %w", err)
	}
	info.Bytes = s.size(ctx)
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

// RawNames implements store.Reader.
func (s *Store) RawNames(ctx context.Context, group string, names []string) (found map[string]string, err error) {
	asked := map[string]string{} // by stored name
	stored := make([]string, len(names))
	for i, name := range names {
		stored[i] = bolt.StoredName(name)
		asked[stored[i]] = name
	}
	function := s.model.functions()
	err = s.db.Read(ctx, func(t *bolt.Tx) error {
		found = map[string]string{}
		// As byID: the server must not read the index once for each name.
		return t.Each(`UNWIND $names AS name MATCH (f:`+function+` {name: name})-[:WAS]->(n:RawName) USING INDEX SEEK f:`+function+`(name)
			WITH name, n ORDER BY n.group <> $group, n.name
			WITH name, collect(n.name)[0] AS raw WHERE raw IS NOT NULL
			RETURN collect(name), collect(raw)`, map[string]any{"names": stored, "group": group}, func(r bolt.Row) error {
			raw := r.Texts(1)
			for i, name := range r.Texts(0) {
				found[asked[name]] = raw[i]
			}
			return nil
		})
	})
	return found, err
}

var _ store.Reader = (*Store)(nil)
