package iceberg

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// A batch is what Write reads of the store at a time.
const (
	batchProfiles = 64
	batchNodes    = 1 << 20 // call nodes; a larger profile is a batch of its own
)

// Write writes profiles of a store as the tables of a lake into a directory, which must
// be new or empty. The profiles are those of a result of st.Profiles. The directory
// appears when it is complete. Report, if not nil, is called with the number of
// profiles written so far.
func Write(ctx context.Context, dir string, st store.Reader, profiles []store.Profile, report func(done int)) (err error) {
	tmp := ""
	defer func() { err = exportError(dir, tmp, err) }()
	if list, err := os.ReadDir(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	} else if len(list) > 0 {
		return fmt.Errorf("%s is not empty; give a new directory", dir)
	}
	tmp, err = os.MkdirTemp(filepath.Dir(filepath.Clean(dir)), ".dendro-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if err := os.Chmod(tmp, 0o755); err != nil {
		return err
	}
	w := newWriter(tmp, "part-0")
	defer w.abandon()
	w.profileTables()
	functions, paths := tableOf[functionRow](w, "functions"), tableOf[pathRow](w, "paths")
	w.functions, w.paths = sink[functionRow]{functions.in, functions.add}, sink[pathRow]{paths.in, paths.add}
	if err := w.begin(partition{}, place{}); err != nil {
		return err
	}
	enter := func(p *store.Profile) (partition, error) { return partition{dir: monthOf(p.Run)}, nil }
	list := slices.Clone(profiles)
	slices.SortStableFunc(list, func(a, b store.Profile) int {
		return cmp.Or(cmp.Compare(monthOf(a.Run), monthOf(b.Run)), cmp.Compare(a.Benchmark.Group, b.Benchmark.Group),
			cmp.Compare(a.Benchmark.Name, b.Benchmark.Name))
	})
	for done := 0; done < len(list); {
		n := batchLen(list[done:])
		if err := w.batch(ctx, st, list[done:done+n], enter); err != nil {
			return err
		}
		if done += n; report != nil {
			report(done)
		}
	}
	if err := w.finish(); err != nil {
		return err
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) { // it is empty
		return err
	}
	return os.Rename(tmp, dir)
}

// exportError returns an error of an export by the name of the directory that the user gave,
// not that of the temporary one.
func exportError(dir, tmp string, err error) error {
	if in, ok := errors.AsType[*fs.PathError](err); ok && tmp != "" && strings.HasPrefix(in.Path, tmp) {
		err = fmt.Errorf("%s: %w", dir, in.Err)
	}
	if err != nil {
		err = fmt.Errorf("export: %w", err)
	}
	return err
}

// batchLen returns how many profiles of a list the next batch has. They are of one group.
func batchLen(list []store.Profile) int {
	nodes := 0
	for i := range list {
		if nodes += list[i].Nodes; i == batchProfiles || i > 0 && nodes > batchNodes || list[i].Benchmark.Group != list[0].Benchmark.Group {
			return i
		}
	}
	return len(list)
}

// monthOf returns the partition of a run: its month in UTC, or the partition that
// readers take as NULL.
func monthOf(r testrun.Run) string {
	if r.Date.IsZero() {
		return "month=__HIVE_DEFAULT_PARTITION__"
	}
	return "month=" + r.Date.UTC().Format("2006-01")
}

// output is a table of any rows.
type output interface {
	close() error
	abandon()
	written() []File
}

// writer writes new files of several tables.
type writer struct {
	dir, name string // of all tables, and of each file
	tables    map[string]output

	ids             *ids
	profiles        *table[profileRow]
	functions       sink[functionRow]
	paths           sink[pathRow]
	functionSamples *table[functionSampleRow]
	pathSamples     *table[pathSampleRow]
	metrics         *table[metricRow]

	known    []functionRow // of the scope, for table functions
	scopes   int32         // number of scopes begun
	measured store.Profile // the benchmark and run of the last row of metrics
	names    []string      // of its metrics

	raw   map[string]string // names before normalisation, in the group of the batch
	place place             // of the scope, for the tables of a lake

	skipMetrics func(*store.Profile) bool // nil: of none
}

func newWriter(dir, name string) *writer {
	return &writer{dir: dir, name: name, tables: map[string]output{}, ids: newIDs()}
}

// tableOf returns a new table of a writer.
func tableOf[T any](w *writer, name string) *table[T] {
	t := &table[T]{dir: filepath.Join(w.dir, name), name: w.name}
	w.tables[name] = t
	return t
}

// profileTables opens the tables of profiles but for functions and paths.
func (w *writer) profileTables() {
	w.profiles, w.metrics = tableOf[profileRow](w, "profiles"), tableOf[metricRow](w, "metrics")
	w.functionSamples, w.pathSamples = tableOf[functionSampleRow](w, "function_samples"), tableOf[pathSampleRow](w, "path_samples")
}

// written lists the files of each table.
func (w *writer) written() map[string][]File {
	files := map[string][]File{}
	for name, t := range w.tables {
		files[name] = t.written()
	}
	return files
}

func (w *writer) abandon() {
	for _, t := range w.tables {
		t.abandon()
	}
}

// undoAfter closes the files, and after an error undoes them in a lake.
func (w *writer) undoAfter(ctx context.Context, l *Lake, err error) {
	w.abandon()
	for _, files := range w.written() {
		l.Undo(ctx, err, files)
	}
}

// begin begins a scope: functions and paths are written once in each. Part is the
// partition of their tables.
func (w *writer) begin(part partition, at place) error {
	if err := w.end(); err != nil {
		return err
	}
	w.ids.forget()
	w.scopes++
	w.place = at
	return errors.Join(w.functions.in(part), w.paths.in(part))
}

// end writes the functions of a scope.
func (w *writer) end() error {
	slices.SortFunc(w.known, func(a, b functionRow) int { return cmp.Compare(a.Name, b.Name) })
	for i := range w.known {
		if err := w.functions.add(w.known[i]); err != nil {
			return err
		}
	}
	w.known = w.known[:0]
	return nil
}

// finish completes all files.
func (w *writer) finish() error {
	err := w.end()
	for _, t := range w.tables {
		err = errors.Join(err, t.close())
	}
	return err
}

// batch reads some profiles and writes their rows. Enter is called before those of each
// profile, with the partition of its rows as result.
func (w *writer) batch(ctx context.Context, st store.Reader, list []store.Profile, enter func(*store.Profile) (partition, error)) error {
	set, err := st.Trees(ctx, store.Query{Profiles: store.IDs(list)}, store.TreeOptions{Modes: true})
	if err != nil {
		return err
	}
	s := w.shape(set.Table)
	if w.raw, err = rawNames(ctx, st, list[0].Benchmark.Group, set.Table); err != nil {
		return err
	}
	vectors := make(map[store.ProfileID]store.TreeVector, len(list))
	for v, err := range set.Vectors {
		if err != nil {
			return err
		}
		vectors[set.Profiles[v.Profile].ID] = copied(v)
	}
	for i := range list {
		p := &list[i]
		v, ok := vectors[p.ID]
		if !ok {
			return fmt.Errorf("profile %s was deleted meanwhile: export again", p.ID)
		}
		part, err := enter(p)
		if err != nil {
			return err
		}
		if err := errors.Join(w.profile(p, part), w.metricsOf(p, part), w.samples(p, part, s, v)); err != nil {
			return err
		}
	}
	return nil
}

// copied returns a vector that stays valid.
func copied(v store.TreeVector) store.TreeVector {
	v.Vector = calltree.Vector{Nodes: slices.Clone(v.Nodes), Self: slices.Clone(v.Self)}
	v.Modes = slices.Clone(v.Modes)
	for i, m := range v.Modes {
		v.Modes[i].Vector = calltree.Vector{Nodes: slices.Clone(m.Nodes), Self: slices.Clone(m.Self)}
	}
	return v
}

// rawNames returns the names that functions of a table had in a group before they were
// normalised.
func rawNames(ctx context.Context, st store.Reader, group string, t *calltree.Table) (map[string]string, error) {
	names := make([]string, len(t.Functions))
	for i := range names {
		names[i] = t.Functions[i].Name
	}
	return st.RawNames(ctx, group, names)
}

func micros(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	return new(t.UnixMicro())
}

func (w *writer) profile(p *store.Profile, part partition) error {
	if err := w.profiles.in(part); err != nil {
		return err
	}
	base, list := p.Benchmark.Params()
	params := make(map[string]string, len(list))
	for _, param := range list {
		params[param.Key] = param.Value
	}
	row := profileRow{Profile: string(p.ID), Group: p.Benchmark.Group, Benchmark: p.Benchmark.Name, BaseName: base, Params: params,
		Run: p.Run.Key, Date: micros(p.Run.Date), Commit: p.Run.Commit, Branch: p.Run.Branch, Repository: p.Run.Repository,
		Machine:    p.Run.Machine,
		Attributes: p.Run.Attributes, Type: p.Type.Name, Default: p.Default, Unit: p.Type.Unit, Scale: int32(p.Type.Scale), Period: p.Type.Period,
		PeriodUnit: p.Type.PeriodUnit, PeriodName: p.Type.PeriodName, Original: p.Type.Original, Profiler: p.Profiler,
		ProfilerVersion: p.ProfilerVersion, Duration: int64(p.Duration), Samples: p.Samples,
		Sum: p.Sum, Nodes: int32(p.Nodes), Hash: p.Hash, File: p.File, Parts: p.Parts, Seq: p.Seq}
	if m, ok := p.Metric(); ok {
		row.Metric, row.MetricMean, row.MetricUnit, row.MetricBetter = &m.Name, &m.Mean, &m.Unit, new(string(m.Better))
	}
	return w.profiles.add(row)
}

// metricsOf writes the metrics of a benchmark in a run, each once for its profiles of
// several value types, which follow each other.
func (w *writer) metricsOf(p *store.Profile, part partition) error {
	if w.measured.Benchmark != p.Benchmark || w.measured.Run.Key != p.Run.Key {
		w.measured, w.names = *p, w.names[:0]
	}
	if w.skipMetrics != nil && w.skipMetrics(p) {
		return nil
	}
	if err := w.metrics.in(part); err != nil {
		return err
	}
	for _, m := range p.Metrics {
		if slices.Contains(w.names, m.Name) {
			continue
		}
		w.names = append(w.names, m.Name)
		if err := w.metrics.add(metricRow{Group: p.Benchmark.Group, Benchmark: p.Benchmark.Name, Run: p.Run.Key, Date: micros(p.Run.Date),
			Name: m.Name, Unit: m.Unit, Mean: m.Mean, Better: string(m.Better), N: int64(m.N),
			Samples: m.Samples.Values(), Error: m.Error, Primary: m.Primary}); err != nil {
			return err
		}
	}
	return nil
}

// shape is a table with the ids of its functions and nodes, and room for the values of
// one profile, which are 0 between two.
type shape struct {
	*calltree.Table
	functions []FunctionID
	paths     []byte  // 16 bytes per node
	recursion []int32 // the nearest ancestor with the same function, or NoNode
	scope     []int32 // the scope in which the node was written last

	self, total         []int64
	modes               []map[string]int64 // nil for profiles without modes
	touched             []bool             // nodes of the profile, ancestors included
	funcSelf, funcTotal []int64
	listed              []bool // functions of which an outermost node has a total
}

func (s *shape) path(n int32) (id PathID) {
	if n != calltree.NoNode {
		id = PathID(s.paths[16*n:])
	}
	return id
}

func (s *shape) pathBytes(n int32) []byte { return s.paths[16*n : 16*n+16 : 16*n+16] }

// optional returns the id of a node, nil for NoNode.
func (s *shape) optional(n int32) *[]byte {
	if n == calltree.NoNode {
		return nil
	}
	return new(s.pathBytes(n))
}

// shape computes the ids of a table.
func (w *writer) shape(t *calltree.Table) *shape {
	s := &shape{Table: t, functions: make([]FunctionID, len(t.Functions)), paths: make([]byte, 0, 16*t.Len()),
		recursion: make([]int32, t.Len()),
		scope:     make([]int32, t.Len()), self: make([]int64, t.Len()), total: make([]int64, t.Len()), touched: make([]bool, t.Len()),
		funcSelf: make([]int64, len(t.Functions)), funcTotal: make([]int64, len(t.Functions)), listed: make([]bool, len(t.Functions))}
	for i := range t.Functions {
		s.functions[i] = w.ids.hashFunction(t.Functions[i].Name)
	}
	nearest := slices.Repeat([]int32{calltree.NoNode}, len(t.Functions))
	for n := range int32(t.Len()) {
		fn := t.Func[n]
		rec := nearest[fn]
		for rec != calltree.NoNode && n >= t.End[rec] {
			rec = s.recursion[rec]
		}
		s.recursion[n], nearest[fn] = rec, n
		c := content(s.path(t.Parent[n]), s.functions[fn])
		id := w.ids.hashPath(c[:])
		s.paths = append(s.paths, id[:]...)
	}
	return s
}

// node writes the path of a node, and its function, if they are new in the scope.
func (w *writer) node(s *shape, n int32) error {
	if s.scope[n] == w.scopes {
		return nil
	}
	s.scope[n] = w.scopes
	up, rec, fn := s.Parent[n], s.recursion[n], s.functions[s.Func[n]]
	if first, err := w.ids.path(s.path(n), s.path(up), fn); !first || err != nil {
		return err
	}
	row := pathRow{Path: s.pathBytes(n), Parent: s.optional(up), Function: fn, Depth: s.Depth[n], Recursion: s.optional(rec)}
	if rec != calltree.NoNode {
		row.Distance = s.Depth[n] - s.Depth[rec]
	}
	f := &s.Functions[s.Func[n]]
	if first, err := w.ids.function(fn, f.Name); err != nil {
		return err
	} else if first {
		row := functionRow{Function: fn, Name: f.Name, Module: f.Module, File: f.File, StartLine: f.StartLine,
			Column: f.Column, Language: f.Language, SystemName: f.SystemName, RawName: w.raw[f.Name]}
		if kind := f.Kind.String(); kind != "" {
			row.Kind = &kind
		}
		w.known = append(w.known, row)
	}
	return w.paths.add(row)
}

// samples writes the call nodes and functions of a profile.
func (w *writer) samples(p *store.Profile, part partition, s *shape, v store.TreeVector) error {
	if err := errors.Join(w.pathSamples.in(part), w.functionSamples.in(part)); err != nil {
		return err
	}
	id, group, benchmark, typ, date := string(p.ID), p.Benchmark.Group, p.Benchmark.Name, p.Type.Name, micros(p.Run.Date)
	return w.sweep(s, v, func(n int32) error {
		row := pathSampleRow{Profile: id, Group: group, Benchmark: benchmark, Type: typ, Date: date, Path: s.pathBytes(n), Self: s.self[n],
			Total: s.total[n]}
		if s.modes != nil {
			row.Modes = s.modes[n]
		}
		return errors.Join(w.node(s, n), w.pathSamples.add(row))
	}, func(fn int32) error {
		return w.functionSamples.add(functionSampleRow{Profile: id, Group: group, Benchmark: benchmark, Type: typ, Date: date,
			Function: s.functions[fn], Self: s.funcSelf[fn], Total: s.funcTotal[fn]})
	})
}

// sweep calls node with the nodes that have a value at or below them, parents first, and function
// with the functions of which an outermost node has a total. The shape has their values.
func (w *writer) sweep(s *shape, v store.TreeVector, node, function func(int32) error) error {
	for i, n := range v.Nodes {
		s.self[n], s.total[n], s.touched[n] = v.Self[i], v.Self[i], true
	}
	s.addModes(v.Modes)
	for n := int32(s.Len()) - 1; n >= 0; n-- {
		if up := s.Parent[n]; s.touched[n] && up != calltree.NoNode {
			s.total[up] += s.total[n]
			s.touched[up] = true
		}
	}
	for n := range int32(s.Len()) {
		if !s.touched[n] {
			continue
		}
		if err := node(n); err != nil {
			return err
		}
		fn := s.Func[n]
		s.funcSelf[fn] += s.self[n]
		if s.recursion[n] == calltree.NoNode && s.total[n] != 0 {
			s.funcTotal[fn] += s.total[n]
			s.listed[fn] = true
		}
		s.self[n], s.total[n], s.touched[n] = 0, 0, false
	}
	for fn := range s.functions {
		if s.listed[fn] {
			if err := function(int32(fn)); err != nil {
				return err
			}
		}
		s.funcSelf[fn], s.funcTotal[fn], s.listed[fn] = 0, 0, false
	}
	return nil
}

// addModes adds the values of compile modes, which may cancel where the profile has no
// value.
func (s *shape) addModes(list []store.ModeVector) {
	if s.modes = nil; len(list) > 0 {
		s.modes = make([]map[string]int64, s.Len())
	}
	for _, m := range list {
		name := m.Mode.String()
		for i, n := range m.Nodes {
			if s.touched[n] = true; s.modes[n] == nil {
				s.modes[n] = map[string]int64{}
			}
			s.modes[n][name] = m.Self[i]
		}
	}
}
