package trees

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dendroprof/dendro/analysis/average"
	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/format"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/normalize"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/param"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// Input is what a view is made of: the samples of one profile, or the sum of several.
// It is not safe for concurrent use.
type Input struct {
	name     string           // of the file; empty for what comes from a store
	viewer   *calltree.Viewer // of its samples; nil for a sum
	tree     *calltree.Tree   // of a sum
	modes    modes            // of the sum, if they were read
	profile  *profile.Profile // of viewer, of a file
	stored   *store.Profile   // whose original file it is; nil for what comes from no store
	profiles int              // 1, or how many are in the sum
	interval time.Duration    // between samples, if the file says so
	start    time.Time        // of the first profile
	duration time.Duration    // of all profiles; 0 if unknown for one of them
	metrics  map[string]float64
	// operations of all profiles, 0 if unknown for one of them; estimated: of one at least.
	operations float64
	told       float64 // operations, as the benchmarks say: operations is what the samples stand for
	estimated  bool
	rates      []float64 // samples per operation of each profile whose operations are known
	sum        float64   // of their samples
	benchmarks map[testrun.Benchmark]bool
	warnings   []profile.Warning // of the reader
}

// Names says which names the functions of an input have.
type Names int

// The names of functions (docs/method/names.md).
const (
	NamesToCompare Names = iota // normalised, so that two runs have the same, but for formats with OwnNames
	NamesAsWritten
	NamesNormalised
)

// stackBytes is the memory of a stack of an input while the answer is made: of its function, of
// its place in the tables and trees, and of its row.
const stackBytes = 768

// Reader returns a reader of inputs: what they take until the request ends is counted.
func Reader(ctx context.Context, l profile.Limits) *format.Reader {
	r := format.NewReader(l)
	r.Context, r.StackBytes = ctx, stackBytes
	return r
}

// NewInput returns a profile as an input.
func NewInput(name string, p *profile.Profile, names Names) Input {
	if names == NamesNormalised || names == NamesToCompare && !ownNames(p.Format) {
		p = p.Rename(normalize.New(nil).Function)
	}
	return Input{name: name, viewer: calltree.NewViewer(p), profile: p, profiles: 1, interval: p.Interval, start: p.Start,
		duration: p.Duration, warnings: p.Warnings}
}

// ownNames reports whether profiles of a format are compared by their names as written.
func ownNames(name string) bool {
	f, err := format.Lookup(name)
	return err == nil && f.OwnNames
}

// prefix begins a message about the input.
func (in *Input) prefix() string {
	if in.name == "" {
		return ""
	}
	return words.Clean(in.name) + ": "
}

// Average puts the average of a selection in the place of its sum.
type Average struct {
	Average string `param:"average" arg:"statistic" choices:",mean,median,p10,p90" default:"" help:"show the mean, median, p10 or p90 of the selected runs instead of their sum" json:"average,omitempty"`
	Weight  string `param:"weight" arg:"what" choices:",samples,share" default:"" help:"averages: weight of a run: its samples (default of --average), or equal (share)" json:"weight,omitempty"`
}

// statistic is the average of a comparison with the history: the mean by default.
func (a *Average) statistic() average.Statistic {
	if a.Average == "" {
		return average.Mean
	}
	return average.Statistic(a.Average)
}

// reading says how the inputs of a selection are made.
type reading struct {
	Average
	rawNames bool
	modes    bool // read compile modes, too
	limits   profile.Limits
	above    float64 // percentage of the whole below which a sum needs no details; 0: all are needed
	*viewer
}

// ofStore returns the sum of a selection or, where the view needs single samples, the
// profiles in its original files.
func (r *reading) ofStore(ctx context.Context, st store.Store, q store.Query, view string) ([]Input, error) {
	if flag := r.needsSamples(view, r.typ); flag != "" {
		if r.Average.Average != "" {
			return nil, param.Errorf("%s needs single samples; an average has none", flag)
		}
		list, err := r.originals(ctx, st, q, flag)
		if err != nil {
			return nil, err
		}
		return r.selected(list)
	}
	in, err := r.sum(ctx, st, q)
	return []Input{in}, err
}

// sum returns the sum, or the average, of the selected profiles.
func (r *reading) sum(ctx context.Context, st store.Store, q store.Query) (Input, error) {
	var in Input
	if r.Average.Average != "" {
		b, err := average.Of(ctx, st, q, store.Weight(r.Weight))
		if err != nil {
			return in, err
		}
		r.notes = append(r.notes, b.Warnings...)
		in = Input{name: fmt.Sprintf("%s of %s", r.Average.Average, words.Counted(len(b.Profiles), "profile")),
			tree: b.Tree(average.Statistic(r.Average.Average)), profiles: 1}
	} else {
		merge := func() (t *calltree.Tree, profiles []store.Profile, err error) {
			if r.modes {
				t, in.modes, profiles, err = mergeModes(ctx, st, q)
				return t, profiles, err
			}
			return store.MergeTreesAbove(ctx, st, q, r.above)
		}
		t, profiles, err := merge()
		if err != nil {
			return in, err
		}
		in.tree, in.profiles = t, query.Summed(st, profiles)
		in.measure(profiles)
	}
	if r.rawNames {
		var err error
		in.tree, err = withRawNames(ctx, st, in.tree, q)
		return in, err
	}
	return in, nil
}

// timed gives a profile of inputs their time: the first start, and the duration of all if each has
// one, as a sum of pprof files has them.
func timed(p *profile.Profile, list []Input) *profile.Profile {
	known := true
	for i := range list {
		in := &list[i]
		p.Start, p.Duration = continuous.Earlier(p.Start, in.start), p.Duration+in.duration
		known = known && in.duration > 0
	}
	if !known {
		p.Duration = 0
	}
	return p
}

// measure adds up how long profiles took and what was measured beside them. What one
// of them lacks, the sum lacks.
func (in *Input) measure(profiles []store.Profile) {
	in.metrics = map[string]float64{}
	of := map[string]int{}
	in.benchmarks = map[testrun.Benchmark]bool{}
	timed, counted := 0, 0
	for i := range profiles {
		p := &profiles[i]
		in.benchmarks[p.Benchmark] = true
		in.start = continuous.Earlier(in.start, p.Run.Date)
		if n, estimated := p.Covered(); n > 0 {
			counted++
			told, _ := p.Operations()
			in.operations, in.told = in.operations+n, in.told+told
			in.rates, in.sum = append(in.rates, float64(p.Sum)/n), in.sum+float64(p.Sum)
			in.estimated = in.estimated || estimated
		}
		if p.Duration > 0 {
			timed++
			in.duration += p.Duration
		}
		for _, m := range p.Metrics {
			in.metrics[m.Name] += m.Mean
			of[m.Name]++
		}
	}
	if timed < len(profiles) {
		in.duration = 0
	}
	if counted < len(profiles) {
		in.operations = 0
	}
	for name, n := range of {
		if n < len(profiles) {
			delete(in.metrics, name)
		}
	}
}

// originals decodes the original files of the selected profiles, each once, with the
// names that the store gives their functions. Profiles whose file was not kept are left out
// with a note; if that is all of them, the error names the flag that needs samples.
func (r *reading) originals(ctx context.Context, st store.Store, q store.Query, flag string) (list []Input, err error) {
	reader := func() *format.Reader { return Reader(ctx, r.limits) }
	err = r.eachOriginal(ctx, st, q, flag, reader, func(name string, p *profile.Profile, stored *store.Profile) error {
		in := NewInput(name, dumpOf(p, &stored.Run), NamesNormalised)
		in.stored = stored
		list = append(list, in)
		return nil
	})
	return list, err
}

// eachOriginal calls f with every profile in the original files of the selected ones, which the
// reader of each reads.
func (r *reading) eachOriginal(ctx context.Context, st store.Store, q store.Query, flag string, reader func() *format.Reader,
	f func(name string, p *profile.Profile, stored *store.Profile) error) error {
	if isStrategy(r.typ) {
		q.Types = nil // it is a way to weigh samples, not a type that profiles have
	}
	profiles, err := query.ProfilesOf(ctx, st, q)
	if err != nil {
		return err
	}
	type file struct {
		benchmark testrun.Benchmark
		run       string
	}
	seen := map[file]bool{}
	var missing error
	found, without := 0, 0
	for i := range profiles {
		p := &profiles[i]
		key := file{p.Benchmark, p.Run.Key}
		if seen[key] {
			continue
		}
		seen[key] = true
		data, err := st.Source(ctx, p.ID)
		if errors.Is(err, store.ErrNoSource) {
			missing = err
			without++
			continue
		}
		if err != nil {
			return err
		}
		for d, err := range reader().Read(p.File, bytes.NewReader(data)) {
			if err == nil {
				err = f(d.Name, d.Profile, p)
			}
			if err != nil {
				return err
			}
			found++
		}
	}
	switch {
	case found == 0 && missing != nil:
		return fmt.Errorf("%s needs single samples: %w, or give the file", flag, missing)
	case without > 0:
		r.note("%s needs single samples: %s dropped, whose original files were not kept (import with --keep-source)", flag, words.Counted(without, "profile"))
	}
	return nil
}

// dumpOf returns the part of a file that is stored as a run: all of it, or one of several
// thread dumps, each of which is a run named after its time.
func dumpOf(p *profile.Profile, run *testrun.Run) *profile.Profile {
	for _, one := range p.EachDump() {
		at := one.Start.UTC().Truncate(time.Microsecond)
		if key, _, _ := strings.Cut(run.Key, "#"); key == at.Format(time.RFC3339Nano) {
			return one
		}
	}
	return p
}

// withRawNames replaces the names of a tree's functions by raw examples.
func withRawNames(ctx context.Context, st store.Store, t *calltree.Tree, q store.Query) (*calltree.Tree, error) {
	names := query.NamesOf(t.Functions)
	group := ""
	if len(q.Groups) == 1 {
		group = q.Groups[0]
	}
	raw, err := st.RawNames(ctx, group, names)
	if err != nil {
		return nil, err
	}
	table := *t.Table
	table.Functions = slices.Clone(t.Functions)
	for i := range table.Functions {
		if name, ok := raw[names[i]]; ok {
			table.Functions[i].Name = name
		}
	}
	named := *t
	named.Table = &table
	return &named, nil
}

// Name is the name of the file; empty for what comes from a store.
func (in *Input) Name() string { return in.name }

// Warnings are those of the file's reader.
func (in *Input) Warnings() []profile.Warning { return in.warnings }

// Samples are the samples that a request selects, with their lines, which sums of a store have not.
type Samples struct {
	Views []*calltree.Shown // of each profile or file
	Sum   *calltree.Tree    // of all of them
	Head  Head              // of a document about them
}

// ReadSamples reads the samples that a request selects, those of a store from its original files.
func ReadSamples(ctx context.Context, st store.Store, r *TreeRequest) (*Samples, error) {
	s, err := newScope(ctx, st, r, viewLines)
	if err != nil {
		return nil, err
	}
	return &Samples{Views: s.all, Sum: s.tree, Head: s.head(s.tree.RootTotal(), query.Omitted{})}, nil
}
