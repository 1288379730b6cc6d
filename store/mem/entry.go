package mem

import (
	"maps"
	"slices"
	"sync"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/store"
)

// entry is one profile. It does not change once it is in Store.profiles.
type entry struct {
	profile store.Profile // of the run only the key, without metrics and HasSource
	self    calltree.Vector
	modes   []store.ModeVector

	once sync.Once
	list []functionRow // the function list; see functions
}

// functionRow is one line of a function list, by the forest's function.
type functionRow struct {
	function    int32
	self, total int64
}

func (e *entry) pair() pair { return pair{e.profile.Benchmark, e.profile.Run.Key} }

// measure fills in what follows from the values.
func (e *entry) measure(f *calltree.Forest) {
	e.profile.Sum, _ = store.AddAbsolute(0, e.self.Self) // Put has seen that it fits
	seen := map[int32]bool{}
	for _, p := range e.self.Nodes {
		for ; p != calltree.NoNode && !seen[p]; p = f.Paths.Parent[p] {
			seen[p] = true
		}
	}
	e.profile.Nodes = len(seen)
}

// functions returns the function list of the profile, whose paths f has. The first
// call computes it.
func (e *entry) functions(f *calltree.Forest) []functionRow {
	e.once.Do(func() {
		cut := f.Cut(e.self.Nodes)
		id := make([]int32, len(cut.Functions)) // of each function of the cut: the forest's
		for n, fn := range cut.Func {
			id[fn] = f.Paths.Item[cut.Paths[n]]
		}
		for _, r := range calltree.NewTree(cut.Table, e.profile.Type, cut.Self(e.self)).FunctionRows() {
			e.list = append(e.list, functionRow{id[r.Func], r.Self, r.Total})
		}
	})
	return e.list
}

// over returns the entry translated from one forest into another.
func (e *entry) over(tr *calltree.Translation, from *calltree.Forest) *entry {
	moved := &entry{profile: e.profile, self: tr.Vector(from, e.self)}
	for _, m := range e.modes {
		moved.modes = append(moved.modes, store.ModeVector{Mode: m.Mode, Vector: tr.Vector(from, m.Vector)})
	}
	return moved
}

// describe returns the profile with its run and metrics.
func (s *Store) describe(e *entry) store.Profile {
	p := e.profile
	p.Run = s.runs[p.Run.Key]
	p.Run.Attributes = maps.Clone(p.Run.Attributes)
	_, p.HasSource = s.sources[p.ID]
	p.Measure(slices.Clone(s.metrics[e.pair()]))
	return p
}
