package neo4j

import (
	"context"
	"maps"
	"slices"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/neo4j/internal/bolt"
	"github.com/dendroprof/dendro/store/neo4j/internal/gate"
)

// record returns a stored profile as a record over the forest of the dictionary.
func (s *Store) record(t *bolt.Tx, p *store.Profile) (*store.Record, error) {
	sel := &selection{profiles: []store.Profile{*p}, place: map[string]int{string(p.ID): 0}}
	n, err := t.One("OPTIONAL MATCH (p:Profile {key: $key}) RETURN p.modes", map[string]any{"key": string(p.ID)})
	if err != nil {
		return nil, err
	}
	sel.modes = []int64{n.Int(0)}
	list, err := s.readVectors(t, sel, [2]int{0, 1}, true)
	if err != nil {
		return nil, err
	}
	return &store.Record{Type: p.Type, Forest: s.view(), Self: list[0].self, Modes: list[0].modes}, nil
}

// sum returns a record with the sum of a stored profile and r, over a forest of its
// own.
func (s *Store) sum(t *bolt.Tx, old *store.Profile, r *store.Record) (*store.Record, error) {
	stored, err := s.record(t, old)
	if err != nil {
		return nil, err
	}
	var into merger
	into.modes = map[profile.FrameType][]calltree.Vector{}
	into.add(stored.Forest, stored.Self, stored.Modes)
	if r.Forest != nil {
		into.add(r.Forest, r.Self, r.Modes)
	}
	sum := &store.Record{Type: r.Type, Forest: &into.forest, Self: calltree.AddVectors(into.self...), RawNames: map[int32]string{}}
	for fn, raw := range r.RawNames {
		sum.RawNames[into.forest.Function(r.Forest.Functions[fn])] = raw
	}
	for _, mode := range slices.Sorted(maps.Keys(into.modes)) {
		if v := calltree.AddVectors(into.modes[mode]...); v.Len() > 0 {
			sum.Modes = append(sum.Modes, store.ModeVector{Mode: mode, Vector: v})
		}
	}
	return sum, nil
}

// merger translates values over several forests into one and merges the attributes of
// functions.
type merger struct {
	forest calltree.Forest
	self   []calltree.Vector
	modes  map[profile.FrameType][]calltree.Vector
}

// Function implements calltree.Interner.
func (m *merger) Function(f profile.Function) int32 {
	fn := m.forest.Function(f)
	m.forest.Functions[fn] = calltree.MergeAttributes(m.forest.Functions[fn], f)
	return fn
}

// Path implements calltree.Interner.
func (m *merger) Path(parent, fn int32) int32 { return m.forest.Path(parent, fn) }

// add adds the values of one profile.
func (m *merger) add(from *calltree.Forest, self calltree.Vector, modes []store.ModeVector) {
	into := calltree.NewTranslation(m)
	m.self = append(m.self, calltree.Vector{Nodes: into.Paths(from, self.Nodes, nil), Self: self.Self})
	for _, v := range modes {
		m.modes[v.Mode] = append(m.modes[v.Mode], calltree.Vector{Nodes: into.Paths(from, v.Nodes, nil), Self: v.Self})
	}
}

// writeAhead stores the paths of profiles before the profiles, a part in each
// transaction. If the importer dies in between, the next one finds them.
func (s *Store) writeAhead(ctx context.Context, a *tooManyPaths) error {
	var rows []*profileRow
	for _, p := range a.paths {
		if !slices.Contains(rows, p.profileRow) {
			rows = append(rows, p.profileRow)
		}
	}
	for paths := range slices.Chunk(a.paths, pathsAhead) {
		err := s.db.Write(ctx, "the paths of a profile", func(t *bolt.Tx) error {
			for _, r := range rows {
				r.added = newAdditions(r.origin)
			}
			mark, err := gate.Enter(t, s.slot)
			if err != nil {
				return err
			}
			if mark.Int("epoch") != s.sources.epoch {
				return bolt.Changed("the store was compacted")
			}
			if err := writeFunctions(t, s.model.functions(), rows); err != nil {
				return err
			}
			return writePaths(t, paths)
		})
		if err != nil {
			return err
		}
		for _, r := range rows {
			r.added.commit()
		}
	}
	return nil
}
