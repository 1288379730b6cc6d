package mem

import (
	"context"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/column"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
)

// selection is what a query reads; it does not change with the store.
type selection struct {
	profiles []store.Profile
	entries  []*entry // of each profile
	forest   *calltree.Forest
}

// selectProfiles returns the selected profiles.
func (s *Store) selectProfiles(ctx context.Context, q store.Query) (selection, error) {
	if err := ctx.Err(); err != nil {
		return selection{}, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	all := make([]store.Profile, 0, len(s.profiles))
	for _, e := range s.profiles {
		all = append(all, s.describe(e))
	}
	c := selection{profiles: q.Filter(all), forest: s.view}
	for i := range c.profiles {
		c.entries = append(c.entries, s.profiles[c.profiles[i].ID])
	}
	return c, nil
}

// cut returns the table of all nodes that the selection has.
func (c *selection) cut(modes bool) *calltree.Cut {
	mark := make([]bool, c.forest.Paths.Len())
	var paths []int32
	add := func(v calltree.Vector) {
		for _, p := range v.Nodes {
			if !mark[p] {
				mark[p] = true
				paths = append(paths, p)
			}
		}
	}
	for _, e := range c.entries {
		add(e.self)
		for _, m := range e.modes {
			if modes {
				add(m.Vector)
			}
		}
	}
	return c.forest.Cut(paths)
}

// everything returns the table of all nodes of all profiles.
func (s *Store) everything() *calltree.Cut {
	s.mu.RLock()
	c := selection{forest: s.view}
	c.entries = slices.Collect(maps.Values(s.profiles))
	s.mu.RUnlock()
	return c.cut(false)
}

// Profiles implements store.Reader.
func (s *Store) Profiles(ctx context.Context, q store.Query) ([]store.Profile, error) {
	c, err := s.selectProfiles(ctx, q)
	return c.profiles, err
}

// FunctionNames implements store.Reader.
func (s *Store) FunctionNames(ctx context.Context) ([]profile.Function, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s.everything().Functions, nil
}

// Source implements store.Reader.
func (s *Store) Source(ctx context.Context, id store.ProfileID) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	source, ok := s.sources[id]
	if !ok {
		return nil, store.ErrNoSource
	}
	return slices.Clone(source), nil
}

// Functions implements store.Reader. The set has only functions with a row.
func (s *Store) Functions(ctx context.Context, q store.Query, names []string) (*store.FunctionSet, error) {
	c, err := s.selectProfiles(ctx, q)
	if err != nil {
		return nil, err
	}
	const absent, present = -2, -1
	index := make([]int32, len(c.forest.Functions)) // of each function of the forest: its place in the set
	wanted := c.wanted(names)
	for fn := range index {
		index[fn] = absent
	}
	for _, e := range c.entries {
		for _, r := range e.functions(c.forest) {
			if wanted == nil || wanted[r.function] {
				index[r.function] = present
			}
		}
	}
	set := &store.FunctionSet{Profiles: c.profiles}
	var order []int32
	for fn, place := range index {
		if place == present {
			order = append(order, int32(fn))
		}
	}
	slices.SortFunc(order, func(a, b int32) int {
		return strings.Compare(c.forest.Functions[a].Name, c.forest.Functions[b].Name)
	})
	for place, fn := range order {
		index[fn] = int32(place)
		set.Functions = append(set.Functions, c.forest.Functions[fn])
	}
	set.Rows = c.rows(ctx, index)
	return set, nil
}

// wanted returns which functions of the forest are among the names; nil for all.
func (c *selection) wanted(names []string) []bool {
	if names == nil {
		return nil
	}
	set := map[string]bool{}
	for _, n := range names {
		set[n] = true
	}
	return column.Of(c.forest.Functions, func(f profile.Function) bool { return set[f.Name] })
}

// rows streams the function lists, a profile a chunk. Index gives the place of
// each function of the forest in the set, negative for those to leave out.
func (c *selection) rows(ctx context.Context, index []int32) iter.Seq2[store.FunctionRows, error] {
	return func(yield func(store.FunctionRows, error) bool) {
		for i, e := range c.entries {
			if err := ctx.Err(); err != nil {
				yield(store.FunctionRows{}, err)
				return
			}
			var rows store.FunctionRows
			for _, r := range e.functions(c.forest) {
				if place := index[r.function]; place >= 0 {
					rows.Profile = append(rows.Profile, int32(i))
					rows.Function = append(rows.Function, place)
					rows.Self = append(rows.Self, r.self)
					rows.Total = append(rows.Total, r.total)
				}
			}
			if len(rows.Profile) > 0 && !yield(rows, nil) {
				return
			}
		}
	}
}

// Trees implements store.Reader.
func (s *Store) Trees(ctx context.Context, q store.Query, opts store.TreeOptions) (*store.TreeSet, error) {
	c, err := s.selectProfiles(ctx, q)
	if err != nil {
		return nil, err
	}
	cut := c.cut(opts.Modes)
	return &store.TreeSet{Profiles: c.profiles, Table: cut.Table, Vectors: c.vectors(ctx, cut, opts)}, nil
}

func (c *selection) vectors(ctx context.Context, cut *calltree.Cut, opts store.TreeOptions) iter.Seq2[store.TreeVector, error] {
	// The values are copied: consumers may change what they get.
	over := func(v calltree.Vector) calltree.Vector {
		w := cut.Vector(v)
		w.Self = slices.Clone(w.Self)
		return w
	}
	return func(yield func(store.TreeVector, error) bool) {
		for i, e := range c.entries {
			if err := ctx.Err(); err != nil {
				yield(store.TreeVector{}, err)
				return
			}
			v := store.TreeVector{Profile: i, Vector: over(e.self)}
			if opts.Modes {
				for _, m := range e.modes {
					v.Modes = append(v.Modes, store.ModeVector{Mode: m.Mode, Vector: over(m.Vector)})
				}
			}
			if !yield(v, nil) {
				return
			}
		}
	}
}
