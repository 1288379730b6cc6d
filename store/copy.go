package store

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/testrun"
)

// copyBatch is how many profiles Copy holds in memory at a time.
const copyBatch = 64

// Copy puts everything that src holds into dst, an empty store of any engine:
// profiles in their import order, with metrics, compile modes, raw names and
// sources. Rename, if not nil, gives functions other names on the way; call
// nodes that become equal are united. Rules is recorded in dst. Content hashes
// stay those of the original files.
func Copy(ctx context.Context, dst Writer, src Reader, rename func(profile.Function) profile.Function, rules string) error {
	all, err := src.Profiles(ctx, Query{})
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b Profile) int { return int(a.Seq - b.Seq) })
	c := &copier{src: src, rename: rename}
	for part := range slices.Chunk(all, copyBatch) {
		files, err := c.files(ctx, part)
		if err != nil {
			return err
		}
		outcomes, err := dst.Put(ctx, files, PutOptions{Rules: rules})
		if err != nil {
			return err
		}
		for _, o := range outcomes {
			if o.Err != nil {
				return o.Err
			}
		}
	}
	return nil
}

type copier struct {
	src    Reader
	rename func(profile.Function) profile.Function
	forest calltree.Forest
}

// files reads a part of the profiles as they were put: those of one source file
// together.
func (c *copier) files(ctx context.Context, part []Profile) ([]*File, error) {
	ids := make([]ProfileID, len(part))
	for i := range part {
		ids[i] = part[i].ID
	}
	set, err := c.src.Trees(ctx, Query{Profiles: ids}, TreeOptions{Modes: true})
	if err != nil {
		return nil, err
	}
	paths, rawOf := c.take(set.Table)
	records := map[ProfileID]*Record{}
	for v, err := range set.Vectors {
		if err != nil {
			return nil, err
		}
		p := &set.Profiles[v.Profile]
		r := &Record{Type: p.Type, Profiler: p.Profiler, ProfilerVersion: p.ProfilerVersion, Duration: p.Duration,
			Samples: p.Samples, Parts: p.Parts, Self: mapped(v.Vector, paths)}
		if hash, err := hex.DecodeString(p.Hash); err != nil || copy(r.Hash[:], hash) != len(r.Hash) {
			return nil, fmt.Errorf("%w: profile %s has the content hash %q", ErrCorrupt, p.ID, p.Hash)
		}
		for _, m := range v.Modes {
			r.Modes = append(r.Modes, ModeVector{Mode: m.Mode, Vector: mapped(m.Vector, paths)})
		}
		if r.RawNames, err = c.rawNames(ctx, p.Benchmark.Group, rawOf); err != nil {
			return nil, err
		}
		records[p.ID] = r
	}
	return c.group(ctx, part, records)
}

// take adds a table to the forest and returns the path of each node, and for
// each function the names it had.
func (c *copier) take(t *calltree.Table) (paths []int32, rawOf map[string]int32) {
	fn := make([]int32, len(t.Functions))
	rawOf = map[string]int32{}
	for i, f := range t.Functions {
		name := f.Name
		if c.rename != nil {
			f = c.rename(f)
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
func (c *copier) rawNames(ctx context.Context, group string, rawOf map[string]int32) (map[int32]string, error) {
	names := make([]string, 0, len(rawOf))
	for name := range rawOf {
		names = append(names, name)
	}
	slices.Sort(names)
	known, err := c.src.RawNames(ctx, group, names)
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

// group puts the records into files, in import order.
func (c *copier) group(ctx context.Context, part []Profile, records map[ProfileID]*Record) ([]*File, error) {
	type key struct {
		benchmark testrun.Benchmark
		run, file string
	}
	byKey := map[key]*File{}
	var files []*File
	forest := c.forest.Snapshot()
	for i := range part {
		p := &part[i]
		k := key{p.Benchmark, p.Run.Key, p.File}
		f := byKey[k]
		if f == nil {
			f = &File{Name: p.File, Benchmark: p.Benchmark, Run: p.Run, Metrics: p.Metrics}
			if p.HasSource {
				var err error
				if f.Source, err = c.src.Source(ctx, p.ID); err != nil && !errors.Is(err, ErrNoSource) {
					return nil, err
				}
			}
			byKey[k] = f
			files = append(files, f)
		}
		r := records[p.ID]
		if r == nil {
			return nil, fmt.Errorf("%w: profile %s has no tree", ErrCorrupt, p.ID)
		}
		r.Forest = forest
		f.Records = append(f.Records, r)
	}
	return files, nil
}
