package neo4j

import (
	"bytes"
	"cmp"
	"context"

	"github.com/dendroprof/dendro/internal/column"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/neo4j/internal/bolt"
	"github.com/dendroprof/dendro/store/neo4j/internal/identity"
	"github.com/dendroprof/dendro/testrun"
)

var _ store.VerdictKeeper = (*Store)(nil)

// Verdicts implements store.VerdictKeeper.
func (s *Store) Verdicts(ctx context.Context, of []testrun.Benchmark) (v store.Verdicts, err error) {
	where, params := "", map[string]any{}
	if len(of) > 0 {
		where, params["keys"] = "WHERE b.key IN $keys", benchmarkKeys(of)
	}
	err = s.db.Read(ctx, func(t *bolt.Tx) error {
		v.List = nil
		// The count comes first: what is kept in the meantime has a stamp with a later one.
		r, err := t.One("MATCH (d:Dendro {id: 'dendro'}) RETURN d.code", nil)
		if err != nil {
			return err
		}
		v.Code = r.Int(0)
		return t.Each("MATCH (b:Benchmark)-[:JUDGED]->(v:Verdict) "+where+" RETURN b.group, b.name, v {.*}", params, func(r bolt.Row) error {
			n := r.Props(2)
			document, _ := n["document"].([]byte)
			v.List = append(v.List, store.Verdict{Benchmark: testrun.Benchmark{Group: r.Text(0), Name: r.Text(1)},
				Key: n.Text("key"), Stamp: n.Text("stamp"), Document: bytes.Clone(document)})
			return nil
		})
	})
	store.SortVerdicts(v.List)
	return v, err
}

// KeepVerdicts implements store.VerdictKeeper. The locks on the benchmarks keep other
// writers of their verdicts out.
func (s *Store) KeepVerdicts(ctx context.Context, list []store.Verdict) error {
	if err := cmp.Or(ctx.Err(), s.writable(), store.CheckVerdicts(list)); err != nil || len(list) == 0 {
		return err
	}
	var of []testrun.Benchmark
	rows := make([]map[string]any, len(list))
	for i := range list {
		v := &list[i]
		of = append(of, v.Benchmark)
		document := v.Document
		if document == nil {
			document = []byte{}
		}
		rows[i] = map[string]any{"of": identity.Benchmark(v.Benchmark), "key": v.Key, "stamp": v.Stamp, "document": document}
	}
	keys := benchmarkKeys(of)
	return s.db.Explain(bolt.Again(ctx, func() error {
		return s.db.Write(ctx, "verdicts", func(t *bolt.Tx) error {
			for _, step := range []struct {
				statement string
				params    map[string]any
			}{
				{"UNWIND $keys AS key MATCH (b:Benchmark {key: key}) SET b.judging = true REMOVE b.judging", map[string]any{"keys": keys}},
				{"MATCH (b:Benchmark)-[:JUDGED]->(v:Verdict) WHERE b.key IN $keys DETACH DELETE v", map[string]any{"keys": keys}},
				{`UNWIND $rows AS row MATCH (b:Benchmark {key: row.of})
					CREATE (b)-[:JUDGED]->(:Verdict {key: row.key, stamp: row.stamp, document: row.document})`, map[string]any{"rows": rows}},
			} {
				if err := t.Do(step.statement, step.params); err != nil {
					return err
				}
			}
			return nil
		})
	}))
}

// benchmarkKeys returns the keys of benchmarks, each once, in order.
func benchmarkKeys(list []testrun.Benchmark) []string {
	keys := column.Of(list, identity.Benchmark)
	return distinct(keys)
}
