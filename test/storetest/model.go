package storetest

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// model is a store made of Go maps: slow, and so simple that it can be believed.
// The suite applies every change to it and to the engine and compares.
type model struct {
	profiles   map[store.ProfileID]*modelProfile
	runs       map[string]testrun.Run
	metrics    map[pair]map[string]testrun.Metric
	attributes map[string]profile.Function           // of every function ever stored
	raw        map[string]map[string]map[string]bool // function, group: the raw names ever put
	rules      string
	leftovers  bool // something was deleted, replaced or refused since the last Compact
	forgot     bool // something was deleted or replaced, ever
}

// pair is what metrics belong to.
type pair struct {
	benchmark testrun.Benchmark
	run       string
}

// modelProfile is a profile as paths: function names joined by sep.
type modelProfile struct {
	description store.Profile // without metrics, run and sequence number
	self        map[string]int64
	modes       map[profile.FrameType]map[string]int64
	source      []byte
	added       bool // by store.Add: some of the description is the engine's choice
}

// sep joins the names of a path. No name in the suite has it.
const sep = "\x1f"

func newModel() *model {
	return &model{
		profiles:   map[store.ProfileID]*modelProfile{},
		runs:       map[string]testrun.Run{},
		metrics:    map[pair]map[string]testrun.Metric{},
		attributes: map[string]profile.Function{},
		raw:        map[string]map[string]map[string]bool{},
	}
}

// put applies one file. The error of the outcome is store.ErrConflict or
// nil.
func (m *model) put(f *store.File, opts store.PutOptions) store.Outcome {
	m.rules = opts.Rules
	run, err := m.mergeRun(f.Run)
	if err != nil {
		m.leftovers = true
		return store.Outcome{Err: store.ErrConflict}
	}
	var out store.Outcome
	changed := map[store.ProfileID]*modelProfile{}
	for _, r := range f.Records {
		id := store.IDOf(f.Benchmark, f.Run.Key, r.Type.Name)
		have := changed[id]
		if have == nil {
			have = m.profiles[id]
		}
		next, err := merged(have, newModelProfile(id, f, r), opts.Conflict)
		switch {
		case err != nil:
			m.leftovers = true
			return store.Outcome{Err: err}
		case next == have:
			out.Unchanged++
		default:
			m.leftovers, m.forgot = m.leftovers || have != nil, m.forgot || have != nil
			changed[id] = next
			out.Stored++
		}
	}
	maps.Copy(m.profiles, changed)
	m.runs[run.Key] = run
	m.addMetrics(pair{f.Benchmark, run.Key}, f.Metrics)
	if out.Stored > 0 {
		for _, r := range f.Records {
			m.addFunctions(f.Benchmark.Group, r)
		}
	}
	return out
}

// merged describes what becomes of a profile when next is put: have itself if
// nothing changes.
func merged(have, next *modelProfile, c store.Conflict) (*modelProfile, error) {
	switch {
	case have == nil:
		return next, nil
	case have.description.Hash == next.description.Hash:
		return have, nil
	case c != store.Replace && slices.Contains(have.description.Parts, next.description.Hash):
		return have, nil
	case c == store.Replace:
		return next, nil
	case c == store.Add:
		return sum(have, next)
	}
	return nil, store.ErrConflict
}

func sum(a, b *modelProfile) (*modelProfile, error) {
	if a.description.Type.Key() != b.description.Type.Key() {
		return nil, store.ErrConflict
	}
	total := &modelProfile{description: a.description, self: map[string]int64{}, modes: map[profile.FrameType]map[string]int64{}, added: true}
	for _, p := range []*modelProfile{a, b} {
		addTo(total.self, p.self)
		for mode, values := range p.modes {
			if total.modes[mode] == nil {
				total.modes[mode] = map[string]int64{}
			}
			addTo(total.modes[mode], values)
		}
	}
	if math.MaxInt64-a.description.Sum < b.description.Sum {
		return nil, store.ErrConflict
	}
	total.description.Samples += b.description.Samples
	total.description.Default = a.description.Default || b.description.Default
	total.description.AddContent(&b.description)
	total.measure()
	return total, nil
}

func addTo(sum, values map[string]int64) {
	for path, v := range values {
		if sum[path] += v; sum[path] == 0 {
			delete(sum, path)
		}
	}
}

func newModelProfile(id store.ProfileID, f *store.File, r *store.Record) *modelProfile {
	p := &modelProfile{
		description: store.Profile{
			ID: id, Benchmark: f.Benchmark, Run: testrun.Run{Key: f.Run.Key}, Type: r.Type,
			Default: r.Default, Profiler: r.Profiler, ProfilerVersion: r.ProfilerVersion, Duration: r.Duration,
			Samples: r.Samples, Hash: r.Hash.String(), File: f.Name, HasSource: f.Source != nil,
		},
		self:   pathsOf(r.Forest, r.Self),
		modes:  map[profile.FrameType]map[string]int64{},
		source: slices.Clone(f.Source),
	}
	for _, mode := range r.Modes {
		p.modes[mode.Mode] = pathsOf(r.Forest, mode.Vector)
	}
	p.measure()
	return p
}

// pathsOf spells a vector out.
func pathsOf(f *calltree.Forest, v calltree.Vector) map[string]int64 {
	// Without values there may be no forest.
	paths := make(map[string]int64, v.Len())
	for i, p := range v.Nodes {
		paths[strings.Join(f.Names(p), sep)] = v.Self[i]
	}
	return paths
}

// measure fills in what follows from the values.
func (p *modelProfile) measure() {
	p.description.Sum = 0
	for _, v := range p.self {
		p.description.Sum += max(v, -v)
	}
	p.description.Nodes = len(totals(p.self))
}

// totals returns the total of every node: of the paths and all their beginnings.
func totals(self map[string]int64) map[string]int64 {
	total := map[string]int64{}
	for path, v := range self {
		for i := range len(path) {
			if path[i] == sep[0] {
				total[path[:i]] += v
			}
		}
		total[path] += v
	}
	return total
}

// numbers are what a function took in one profile.
type numbers struct{ Self, Total int64 }

// functions returns the function list: a node below another one of its function
// adds nothing to the total, and a function is listed if a node that adds to it
// does not cancel.
func (p *modelProfile) functions() map[string]numbers {
	list := map[string]numbers{}
	listed := map[string]bool{}
	for path, total := range totals(p.self) {
		names := strings.Split(path, sep)
		fn := names[len(names)-1]
		n := list[fn]
		n.Self += p.self[path]
		if !slices.Contains(names[:len(names)-1], fn) && total != 0 {
			n.Total += total
			listed[fn] = true
		}
		list[fn] = n
	}
	maps.DeleteFunc(list, func(fn string, _ numbers) bool { return !listed[fn] })
	return list
}

func (m *model) mergeRun(r testrun.Run) (testrun.Run, error) {
	have, ok := m.runs[r.Key]
	if !ok {
		r.Attributes = maps.Clone(r.Attributes)
		return r, nil
	}
	return have.Merge(r)
}

func (m *model) addMetrics(at pair, list []testrun.Metric) {
	for _, metric := range list {
		if m.metrics[at] == nil {
			m.metrics[at] = map[string]testrun.Metric{}
		}
		m.metrics[at][metric.Name] = metric
	}
}

// addFunctions takes in attributes and raw names of what a record uses.
func (m *model) addFunctions(group string, r *store.Record) {
	for fn := range usedFunctions(r) {
		f := r.Forest.Functions[fn]
		if have, ok := m.attributes[f.Name]; ok {
			f = calltree.MergeAttributes(have, f)
		}
		m.attributes[f.Name] = f
		if raw := r.RawNames[fn]; raw != "" {
			if m.raw[f.Name] == nil {
				m.raw[f.Name] = map[string]map[string]bool{}
			}
			if m.raw[f.Name][group] == nil {
				m.raw[f.Name][group] = map[string]bool{}
			}
			m.raw[f.Name][group][raw] = true
		}
	}
}

func usedFunctions(r *store.Record) map[int32]bool {
	used := map[int32]bool{}
	seen := map[int32]bool{}
	for _, p := range r.Self.Nodes {
		for ; p != calltree.NoNode && !seen[p]; p = r.Forest.Paths.Parent[p] {
			seen[p] = true
			used[r.Forest.Paths.Item[p]] = true
		}
	}
	return used
}

// delete returns how many profiles were there. What waits for a profile stays.
func (m *model) delete(ids []store.ProfileID) int {
	gone := map[pair]bool{}
	n := 0
	for _, id := range ids {
		if p := m.profiles[id]; p != nil {
			delete(m.profiles, id)
			gone[pair{p.description.Benchmark, p.description.Run.Key}] = true
			n++
		}
	}
	if n == 0 {
		return 0
	}
	m.leftovers, m.forgot = true, true
	pairs, runs := m.used()
	for p := range gone {
		if !pairs[p] {
			delete(m.metrics, p)
		}
	}
	for p := range m.metrics {
		runs[p.run] = true
	}
	for p := range gone {
		if !runs[p.run] {
			delete(m.runs, p.run)
		}
	}
	return n
}

// used returns the pairs and runs that have profiles.
func (m *model) used() (map[pair]bool, map[string]bool) {
	pairs, runs := map[pair]bool{}, map[string]bool{}
	for _, p := range m.profiles {
		pairs[pair{p.description.Benchmark, p.description.Run.Key}] = true
		runs[p.description.Run.Key] = true
	}
	return pairs, runs
}

// waiting reports whether there is a run or a metric without profiles.
func (m *model) waiting() bool {
	pairs, runs := m.used()
	for p := range m.metrics {
		if !pairs[p] {
			return true
		}
	}
	for r := range m.runs {
		if !runs[r] {
			return true
		}
	}
	return false
}

// describe returns the stored profile as an engine should list it, but for Seq.
func (m *model) describe(p *modelProfile) store.Profile {
	d := p.description
	d.Run = m.runs[d.Run.Key]
	d.Measure(slices.SortedFunc(maps.Values(m.metrics[pair{d.Benchmark, d.Run.Key}]), func(a, b testrun.Metric) int {
		if a.Primary != b.Primary {
			if a.Primary {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Name, b.Name)
	}))
	return d
}

// find returns the profile of an id that the engine listed.
func (m *model) find(id store.ProfileID) (*modelProfile, error) {
	if p := m.profiles[id]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("profile %s should not be there", id)
}

// functionNames returns the functions of all profiles.
func (m *model) functionNames() map[string]bool {
	names := map[string]bool{}
	for _, p := range m.profiles {
		for path := range p.self {
			for _, name := range strings.Split(path, sep) {
				names[name] = true
			}
		}
	}
	return names
}
