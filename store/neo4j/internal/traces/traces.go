// Package traces keeps the data of trace profiling in a Neo4j database. No node or
// relationship here refers to profiles, or profiles to them:
//
//	(:TraceTask)  (:TraceLog)  (:TraceInstance)  (:TraceSegment)
//	(:SampledTask)-[:HAS_SEGMENT]->(:SampledSegment)-[:HAS_CHUNK]->(:SnapshotChunk)
//	(:SampledTask)-[:HAS_STACKS]->(:StackPart)
//
// Several servers may write at the same time. Transactions that depend on stored data lock
// a node first: CreateTask the service's, PutSnapshots the tasks'.
package traces

import (
	"cmp"
	"context"
	"fmt"

	"github.com/dendroprof/dendro/store/neo4j/internal/bolt"
	"github.com/dendroprof/dendro/traceprof"
)

// Store keeps traces in a database. It is safe for concurrent use.
type Store struct {
	db      *bolt.DB
	usable  func(write bool) error
	putting chan struct{} // holds one token: PutSnapshots of one Store run one by one
	stacks  *stackCache
}

var _ traceprof.Store = (*Store)(nil)

// New returns the traces of a database. Usable reports why they cannot be read or
// written.
func New(db *bolt.DB, usable func(write bool) error) *Store {
	s := &Store{db: db, usable: usable, putting: make(chan struct{}, 1), stacks: newStackCache(defaultStacks)}
	s.putting <- struct{}{}
	return s
}

// LimitStacks implements traceprof.Store; the default is 256 MiB.
func (s *Store) LimitStacks(bytes int64) { s.stacks = newStackCache(bytes) }

// Schema lists the constraints and indexes of traces.
func Schema() []string {
	return []string{
		bolt.Constraint("TraceService", "name"), bolt.Constraint("TraceTask", "id"), bolt.Index("TraceTask", "service"),
		bolt.Constraint("TraceLog", "key"), bolt.Index("TraceLog", "task"),
		bolt.Constraint("TraceInstance", "key"), bolt.Index("TraceInstance", "service"),
		bolt.Constraint("TraceSegment", "id"), bolt.Index("TraceSegment", "trace"), bolt.Index("TraceSegment", "endpoint"),
		bolt.Index("TraceSegment", "start"), bolt.Index("TraceSegment", "arrived"),
		"CREATE INDEX dendro_tracesegment_service_start IF NOT EXISTS FOR (n:TraceSegment) ON (n.service, n.start)",
		bolt.Constraint("SampledTask", "task"), bolt.Constraint("SampledSegment", "key"), bolt.Index("SampledSegment", "segment"),
		bolt.Index("StackPart", "dictionary"),
	}
}

// Labels are the labels of the nodes of traces.
var Labels = []string{"TraceService", "TraceTask", "TraceLog", "TraceInstance", "TraceSegment",
	"SampledTask", "SampledSegment", "SnapshotChunk", "StackPart", "DoomedTask"}

// write runs f in a transaction, and repeats it after conflicts with others.
func (s *Store) write(ctx context.Context, what string, f func(t *bolt.Tx) error) error {
	if err := cmp.Or(ctx.Err(), s.usable(true)); err != nil {
		return err
	}
	return s.db.Explain(bolt.Again(ctx, func() error { return s.db.Write(ctx, what, f) }))
}

// read runs f in a transaction that only reads, and repeats it if the data was changed
// meanwhile.
func (s *Store) read(ctx context.Context, f func(t *bolt.Tx) error) error {
	if err := cmp.Or(ctx.Err(), s.usable(false)); err != nil {
		return err
	}
	return bolt.Again(ctx, func() error { return s.db.Read(ctx, f) })
}

// putNew creates a node for each row whose key no node of the label has; of two rows
// with one key, for the first.
func putNew(t *bolt.Tx, label, key string, rows []bolt.Props) error {
	seen := map[any]bool{}
	var list []map[string]any
	for _, r := range rows {
		if !seen[r[key]] {
			seen[r[key]] = true
			list = append(list, r)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return t.Do(fmt.Sprintf("UNWIND $rows AS r MERGE (n:%s {%s: r.%[2]s}) ON CREATE SET n = r", label, key), map[string]any{"rows": list})
}
