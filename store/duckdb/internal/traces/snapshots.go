package traces

import (
	"context"
	"slices"

	"github.com/dendroprof/dendro/internal/column"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
	"github.com/dendroprof/dendro/traceprof"
)

// PutSnapshots implements traceprof.Store. It appends snapshots as they come: if a
// sequence number comes twice, readers use the first.
func (s *Store) PutSnapshots(ctx context.Context, list ...traceprof.Snapshots) error {
	rows := 0
	for i := range list {
		if err := list[i].Check(); err != nil {
			return err
		}
		rows += list[i].Len()
	}
	if rows == 0 {
		return ctx.Err()
	}
	t := s
	w := snapshotWriter{t: t, tasks: map[string]*taskStacks{}}
	return s.change(ctx, func(c *driver.Conn) error {
		return w.write(ctx, c, list)
	}, func(committed bool) {
		if !committed {
			t.stacks.drop(w.ids()...) // they may be ahead of the file
			return
		}
		w.finish()
	})
}

// snapshotWriter is one call of PutSnapshots.
type snapshotWriter struct {
	t      *Store
	tasks  map[string]*taskStacks
	stacks []*taskStacks // the same
	next   int32         // id of the next new task
	rows   snapshotRows
}

func (w *snapshotWriter) write(ctx context.Context, c *driver.Conn, list []traceprof.Snapshots) error {
	w.next, w.rows.next = w.t.nextTask, w.t.nextChunk
	if err := w.open(ctx, c, list); err != nil {
		return err
	}
	var fresh newStacks
	for i := range list {
		if list[i].Len() > 0 {
			if err := w.add(ctx, c, list[i]); err != nil {
				return err
			}
		}
	}
	for _, s := range w.stacks {
		s.write(&fresh)
	}
	if err := fresh.append(c, ""); err != nil {
		return err
	}
	return w.rows.append(c, "")
}

// open finds the dictionaries of the tasks. A task without one, or whose last one has become
// too large to add to, gets another.
func (w *snapshotWriter) open(ctx context.Context, c *driver.Conn, list []traceprof.Snapshots) error {
	var tasks, missing []string
	for i := range list {
		task := list[i].Task
		if _, ok := w.tasks[task]; ok || list[i].Len() == 0 {
			continue
		}
		tasks = append(tasks, task)
		if s := w.t.stacks.pin(task); s != nil {
			w.tasks[task], w.stacks = s, append(w.stacks, s)
		} else {
			w.tasks[task], missing = nil, append(missing, task)
		}
	}
	ids, err := dictionaries(ctx, c, missing)
	if err != nil {
		return err
	}
	for _, task := range tasks {
		s := w.tasks[task]
		if s == nil && len(ids[task]) > 0 {
			s = w.t.stacks.openPinned(slices.Max(ids[task]), task)
			w.stacks = append(w.stacks, s)
		}
		full := s == nil
		if s != nil {
			if full, err = s.isLarger(ctx, c, w.t.stacks.maxSize()); err != nil {
				return err
			}
		}
		if full {
			s = w.t.stacks.openPinned(w.next, task)
			s.isNew = true
			w.stacks = append(w.stacks, s)
			w.next++
		}
		w.tasks[task] = s
	}
	return nil
}

// dictionaries returns the ids of the tasks' dictionaries, in the caller's
// transaction.
func dictionaries(ctx context.Context, c *driver.Conn, tasks []string) (map[string][]int32, error) {
	if len(tasks) == 0 {
		return nil, nil
	}
	where, args, err := among(c, textsOf{"key", "name", tasks})
	if err != nil {
		return nil, err
	}
	ids := map[string][]int32{}
	var id int32
	var name string
	err = c.Rows(ctx, "SELECT id, name FROM sampled_task WHERE "+where, args, []any{&id, &name}, func() error {
		ids[name] = append(ids[name], id)
		return nil
	})
	if err != nil || len(tasks) <= few {
		return ids, err
	}
	return ids, c.Exec("DELETE FROM wanted WHERE grp = 0")
}

// add adds one value, over the task's dictionary.
func (w *snapshotWriter) add(ctx context.Context, c *driver.Conn, v traceprof.Snapshots) error {
	s := w.tasks[v.Task]
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.grow(ctx, c); err != nil {
		return err
	}
	v.Path = s.Add(&v)
	w.rows.add(s.id, &v)
	return nil
}

func (w *snapshotWriter) ids() []int32 {
	return column.Of(w.stacks, func(s *taskStacks) int32 { return s.id })
}

// finish applies the commit to memory.
func (w *snapshotWriter) finish() {
	w.t.nextTask, w.t.nextChunk = w.next, w.rows.next
	w.t.stacks.unpin(w.stacks)
	for _, s := range w.stacks {
		s.mu.Lock()
		s.committed()
		bytes := s.size()
		s.mu.Unlock()
		w.t.stacks.resize(s, bytes)
	}
}

// snapshotRows are rows of table snapshot, as columns.
type snapshotRows struct {
	next                   int64
	task, n                []int32
	seq, key, newest, size []int64
	segment                []string
	language               []uint8
	data                   [][]byte
}

// snapshotOverhead is the size of a row without its segment and data.
const snapshotOverhead = 40

func (r *snapshotRows) add(task int32, s *traceprof.Snapshots) {
	data := appendSnapshots(make([]byte, 0, 8*s.Len()), s)
	r.task, r.n = append(r.task, task), append(r.n, int32(s.Len()))
	r.seq, r.key = append(r.seq, r.next), append(r.key, textKey(s.Segment))
	r.newest, r.size = append(r.newest, s.Arrived()), append(r.size, int64(len(data)+len(s.Segment)+snapshotOverhead))
	r.segment, r.language, r.data = append(r.segment, s.Segment), append(r.language, uint8(s.Language)), append(r.data, data)
	r.next++
}

// append writes the rows to the table of a catalog; empty: the store's.
func (r *snapshotRows) append(c *driver.Conn, catalog string) error {
	return c.Append(catalog, "snapshot", len(r.task), r.task, r.seq, r.key, r.segment, r.language, r.n, r.newest, r.size, r.data)
}
