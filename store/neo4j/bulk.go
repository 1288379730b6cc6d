package neo4j

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/neo4j/internal/bolt"
	"github.com/dendroprof/dendro/store/neo4j/internal/csv"
	"github.com/dendroprof/dendro/store/neo4j/internal/identity"
	"github.com/dendroprof/dendro/testrun"
)

// Bulk writes a store as CSV files, from which the server's tool creates a database:
// `neo4j-admin database import full`. It takes the files of store.Copy, once, and
// keeps no profile; Finish writes what is complete only at the end. It is not safe for
// concurrent use.
//
// The files hold the graph that Put would create, without constraints and indexes: the
// mark of the database says that it is not ready, and Init creates them when the
// server runs.
type Bulk struct {
	model model
	dir   string

	potentials int // as in NewBulk

	rules string
	files *csv.Dir

	// What further files may add to, until Finish.
	benchmarks   map[string]testrun.Benchmark
	runs         map[string]testrun.Run
	measurements map[int64]*measured
	functions    map[int64]profile.Function
	rawNames     map[int64]rawExample

	paths    map[int64]int64 // of the model shared: the function of each that is written
	profiles map[store.ProfileID]bool
	nodes    int64 // numbers handed out to nodes without a key
}

// measured holds the metrics of a benchmark in a run.
type measured struct {
	benchmark, run string
	metrics        []testrun.Metric
}

type rawExample struct {
	function    int64
	group, name string
}

// NewBulk creates a directory for the files of a database of a model. The directory
// must not contain such files. With a degree of potentials, 0 is none, the files have the
// arrays p and c up to it: of the model Thesis as Init prepares them, of the model Shared
// as Expand adds them to all profiles.
func NewBulk(dir string, m Model, potentials int) (*Bulk, error) {
	m = cmp.Or(m, Shared)
	if _, err := ParseModel(string(m)); err != nil {
		return nil, err
	}
	if err := checkDegree(potentials); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) > 0 {
		return nil, errors.Join(err, fmt.Errorf("%s is not empty; give a new directory", dir))
	}
	return &Bulk{model: models[m], dir: dir, potentials: potentials, files: csv.New(dir), benchmarks: map[string]testrun.Benchmark{},
		runs:         map[string]testrun.Run{},
		measurements: map[int64]*measured{}, functions: map[int64]profile.Function{}, rawNames: map[int64]rawExample{},
		paths: map[int64]int64{}, profiles: map[store.ProfileID]bool{}}, nil
}

var _ store.Destination = (*Bulk)(nil)

// Info implements store.Destination.
func (b *Bulk) Info(context.Context) (store.Info, error) {
	return store.Info{Engine: "neo4j-admin", Location: b.dir, Schema: schema, Rules: b.rules, Profiles: int64(len(b.profiles))}, nil
}

// Profiles implements store.Destination: a copy cannot be continued.
func (b *Bulk) Profiles(context.Context, store.Query) ([]store.Profile, error) { return nil, nil }

// Put implements store.Destination.
func (b *Bulk) Put(ctx context.Context, files []*store.File, opts store.PutOptions) ([]store.Outcome, error) {
	if b.rules != "" && b.rules != opts.Rules {
		return nil, fmt.Errorf("%w: %q and %q", store.ErrOtherRules, b.rules, opts.Rules)
	}
	b.rules = opts.Rules
	outcomes := make([]store.Outcome, len(files))
	for i, f := range files {
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		if outcomes[i].Err = checkFile(f); outcomes[i].Err != nil {
			continue
		}
		if err := b.put(f); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		outcomes[i].Stored = len(f.Records)
	}
	return outcomes, nil
}

func (b *Bulk) put(f *store.File) error {
	benchmark := identity.Benchmark(f.Benchmark)
	b.benchmarks[benchmark] = f.Benchmark
	run, ok := b.runs[f.Run.Key]
	if !ok {
		run = testrun.Run{Key: f.Run.Key}
	}
	run, err := run.Merge(f.Run)
	if err != nil {
		return fmt.Errorf("%w: %w", store.ErrConflict, err)
	}
	b.runs[f.Run.Key] = run
	id := identity.Measurement(f.Benchmark, f.Run.Key)
	m := b.measurements[id]
	if m == nil {
		m = &measured{benchmark: benchmark, run: f.Run.Key}
		b.measurements[id] = m
	}
	if m.benchmark != benchmark || m.run != f.Run.Key {
		return identity.Collision(id, m.benchmark+", "+m.run, benchmark+", "+f.Run.Key)
	}
	m.metrics = store.MergeMetrics(m.metrics, f.Metrics)
	var source int64
	if f.Source != nil {
		source = b.number()
		b.files.Nodes("Source", sourceTypes).Row(source, f.Source)
	}
	for _, r := range f.Records {
		p := store.NewProfile(f, r)
		p.Seq, p.Run, p.Metrics = int64(len(b.profiles))+1, run, m.metrics
		if b.profiles[p.ID] {
			return fmt.Errorf("%w: profile %s comes twice", store.ErrConflict, p.ID)
		}
		b.profiles[p.ID] = true
		if err := b.putProfile(&p, r, source); err != nil {
			return err
		}
	}
	return nil
}

// profileTypes are the columns of profiles, as profileProps and the models'
// properties name them. In the files a number identifies a profile: millions of lines
// refer to it.
var profileTypes = csv.Columns{
	{"key", "string"}, {"seq", "ID(Profile){id-type:long}"}, {"valueType", "string"}, {"unit", "string"}, {"samples", "long"},
	{"rows", "long"}, {"nodes", "long"},
	{"functions", "long"}, {"modes", "long"}, {"hash", "string"}, {"file", "string"}, {"scale", "long"}, {"period", "long"},
	{"periodUnit", "string"},
	{"periodName", "string"}, {"original", "string"}, {"profiler", "string"}, {"profilerVersion", "string"}, {"duration", "long"},
	{"hasSource", "boolean"}, {"default", "boolean"}, {"parts", "string[]"}, {"date", "datetime"}, {"metricMean", "double"},
	{"metricUnit", "string"},
	{"paths", "long[]"}, {"selfs", "long[]"}, {"expanded", "long"}, {"potentials", "long"},
}

// putProfile writes a profile with its tree.
func (b *Bulk) putProfile(p *store.Profile, r *store.Record, source int64) error {
	c := newContent(p.ID, r)
	p.Sum, p.Nodes = c.sum, c.nodes
	if err := b.putFunctions(c, p.Benchmark.Group, r.RawNames); err != nil {
		return err
	}
	n := profileProps(p)
	n["functions"] = int64(len(c.rows))
	maps.Copy(n, b.model.properties(c))
	if b.potentials > 0 && b.model.name() == Shared {
		n["expanded"], n["potentials"] = int64(len(c.paths)), int64(b.potentials)
	}
	modes := int64(0)
	for _, m := range c.modes {
		if m.Len() > 0 {
			modes++
			if err := b.putMode(p.Seq, c, m); err != nil {
				return err
			}
		}
	}
	n["modes"] = modes
	w := b.files.Nodes("Profile", profileTypes)
	w.Props(profileTypes, n)
	b.files.Link("HAS_PROFILE", "Benchmark", "Profile", identity.Benchmark(p.Benchmark), p.Seq)
	b.files.Link("HAS_PROFILE", "TestRun", "Profile", p.Run.Key, p.Seq)
	if source != 0 {
		b.files.Link("HAS_SOURCE", "Profile", "Source", p.Seq, source)
	}
	return b.model.bulk(b, p.Seq, c)
}

// putFunctions adds the functions of a tree.
func (b *Bulk) putFunctions(c *content, group string, raw map[int32]string) error {
	of := c.forestFunctions()
	for i, id := range c.functions {
		f := c.cut.Functions[i]
		f.Name = c.names[i]
		have, ok := b.functions[id]
		switch {
		case ok && have.Name != f.Name:
			return identity.Collision(id, have.Name, f.Name)
		case ok:
			f = calltree.MergeAttributes(have, f)
		}
		b.functions[id] = f
		name, ok := raw[of[i]]
		if !ok {
			continue
		}
		if len(name) > maxRawName {
			name = bolt.StoredName(name)
		}
		key := bolt.TextsID(group, f.Name)
		if old, ok := b.rawNames[key]; !ok || name < old.name {
			b.rawNames[key] = rawExample{id, group, name}
		}
	}
	return nil
}

// number returns a number that identifies a node without a key in the files; it is not
// stored.
func (b *Bulk) number() int64 {
	b.nodes++
	return b.nodes
}

var modeTypes = csv.Columns{{"", "ID(ModeVector){id-type:long}"}, {"id", "long"}, {"mode", "string"},
	{"paths", "long[]"}, {"selfs", "long[]"}}

func (b *Bulk) putMode(profile int64, c *content, m store.ModeVector) error {
	paths, selfs := c.modeIDs(m.Vector)
	number := b.number()
	b.files.Nodes("ModeVector", modeTypes).Row(number, int64(m.Mode), m.Mode.String(), paths, selfs)
	b.files.Link("HAS_MODE", "Profile", "ModeVector", profile, number)
	return nil
}

var sourceTypes = csv.Columns{{"", "ID(Source){id-type:long}"}, {"data", "byte[]"}}

// BulkScript is the file that imports the others, and is there when they are whole.
const BulkScript = csv.Script

// Finish writes the rest, closes the files and, when all of them are complete, writes
// BulkScript, which imports them.
func (b *Bulk) Finish() error {
	b.writeNames()
	b.writeRuns()
	mark := csv.Columns{{"id", "ID(Dendro)"}, {"model", "string"}, {"schema", "long"}, {"rules", "string"}, {"epoch", "long"},
		{"code", "long"}, {"attributes", "long"}, {"ready", "boolean"}, {"potentials", "long"}}
	var potentials any // null is no property
	if b.potentials > 0 && b.model.name() == Thesis {
		potentials = int64(b.potentials)
	}
	b.files.Nodes("Dendro", mark).
		Row("dendro", string(b.model.name()), int64(schema), b.rules, int64(1), int64(0), int64(0), false, potentials)
	if err := b.Close(); err != nil {
		return err
	}
	return b.files.WriteCommand()
}

// Close closes the files without completing them: it writes no script.
func (b *Bulk) Close() error { return b.files.Close() }

// writeNames writes the distinct functions and examples of their raw names.
func (b *Bulk) writeNames() {
	label := b.model.functions()
	types := csv.Columns{{"id", "ID(" + label + "){id-type:long}"}, {"name", "string"}, {"systemName", "string"}, {"module", "string"},
		{"file", "string"},
		{"startLine", "long"}, {"column", "long"}, {"language", "string"}, {"kind", "string"}}
	w := b.files.Nodes(label, types)
	for _, id := range slices.Sorted(maps.Keys(b.functions)) {
		w.Props(types, functionProps(id, b.functions[id].Name, b.functions[id]))
	}
	w = b.files.Nodes("RawName", csv.Columns{{"id", "ID(RawName){id-type:long}"}, {"group", "string"}, {"name", "string"}})
	for _, id := range slices.Sorted(maps.Keys(b.rawNames)) {
		n := b.rawNames[id]
		w.Row(id, n.group, n.name)
		b.files.Link("WAS", label, "RawName", n.function, id)
	}
}

// writeRuns writes groups, benchmarks, runs and measurements.
func (b *Bulk) writeRuns() {
	var benchmarks, runs []bolt.Props
	groups := map[string]bool{}
	for _, key := range slices.Sorted(maps.Keys(b.benchmarks)) {
		benchmarks = append(benchmarks, benchmarkProps(b.benchmarks[key]))
		groups[b.benchmarks[key].Group] = true
		b.files.Link("HAS_BENCHMARK", "BenchmarkGroup", "Benchmark", b.benchmarks[key].Group, key)
	}
	w := b.files.Nodes("BenchmarkGroup", csv.Columns{{"name", "ID(BenchmarkGroup)"}})
	for _, g := range slices.Sorted(maps.Keys(groups)) {
		w.Row(g)
	}
	for _, key := range slices.Sorted(maps.Keys(b.runs)) {
		runs = append(runs, runProps(b.runs[key]))
	}
	b.writeAll("Benchmark", benchmarks)
	b.writeAll("TestRun", runs)
	w = b.files.Nodes("Measurement", csv.Columns{{"id", "ID(Measurement){id-type:long}"}, {"writes", "long"}, {"names", "string[]"},
		{"means", "double[]"},
		{"units", "string[]"}, {"better", "string[]"}, {"counts", "long[]"}, {"primary", "boolean[]"}, {"samples", "string[]"},
		{"errors", "double[]"}})
	for _, id := range slices.Sorted(maps.Keys(b.measurements)) {
		m := b.measurements[id]
		n := measurementProps(m.metrics)
		w.Row(id, int64(1), n["names"], n["means"], n["units"], n["better"], n["counts"], n["primary"], n["samples"], n["errors"])
		b.files.Link("MEASURED", "Benchmark", "Measurement", m.benchmark, id)
		b.files.Link("MEASURED", "TestRun", "Measurement", m.run, id)
	}
}

// writeAll writes nodes with a key whose other properties differ: texts, and
// dates.
func (b *Bulk) writeAll(label string, list []bolt.Props) {
	names := map[string]string{}
	for _, n := range list {
		for k, v := range n {
			names[k] = "string"
			if _, ok := v.(time.Time); ok {
				names[k] = "datetime"
			}
		}
	}
	types := csv.Columns{{"key", "ID(" + label + ")"}}
	for _, k := range slices.Sorted(maps.Keys(names)) {
		if k != "key" {
			types = append(types, csv.Column{k, names[k]})
		}
	}
	w := b.files.Nodes(label, types)
	for _, n := range list {
		w.Props(types, n)
	}
}
