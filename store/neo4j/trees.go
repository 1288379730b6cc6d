package neo4j

import (
	"context"
	"slices"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/neo4j/internal/bolt"
)

// vectors are the values of one profile over the dictionary's forest.
type vectors struct {
	self  calltree.Vector
	modes []store.ModeVector
}

// sparse holds the stored values of a profile or of one of its compile modes: path ids and
// self values.
type sparse struct {
	key          string // of the profile
	mode         profile.FrameType
	paths, selfs []int64
}

// readVectors reads the values of a part of the selection.
func (s *Store) readVectors(t *bolt.Tx, sel *selection, part [2]int, modes bool) ([]vectors, error) {
	list := make([]vectors, part[1]-part[0])
	keys := sel.keys()[part[0]:part[1]]
	values, err := s.readSelf(t, sel, keys)
	if err != nil {
		return nil, err
	}
	var byMode []sparse
	if modes {
		if byMode, err = readModes(t, keys); err != nil {
			return nil, err
		}
	}
	s.known.mu.Lock()
	defer s.known.mu.Unlock()
	if err := s.known.load(t, s.model, slices.Concat(values, byMode), nil); err != nil {
		return nil, err
	}
	for _, v := range values {
		list[sel.place[v.key]-part[0]].self = s.known.vector(v)
	}
	for _, m := range byMode {
		v := &list[sel.place[m.key]-part[0]]
		v.modes = append(v.modes, store.ModeVector{Mode: m.mode, Vector: s.known.vector(m)})
	}
	for i := range list {
		if modes && int64(len(list[i].modes)) != sel.modes[part[0]+i] {
			return nil, bolt.Changed("a profile does not have all of its compile modes")
		}
	}
	return list, nil
}

// readSelf reads the values of profiles, which must be those of the selection.
func (s *Store) readSelf(t *bolt.Tx, sel *selection, keys []string) ([]sparse, error) {
	ranges := parts(len(keys), readNodes, func(i int) int { return sel.profiles[sel.place[keys[i]]].Nodes })
	lists := make([][]sparse, len(ranges))
	err := t.Parallel(len(ranges), func(t *bolt.Tx, i int) error {
		lists[i] = nil
		return checkProfiles(t, sel, keys[ranges[i][0]:ranges[i][1]], ", p.paths, p.selfs", func(p *store.Profile, r bolt.Row) bool {
			v := sparse{key: r.Text(0), paths: r.Ints(2), selfs: r.Ints(3)}
			lists[i] = append(lists[i], v)
			sum, _ := store.AddAbsolute(0, v.selfs)
			return len(v.paths) == len(v.selfs) && p.Sum == sum
		})
	})
	return slices.Concat(lists...), err
}

// readNodes is the maximum number of call nodes whose values one statement reads; tests
// lower it.
var readNodes = 500_000

// readModes reads the values of compile modes, by profile and mode.
func readModes(t *bolt.Tx, keys []string) (values []sparse, err error) {
	err = t.Each(`MATCH (p:Profile)-[:HAS_MODE]->(m:ModeVector) WHERE p.key IN $keys
		RETURN p.key, m.id, m.paths, m.selfs ORDER BY p.key, m.id`, map[string]any{"keys": keys}, func(r bolt.Row) error {
		values = append(values, sparse{r.Text(0), profile.FrameType(r.Int(1)), r.Ints(2), r.Ints(3)})
		return nil
	})
	return values, err
}

// pathSet collects distinct paths of the dictionary's forest.
type pathSet struct {
	mark  []bool
	paths []int32
}

func (s *pathSet) add(list []vectors) {
	addPaths := func(nodes []int32) {
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
		addPaths(list[i].self.Nodes)
		for _, m := range list[i].modes {
			addPaths(m.Nodes)
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
	sel, err := s.withSelection(ctx, q, func(t *bolt.Tx, sel *selection) error {
		most := atOnce
		if s.Model() == Shared { // which reads the paths with self values only, a third or less
			most *= 3
		}
		ranges, touch = parts(len(sel.profiles), most, func(i int) int { return sel.profiles[i].Nodes }), pathSet{}
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
				if err := s.db.Read(ctx, func(t *bolt.Tx) (err error) { list, err = s.readVectors(t, sel, r, opts.Modes); return err }); err != nil {
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
