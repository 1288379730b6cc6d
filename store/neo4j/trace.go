package neo4j

import (
	"cmp"
	"context"
	"fmt"

	"github.com/dendroprof/dendro/traceprof"
)

// traces is the part of a Store that holds trace profiling, in databases of the
// model Shared. Nothing in it refers to profiles or they to it:
//
//	(:TraceTask)  (:TraceLog)  (:TraceInstance)  (:TraceSegment)
//	(:SampledTask)-[:HAS_SEGMENT]->(:SampledSegment)-[:HAS_CHUNK]->(:SnapshotChunk)
//	(:SampledTask)-[:HAS_STACKS]->(:StackPart)
//
// Several servers write at once. What one of them decides by what is there it
// decides while its transaction holds a node that the others would need for the
// same decision: CreateTask that of the service, PutSnapshots those of the tasks.
type traces struct {
	putting chan struct{} // holds one token: PutSnapshots of one Store run one by one
	stacks  *stackCache
}

func newTraces() traces {
	t := traces{putting: make(chan struct{}, 1), stacks: newStackCache(defaultStacks)}
	t.putting <- struct{}{}
	return t
}

var _ traceprof.Store = (*Store)(nil)

// traceSchema lists the constraints and indexes of trace profiling.
func traceSchema() []string {
	return []string{
		constraint("TraceService", "name"), constraint("TraceTask", "id"), index("TraceTask", "service"),
		constraint("TraceLog", "key"), index("TraceLog", "task"),
		constraint("TraceInstance", "key"), index("TraceInstance", "service"),
		constraint("TraceSegment", "id"), index("TraceSegment", "trace"), index("TraceSegment", "endpoint"), index("TraceSegment", "start"),
		"CREATE INDEX dendro_tracesegment_service_start IF NOT EXISTS FOR (n:TraceSegment) ON (n.service, n.start)",
		constraint("SampledTask", "task"), constraint("SampledSegment", "key"), index("SampledSegment", "segment"),
		index("StackPart", "dictionary"),
	}
}

// traceable reports why the database keeps no trace profiling, with ErrNotKept.
func (s *Store) traceable() error {
	if m := s.Model(); m != Shared {
		return fmt.Errorf("%s: %w: that needs a database of the model %s, this one has the model %s: make another one ready with `dendro store init --model %s`",
			s.graph.address, traceprof.ErrNotKept, Shared, m, Shared)
	}
	return nil
}

// changeTraces runs f in a transaction, again if others got in its way.
func (s *Store) changeTraces(ctx context.Context, what string, f func(t *tx) error) error {
	if err := cmp.Or(ctx.Err(), s.traceable(), s.writable()); err != nil {
		return err
	}
	return s.graph.explain(again(ctx, func() error { return s.graph.write(ctx, what, f) }))
}

// askTraces runs f in a transaction that only reads, again if it met changes
// half-way.
func (s *Store) askTraces(ctx context.Context, f func(t *tx) error) error {
	if err := cmp.Or(ctx.Err(), s.traceable()); err != nil {
		return err
	}
	return again(ctx, func() error { return s.graph.read(ctx, f) })
}

// setText sets a property that an index holds. Indexes have no room for long
// texts: of those it holds what storedName makes of them, and a second property
// the whole text.
func (f facts) setText(key, text string) {
	stored := storedName(text)
	f[key] = stored
	if stored != text {
		f[key+wholeSuffix] = text
	}
}

// wholeText is the reverse of setText.
func (f facts) wholeText(key string) string {
	if whole, ok := f[key+wholeSuffix].(string); ok {
		return whole
	}
	return f.text(key)
}

const wholeSuffix = "Whole"

// storedNames returns the texts that setText stores.
func storedNames(texts []string) []string {
	list := make([]string, len(texts))
	for i, text := range texts {
		list[i] = storedName(text)
	}
	return list
}

// putNew makes nodes of those rows whose key no node of the label has, of two of
// one key the first.
func (t *tx) putNew(label, key string, rows []facts) error {
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
	return t.do(fmt.Sprintf("UNWIND $rows AS r MERGE (n:%s {%s: r.%[2]s}) ON CREATE SET n = r", label, key), map[string]any{"rows": list})
}
