package traces

import (
	"context"
	"maps"
	"math"
	"slices"

	"github.com/dendroprof/dendro/store/neo4j/internal/bolt"
	"github.com/dendroprof/dendro/traceprof"
)

// Expire implements traceprof.Store. It works in transactions of limited size, each of
// which leaves a consistent store: if one fails, the next Expire continues. Segments of a
// task's traces are removed before the task, its snapshots become invisible with it, and
// their nodes are removed last.
func (s *Store) Expire(ctx context.Context, e traceprof.Expiry) (traceprof.Expired, error) {
	x := remover{s: s, ctx: ctx}
	err := e.Run(&x)
	if err == nil {
		err = x.sweep()
	}
	return x.out, err
}

// ExpiryBatch is the maximum number of nodes that one transaction removes.
const ExpiryBatch = 5000

// remover implements traceprof.Remover for one call of Expire.
type remover struct {
	s   *Store
	ctx context.Context
	out traceprof.Expired
}

// change runs f in a transaction that removes nodes.
func (x *remover) change(f func(t *bolt.Tx) error) error {
	return x.s.write(x.ctx, "removing expired traces", f)
}

func (x *remover) StoredTasks() (list []traceprof.StoredTask, err error) {
	err = x.s.read(x.ctx, func(t *bolt.Tx) error {
		known, err := tasks(t, "MATCH (t:TraceTask)", nil)
		if err != nil {
			return err
		}
		sampled := map[string]traceprof.StoredTask{}
		err = t.Each("MATCH (t:SampledTask) RETURN t {.task, .taskWhole}, t.newest, t.size", nil, func(r bolt.Row) error {
			sampled[r.Props(0).WholeText("task")] = traceprof.StoredTask{End: r.Int(1), Bytes: r.Int(2)}
			return nil
		})
		list = traceprof.StoredTasks(known, sampled)
		return err
	})
	return list, err
}

func (x *remover) RemoveBefore(before int64) error {
	params := map[string]any{"before": before}
	if _, err := x.batches(`MATCH (l:TraceLog) WHERE l.time < $before AND NOT EXISTS { (:TraceTask {id: l.task}) }
		WITH l LIMIT $batch DELETE l RETURN count(*)`, params); err != nil {
		return err
	}
	n, err := x.batches("MATCH (s:TraceSegment) WHERE s.arrived < $before AND "+loose+" WITH s LIMIT $batch DELETE s RETURN count(*)", params)
	if x.out.Segments += n; err != nil {
		return err
	}
	// A report may have come since: the time is compared again once the node is locked.
	n, err = x.batches(`MATCH (i:TraceInstance) WHERE i.lastSeen < $before WITH i LIMIT $batch
		SET i.reports = coalesce(i.reports, 0) + 1
		WITH i WHERE i.lastSeen < $before DELETE i RETURN count(*)`, params)
	x.out.Instances += n
	return err
}

// batches runs a statement that removes up to $batch nodes and returns how many,
// until it removes fewer.
func (x *remover) batches(statement string, params map[string]any) (removed int, err error) {
	all := map[string]any{"batch": ExpiryBatch}
	maps.Copy(all, params)
	for n := int64(ExpiryBatch); n == ExpiryBatch; removed += int(n) {
		err := x.change(func(t *bolt.Tx) error {
			r, err := t.One(statement, all)
			if err == nil {
				n = r.Int(0)
			}
			return err
		})
		if err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// loose is the condition that no task has profiled the trace of segment s.
// As byID: the server must not read an index once for each segment.
const loose = `NOT EXISTS { MATCH (g:SampledSegment {segment: s.id})<-[:HAS_SEGMENT]-(:SampledTask) USING INDEX SEEK g:SampledSegment(segment) }
	AND (s.trace = '' OR NOT EXISTS {
	MATCH (other:TraceSegment {trace: s.trace}) USING INDEX SEEK other:TraceSegment(trace)
	MATCH (g:SampledSegment {segment: other.id})<-[:HAS_SEGMENT]-(:SampledTask) USING INDEX SEEK g:SampledSegment(segment) })`

func (x *remover) RemoveTasks(list []traceprof.StoredTask) (freed int64, err error) {
	for _, task := range list {
		n, err := x.removeTask(task)
		if freed += n; err != nil {
			return freed, err
		}
	}
	return freed, nil
}

func (x *remover) removeTask(task traceprof.StoredTask) (freed int64, err error) {
	own, err := x.ownTraces(task.ID)
	if err != nil {
		return 0, err
	}
	for traces := range slices.Chunk(own, ExpiryBatch/25) {
		n, bytes, err := x.removeTraces(task.ID, traces)
		x.out.Segments, freed = x.out.Segments+n, freed+bytes
		if err != nil {
			return freed, err
		}
	}
	removed := false
	err = x.change(func(t *bolt.Tx) error {
		removed = false
		params := map[string]any{"task": bolt.StoredName(task.ID), "end": task.End}
		if !task.Known {
			r, err := t.One(`MATCH (t:SampledTask {task: $task}) SET t.puts = t.puts + 1
				WITH t WHERE t.newest > $end RETURN count(*)`, params)
			if err != nil || r.Int(0) > 0 {
				return err // newer snapshots were stored since
			}
		}
		for _, statement := range []string{
			"MATCH (l:TraceLog {task: $task}) DELETE l",
			"MATCH (t:SampledTask {task: $task}) REMOVE t:SampledTask SET t:DoomedTask",
		} {
			if err := t.Do(statement, params); err != nil {
				return err
			}
		}
		r, err := t.One("MATCH (t:TraceTask {id: $task}) DELETE t RETURN count(*)", params)
		removed = err == nil && r.Int(0) > 0
		return err
	})
	if removed {
		x.out.Tasks++
	}
	return freed + task.Bytes, err
}

// trace is a trace, or the segment of one that has no name.
type trace struct{ name, segment string }

// ownTraces lists the traces of a task, as they are stored.
func (x *remover) ownTraces(task string) (list []trace, err error) {
	err = x.s.read(x.ctx, func(t *bolt.Tx) error {
		list = nil
		return t.Each(`MATCH (t:SampledTask {task: $task})-[:HAS_SEGMENT]->(g:SampledSegment)
			MATCH (s:TraceSegment {id: g.segment})
			RETURN DISTINCT s.trace, CASE s.trace WHEN '' THEN s.id ELSE '' END`, map[string]any{"task": bolt.StoredName(task)}, func(r bolt.Row) error {
			list = append(list, trace{r.Text(0), r.Text(1)})
			return nil
		})
	})
	return list, err
}

// removeTraces removes all segments of those traces that no task but one has.
func (x *remover) removeTraces(task string, traces []trace) (n int, bytes int64, err error) {
	var named, segments []string
	for _, tr := range traces {
		if tr.name != "" {
			named = append(named, tr.name)
		} else {
			segments = append(segments, tr.segment)
		}
	}
	params := map[string]any{"task": bolt.StoredName(task), "named": named, "segments": segments}
	err = x.change(func(t *bolt.Tx) error {
		n, bytes = 0, 0
		for _, match := range []string{
			"UNWIND $named AS trace MATCH (s:TraceSegment {trace: trace}) USING INDEX SEEK s:TraceSegment(trace)",
			"UNWIND $segments AS trace MATCH (s:TraceSegment {id: trace})",
		} {
			r, err := t.One(match+`
				OPTIONAL MATCH (g:SampledSegment {segment: s.id})<-[:HAS_SEGMENT]-(o:SampledTask) USING INDEX SEEK g:SampledSegment(segment) WHERE o.task <> $task
				WITH trace, collect(DISTINCT s) AS segments, count(o) AS others
				WHERE others = 0
				UNWIND segments AS s
				WITH s, s.size AS size
				DELETE s
				RETURN count(*), sum(size)`, params)
			if err != nil {
				return err
			}
			n, bytes = n+int(r.Int(0)), bytes+r.Int(1)
		}
		return nil
	})
	return n, bytes, err
}

func (x *remover) SegmentBytes() (n int64, err error) {
	err = x.s.read(x.ctx, func(t *bolt.Tx) error {
		r, err := t.One("MATCH (s:TraceSegment) RETURN sum(s.size)", nil)
		if err == nil {
			n = r.Int(0)
		}
		return err
	})
	return n, err
}

// RemoveLoose removes at most ExpiryBatch segments.
func (x *remover) RemoveLoose(excess int64) (freed int64, err error) {
	n := 0
	err = x.change(func(t *bolt.Tx) error {
		freed, n = 0, 0
		r, err := t.One("MATCH (s:TraceSegment) WHERE s.arrived >= $first AND "+loose+`
			WITH s ORDER BY s.arrived, s.id LIMIT $batch
			RETURN collect(s.id), collect(s.size)`, map[string]any{"first": int64(math.MinInt64), "batch": ExpiryBatch})
		if err != nil {
			return err
		}
		ids, sizes := r.Texts(0), r.Ints(1)
		for n < len(ids) && freed < excess {
			freed += sizes[n]
			n++
		}
		return t.Do("MATCH (s:TraceSegment) WHERE s.id IN $ids DELETE s", map[string]any{"ids": ids[:n]})
	})
	if err == nil {
		x.out.Segments += n
	}
	return freed, err
}

// sweep removes the nodes of snapshots whose tasks were removed, also by an Expire that
// failed before it did so.
func (x *remover) sweep() error {
	for _, statement := range []string{
		"MATCH (:DoomedTask)-[:HAS_SEGMENT]->()-[:HAS_CHUNK]->(n) WITH n LIMIT $batch DETACH DELETE n RETURN count(*)",
		"MATCH (:DoomedTask)-[:HAS_SEGMENT]->(n) WHERE NOT EXISTS { (n)-[:HAS_CHUNK]->() } WITH n LIMIT $batch DETACH DELETE n RETURN count(*)",
		"MATCH (:DoomedTask)-[:HAS_STACKS]->(n) WITH n LIMIT $batch DETACH DELETE n RETURN count(*)",
		"MATCH (n:DoomedTask) WHERE NOT EXISTS { (n)--() } WITH n LIMIT $batch DELETE n RETURN count(*)",
	} {
		if _, err := x.batches(statement, nil); err != nil {
			return err
		}
	}
	return nil
}
