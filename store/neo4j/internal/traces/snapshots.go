package traces

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/dendroprof/dendro/store/neo4j/internal/bolt"
	"github.com/dendroprof/dendro/traceprof"
)

// PutSnapshots implements traceprof.Store: one transaction, with one chunk for
// each value. Chunks of a segment are numbered in the order of their
// commits, because each transaction holds the nodes of its tasks: of two
// snapshots of one sequence, that of the lower number is the first. It is found
// when they are read.
func (s *Store) PutSnapshots(ctx context.Context, list ...traceprof.Snapshots) error {
	p := snapshotPut{s: s, tasks: map[string]*sampledTask{}}
	for i := range list {
		if err := list[i].Check(); err != nil {
			return err
		}
		p.gather(&list[i])
	}
	if len(p.chunks) == 0 {
		return ctx.Err()
	}
	select {
	case <-s.putting:
		defer func() { s.putting <- struct{}{} }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	err := s.write(ctx, "snapshots", p.write)
	for _, task := range p.tasks {
		task.finish(s.stacks, err == nil)
	}
	return err
}

// snapshotPut is one call of PutSnapshots.
type snapshotPut struct {
	s      *Store
	tasks  map[string]*sampledTask
	chunks []*traceprof.Snapshots
}

// sampledTask is a task whose node a transaction holds.
type sampledTask struct {
	id     string
	sample int64       // number of this task as long as its snapshots are kept
	stacks *taskStacks // nil: the transaction has not come to it
	added  stackPart
}

func (p *snapshotPut) gather(v *traceprof.Snapshots) {
	if v.Len() == 0 {
		return
	}
	if p.tasks[v.Task] == nil {
		p.tasks[v.Task] = &sampledTask{id: v.Task}
	}
	p.chunks = append(p.chunks, v)
}

// write is the transaction.
func (p *snapshotPut) write(t *bolt.Tx) error {
	for _, task := range p.tasks {
		task.finish(p.s.stacks, false) // of the try before
	}
	if err := p.lock(t); err != nil {
		return err
	}
	var rows []map[string]any
	for _, c := range p.chunks {
		rows = append(rows, p.tasks[c.Task].chunk(c))
	}
	if err := p.writeStacks(t); err != nil {
		return err
	}
	r, err := t.One(`UNWIND $rows AS r
		MATCH (t:SampledTask {task: r.task})
		MERGE (g:SampledSegment {key: r.segment.key}) ON CREATE SET g = r.segment
		MERGE (t)-[:HAS_SEGMENT]->(g)
		WITH t, g, r, CASE WHEN g.language = r.language THEN [r.chunk] ELSE [] END AS chunks
		FOREACH (c IN chunks |
			CREATE (g)-[:HAS_CHUNK]->(n:SnapshotChunk) SET n = c, n.n = g.chunks
			SET g.chunks = g.chunks + 1, g.size = g.size + r.size, t.size = t.size + r.size,
				t.newest = CASE WHEN r.newest > t.newest THEN r.newest ELSE t.newest END)
		RETURN count(*)`, map[string]any{"rows": rows})
	if err != nil {
		return err
	}
	return bolt.CheckCount("chunks of snapshots", r.Int(0), len(rows))
}

// lock locks the nodes of the tasks and reads the new parts of their dictionaries.
func (p *snapshotPut) lock(t *bolt.Tx) error {
	var rows []map[string]any
	for _, id := range slices.Sorted(maps.Keys(p.tasks)) {
		n := bolt.Props{"sample": rand.Int64(), "dictionary": rand.Int64(), "parts": 0, "size": 0, "newest": int64(math.MinInt64)}
		n.SetText("task", id)
		rows = append(rows, n)
	}
	held := 0
	type place struct{ dictionary, parts int64 }
	places := map[string]place{}
	err := t.Each(`UNWIND $rows AS r
		MERGE (t:SampledTask {task: r.task}) ON CREATE SET t = r
		SET t.puts = coalesce(t.puts, 0) + 1
		WITH t WHERE t:SampledTask
		RETURN t {.task, .taskWhole}, t.sample, t.dictionary, t.parts`, map[string]any{"rows": rows}, func(r bolt.Row) error {
		held++
		task := p.tasks[r.Props(0).WholeText("task")]
		if task == nil {
			return bolt.Changed("a task is another one")
		}
		task.sample = r.Int(1)
		places[task.id] = place{r.Int(2), r.Int(3)}
		return nil
	})
	if err != nil {
		return err
	}
	if err := bolt.CheckCount("tasks", int64(held), len(rows)); err != nil {
		return err // removed while it was waited for
	}
	for id, at := range places {
		task := p.tasks[id]
		if err := task.open(t, p.s.stacks, at.dictionary, at.parts); err != nil {
			return err
		}
		if task.stacks.isLarger(p.s.stacks.byID.Limit() / 2) {
			task.finish(p.s.stacks, true)
			if err := task.open(t, p.s.stacks, rand.Int64(), 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// open returns the dictionary of the task, to be released by finish, and reads its parts.
func (task *sampledTask) open(t *bolt.Tx, stacks *stackCache, id, parts int64) error {
	for {
		d := stacks.open(id)
		d.mu.Lock()
		var err error
		if d.parts < parts {
			err = d.readParts(t)
		}
		if err == nil && d.parts != parts {
			err = bolt.Changed("%d parts of the stacks of a task instead of %d", d.parts, parts)
		}
		if err == nil && (d.Forest.Paths.Len() > d.paths || len(d.Forest.Functions) > d.functions) {
			err = errOtherStacks // what a transaction left that was not committed
		}
		d.mu.Unlock()
		if err == nil {
			task.stacks, task.added = d, stackPart{}
			return nil
		}
		if stacks.drop(d); !errors.Is(err, errOtherStacks) {
			return err
		}
	}
}

// finish releases the dictionary and records whether its new stacks were committed. If
// not, current readers may still use the forest, and all others begin with a new one.
func (task *sampledTask) finish(stacks *stackCache, committed bool) {
	d := task.stacks
	if d == nil {
		return
	}
	task.stacks = nil
	if !committed {
		stacks.drop(d)
		return
	}
	d.mu.Lock()
	d.committed(task.added)
	d.mu.Unlock()
	stacks.resize(d)
}

// chunk returns snapshots as the parameters of their statement. It interns their stacks.
func (task *sampledTask) chunk(v *traceprof.Snapshots) map[string]any {
	d := task.stacks
	d.mu.Lock()
	defer d.mu.Unlock()
	chunk := map[string]any{"dictionary": d.id, "sequences": widened(v.Sequence), "times": v.Time, "paths": widened(d.Add(v))}
	if v.Language == traceprof.GoProfiles {
		chunk["counts"], chunk["nanos"] = v.Count, v.Nanos
	}
	segment := bolt.Props{"key": fmt.Sprintf("%x %s", task.sample, bolt.StoredName(v.Segment)), "language": int64(v.Language), "chunks": 0,
		"size": 0}
	segment.SetText("segment", v.Segment)
	return map[string]any{"task": bolt.StoredName(task.id), "segment": map[string]any(segment), "language": int64(v.Language), "chunk": chunk,
		"newest": v.Arrived(), "size": int64(chunkOverhead + len(v.Segment) + 8*(v.Len()+len(v.Count)))}
}

// chunkOverhead is the counted size of a chunk without its segment and snapshots.
const chunkOverhead = 100

func widened(column []int32) []int64 {
	out := make([]int64, len(column))
	for i, v := range column {
		out[i] = int64(v)
	}
	return out
}

// writeStacks stores the new stacks of the chunks.
func (p *snapshotPut) writeStacks(t *bolt.Tx) error {
	var rows []map[string]any
	for _, task := range p.tasks {
		d := task.stacks
		d.mu.Lock()
		task.added = d.newPart()
		d.mu.Unlock()
		if a := task.added; !a.empty() {
			rows = append(rows, map[string]any{"task": bolt.StoredName(task.id), "size": a.bytes, "part": map[string]any{
				"dictionary": d.id, "n": a.n, "signatures": a.signatures, "parents": a.parents, "functions": a.functions}})
		}
	}
	if len(rows) == 0 {
		return nil
	}
	return t.Do(`UNWIND $rows AS r
		MATCH (t:SampledTask {task: r.task})
		SET t.dictionary = r.part.dictionary, t.parts = r.part.n + 1, t.size = t.size + r.size
		CREATE (t)-[:HAS_STACKS]->(p:StackPart) SET p = r.part`, map[string]any{"rows": rows})
}
