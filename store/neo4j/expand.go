package neo4j

import (
	"context"
	"fmt"

	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/neo4j/internal/bolt"
)

// Expand gives selected profiles of the model Shared a relationship (:Profile)
// -[:SAMPLED {self, total}]->(:CallPath) to each of their paths, so that plain Cypher
// patterns find them. It takes about as much space as a tree for each profile. Put,
// Delete and all results stay the same. It returns the number of profiles that were
// not expanded before.
func (s *Store) Expand(ctx context.Context, q store.Query) (int, error) {
	if err := s.writable(); err != nil {
		return 0, err
	}
	if s.Model() != Shared {
		return 0, fmt.Errorf("profiles of the model %s have nodes of their own: there is nothing to expand", s.Model())
	}
	list, err := s.Profiles(ctx, q)
	if err != nil {
		return 0, err
	}
	expanded := 0
	for i := range list {
		done, err := s.expand(ctx, &list[i])
		if err != nil {
			return expanded, s.db.Explain(err)
		}
		if done {
			expanded++
		}
	}
	return expanded, nil
}

// expandPaths is the maximum number of relationships that one transaction creates.
const expandPaths = 20_000

// expand creates the relationships of one profile. It continues an interrupted
// attempt: `expanded` counts its progress.
func (s *Store) expand(ctx context.Context, p *store.Profile) (done bool, err error) {
	for {
		var left bool
		err := s.db.Write(ctx, "expanding a profile", func(t *bolt.Tx) error {
			if _, err := enterGate(t, s.slot); err != nil {
				return err
			}
			left = false
			// Two that expand the same profile wait for each other at its node.
			r, err := t.One(`OPTIONAL MATCH (p:Profile {key: $key}) WHERE p.hash = $hash
				SET p.expanding = true REMOVE p.expanding
				RETURN coalesce(p.expanded, 0), size(p.paths)`, map[string]any{"key": string(p.ID), "hash": p.Hash})
			if err != nil || !r.Has(1) || r.Int(0) >= r.Int(1) {
				return err // gone, or complete
			}
			from, to := r.Int(0), min(r.Int(0)+expandPaths, r.Int(1))
			r, err = t.One(`MATCH (p:Profile {key: $key})
				WITH p, p.paths[$from..$to] AS paths, p.selfs[$from..$to] AS selfs, p.totals[$from..$to] AS totals
				UNWIND range(0, size(paths)-1) AS i
				MATCH (c:CallPath {id: paths[i]})
				CREATE (p)-[:SAMPLED {self: selfs[i], total: totals[i]}]->(c)
				WITH p, count(*) AS made
				SET p.expanded = $to
				RETURN made`, map[string]any{"key": string(p.ID), "from": from, "to": to})
			if err != nil {
				return err
			}
			left = true
			return bolt.CheckCount("paths of the profile", r.Int(0), int(to-from))
		})
		if err != nil || !left {
			return done, err
		}
		done = true
	}
}
