package neo4j

import (
	"maps"

	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/neo4j/internal/bolt"
	"github.com/dendroprof/dendro/testrun"
)

// execute executes the decision about a record.
func (p *filePut) execute(t *bolt.Tx, i int, r *store.Record, st step, run testrun.Run, metrics []testrun.Metric) error {
	if st.action == store.Keep {
		if p.unknown > 0 {
			p.out.Stored++
		} else {
			p.out.Unchanged++
		}
		return nil
	}
	d := store.NewProfile(p.file, r)
	d.Seq, d.HasSource = p.seq+int64(i), false
	var c *content
	if st.action == store.Sum {
		sum, err := p.s.sum(t, st.old, r)
		if err != nil {
			return err
		}
		d = st.old.Plus(&d)
		r, c = sum, newContent(st.id, sum)
	} else {
		c = p.contents[i]
	}
	d.Benchmark, d.Run, d.Metrics = p.file.Benchmark, run, metrics
	d.Sum, d.Nodes = c.sum, c.nodes
	if err := p.s.checkMemory(t, c, p.file.Name); err != nil {
		return err
	}
	if st.old != nil {
		if err := erase(t, p.s.model, st.old); err != nil {
			return err
		}
	}
	p.out.Stored++
	return p.write(t, c, &d, r)
}

// write stores the profile with its tree.
func (p *filePut) write(t *bolt.Tx, c *content, d *store.Profile, r *store.Record) error {
	c.origin = p.s.sources.of(c.forest, p.epoch)
	l := &additions{origin: c.origin, raw: map[rawKey]string{}}
	p.added = append(p.added, l)
	label := p.s.model.functions()
	if err := writeFunctions(t, label, c, l); err != nil {
		return err
	}
	if err := writeRawNames(t, label, p.file.Benchmark.Group, c, r.RawNames, l); err != nil {
		return err
	}
	n := profileProps(d)
	n["functions"] = int64(len(c.rows))
	maps.Copy(n, p.s.model.properties(c))
	var modes []map[string]any
	for _, m := range c.modes {
		if m.Len() > 0 {
			paths, selfs := c.modeIDs(m.Vector)
			modes = append(modes, map[string]any{"id": int64(m.Mode), "mode": m.Mode.String(), "paths": paths, "selfs": selfs})
		}
	}
	n["modes"] = int64(len(modes))
	return p.s.model.write(t, c, `MATCH (b:Benchmark {key: $benchmark}), (r:TestRun {key: $run})
		CREATE (b)-[:HAS_PROFILE]->(p:Profile)<-[:HAS_PROFILE]-(r) SET p = $profile
		FOREACH (m IN $modes | CREATE (p)-[:HAS_MODE]->(:ModeVector {id: m.id, mode: m.mode, paths: m.paths, selfs: m.selfs}))`,
		map[string]any{"benchmark": benchmarkKey(d.Benchmark), "run": d.Run.Key, "profile": map[string]any(n), "modes": modes}, l)
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
	if err := m.erase(t, string(old.ID), int64(old.Nodes)); err != nil {
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
