package traces

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/column"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/neo4j/internal/bolt"
	"github.com/dendroprof/dendro/traceprof"
)

// snapshotsTogether is the approximate size of the snapshots of one read, in bytes.
const snapshotsTogether = 4 << 20

// sampledSegment is a SampledSegment with the key of its node and its size in bytes.
type sampledSegment struct {
	traceprof.SampledSegment
	key  string
	size int64
}

// SampledSegments implements traceprof.Store.
func (s *Store) SampledSegments(ctx context.Context, q traceprof.SnapshotQuery) ([]traceprof.SampledSegment, error) {
	sized, err := s.sampledSegments(ctx, q)
	list := column.Of(sized, func(s sampledSegment) traceprof.SampledSegment { return s.SampledSegment })
	return list, err
}

// Snapshots implements traceprof.Store. It lists the selected segments,
// then reads them in groups, and skips those that were removed meanwhile.
func (s *Store) Snapshots(ctx context.Context, q traceprof.SnapshotQuery) iter.Seq2[traceprof.Snapshots, error] {
	return func(yield func(traceprof.Snapshots, error) bool) {
		list, err := s.sampledSegments(ctx, q)
		for err == nil && len(list) > 0 {
			n, bytes := 1, list[0].size
			for n < len(list) && bytes+list[n].size <= snapshotsTogether {
				bytes += list[n].size
				n++
			}
			var values []traceprof.Snapshots
			values, err = s.readSnapshots(ctx, list[:n])
			list = list[n:]
			for _, v := range values {
				if !yield(v, nil) {
					return
				}
			}
		}
		if err != nil {
			yield(traceprof.Snapshots{}, err)
		}
	}
}

// sampledSegments lists the segments that a query selects, in the order of the result.
func (s *Store) sampledSegments(ctx context.Context, q traceprof.SnapshotQuery) (list []sampledSegment, err error) {
	match := "MATCH (t:SampledTask)-[:HAS_SEGMENT]->(g:SampledSegment)"
	switch {
	case len(q.Segments) > 0:
		match = "MATCH (g:SampledSegment) WHERE g.segment IN $segments MATCH (t:SampledTask)-[:HAS_SEGMENT]->(g)"
		if len(q.Tasks) > 0 {
			match += " WHERE t.task IN $tasks"
		}
	case len(q.Tasks) > 0:
		match = "MATCH (t:SampledTask) WHERE t.task IN $tasks MATCH (t)-[:HAS_SEGMENT]->(g:SampledSegment)"
	}
	params := map[string]any{"segments": bolt.StoredNames(q.Segments), "tasks": bolt.StoredNames(q.Tasks)}
	err = s.read(ctx, func(t *bolt.Tx) error {
		list = nil
		return t.Each(match+" RETURN t {.task, .taskWhole}, g {.segment, .segmentWhole}, g.key, g.size", params, func(r bolt.Row) error {
			list = append(list, sampledSegment{traceprof.SampledSegment{Task: r.Props(0).WholeText("task"),
				Segment: r.Props(1).WholeText("segment")}, r.Text(2), r.Int(3)})
			return nil
		})
	})
	slices.SortFunc(list, func(a, b sampledSegment) int { return a.Compare(b.SampledSegment) })
	return list, err
}

// storedChunk is a node (:SnapshotChunk).
type storedChunk struct {
	n, dictionary int64
	traceprof.Snapshots
}

// readSnapshots reads segments, in the order of the list.
func (s *Store) readSnapshots(ctx context.Context, list []sampledSegment) (values []traceprof.Snapshots, err error) {
	keys := column.Of(list, func(s sampledSegment) string { return s.key })
	err = s.read(ctx, func(t *bolt.Tx) error {
		values = nil
		chunks, least := map[string][]storedChunk{}, map[string]int64{}
		err := t.Each(`UNWIND $keys AS key
			MATCH (:SampledTask)-[:HAS_SEGMENT]->(g:SampledSegment {key: key}) USING INDEX SEEK g:SampledSegment(key)
			WITH g, key, g.chunks AS chunks
			MATCH (g)-[:HAS_CHUNK]->(c:SnapshotChunk)
			RETURN key, chunks, g.language, c.n, c.dictionary, c.sequences, c.times, c.paths, c.counts, c.nanos`,
			map[string]any{"keys": keys}, func(r bolt.Row) error {
				c, err := readChunk(r)
				key := r.Text(0)
				chunks[key], least[key] = append(chunks[key], c), r.Int(1)
				return err
			})
		if err != nil {
			return err
		}
		for i := range list {
			at := &list[i]
			found := chunks[at.key]
			if len(found) == 0 {
				continue // removed meanwhile
			}
			slices.SortFunc(found, func(a, b storedChunk) int { return cmp.Compare(a.n, b.n) })
			if n := int64(len(found)); n < least[at.key] || found[n-1].n != n-1 {
				return bolt.Changed("%d of %d chunks of segment %q are there", n, least[at.key], at.Segment)
			}
			v, err := s.join(t, found)
			if err != nil {
				return fmt.Errorf("segment %q of task %s: %w", at.Segment, at.Task, err)
			}
			v.Task, v.Segment = at.Task, at.Segment
			values = append(values, v)
		}
		return nil
	})
	return values, err
}

// readChunk reads a chunk of readSnapshots; its paths are checked by join.
func readChunk(r bolt.Row) (storedChunk, error) {
	c := storedChunk{n: r.Int(3), dictionary: r.Int(4)}
	c.Language = traceprof.Language(r.Int(2))
	var sequences, paths bool
	c.Sequence, sequences = narrowed(r.List(5))
	c.Time = r.Ints(6)
	c.Path, paths = narrowed(r.List(7))
	if c.Language == traceprof.GoProfiles {
		c.Count, c.Nanos = r.Ints(8), r.Ints(9)
	}
	if !sequences || !paths {
		return c, fmt.Errorf("%w: a chunk of snapshots has sequences or paths outside of 32 bits", store.ErrCorrupt)
	}
	n := c.Len()
	if n == 0 || len(c.Time) != n || len(c.Path) != n || len(c.Count) != len(c.Nanos) ||
		c.Language == traceprof.GoProfiles && len(c.Count) != n {
		return c, bolt.Changed("a chunk of snapshots has columns of different lengths")
	}
	return c, nil
}

// narrowed returns a list of numbers, and whether all fit into 32 bits.
func narrowed(list []any) ([]int32, bool) {
	out := make([]int32, len(list))
	for i, x := range list {
		v, ok := x.(int64)
		if !ok || v < math.MinInt32 || v > math.MaxInt32 {
			return nil, false
		}
		out[i] = int32(v)
	}
	return out, true
}

// join puts the chunks of a segment together, which come in their order.
func (s *Store) join(t *bolt.Tx, chunks []storedChunk) (traceprof.Snapshots, error) {
	paths := map[int64]int{} // that are needed of each dictionary
	for i := range chunks {
		c := &chunks[i]
		if slices.Min(c.Path) < calltree.NoNode {
			return traceprof.Snapshots{}, fmt.Errorf("%w: a snapshot has the path %d", store.ErrCorrupt, slices.Min(c.Path))
		}
		paths[c.dictionary] = max(paths[c.dictionary], int(slices.Max(c.Path))+1)
	}
	stacks := map[int64]*calltree.Forest{}
	for id, n := range paths {
		f, err := s.stacks.read(t, id, n)
		if err != nil {
			return traceprof.Snapshots{}, err
		}
		if f.Paths.Len() < n {
			return traceprof.Snapshots{}, bolt.Changed("%d of %d stacks are there", f.Paths.Len(), n)
		}
		stacks[id] = f
	}
	parts := make([]traceprof.Snapshots, len(chunks))
	for i := range chunks {
		parts[i] = chunks[i].Snapshots
		parts[i].Stacks = stacks[chunks[i].dictionary]
	}
	return traceprof.Join(parts), nil
}
