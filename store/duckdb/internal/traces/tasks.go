package traces

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
	"github.com/dendroprof/dendro/traceprof"
)

// loadTasks reads all tasks.
func loadTasks(ctx context.Context, c *driver.Conn) (map[string]traceprof.Task, error) {
	tasks := map[string]traceprof.Task{}
	const sql = `SELECT id, kind, service, service_id, created, start, duration, stopped, endpoint, min_duration, period, max_segments,
		instances, events, arguments FROM task`
	return tasks, c.Query(ctx, sql, nil, func(ch driver.Chunk) error {
		ids, kinds, services, serviceIDs := ch.Texts(0), ch.Texts(1), ch.Texts(2), ch.Texts(3)
		created, start, duration, stopped := driver.Column[int64](ch, 4), driver.Column[int64](ch, 5), driver.Column[int64](ch, 6),
			driver.Column[int64](ch, 7)
		endpoints, least, periods, most := ch.Texts(8), driver.Column[int64](ch, 9), driver.Column[int64](ch, 10), driver.Column[int64](ch, 11)
		instances, events, arguments := ch.Texts(12), ch.Texts(13), ch.Texts(14)
		for i, id := range ids {
			t := traceprof.Task{ID: id, Kind: traceprof.Kind(kinds[i]), Service: services[i], ServiceID: serviceIDs[i],
				Created: created[i], Start: start[i], Duration: duration[i], Stopped: stopped[i], Endpoint: endpoints[i],
				MinDuration: least[i], Period: periods[i], MaxSegments: int(most[i]), Arguments: arguments[i]}
			if err := cmp.Or(fromJSON(instances[i], &t.Instances), fromJSON(events[i], &t.Events)); err != nil {
				return driver.Corruptf("task %s: %v", id, err)
			}
			tasks[id] = t
		}
		return nil
	})
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
	return c.Append("", "task", 1, []string{t.ID}, []string{string(t.Kind)}, []string{t.Service}, []string{t.ServiceID},
		[]int64{t.Created}, []int64{t.Start}, []int64{t.Duration}, []int64{t.Stopped}, []string{t.Endpoint},
		[]int64{t.MinDuration}, []int64{t.Period}, []int64{int64(t.MaxSegments)},
		[]string{toJSON(t.Instances)}, []string{toJSON(t.Events)}, []string{t.Arguments})
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
		var tasks, instances, events, texts []string
		var times []int64
		for _, l := range lines {
			key := l.Key()
			if have[key] {
				continue
			}
			have[key] = true
			tasks, instances, events = append(tasks, l.Task), append(instances, l.Instance), append(events, string(l.Event))
			times, texts = append(times, l.Time), append(texts, l.Text)
		}
		return c.Append("", "task_log", len(tasks), tasks, instances, events, times, texts)
	}, nil)
}

// readLogs calls f with the lines of the tasks, in the caller's transaction.
func readLogs(ctx context.Context, c *driver.Conn, tasks []string, f func(traceprof.Log)) error {
	if len(tasks) == 0 {
		return nil
	}
	args := make([]any, len(tasks))
	for i, task := range tasks {
		args[i] = task
	}
	sql := "SELECT task, instance, event, time, text FROM task_log WHERE task IN (?" + strings.Repeat(", ?", len(tasks)-1) + ")"
	return c.Query(ctx, sql, args, func(ch driver.Chunk) error {
		tasks, instances, events, texts := ch.Texts(0), ch.Texts(1), ch.Texts(2), ch.Texts(4)
		for i, at := range driver.Column[int64](ch, 3) {
			f(traceprof.Log{Task: tasks[i], Instance: instances[i], Event: traceprof.Event(events[i]), Time: at, Text: texts[i]})
		}
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
