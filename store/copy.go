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
	// Files returns profiles as the files that they came from, with everything.
	Files(ctx context.Context, ids []ProfileID) ([]*File, error)
}

// Here returns a store as an Origin.
func Here(r Reader) Origin { return &here{Reader: r} }

// here is a store whose profiles are over one forest, which grows: engines translate it once.
type here struct {
	Reader
	forest calltree.Forest
}

func (h *here) Unwrap() Reader { return h.Reader }

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
	return CopyFrom(ctx, dst, Here(src), opts)
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
	c := &copier{dst: dst, src: src, opts: opts, all: len(selected), there: map[ProfileID]*Profile{}, was: map[int32]string{}}
	for i := range there {
		c.there[there[i].ID] = &there[i]
	}
	selected = slices.Clone(selected)
	slices.SortStableFunc(selected, func(a, b Profile) int { return cmp.Compare(a.Seq, b.Seq) })
	var batch []copyFile
	n, nodes := 0, 0
	for profiles := range sourceFiles(selected) {
		f := copyFile{profiles: profiles, there: true}
		for i := range profiles {
			f.there = f.there && c.has(&profiles[i])
			f.nodes += profiles[i].Nodes
		}
		if f.there {
			f.nodes = 0
		}
		if len(batch) > 0 && (n+len(f.profiles) > copyProfiles || nodes+f.nodes > copyNodes) {
			if err := c.put(ctx, batch); err != nil {
				return err
			}
			batch, n, nodes = batch[:0], 0, 0
		}
		batch, n, nodes = append(batch, f), n+len(f.profiles), nodes+f.nodes
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
	there     map[ProfileID]*Profile // of the destination
	conflicts []error
	done, all int

	// Of functions with other names:
	calltree.Forest
	translations calltree.Translations
	was          map[int32]string // an old name of each function whose name changed
}

// copyFile is the profiles of one source file that follow each other in the
// import order.
type copyFile struct {
	profiles []Profile
	there    bool // the destination has all of them
	nodes    int  // to be read
}

// Files implements Origin.
func (h *here) Files(ctx context.Context, ids []ProfileID) ([]*File, error) {
	list, err := h.Profiles(ctx, Query{Profiles: ids})
	if err != nil {
		return nil, err
	}
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b Profile) int { return cmp.Compare(a.Seq, b.Seq) })
	records, err := h.records(ctx, IDs(list))
	if err != nil {
		return nil, err
	}
	var files []*File
	for profiles := range sourceFiles(list) {
		f := &File{Name: profiles[0].File, Benchmark: profiles[0].Benchmark, Run: profiles[0].Run, Metrics: profiles[0].Metrics}
		for i := range profiles {
			p := &profiles[i]
			if p.HasSource && f.Source == nil {
				if f.Source, err = h.Source(ctx, p.ID); err != nil && !errors.Is(err, ErrNoSource) {
					return nil, err
				}
			}
			r := records[p.ID]
			if r == nil {
				return nil, fmt.Errorf("%w: profile %s has no tree", ErrCorrupt, p.ID)
			}
			f.Records = append(f.Records, r)
		}
		files = append(files, f)
	}
	return files, nil
}

// sourceFiles cuts a list into the files that the profiles came from.
func sourceFiles(list []Profile) iter.Seq[[]Profile] {
	return func(yield func([]Profile) bool) {
		for len(list) > 0 {
			first, n := &list[0], 1
			for n < len(list) && list[n].Benchmark == first.Benchmark && list[n].Run.Key == first.Run.Key && list[n].File == first.File {
				n++
			}
			if !yield(list[:n]) {
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
	read, err := c.read(ctx, ids)
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
		file, err := c.file(f, read)
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

// single is a profile and the file that it came from.
type single struct {
	*Record
	source []byte
}

// read reads profiles as they are put.
func (c *copier) read(ctx context.Context, ids []ProfileID) (map[ProfileID]single, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	files, err := c.src.Files(ctx, ids)
	if err != nil {
		return nil, err
	}
	if c.opts.Rename != nil {
		c.rename(files)
	}
	read := map[ProfileID]single{}
	for _, f := range files {
		for _, r := range f.Records {
			read[IDOf(f.Benchmark, f.Run.Key, r.Type.Name)] = single{r, f.Source}
		}
	}
	return read, nil
}

// Function adds a function under its other name.
func (c *copier) Function(f profile.Function) int32 {
	renamed := c.opts.Rename(f)
	id := c.Forest.Function(renamed)
	if renamed.Name != f.Name && c.was[id] == "" {
		c.was[id] = f.Name
	}
	return id
}

// rename gives the functions of files other names, and merges call nodes that become equal. A
// function that only now changes its name gives its old one as the example of a raw name.
func (c *copier) rename(files []*File) {
	var records []*Record
	for _, f := range files {
		records = append(records, f.Records...)
	}
	for _, r := range records {
		t := c.translations.Of(r.Forest, c)
		r.Self = calltree.AddVectors(t.Vector(r.Forest, r.Self))
		for i := range r.Modes {
			r.Modes[i].Vector = calltree.AddVectors(t.Vector(r.Forest, r.Modes[i].Vector))
		}
	}
	forest := c.Snapshot()
	for _, r := range records {
		raw, t := maps.Clone(c.was), c.translations.Of(r.Forest, c)
		for _, fn := range slices.Sorted(maps.Keys(r.RawNames)) {
			if id, ok := t.Function(fn); ok {
				raw[id] = r.RawNames[fn]
			}
		}
		r.Forest, r.RawNames = forest, raw
	}
}

// records reads profiles as they are put.
func (h *here) records(ctx context.Context, ids []ProfileID) (map[ProfileID]*Record, error) {
	records := map[ProfileID]*Record{}
	if len(ids) == 0 {
		return records, nil
	}
	set, err := h.Trees(ctx, Query{Profiles: ids}, TreeOptions{Modes: true})
	if err != nil {
		return nil, err
	}
	paths, functions := h.forest.Add(set.Table)
	names, byName := make([]string, len(functions)), map[string]int32{}
	for i, f := range set.Table.Functions {
		names[i], byName[f.Name] = f.Name, functions[i]
	}
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
	forest := h.forest.Snapshot()
	for i := range set.Profiles {
		p := &set.Profiles[i]
		group := p.Benchmark.Group
		if rawNames[group] == nil {
			known, err := h.RawNames(ctx, group, names)
			if err != nil {
				return nil, err
			}
			rawNames[group] = map[int32]string{}
			for name, example := range known {
				rawNames[group][byName[name]] = example
			}
		}
		if r := records[p.ID]; r != nil {
			r.Forest, r.RawNames = forest, rawNames[group]
		}
	}
	return records, nil
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
func (c *copier) file(from copyFile, read map[ProfileID]single) (*File, error) {
	first := &from.profiles[0]
	f := &File{Name: first.File, Benchmark: first.Benchmark, Run: first.Run, Metrics: first.Metrics}
	if from.there {
		return f, nil
	}
	for i := range from.profiles {
		p := &from.profiles[i]
		one, ok := read[p.ID]
		if !ok {
			return nil, fmt.Errorf("%w: profile %s of the list did not come", ErrCorrupt, p.ID)
		}
		if p.HasSource && f.Source == nil {
			f.Source = one.source
		}
		f.Records = append(f.Records, one.Record)
	}
	return f, nil
}
