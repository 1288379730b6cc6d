package store

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/testrun"
)

// CopyOptions selects what Copy copies and what it changes. The zero value
// is everything, unchanged.
type CopyOptions struct {
	Query Query // which profiles

	// Rename gives functions other names; call nodes that become equal are
	// merged. Nil keeps the names.
	Rename func(profile.Function) profile.Function
	// Rules is the version of the rules that the names follow then; empty: the
	// source's.
	Rules string

	Conflict Conflict // what to do where the destination has other content

	// Report, if not nil, is called for each file after its commit.
	Report func(Copied)
}

// Copied describes what Copy did with the profiles of one source file.
type Copied struct {
	File      string
	Benchmark testrun.Benchmark
	Run       string
	Profiles  []ProfileID
	Outcome
	Done, All int // profiles so far, and in the selection
}

// Destination is the part of a store that Copy needs to fill it.
type Destination interface {
	Info(ctx context.Context) (Info, error)
	Profiles(ctx context.Context, q Query) ([]Profile, error)
	Put(ctx context.Context, files []*File, opts PutOptions) ([]Outcome, error)
}

// Origin is the part of a store, or of a server, that Copy reads.
type Origin interface {
	Info(ctx context.Context) (Info, error)
	Profiles(ctx context.Context, q Query) ([]Profile, error)
	Waiting(ctx context.Context) ([]Measurement, error)
	// Near returns a reader that has the given profiles, and may have more.
	Near(ctx context.Context, ids []ProfileID) (Reader, error)
}

// Here returns a store as an Origin.
func Here(r Reader) Origin { return here{r} }

type here struct{ Reader }

func (h here) Unwrap() Reader { return h.Reader }

func (h here) Near(context.Context, []ProfileID) (Reader, error) { return h.Reader, nil }

// Bounds of a batch: the profiles that Copy holds in memory and puts in one call.
const (
	copyProfiles     = 64
	copyNodes        = 4 << 20 // call nodes; a larger profile is a batch alone
	copyMeasurements = 1000    // that come without a profile
)

// Copy puts the selected profiles of src into dst, a store of any engine, in
// their import order, with metrics, compile modes, raw names and sources. Metrics
// that wait for their profile come too when the query is of everything. Content
// hashes stay those of the original files.
//
// What dst has already with the same content is left as it is, and its trees are
// not read: a copy that was interrupted is continued by copying again. What
// conflicts with dst is left out; the error that joins all conflicts comes when
// everything else is copied.
func Copy(ctx context.Context, dst Destination, src Reader, opts CopyOptions) error {
	return CopyFrom(ctx, dst, here{src}, opts)
}

// CopyFrom is Copy from an Origin.
func CopyFrom(ctx context.Context, dst Destination, src Origin, opts CopyOptions) error {
	if opts.Rules == "" {
		info, err := src.Info(ctx)
		if err != nil {
			return err
		}
		opts.Rules = info.Rules
	}
	// Content is compared by the hash before names were normalised, which says
	// nothing about the names after it.
	if info, err := dst.Info(ctx); err != nil {
		return err
	} else if info.Rules != "" && info.Rules != opts.Rules {
		return fmt.Errorf("%w: %q in %s, %q in the source (%s)", ErrOtherRules, info.Rules, info.Location, opts.Rules, remedyOfRules)
	}
	selected, err := src.Profiles(ctx, opts.Query)
	if err != nil {
		return err
	}
	there, err := dst.Profiles(ctx, Query{})
	if err != nil {
		return err
	}
	c := &copier{dst: dst, src: src, opts: opts, all: len(selected), there: map[ProfileID]*Profile{}}
	for i := range there {
		c.there[there[i].ID] = &there[i]
	}
	slices.SortStableFunc(selected, func(a, b Profile) int { return cmp.Compare(a.Seq, b.Seq) })
	var batch []copyFile
	profiles, nodes := 0, 0
	for f := range c.files(selected) {
		if len(batch) > 0 && (profiles+len(f.profiles) > copyProfiles || nodes+f.nodes > copyNodes) {
			if err := c.put(ctx, batch); err != nil {
				return err
			}
			batch, profiles, nodes = batch[:0], 0, 0
		}
		batch, profiles, nodes = append(batch, f), profiles+len(f.profiles), nodes+f.nodes
	}
	if err := c.put(ctx, batch); err != nil {
		return err
	}
	if reflect.ValueOf(opts.Query).IsZero() {
		if err := c.putWaiting(ctx); err != nil {
			return err
		}
	}
	return errors.Join(c.conflicts...)
}

// putWaiting copies the metrics that wait for their profile.
func (c *copier) putWaiting(ctx context.Context) error {
	list, err := c.src.Waiting(ctx)
	if err != nil {
		return err
	}
	for part := range slices.Chunk(list, copyMeasurements) {
		var files []*File
		for _, m := range part {
			files = append(files, &File{Name: fmt.Sprintf("metrics of %s, run %s", m.Benchmark, m.Run.Key), Benchmark: m.Benchmark, Run: m.Run,
				Metrics: m.Metrics})
		}
		outcomes, err := c.dst.Put(ctx, files, PutOptions{Rules: c.opts.Rules, Conflict: c.opts.Conflict})
		if err != nil {
			return err
		}
		for _, o := range outcomes {
			if o.Err != nil {
				c.conflicts = append(c.conflicts, o.Err)
			}
		}
	}
	return nil
}

type copier struct {
	dst       Destination
	src       Origin
	opts      CopyOptions
	forest    calltree.Forest
	there     map[ProfileID]*Profile // of the destination
	conflicts []error
	done, all int
}

// copyFile is the profiles of one source file that follow each other in the
// import order.
type copyFile struct {
	profiles []Profile
	there    bool // the destination has all of them
	nodes    int  // to be read
}

// FilesOf returns profiles as the files that they came from, with everything: what Copy puts.
func FilesOf(ctx context.Context, src Reader, ids []ProfileID) ([]*File, error) {
	list, err := src.Profiles(ctx, Query{Profiles: ids})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(list, func(a, b Profile) int { return cmp.Compare(a.Seq, b.Seq) })
	c := &copier{src: here{src}}
	records, err := c.records(ctx, src, IDs(list))
	if err != nil {
		return nil, err
	}
	var files []*File
	for f := range c.files(list) {
		file, err := c.file(ctx, src, f, records)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}

// files cuts a list into the files that the profiles came from.
func (c *copier) files(list []Profile) iter.Seq[copyFile] {
	return func(yield func(copyFile) bool) {
		for len(list) > 0 {
			first, n := &list[0], 1
			for n < len(list) && list[n].Benchmark == first.Benchmark && list[n].Run.Key == first.Run.Key && list[n].File == first.File {
				n++
			}
			f := copyFile{profiles: list[:n], there: true}
			for i := range f.profiles {
				f.there = f.there && c.has(&f.profiles[i])
				f.nodes += f.profiles[i].Nodes
			}
			if f.there {
				f.nodes = 0
			}
			if !yield(f) {
				return
			}
			list = list[n:]
		}
	}
}

// has reports whether the destination has the content of a profile.
func (c *copier) has(p *Profile) bool {
	q := c.there[p.ID]
	return q != nil && q.Hash == p.Hash && (q.HasSource || !p.HasSource)
}

// knows reports whether the destination knows what is known of a profile's run
// and what was measured in it.
func (c *copier) knows(p *Profile) bool {
	q := c.there[p.ID]
	merged, err := q.Run.Merge(p.Run)
	if err != nil || !merged.Same(q.Run) {
		return false
	}
	return !slices.ContainsFunc(p.Metrics, func(m testrun.Metric) bool { return !slices.Contains(q.Metrics, m) })
}

// put copies a batch of files in one Put, without those that are there.
func (c *copier) put(ctx context.Context, batch []copyFile) error {
	var ids []ProfileID
	for _, f := range batch {
		for i := range f.profiles {
			if !f.there {
				ids = append(ids, f.profiles[i].ID)
			}
		}
	}
	near, err := c.src.Near(ctx, ids)
	if err != nil {
		return err
	}
	records, err := c.records(ctx, near, ids)
	if err != nil {
		return err
	}
	var files []*File
	var at []int // in batch, of each file
	outcomes := make([]Outcome, len(batch))
	for i, f := range batch {
		outcomes[i].Unchanged = len(f.profiles)
		if f.there && c.knows(&f.profiles[0]) {
			continue
		}
		file, err := c.file(ctx, near, f, records)
		if err != nil {
			return err
		}
		files, at = append(files, file), append(at, i)
	}
	if len(files) > 0 {
		list, err := c.dst.Put(ctx, files, PutOptions{Rules: c.opts.Rules, Conflict: c.opts.Conflict})
		if err != nil {
			return err
		}
		for k, o := range list {
			if batch[at[k]].there {
				o.Unchanged = len(batch[at[k]].profiles) // of which the file brought only facts
			}
			outcomes[at[k]] = o
		}
	}
	for i, f := range batch {
		c.report(f.profiles, outcomes[i])
	}
	return nil
}

// report reports the outcome of a file.
func (c *copier) report(profiles []Profile, o Outcome) {
	c.done += len(profiles)
	if o.Err != nil {
		c.conflicts = append(c.conflicts, o.Err)
	}
	if c.opts.Report == nil {
		return
	}
	p := &profiles[0]
	r := Copied{File: p.File, Benchmark: p.Benchmark, Run: p.Run.Key, Outcome: o, Done: c.done, All: c.all}
	r.Profiles = IDs(profiles)
	c.opts.Report(r)
}

// records reads profiles as they are put.
func (c *copier) records(ctx context.Context, src Reader, ids []ProfileID) (map[ProfileID]*Record, error) {
	records := map[ProfileID]*Record{}
	if len(ids) == 0 {
		return records, nil
	}
	set, err := src.Trees(ctx, Query{Profiles: ids}, TreeOptions{Modes: true})
	if err != nil {
		return nil, err
	}
	paths, rawOf := c.intern(set.Table)
	rawNames := map[string]map[int32]string{} // by group
	for v, err := range set.Vectors {
		if err != nil {
			return nil, err
		}
		p := &set.Profiles[v.Profile]
		r := &Record{Type: p.Type, Default: p.Default, Profiler: p.Profiler, ProfilerVersion: p.ProfilerVersion, Duration: p.Duration,
			Samples: p.Samples, Parts: p.Parts, Self: mapped(v.Vector, paths)}
		if hash, err := hex.DecodeString(p.Hash); err != nil || copy(r.Hash[:], hash) != len(r.Hash) {
			return nil, fmt.Errorf("%w: profile %s has the content hash %q", ErrCorrupt, p.ID, p.Hash)
		}
		for _, m := range v.Modes {
			r.Modes = append(r.Modes, ModeVector{Mode: m.Mode, Vector: mapped(m.Vector, paths)})
		}
		records[p.ID] = r
	}
	forest := c.forest.Snapshot()
	for i := range set.Profiles {
		p := &set.Profiles[i]
		group := p.Benchmark.Group
		if rawNames[group] == nil {
			if rawNames[group], err = c.rawNames(ctx, src, group, rawOf); err != nil {
				return nil, err
			}
		}
		if r := records[p.ID]; r != nil {
			r.Forest, r.RawNames = forest, rawNames[group]
		}
	}
	return records, nil
}

// intern adds a table to the forest and returns the path of each node, and for
// each raw name the function that had it.
func (c *copier) intern(t *calltree.Table) (paths []int32, rawOf map[string]int32) {
	fn := make([]int32, len(t.Functions))
	rawOf = map[string]int32{}
	for i, f := range t.Functions {
		name := f.Name
		if c.opts.Rename != nil {
			f = c.opts.Rename(f)
		}
		fn[i] = c.forest.Function(f)
		rawOf[name] = fn[i]
	}
	paths = make([]int32, t.Len())
	for n, up := range t.Parent {
		parent := calltree.NoNode
		if up != calltree.NoNode {
			parent = paths[up]
		}
		paths[n] = c.forest.Path(parent, fn[t.Func[n]])
	}
	return paths, rawOf
}

// rawNames returns the examples of the group for the forest's functions. A
// function that only now changes its name gives its old one.
func (c *copier) rawNames(ctx context.Context, src Reader, group string, rawOf map[string]int32) (map[int32]string, error) {
	names := slices.Sorted(maps.Keys(rawOf))
	known, err := src.RawNames(ctx, group, names)
	if err != nil {
		return nil, err
	}
	raw := map[int32]string{}
	for _, name := range names {
		fn := rawOf[name]
		switch example, ok := known[name]; {
		case ok:
			raw[fn] = example
		case raw[fn] == "" && c.forest.Functions[fn].Name != name:
			raw[fn] = name
		}
	}
	return raw, nil
}

// mapped translates a vector from table nodes to paths.
func mapped(v calltree.Vector, paths []int32) calltree.Vector {
	w := calltree.Vector{Nodes: make([]int32, len(v.Nodes)), Self: v.Self}
	for i, n := range v.Nodes {
		w.Nodes[i] = paths[n]
	}
	return calltree.AddVectors(w)
}

// file returns what a file brings: everything, or the facts alone where the
// destination has its profiles.
func (c *copier) file(ctx context.Context, src Reader, from copyFile, records map[ProfileID]*Record) (*File, error) {
	first := &from.profiles[0]
	f := &File{Name: first.File, Benchmark: first.Benchmark, Run: first.Run, Metrics: first.Metrics}
	if from.there {
		return f, nil
	}
	for i := range from.profiles {
		p := &from.profiles[i]
		if p.HasSource && f.Source == nil {
			var err error
			if f.Source, err = src.Source(ctx, p.ID); err != nil && !errors.Is(err, ErrNoSource) {
				return nil, err
			}
		}
		r := records[p.ID]
		if r == nil {
			return nil, fmt.Errorf("%w: profile %s has no tree", ErrCorrupt, p.ID)
		}
		f.Records = append(f.Records, r)
	}
	return f, nil
}
