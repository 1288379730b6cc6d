package neo4j

import (
	"context"
	"slices"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
)

// vectors are the values of one profile over the dictionary's forest.
type vectors struct {
	self  calltree.Vector
	modes []store.ModeVector
	read  bool
}

// sparse is what the database says of one profile or mode.
type sparse struct {
	mode         profile.FrameType
	paths, selfs []int64
}

// readVectors reads the values of a part of the selection.
func (s *Store) readVectors(t *tx, sel *selection, part [2]int, modes bool) ([]vectors, error) {
	list := make([]vectors, part[1]-part[0])
	values, ofMode := make([]sparse, len(list)), make([][]sparse, len(list))
	keys := sel.keys()[part[0]:part[1]]
	var ids []int64
	if err := s.model.vectors(t, keys, func(key, hash string, paths, selfs []int64) error {
		i, ok := sel.place[key]
		if !ok || list[i-part[0]].read {
			return &changedError{"a profile is being replaced"}
		}
		var sum int64
		for _, v := range selfs {
			sum += max(v, -v)
		}
		if p := &sel.profiles[i]; len(paths) != len(selfs) || p.Hash != hash || p.Sum != sum {
			return &changedError{"a profile was replaced"}
		}
		list[i-part[0]].read = true
		values[i-part[0]] = sparse{paths: paths, selfs: selfs}
		ids = append(ids, paths...)
		return nil
	}); err != nil {
		return nil, err
	}
	for i := range list {
		if !list[i].read {
			return nil, &changedError{"a profile was deleted"}
		}
	}
	if modes {
		if err := t.readModes(keys, func(key string, m sparse) error {
			i := sel.place[key] - part[0]
			ofMode[i] = append(ofMode[i], m)
			ids = append(ids, m.paths...)
			return nil
		}); err != nil {
			return nil, err
		}
		for i := range list {
			if int64(len(ofMode[i])) != sel.modes[part[0]+i] {
				return nil, &changedError{"a profile does not have all of its compile modes"}
			}
		}
	}
	s.known.mu.Lock()
	defer s.known.mu.Unlock()
	if err := s.known.learn(t, s.model, ids, nil, keys); err != nil {
		return nil, err
	}
	for i := range list {
		list[i].self = s.known.vector(values[i].paths, values[i].selfs)
		for _, m := range ofMode[i] {
			list[i].modes = append(list[i].modes, store.ModeVector{Mode: m.mode, Vector: s.known.vector(m.paths, m.selfs)})
		}
	}
	return list, nil
}

// readModes calls f for each vector of a compile mode, by profile and mode.
func (t *tx) readModes(keys []string, f func(key string, m sparse) error) error {
	return t.each(`MATCH (p:Profile)-[:HAS_MODE]->(m:ModeVector) WHERE p.key IN $keys
		RETURN p.key, m.id, m.paths, m.selfs ORDER BY p.key, m.id`, map[string]any{"keys": keys}, func(r row) error {
		return f(r.text(0), sparse{profile.FrameType(r.int(1)), r.ints(2), r.ints(3)})
	})
}

// pathSet collects distinct paths of the dictionary's forest.
type pathSet struct {
	mark  []bool
	paths []int32
}

func (s *pathSet) add(list []vectors) {
	take := func(nodes []int32) {
		for _, p := range nodes {
			if int(p) >= len(s.mark) {
				s.mark = append(s.mark, make([]bool, int(p)+1-len(s.mark))...)
			}
			if !s.mark[p] {
				s.mark[p] = true
				s.paths = append(s.paths, p)
			}
		}
	}
	for i := range list {
		take(list[i].self.Nodes)
		for _, m := range list[i].modes {
			take(m.Nodes)
		}
	}
}

// Trees implements store.Reader.
func (s *Store) Trees(ctx context.Context, q store.Query, opts store.TreeOptions) (*store.TreeSet, error) {
	var (
		first  []vectors
		ranges [][2]int
		touch  pathSet
	)
	sel, err := s.ask(ctx, q, func(t *tx, sel *selection) error {
		ranges, touch = parts(len(sel.profiles), func(i int) int { return sel.profiles[i].Nodes }), pathSet{}
		for _, r := range ranges {
			list, err := s.readVectors(t, sel, r, opts.Modes)
			if err != nil {
				return err
			}
			touch.add(list)
			first = list
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	cut := s.view().Cut(touch.paths)
	set := &store.TreeSet{Profiles: sel.profiles, Table: cut.Table}
	set.Vectors = func(yield func(store.TreeVector, error) bool) {
		for _, r := range ranges {
			list := first
			if len(ranges) > 1 {
				if err := s.graph.read(ctx, func(t *tx) (err error) { list, err = s.readVectors(t, sel, r, opts.Modes); return err }); err != nil {
					yield(store.TreeVector{}, err)
					return
				}
			}
			for i := range list {
				if err := ctx.Err(); err != nil {
					yield(store.TreeVector{}, context.Cause(ctx))
					return
				}
				v := store.TreeVector{Profile: r[0] + i, Vector: over(cut, list[i].self)}
				for _, m := range list[i].modes {
					v.Modes = append(v.Modes, store.ModeVector{Mode: m.Mode, Vector: over(cut, m.Vector)})
				}
				if !yield(v, nil) {
					return
				}
			}
		}
	}
	return set, nil
}

// over translates a vector of the forest into one of the table, as a copy.
func over(cut *calltree.Cut, v calltree.Vector) calltree.Vector {
	w := cut.Vector(v)
	w.Self = slices.Clone(w.Self)
	return w
}
