package traces

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/internal/column"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
	"github.com/dendroprof/dendro/traceprof"
)

// loadTasks reads all tasks.
func loadTasks(ctx context.Context, c *driver.Conn) (map[string]traceprof.Task, error) {
	tasks := map[string]traceprof.Task{}
	var r taskRow
	return tasks, c.Rows(ctx, "FROM task", nil, r.fields(), func() error {
		t := r.Task
		t.MaxSegments = int(r.segments)
		if err := cmp.Or(fromJSON(r.instances, &t.Instances), fromJSON(r.events, &t.Events)); err != nil {
			return driver.Corruptf("task %s: %v", t.ID, err)
		}
		tasks[t.ID] = t
		return nil
	})
}

// taskRow is a row of table task.
type taskRow struct {
	traceprof.Task
	segments          int64  // MaxSegments
	instances, events string // as JSON
}

func (r *taskRow) fields() []any {
	return []any{&r.ID, (*string)(&r.Kind), &r.Service, &r.ServiceID, &r.Created, &r.Start, &r.Duration, &r.Stopped, &r.Endpoint,
		&r.MinDuration, &r.Period, &r.segments, &r.instances, &r.events, &r.Arguments}
}

// toJSON writes a list as text; an empty one is the empty text.
func toJSON[T any](list []T) string {
	if len(list) == 0 {
		return ""
	}
	text, err := json.Marshal(list)
	if err != nil {
		panic(err) // of texts only
	}
	return string(text)
}

func fromJSON[T any](text string, list *[]T) error {
	if text == "" {
		return nil
	}
	return json.Unmarshal([]byte(text), list)
}

func writeTask(c *driver.Conn, t *traceprof.Task) error {
	row := taskRow{*t, int64(t.MaxSegments), toJSON(t.Instances), toJSON(t.Events)}
	return driver.Insert(c, "", "task", []taskRow{row}, (*taskRow).fields)
}

// all returns the stored tasks, which the caller must not change.
func (s *Store) all() []traceprof.Task {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.tasks))
}

func (s *Store) task(id string) (traceprof.Task, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	task, ok := s.tasks[id]
	return task, ok
}

func (s *Store) setTask(task traceprof.Task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tasks[task.ID] = task
}

// CreateTask implements traceprof.Store.
func (s *Store) CreateTask(ctx context.Context, task traceprof.Task) (traceprof.Task, error) {
	task = task.Clone()
	err := s.change(ctx, func(c *driver.Conn) error {
		existing := slices.DeleteFunc(s.all(), func(t traceprof.Task) bool { return t.Service != task.Service })
		var err error
		if task, err = traceprof.Admit(existing, task); err != nil {
			return err
		}
		if _, ok := s.task(task.ID); ok {
			return fmt.Errorf("task %s: another service has a task of this id", task.ID)
		}
		return writeTask(c, &task)
	}, func(committed bool) {
		if committed {
			s.setTask(task)
		}
	})
	if err != nil {
		return traceprof.Task{}, err
	}
	return task.Clone(), nil
}

// Task implements traceprof.Store. It reads no file.
func (s *Store) Task(ctx context.Context, id string) (traceprof.Task, error) {
	if err := s.file.Enter(ctx); err != nil {
		return traceprof.Task{}, err
	}
	defer s.file.Leave()
	task, ok := s.task(id)
	if !ok {
		return traceprof.Task{}, traceprof.ErrNoTask
	}
	return task.Clone(), nil
}

// Tasks implements traceprof.Store. It reads no file.
func (s *Store) Tasks(ctx context.Context, q traceprof.TaskQuery) ([]traceprof.Task, error) {
	if err := s.file.Enter(ctx); err != nil {
		return nil, err
	}
	defer s.file.Leave()
	list := q.Filter(s.all())
	for i := range list {
		list[i] = list[i].Clone()
	}
	return list, nil
}

// StopTask implements traceprof.Store.
func (s *Store) StopTask(ctx context.Context, id string, at int64) error {
	var task traceprof.Task
	return s.change(ctx, func(c *driver.Conn) error {
		var ok bool
		if task, ok = s.task(id); !ok {
			return traceprof.ErrNoTask
		}
		if !task.Stop(at) {
			return nil
		}
		return c.Query(ctx, "UPDATE task SET stopped = ? WHERE id = ?", []any{task.Stopped, id}, nil)
	}, func(committed bool) {
		if committed {
			s.setTask(task)
		}
	})
}

// AppendLog implements traceprof.Store.
func (s *Store) AppendLog(ctx context.Context, lines ...traceprof.Log) error {
	if len(lines) == 0 {
		return ctx.Err()
	}
	return s.change(ctx, func(c *driver.Conn) error {
		ids := map[string]bool{}
		for _, l := range lines {
			ids[l.Task] = true
		}
		have := map[traceprof.Log]bool{}
		err := readLogs(ctx, c, slices.Collect(maps.Keys(ids)), func(l traceprof.Log) {
			have[l.Key()] = true
		})
		if err != nil {
			return err
		}
		var fresh []traceprof.Log
		for _, l := range lines {
			if key := l.Key(); !have[key] {
				have[key], fresh = true, append(fresh, l)
			}
		}
		return driver.Insert(c, "", "task_log", fresh, logFields)
	}, nil)
}

// logFields are the columns of table task_log.
func logFields(l *traceprof.Log) []any {
	return []any{&l.Task, &l.Instance, (*string)(&l.Event), &l.Time, &l.Text}
}

// readLogs calls f with the lines of the tasks, in the caller's transaction.
func readLogs(ctx context.Context, c *driver.Conn, tasks []string, f func(traceprof.Log)) error {
	if len(tasks) == 0 {
		return nil
	}
	args := column.Of(tasks, func(task string) any { return task })
	var l traceprof.Log
	return c.Rows(ctx, "FROM task_log WHERE task IN (?"+strings.Repeat(", ?", len(tasks)-1)+")", args, logFields(&l), func() error {
		f(l)
		return nil
	})
}

// Logs implements traceprof.Store.
func (s *Store) Logs(ctx context.Context, tasks ...string) ([]traceprof.Log, error) {
	tasks = slices.Compact(slices.Sorted(slices.Values(tasks)))
	var list []traceprof.Log
	err := s.read(ctx, func(c *driver.Conn) error {
		return readLogs(ctx, c, tasks, func(l traceprof.Log) { list = append(list, l) })
	})
	traceprof.SortLogs(list)
	return list, err
}
