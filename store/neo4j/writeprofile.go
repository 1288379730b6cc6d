package neo4j

import (
	"maps"

	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/neo4j/internal/bolt"
	"github.com/dendroprof/dendro/store/neo4j/internal/identity"
)

// createProfile creates the node of a profile, p, from a row x.
const createProfile = `MATCH (b:Benchmark {key: x.benchmark}) MATCH (r:TestRun {key: x.run})
	CREATE (b)-[:HAS_PROFILE]->(p:Profile)<-[:HAS_PROFILE]-(r) SET p = x.profile
	FOREACH (m IN x.modes | CREATE (p)-[:HAS_MODE]->(:ModeVector {id: m.id, mode: m.mode, paths: m.paths, selfs: m.selfs}))`

// execute executes the decision about a record, except for writing its profile, which
// becomes one of the rows.
func (b *batchPut) execute(t *bolt.Tx, p *filePut, i int) error {
	r, st := p.file.Records[i], p.steps[i]
	if st.action == store.Keep {
		if p.tried[i] && b.unknown > 0 {
			p.out.Stored++
		} else {
			p.out.Unchanged++
		}
		return nil
	}
	p.tried[i] = true
	d := store.NewProfile(p.file, r)
	d.Seq, d.HasSource = b.seq, false
	b.seq++
	var c *content
	if st.action == store.Sum {
		sum, err := b.s.sum(t, st.old, r)
		if err != nil {
			return err
		}
		d = st.old.Plus(&d)
		r, c = sum, newContent(st.id, sum)
	} else {
		c = p.contents[i]
	}
	d.Benchmark, d.Run, d.Metrics = p.file.Benchmark, p.run.merged, p.metrics
	d.Sum, d.Nodes = c.sum, c.nodes
	if err := b.s.checkMemory(t, c, p.file.Name); err != nil {
		return err
	}
	if st.old != nil {
		if err := erase(t, b.s.model, st.old); err != nil {
			return err
		}
	}
	p.out.Stored++
	b.rows = append(b.rows, b.row(c, &d, r))
	return nil
}

// row returns a profile as its model writes it.
func (b *batchPut) row(c *content, d *store.Profile, r *store.Record) *profileRow {
	c.origin = b.s.sources.of(c.forest, b.epoch)
	n := profileProps(d)
	n["functions"] = int64(len(c.rows))
	maps.Copy(n, b.s.model.properties(c))
	modes := []map[string]any{}
	for _, m := range c.modes {
		if m.Len() > 0 {
			paths, selfs := c.modeIDs(m.Vector)
			modes = append(modes, map[string]any{"id": int64(m.Mode), "mode": m.Mode.String(), "paths": paths, "selfs": selfs})
		}
	}
	n["modes"] = int64(len(modes))
	return &profileRow{content: c, group: d.Benchmark.Group, raw: r.RawNames, added: newAdditions(c.origin),
		params: map[string]any{"benchmark": identity.Benchmark(d.Benchmark), "run": d.Run.Key, "profile": map[string]any(n), "modes": modes}}
}

// write stores the profiles with their trees.
func (b *batchPut) write(t *bolt.Tx) error {
	if len(b.rows) == 0 {
		return nil
	}
	label := b.s.model.functions()
	if err := writeFunctions(t, label, b.rows); err != nil {
		return err
	}
	if err := writeRawNames(t, label, b.rows); err != nil {
		return err
	}
	return b.s.model.write(t, b.rows)
}

// writeSource stores the original of profiles, once for all of them, and replaces
// their previous one.
func writeSource(t *bolt.Tx, keys []string, data []byte) error {
	if data == nil || len(keys) == 0 {
		return nil
	}
	if err := t.Do(`MATCH (p:Profile)-[h:HAS_SOURCE]->(s:Source) WHERE p.key IN $keys DELETE h
		WITH DISTINCT s WHERE NOT EXISTS { ()-[:HAS_SOURCE]->(s) } DELETE s`, map[string]any{"keys": keys}); err != nil {
		return err
	}
	return t.Do(`CREATE (s:Source {data: $data})
		WITH s MATCH (p:Profile) WHERE p.key IN $keys CREATE (p)-[:HAS_SOURCE]->(s) SET p.hasSource = true`, map[string]any{"keys": keys, "data": data})
}

// erase removes a profile that the transaction has found, with all that belongs only
// to it. It returns a ChangedError if another transaction did so first.
func erase(t *bolt.Tx, m model, old *store.Profile) error {
	if err := m.erase(t, string(old.ID)); err != nil {
		return err
	}
	r, err := t.One(`MATCH (p:Profile {key: $key}) WHERE p.hash = $hash
		OPTIONAL MATCH (p)-[:HAS_MODE]->(m:ModeVector)
		OPTIONAL MATCH (p)-[:HAS_SOURCE]->(s:Source) WHERE COUNT { ()-[:HAS_SOURCE]->(s) } = 1
		WITH p, collect(m) AS modes, s
		FOREACH (m IN modes | DETACH DELETE m)
		DETACH DELETE s, p
		RETURN count(*)`, map[string]any{"key": string(old.ID), "hash": old.Hash})
	if err != nil {
		return err
	}
	return bolt.CheckCount("profiles", r.Int(0), 1)
}
