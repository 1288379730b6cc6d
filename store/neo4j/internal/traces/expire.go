package traces

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/dendroprof/dendro/store/neo4j/internal/bolt"
	"github.com/dendroprof/dendro/traceprof"
)

// Expire implements traceprof.Store. It works in transactions of limited size,
// each of which leaves something sound: when one fails, those before it have
// done their part, and the next Expire goes on. The segments of a task's traces
// go before it, its snapshots with it for everybody who reads; their nodes are
// removed behind that.
func (s *Store) Expire(ctx context.Context, e traceprof.Expiry) (traceprof.Expired, error) {
	x := expirer{s: s, ctx: ctx}
	err := x.run(e)
	if err == nil {
		err = x.sweep()
	}
	return x.out, err
}

// ExpiryBatch is the maximum number of nodes that one transaction removes.
const ExpiryBatch = 5000

// expirer is one call of Expire.
type expirer struct {
	s   *Store
	ctx context.Context
	out traceprof.Expired
}

// change is changeTraces.
func (x *expirer) change(f func(t *bolt.Tx) error) error {
	return x.s.write(x.ctx, "removing what is too old", f)
}

// expiringTask is a task that is known or has snapshots.
type expiringTask struct {
	id    string
	known bool
	end   int64
	bytes int64 // of its snapshots and their stacks
}

func (x *expirer) run(e traceprof.Expiry) error {
	tasks, err := x.tasks()
	if err != nil {
		return err
	}
	if e.Before != 0 {
		if tasks, err = x.byTime(e.Before, tasks); err != nil {
			return err
		}
	}
	if e.MaxBytes != 0 {
		return x.bySize(e, tasks)
	}
	return nil
}

// tasks lists those that are known or have snapshots, by their ends.
func (x *expirer) tasks() ([]expiringTask, error) {
	var list []expiringTask
	err := x.s.read(x.ctx, func(t *bolt.Tx) error {
		list = nil
		at := map[string]int{}
		known, err := tasks(t, "MATCH (t:TraceTask)", nil)
		if err != nil {
			return err
		}
		for i := range known {
			at[known[i].ID] = i
			list = append(list, expiringTask{id: known[i].ID, known: true, end: known[i].End()})
		}
		return t.Each("MATCH (t:SampledTask) RETURN t {.task, .taskWhole}, t.newest, t.size", nil, func(r bolt.Row) error {
			id := r.Props(0).WholeText("task")
			if i, ok := at[id]; ok {
				list[i].bytes = r.Int(2)
			} else {
				list = append(list, expiringTask{id: id, end: r.Int(1), bytes: r.Int(2)})
			}
			return nil
		})
	})
	slices.SortFunc(list, func(a, b expiringTask) int { return cmp.Or(cmp.Compare(a.end, b.end), cmp.Compare(a.id, b.id)) })
	return list, err
}

// byTime removes what is older than a time and returns the tasks that stay.
func (x *expirer) byTime(before int64, tasks []expiringTask) (kept []expiringTask, err error) {
	for _, task := range tasks {
		if task.end >= before {
			kept = append(kept, task)
		} else if _, err := x.removeTask(task); err != nil {
			return nil, err
		}
	}
	params := map[string]any{"before": before}
	if _, err := x.batches(`MATCH (l:TraceLog) WHERE l.time < $before AND NOT EXISTS { (:TraceTask {id: l.task}) }
		WITH l LIMIT $batch DELETE l RETURN count(*)`, params); err != nil {
		return nil, err
	}
	n, err := x.batches("MATCH (s:TraceSegment) WHERE s.start < $before AND "+loose+" WITH s LIMIT $batch DELETE s RETURN count(*)", params)
	if x.out.Segments += n; err != nil {
		return nil, err
	}
	// A report may have come since: it is looked for again when the node is held.
	n, err = x.batches(`MATCH (i:TraceInstance) WHERE i.lastSeen < $before WITH i LIMIT $batch
		SET i.reports = coalesce(i.reports, 0) + 1
		WITH i WHERE i.lastSeen < $before DELETE i RETURN count(*)`, params)
	x.out.Instances += n
	return kept, err
}

// batches runs a statement that removes up to $batch nodes and returns how many,
// until it removes fewer.
func (x *expirer) batches(statement string, params map[string]any) (removed int, err error) {
	all := map[string]any{"batch": ExpiryBatch}
	for k, v := range params {
		all[k] = v
	}
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

// removeTask removes a task with its logs, snapshots and the segments of its
// traces that no other task has, and returns how many bytes are free.
func (x *expirer) removeTask(task expiringTask) (freed int64, err error) {
	own, err := x.ownTraces(task.id)
	if err != nil {
		return 0, err
	}
	for traces := range slices.Chunk(own, ExpiryBatch/25) {
		n, bytes, err := x.removeTraces(task.id, traces)
		x.out.Segments, freed = x.out.Segments+n, freed+bytes
		if err != nil {
			return freed, err
		}
	}
	gone := false
	err = x.change(func(t *bolt.Tx) error {
		gone = false
		params := map[string]any{"task": bolt.StoredName(task.id), "end": task.end}
		if !task.known {
			r, err := t.One(`MATCH (t:SampledTask {task: $task}) SET t.puts = t.puts + 1
				WITH t WHERE t.newest > $end RETURN count(*)`, params)
			if err != nil || r.Int(0) > 0 {
				return err // more has come since
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
		gone = err == nil && r.Int(0) > 0
		return err
	})
	if gone {
		x.out.Tasks++
	}
	return freed + task.bytes, err
}

// trace is a trace, or the segment of one that has no name.
type trace struct{ name, segment string }

// ownTraces lists the traces of a task, as they are stored.
func (x *expirer) ownTraces(task string) (list []trace, err error) {
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
func (x *expirer) removeTraces(task string, traces []trace) (n int, bytes int64, err error) {
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

// bySize removes the oldest things until what is left is small enough.
func (x *expirer) bySize(e traceprof.Expiry, tasks []expiringTask) error {
	var held int64
	err := x.s.read(x.ctx, func(t *bolt.Tx) error {
		r, err := t.One("MATCH (s:TraceSegment) RETURN sum(s.size)", nil)
		if err == nil {
			held = r.Int(0)
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, task := range tasks {
		held += task.bytes
	}
	for more := true; more && held > e.MaxBytes; {
		var freed int64
		if freed, more, err = x.removeLoose(held - e.MaxBytes); err != nil {
			return err
		}
		held -= freed
	}
	for _, task := range tasks {
		if held <= e.MaxBytes {
			break
		}
		if task.known && task.end > e.Now {
			continue
		}
		freed, err := x.removeTask(task)
		if err != nil {
			return err
		}
		held -= freed
	}
	return nil
}

// removeLoose removes some of the oldest segments of no task, up to so many
// bytes, and reports whether there are more.
func (x *expirer) removeLoose(excess int64) (freed int64, more bool, err error) {
	n := 0
	err = x.change(func(t *bolt.Tx) error {
		freed, n, more = 0, 0, false
		r, err := t.One("MATCH (s:TraceSegment) WHERE s.start >= $first AND "+loose+`
			WITH s ORDER BY s.start, s.id LIMIT $batch
			RETURN collect(s.id), collect(s.size)`, map[string]any{"first": int64(math.MinInt64), "batch": ExpiryBatch})
		if err != nil {
			return err
		}
		ids, sizes := r.Texts(0), r.Ints(1)
		for n < len(ids) && freed < excess {
			freed += sizes[n]
			n++
		}
		more = n == ExpiryBatch
		return t.Do("MATCH (s:TraceSegment) WHERE s.id IN $ids DELETE s", map[string]any{"ids": ids[:n]})
	})
	if err == nil {
		x.out.Segments += n
	}
	return freed, more, err
}

// sweep removes the nodes of snapshots whose tasks were removed, also by others
// that did not get to it.
func (x *expirer) sweep() error {
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
