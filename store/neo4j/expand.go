package neo4j

import (
	"context"
	"errors"
	"slices"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/neo4j/internal/bolt"
	"github.com/dendroprof/dendro/store/neo4j/internal/gate"
)

// ExpandOptions define what Expand stores for a profile.
type ExpandOptions struct {
	// Potentials is the highest degree of the arrays p and c of chapter 5.2 of the paper,
	// on the relationships or nodes of each call node; 0: none.
	Potentials int
	Undo       bool // remove what Expand has stored
}

// Errors for profiles that have nothing to expand.
var (
	errNotExpandable  = errors.New("profiles of the model thesis have nodes of their own: only their potentials can be added (--potentials)")
	errHavePotentials = errors.New("all profiles of this database have potentials: it was initialised with them")
)

// Expand gives selected profiles of the model Shared a relationship (:Profile)
// -[:SAMPLED {self, total}]->(:CallPath) to each of their paths, so that plain Cypher
// patterns find them. It takes about as much space as a tree for each profile. In the
// model Thesis, only potentials can be added, to the nodes. Put, Delete and all results
// stay the same. It returns the number of profiles that were changed.
func (s *Store) Expand(ctx context.Context, q store.Query, opts ExpandOptions) (int, error) {
	if err := s.writable(); err != nil {
		return 0, err
	}
	if s.Model() == Thesis && opts.Potentials == 0 && !opts.Undo {
		return 0, errNotExpandable
	}
	if m, ok := s.model.(thesis); ok && m.potentials > 0 {
		return 0, errHavePotentials
	}
	if err := checkDegree(opts.Potentials); err != nil {
		return 0, err
	}
	list, err := s.Profiles(ctx, q)
	if err != nil {
		return 0, err
	}
	changed := 0
	for i := range list {
		var e *expansion
		if !opts.Undo {
			if e, err = s.expansionOf(ctx, &list[i], opts.Potentials); err != nil {
				return changed, s.db.Explain(err)
			}
		}
		done, err := s.expand(ctx, &list[i], e, opts)
		if err != nil {
			return changed, s.db.Explain(err)
		}
		if done {
			changed++
		}
	}
	return changed, nil
}

// expandPaths is the maximum number of call nodes that one transaction changes.
const expandPaths = 20_000

// expand expands one profile, or undoes that.
func (s *Store) expand(ctx context.Context, p *store.Profile, e *expansion, opts ExpandOptions) (done bool, err error) {
	for {
		more := false
		err := s.db.Write(ctx, "expanding a profile", func(t *bolt.Tx) (err error) {
			if _, err := gate.Enter(t, s.slot); err != nil {
				return err
			}
			// Two that expand the same profile wait for each other at its node.
			r, err := t.One(`OPTIONAL MATCH (p:Profile {key: $key}) WHERE p.hash = $hash
				SET p.expanding = true REMOVE p.expanding
				RETURN p IS NOT NULL, coalesce(p.expanded, 0), coalesce(p.potentials, 0)`, map[string]any{"key": string(p.ID), "hash": p.Hash})
			if err != nil {
				return err
			}
			if there, _ := r[0].(bool); !there { // it was deleted
				more = false
				return nil
			}
			from := int(r.Int(1))
			switch other := r.Int(2) != int64(opts.Potentials); {
			case from > 0 && (opts.Undo || other && opts.Potentials > 0): // arrays of another degree are made anew
				more = true
				return s.model.collapse(t, string(p.ID))
			case opts.Undo || from >= len(e.paths):
				more = false
				return nil
			}
			more = true
			return s.expandChunk(t, p, from, min(from+expandPaths, len(e.paths)), e)
		})
		if err != nil || !more {
			return done, err
		}
		done = true
	}
}

// expandChunk expands the paths [from, to) of a profile. The profile's node counts the
// progress.
func (s *Store) expandChunk(t *bolt.Tx, p *store.Profile, from, to int, e *expansion) error {
	params := map[string]any{"key": string(p.ID), "from": int64(from), "to": int64(to), "potentials": nil, "paths": e.paths[from:to]}
	var selfs, totals []int64
	var reached, twice [][]float64
	for _, id := range e.paths[from:to] {
		n := e.place[id]
		selfs, totals = append(selfs, e.tree.Self[n]), append(totals, e.tree.Total[n])
		if e.p != nil {
			reached, twice = append(reached, e.p[n+1]), append(twice, e.c[n+1])
		}
	}
	params["selfs"], params["totals"] = selfs, totals
	if e.p != nil {
		params["p"], params["c"], params["potentials"] = reached, twice, int64(len(e.p[0])-1)
		params["rootP"], params["rootC"] = e.p[0], e.c[0]
	}
	made, err := s.model.expand(t, string(p.ID), params)
	if err != nil {
		return err
	}
	if err := bolt.CheckCount("paths of the profile", made, to-from); err != nil {
		return err
	}
	return t.Do("MATCH (p:Profile {key: $key}) SET p.expanded = $to, p.potentials = $potentials", params)
}

// expansion is what Expand stores for a profile.
type expansion struct {
	tree  *calltree.Tree
	paths []int64       // in the order in which they are expanded, by whichever process
	place map[int64]int // of each path: its node in tree
	p, c  [][]float64   // as content.potentials returns them, or nil
}

// expansionOf computes the expansion of a stored profile.
func (s *Store) expansionOf(ctx context.Context, p *store.Profile, highest int) (e *expansion, err error) {
	err = bolt.Again(ctx, func() error {
		return s.db.Read(ctx, func(t *bolt.Tx) error {
			r, err := s.record(t, p)
			if err != nil {
				return err
			}
			c := newContent(p.ID, r)
			e = &expansion{tree: c.tree, paths: slices.Sorted(slices.Values(c.paths)), place: map[int64]int{}}
			for n, id := range c.paths {
				e.place[id] = n
			}
			if highest > 0 {
				e.p, e.c = c.potentials(c.recursion(), highest)
			}
			if s.Model() == Shared {
				return nil
			}
			e.paths = nil
			return t.Each("MATCH (p:Profile {key: $key}) RETURN p.paths", map[string]any{"key": string(p.ID)}, func(r bolt.Row) error {
				e.paths = r.Ints(0) // their places are in the keys of nodes
				return nil
			})
		})
	})
	return e, err
}

func (shared) expand(t *bolt.Tx, _ string, params map[string]any) (int64, error) {
	arrays := ""
	if params["p"] != nil {
		arrays = ", p: $p[i], c: $c[i]"
	}
	r, err := t.One(`MATCH (p:Profile {key: $key})
		UNWIND range(0, size($paths)-1) AS i
		MATCH (c:CallPath {id: $paths[i]})
		CREATE (p)-[:SAMPLED {self: $selfs[i], total: $totals[i]`+arrays+`}]->(c)
		RETURN count(*)`, params)
	if err != nil {
		return 0, err
	}
	return r.Int(0), nil
}

func (shared) collapse(t *bolt.Tx, key string) error {
	return t.Do(`MATCH (p:Profile {key: $key})
		OPTIONAL MATCH (p)-[s:SAMPLED]->() WITH p, s LIMIT $limit
		WITH p, collect(s) AS list
		FOREACH (s IN list | DELETE s)
		SET p.expanded = CASE WHEN size(list) < $limit THEN null ELSE p.expanded END,
			p.potentials = CASE WHEN size(list) < $limit THEN null ELSE p.potentials END`, map[string]any{"key": key, "limit": expandPaths})
}

func (thesis) expand(t *bolt.Tx, key string, params map[string]any) (int64, error) {
	from, to := params["from"].(int64), params["to"].(int64)
	keys := make([]string, 0, to-from)
	for n := from; n < to; n++ {
		keys = append(keys, nodeKey(key, int(n)))
	}
	params["keys"], params["root"] = keys, nodeKey(key, -1)
	r, err := t.One(`MATCH (root:Function {key: $root}) SET root.p = $rootP, root.c = $rootC
		WITH root
		UNWIND range(0, size($keys)-1) AS i
		MATCH (f:Function {key: $keys[i]}) SET f.p = $p[i], f.c = $c[i]
		RETURN count(*)`, params)
	if err != nil {
		return 0, err
	}
	return r.Int(0), nil
}

func (thesis) collapse(t *bolt.Tx, key string) error {
	return t.Do(`MATCH (p:Profile {key: $key})
		OPTIONAL MATCH (f:Function {profileKey: $key}) WHERE f.p IS NOT NULL
		WITH p, f LIMIT $limit
		WITH p, collect(f) AS list
		FOREACH (f IN list | REMOVE f.p, f.c)
		SET p.expanded = CASE WHEN size(list) < $limit THEN null ELSE p.expanded END,
			p.potentials = CASE WHEN size(list) < $limit THEN null ELSE p.potentials END`, map[string]any{"key": key, "limit": expandPaths})
}
