package neo4j

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/neo4j/internal/bolt"
	"github.com/dendroprof/dendro/store/neo4j/internal/gate"
	"github.com/dendroprof/dendro/store/neo4j/internal/identity"
)

// deleteNodes is the maximum number of call nodes, or relationships to functions, that
// one transaction deletes; tests lower it.
var deleteNodes = 50_000

// Delete implements store.Writer: several profiles per transaction, each with the
// nodes that only it referred to, and several transactions at once.
func (s *Store) Delete(ctx context.Context, ids []store.ProfileID) (int, error) {
	if err := s.writable(); err != nil {
		return 0, err
	}
	if len(ids) == 0 {
		return 0, nil
	}
	sel, err := s.withSelection(ctx, store.Query{Profiles: ids}, func(*bolt.Tx, *selection) error { return nil })
	if err != nil || len(sel.profiles) == 0 {
		return 0, err
	}
	size := func(i int) int { return sel.profiles[i].Nodes }
	if s.Model() == Shared { // where profiles have no nodes of their own
		size = func(i int) int { return int(sel.functions[sel.place[string(sel.profiles[i].ID)]]) }
	}
	sel.profiles = slices.Clone(sel.profiles)
	slices.SortFunc(sel.profiles, func(a, b store.Profile) int { return cmp.Compare(a.Seq, b.Seq) })
	batches := parts(len(sel.profiles), deleteNodes, size)
	var removed atomic.Int64
	if err := s.alone(ctx, "deleting profiles", func(guard func() error) error {
		return s.deleteBatches(ctx, sel.profiles, batches, guard, &removed)
	}); err != nil {
		return int(removed.Load()), s.db.Explain(err)
	}
	if slices.ContainsFunc(sel.profiles, func(p store.Profile) bool { return p.Nodes > deleteNodes }) {
		err = s.sweep(ctx)
	}
	return int(removed.Load()), s.db.Explain(err)
}

// deleteBatches deletes ranges of profiles while imports are locked out, which guard
// confirms. What was imported one after the other is linked in the server's files, where
// transactions lock each other's neighbours: each worker gets the batches of one time.
func (s *Store) deleteBatches(whole context.Context, profiles []store.Profile, batches [][2]int, guard func() error,
	removed *atomic.Int64) error {
	var guarding sync.Mutex
	group, ctx := errgroup.WithContext(whole)
	for of := range slices.Chunk(batches, (len(batches)-1)/s.db.ServerProcessors(ctx)+1) {
		group.Go(func() error {
			for _, part := range of {
				guarding.Lock()
				err := guard()
				guarding.Unlock()
				if err != nil {
					return fmt.Errorf("keeping imports out: %w", err)
				}
				n, err := s.deleteBatch(ctx, profiles[part[0]:part[1]])
				if removed.Add(int64(n)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err := group.Wait()
	// None of two transactions at once removes what both referred to.
	return errors.Join(err, s.db.Write(whole, "deleting profiles", func(t *bolt.Tx) error { return removeUnused(t, profiles) }))
}

// deleteBatch removes profiles in one transaction and returns how many were still stored.
// Imports are locked out.
func (s *Store) deleteBatch(ctx context.Context, batch []store.Profile) (removed int, err error) {
	found := map[store.ProfileID]bool{} // by any try: what a lost commit removed, the next one does not find
	err = s.db.Write(ctx, "deleting profiles", func(t *bolt.Tx) error {
		there, err := remove(t, s.model, batch)
		if err != nil {
			return err
		}
		for _, id := range there {
			found[id] = true
		}
		return removeUnused(t, batch)
	})
	if err != nil {
		return 0, err
	}
	return len(found), nil
}

// remove removes profiles with all that belongs only to them, and returns those that
// were stored. The nodes of a large one stay until sweep, marked as Doomed: no query
// finds them.
func remove(t *bolt.Tx, m model, list []store.Profile) (there []store.ProfileID, err error) {
	keys := texts(store.IDs(list))
	r, err := t.One("MATCH (p:Profile) WHERE p.key IN $keys RETURN collect(p.key), collect(p.nodes)", map[string]any{"keys": keys})
	if err != nil {
		return nil, err
	}
	nodes := r.Ints(1)
	for i, key := range r.Texts(0) {
		there = append(there, store.ProfileID(key))
		if nodes[i] > int64(deleteNodes) && m.name() == Thesis {
			err = t.Do("CREATE (:Doomed {key: $key})", map[string]any{"key": key})
		} else {
			err = m.erase(t, key)
		}
		if err != nil {
			return nil, err
		}
	}
	return there, t.Do(`MATCH (p:Profile) WHERE p.key IN $keys
		OPTIONAL MATCH (p)-[:HAS_MODE]->(m:ModeVector)
		OPTIONAL MATCH (p)-[:HAS_SOURCE]->(s:Source)
		WITH collect(DISTINCT p) AS profiles, collect(DISTINCT m) AS modes, collect(DISTINCT s) AS sources
		FOREACH (m IN modes | DETACH DELETE m)
		FOREACH (p IN profiles | DETACH DELETE p)
		WITH sources
		UNWIND sources AS s
		WITH s WHERE NOT EXISTS { ()-[:HAS_SOURCE]->(s) }
		DELETE s`, map[string]any{"keys": keys})
}

// removeUnused removes measurements, runs, benchmarks and groups that only these
// deleted profiles referred to.
func removeUnused(t *bolt.Tx, gone []store.Profile) error {
	var benchmarks, runs []string
	var ids []int64
	for i := range gone {
		p := &gone[i]
		benchmarks, runs = append(benchmarks, identity.Benchmark(p.Benchmark)), append(runs, p.Run.Key)
		ids = append(ids, identity.Measurement(p.Benchmark, p.Run.Key))
	}
	if err := t.Do(`UNWIND range(0, size($ids)-1) AS i
		MATCH (m:Measurement {id: $ids[i]})
		WHERE NOT EXISTS { (:TestRun {key: $runs[i]})-[:HAS_PROFILE]->(:Profile)<-[:HAS_PROFILE]-(:Benchmark {key: $benchmarks[i]}) }
		WITH DISTINCT m DETACH DELETE m`, map[string]any{"ids": ids, "runs": runs, "benchmarks": benchmarks}); err != nil {
		return err
	}
	if err := t.Do(`MATCH (r:TestRun) WHERE r.key IN $runs AND NOT EXISTS { (r)-[:HAS_PROFILE]->() } AND NOT EXISTS { (r)-[:MEASURED]->() }
		DETACH DELETE r`, map[string]any{"runs": distinct(runs)}); err != nil {
		return err
	}
	return t.Do(`MATCH (g:BenchmarkGroup)-[:HAS_BENCHMARK]->(b:Benchmark)
		WHERE b.key IN $benchmarks AND NOT EXISTS { (b)-[:HAS_PROFILE]->() } AND NOT EXISTS { (b)-[:MEASURED]->() }
		OPTIONAL MATCH (b)-[:JUDGED]->(v:Verdict)
		DETACH DELETE b, v
		WITH DISTINCT g WHERE NOT EXISTS { (g)-[:HAS_BENCHMARK]->() } DELETE g`, map[string]any{"benchmarks": distinct(benchmarks)})
}

func distinct(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// sweep deletes the nodes of Doomed profiles, including those that an earlier process
// left.
func (s *Store) sweep(ctx context.Context) error {
	for {
		left := false
		err := s.db.Write(ctx, "deleting the nodes of a profile", func(t *bolt.Tx) error {
			left = false
			if err := gate.Lock(t); err != nil {
				return err
			}
			r, err := t.One(`OPTIONAL MATCH (d:Doomed) WITH d LIMIT 1
				OPTIONAL MATCH (f:Function {profileKey: d.key})
				WITH d, f LIMIT $limit
				WITH d, collect(f) AS nodes
				FOREACH (f IN nodes | DETACH DELETE f)
				FOREACH (_ IN CASE WHEN size(nodes) < $limit AND d IS NOT NULL THEN [1] ELSE [] END | DELETE d)
				RETURN d IS NOT NULL`, map[string]any{"limit": deleteNodes})
			if err == nil {
				left, _ = r[0].(bool)
			}
			return err
		})
		if err != nil || !left {
			return err
		}
	}
}

// Compact implements store.Writer: it removes the paths and functions that no profile
// uses, and the remains of interrupted deletions. Imports wait until it ends.
func (s *Store) Compact(ctx context.Context) error {
	if err := s.writable(); err != nil {
		return err
	}
	if err := s.sweep(ctx); err != nil {
		return s.db.Explain(err)
	}
	return s.db.Explain(s.alone(ctx, "compacting", func(guard func() error) error { return s.compact(ctx, guard) }))
}

// alone calls f while imports are locked out: one transaction holds the gate, so that the
// work can be done in many others. Guard reports whether it still does.
func (s *Store) alone(ctx context.Context, what string, f func(guard func() error) error) error {
	return s.db.Write(ctx, what, func(t *bolt.Tx) error {
		if err := gate.Lock(t); err != nil {
			return err
		}
		return f(func() error { return t.Do("RETURN 1", nil) })
	})
}

// compact does the work while imports are locked out, which guard confirms.
func (s *Store) compact(ctx context.Context, guard func() error) error {
	// Later importers must read again which paths are stored.
	err := s.db.Write(ctx, "compacting", func(t *bolt.Tx) error {
		return t.Do("MATCH (d:Dendro {id: 'dendro'}) SET d.epoch = d.epoch + 1, d.attributes = d.attributes + 1", nil)
	})
	if err != nil {
		return err
	}
	for _, kind := range s.model.garbage() {
		var ids []int64
		if err := s.db.Read(ctx, func(t *bolt.Tx) (err error) { ids, err = kind.unused(t); return err }); err != nil {
			return err
		}
		for part := range slices.Chunk(ids, compactNodes) {
			if err := guard(); err != nil {
				return fmt.Errorf("keeping imports out: %w", err)
			}
			if err := s.db.Write(ctx, "compacting", func(t *bolt.Tx) error {
				return t.Do("UNWIND $ids AS id MATCH (n:"+kind.label+" {id: id}) DETACH DELETE n", map[string]any{"ids": part})
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

// compactNodes is the maximum number of nodes that Compact removes in one transaction.
const compactNodes = 20_000

// garbage finds the ids of unused nodes of a label.
type garbage struct {
	label  string
	unused func(t *bolt.Tx) ([]int64, error)
}

// without finds the nodes of a label that meet a condition.
func without(label, condition string) garbage {
	return garbage{label, func(t *bolt.Tx) ([]int64, error) {
		r, err := t.One("MATCH (n:"+label+") WHERE "+condition+" RETURN collect(n.id)", nil)
		if err != nil {
			return nil, err
		}
		return r.Ints(0), nil
	}}
}
