package lake

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
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
	if list, err := os.ReadDir(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("export: %w", err)
	} else if len(list) > 0 {
		return fmt.Errorf("export: %s is not empty; give a new directory", dir)
	}
	tmp, err := os.MkdirTemp(filepath.Dir(filepath.Clean(dir)), ".dendro-*")
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	defer os.RemoveAll(tmp)
	if err := os.Chmod(tmp, 0o755); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	w := newWriter(tmp)
	defer w.abandon()
	list := slices.Clone(profiles)
	slices.SortStableFunc(list, func(a, b store.Profile) int {
		return cmp.Or(cmp.Compare(monthOf(a.Run), monthOf(b.Run)), cmp.Compare(a.Benchmark.Group, b.Benchmark.Group), cmp.Compare(a.Benchmark.Name, b.Benchmark.Name))
	})
	for done := 0; done < len(list); {
		n := batchLen(list[done:])
		if err := w.batch(ctx, st, list[done:done+n]); err != nil {
			return fmt.Errorf("export: %w", err)
		}
		if done += n; report != nil {
			report(done)
		}
	}
	if err := w.finish(); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) { // it is empty
		return fmt.Errorf("export: %w", err)
	}
	if err := os.Rename(tmp, dir); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return nil
}

// batchLen returns how many profiles of a list the next batch has.
func batchLen(list []store.Profile) int {
	nodes := 0
	for i := range list {
		if nodes += list[i].Nodes; i == batchProfiles || i > 0 && nodes > batchNodes {
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

type writer struct {
	ids             *ids
	profiles        table[profileRow]
	functions       table[functionRow]
	paths           table[pathRow]
	functionSamples table[functionSampleRow]
	pathSamples     table[pathSampleRow]
	metrics         table[metricRow]

	known    []functionRow // of table functions, which is sorted at the end
	measured store.Profile // the benchmark and run of the last row of metrics
}

func newWriter(dir string) *writer {
	w := &writer{ids: newIDs()}
	w.profiles.dir = filepath.Join(dir, "profiles")
	w.functions.dir = filepath.Join(dir, "functions")
	w.paths.dir = filepath.Join(dir, "paths")
	w.functionSamples.dir = filepath.Join(dir, "function_samples")
	w.pathSamples.dir = filepath.Join(dir, "path_samples")
	w.metrics.dir = filepath.Join(dir, "metrics")
	return w
}

func (w *writer) abandon() {
	w.profiles.abandon()
	w.functions.abandon()
	w.paths.abandon()
	w.functionSamples.abandon()
	w.pathSamples.abandon()
	w.metrics.abandon()
}

// finish writes table functions and completes all files.
func (w *writer) finish() error {
	if err := w.functions.in(""); err != nil {
		return err
	}
	slices.SortFunc(w.known, func(a, b functionRow) int { return cmp.Compare(a.Name, b.Name) })
	for i := range w.known {
		if err := w.functions.add(w.known[i]); err != nil {
			return err
		}
	}
	return errors.Join(w.profiles.close(), w.functions.close(), w.paths.close(), w.functionSamples.close(), w.pathSamples.close(), w.metrics.close())
}

// batch reads some profiles and writes their rows.
func (w *writer) batch(ctx context.Context, st store.Reader, list []store.Profile) error {
	set, err := st.Trees(ctx, store.Query{Profiles: store.IDs(list)}, store.TreeOptions{})
	if err != nil {
		return err
	}
	s, err := w.shape(set.Table)
	if err != nil {
		return err
	}
	vectors := make(map[store.ProfileID]calltree.Vector, len(list))
	for v, err := range set.Vectors {
		if err != nil {
			return err
		}
		vectors[set.Profiles[v.Profile].ID] = calltree.Vector{Nodes: slices.Clone(v.Nodes), Self: slices.Clone(v.Self)}
	}
	for i := range list {
		p := &list[i]
		v, ok := vectors[p.ID]
		if !ok {
			return fmt.Errorf("profile %s was deleted meanwhile: export again", p.ID)
		}
		if err := errors.Join(w.profile(p), w.metricsOf(p), w.samples(p, s, v)); err != nil {
			return err
		}
	}
	return nil
}

func micros(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	us := t.UnixMicro()
	return &us
}

func (w *writer) profile(p *store.Profile) error {
	if err := w.profiles.in(monthOf(p.Run)); err != nil {
		return err
	}
	base, list := p.Benchmark.Params()
	params := make(map[string]string, len(list))
	for _, param := range list {
		params[param.Key] = param.Value
	}
	row := profileRow{Profile: string(p.ID), Group: p.Benchmark.Group, Benchmark: p.Benchmark.Name, BaseName: base, Params: params,
		Run: p.Run.Key, Date: micros(p.Run.Date), Commit: p.Run.Commit, Branch: p.Run.Branch, Repository: p.Run.Repository, Machine: p.Run.Machine,
		Attributes: p.Run.Attributes, Type: p.Type.Name, Default: p.Default, Unit: p.Type.Unit, Scale: int32(p.Type.Scale), Period: p.Type.Period,
		PeriodUnit: p.Type.PeriodUnit, Profiler: p.Profiler, ProfilerVersion: p.ProfilerVersion, Duration: int64(p.Duration), Samples: p.Samples,
		Sum: p.Sum, Nodes: int32(p.Nodes), Hash: p.Hash, File: p.File}
	if m, ok := p.Metric(); ok {
		better := string(m.Better)
		row.Metric, row.MetricMean, row.MetricUnit, row.MetricBetter = &m.Name, &m.Mean, &m.Unit, &better
	}
	return w.profiles.add(row)
}

// metricsOf writes the metrics of a benchmark in a run, once for its profiles of several
// value types, which follow each other.
func (w *writer) metricsOf(p *store.Profile) error {
	if w.measured.Benchmark == p.Benchmark && w.measured.Run.Key == p.Run.Key {
		return nil
	}
	w.measured = *p
	if err := w.metrics.in(monthOf(p.Run)); err != nil {
		return err
	}
	for _, m := range p.Metrics {
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

	self, total         []int64
	touched             []bool // nodes of the profile, ancestors included
	funcSelf, funcTotal []int64
	listed              []bool // functions of which an outermost node has a total
}

func (s *shape) path(n int32) PathID { return PathID(s.paths[16*n:]) }

func (s *shape) pathBytes(n int32) []byte { return s.paths[16*n : 16*n+16 : 16*n+16] }

// shape computes the ids of a table and writes the paths that are new.
func (w *writer) shape(t *calltree.Table) (*shape, error) {
	s := &shape{Table: t, functions: make([]FunctionID, len(t.Functions)), paths: make([]byte, 0, 16*t.Len()), recursion: make([]int32, t.Len()),
		self: make([]int64, t.Len()), total: make([]int64, t.Len()), touched: make([]bool, t.Len()),
		funcSelf: make([]int64, len(t.Functions)), funcTotal: make([]int64, len(t.Functions)), listed: make([]bool, len(t.Functions))}
	for i := range t.Functions {
		id, first, err := w.ids.function(t.Functions[i].Name)
		if err != nil {
			return nil, err
		}
		if s.functions[i] = id; first {
			w.known = append(w.known, functionRowOf(id, &t.Functions[i]))
		}
	}
	if err := w.paths.in(""); err != nil {
		return nil, err
	}
	nearest := slices.Repeat([]int32{calltree.NoNode}, len(t.Functions))
	for n := range int32(t.Len()) {
		fn := t.Func[n]
		rec := nearest[fn]
		for rec != calltree.NoNode && n >= t.End[rec] {
			rec = s.recursion[rec]
		}
		s.recursion[n], nearest[fn] = rec, n
		var parent PathID
		if up := t.Parent[n]; up != calltree.NoNode {
			parent = s.path(up)
		}
		id, first, err := w.ids.path(parent, s.functions[fn])
		if err != nil {
			return nil, err
		}
		s.paths = append(s.paths, id[:]...)
		if !first {
			continue
		}
		row := pathRow{Path: s.pathBytes(n), Function: s.functions[fn], Depth: t.Depth[n]}
		if up := t.Parent[n]; up != calltree.NoNode {
			row.Parent = s.pathBytes(up)
		}
		if rec != calltree.NoNode {
			row.Recursion, row.Distance = s.pathBytes(rec), t.Depth[n]-t.Depth[rec]
		}
		if err := w.paths.add(row); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func functionRowOf(id FunctionID, f *profile.Function) functionRow {
	return functionRow{Function: id, Name: f.Name, Kind: f.Kind.String(), Module: f.Module, File: f.File, StartLine: f.StartLine, Column: f.Column,
		Language: f.Language, SystemName: f.SystemName}
}

// samples writes the call nodes and functions of a profile.
func (w *writer) samples(p *store.Profile, s *shape, v calltree.Vector) error {
	month := monthOf(p.Run)
	if err := errors.Join(w.pathSamples.in(month), w.functionSamples.in(month)); err != nil {
		return err
	}
	id, group, benchmark, typ, date := string(p.ID), p.Benchmark.Group, p.Benchmark.Name, p.Type.Name, micros(p.Run.Date)
	for i, n := range v.Nodes {
		s.self[n], s.total[n], s.touched[n] = v.Self[i], v.Self[i], true
	}
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
		if err := w.pathSamples.add(pathSampleRow{id, group, benchmark, typ, date, s.pathBytes(n), s.self[n], s.total[n]}); err != nil {
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
			if err := w.functionSamples.add(functionSampleRow{id, group, benchmark, typ, date, s.functions[fn], s.funcSelf[fn], s.funcTotal[fn]}); err != nil {
				return err
			}
		}
		s.funcSelf[fn], s.funcTotal[fn], s.listed[fn] = 0, 0, false
	}
	return nil
}
