package traces

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"github.com/dendroprof/dendro/store/neo4j/internal/bolt"
	"github.com/dendroprof/dendro/traceprof"
)

// CreateTask implements traceprof.Store. The node of the service is locked from before its
// tasks are read until the new task is committed.
func (s *Store) CreateTask(ctx context.Context, task traceprof.Task) (traceprof.Task, error) {
	service := bolt.Props{}
	service.SetText("name", task.Service)
	var admitted traceprof.Task
	err := s.write(ctx, "creating a task", func(t *bolt.Tx) error {
		if err := t.Do("MERGE (s:TraceService {name: $s.name}) ON CREATE SET s = $s SET s.calls = coalesce(s.calls, 0) + 1",
			map[string]any{"s": map[string]any(service)}); err != nil {
			return err
		}
		existing, err := tasks(t, "MATCH (t:TraceTask {service: $service})", map[string]any{"service": service["name"]})
		if err != nil {
			return err
		}
		// The previous attempt may have been committed.
		if admitted.ID != "" && slices.ContainsFunc(existing, func(e traceprof.Task) bool { return reflect.DeepEqual(e, admitted) }) {
			return nil
		}
		if admitted, err = traceprof.Admit(existing, task); err != nil {
			return err
		}
		r, err := t.One("OPTIONAL MATCH (t:TraceTask {id: $id}) RETURN t IS NULL", map[string]any{"id": bolt.StoredName(admitted.ID)})
		if err != nil {
			return err
		}
		if free, _ := r[0].(bool); !free {
			return fmt.Errorf("task %s: another service has a task of this id", admitted.ID)
		}
		return t.Do("CREATE (t:TraceTask) SET t = $task", map[string]any{"task": map[string]any(taskProps(&admitted))})
	})
	if err != nil {
		return traceprof.Task{}, err
	}
	return admitted.Clone(), nil
}

// taskProps returns the properties of a task's node.
func taskProps(task *traceprof.Task) bolt.Props {
	n := bolt.Props{"kind": string(task.Kind), "serviceId": task.ServiceID, "created": task.Created, "start": task.Start,
		"duration": task.Duration}
	n.SetText("id", task.ID)
	n.SetText("service", task.Service)
	bolt.Set(n, "stopped", task.Stopped)
	bolt.Set(n, "endpoint", task.Endpoint)
	bolt.Set(n, "minDuration", task.MinDuration)
	bolt.Set(n, "period", task.Period)
	bolt.Set(n, "maxSegments", int64(task.MaxSegments))
	bolt.Set(n, "arguments", task.Arguments)
	if len(task.Instances) > 0 {
		n["instances"] = task.Instances
	}
	if len(task.Events) > 0 {
		n["events"] = task.Events
	}
	return n
}

// readTask is the inverse of taskProps.
func readTask(n bolt.Props) traceprof.Task {
	t := traceprof.Task{
		ID: n.WholeText("id"), Kind: traceprof.Kind(n.Text("kind")), Service: n.WholeText("service"), ServiceID: n.Text("serviceId"),
		Created: n.Int("created"), Start: n.Int("start"), Duration: n.Int("duration"), Stopped: n.Int("stopped"),
		Endpoint: n.Text("endpoint"), MinDuration: n.Int("minDuration"), Period: n.Int("period"), MaxSegments: int(n.Int("maxSegments")),
		Arguments: n.Text("arguments"),
	}
	if list := n.Texts("instances"); len(list) > 0 {
		t.Instances = list
	}
	if list := n.Texts("events"); len(list) > 0 {
		t.Events = list
	}
	return t
}

// tasks returns the tasks that a clause matches as t.
func tasks(t *bolt.Tx, match string, params map[string]any) (list []traceprof.Task, err error) {
	err = t.Each(match+" RETURN t {.*}", params, func(r bolt.Row) error {
		list = append(list, readTask(r.Props(0)))
		return nil
	})
	return list, err
}

// Task implements traceprof.Store.
func (s *Store) Task(ctx context.Context, id string) (traceprof.Task, error) {
	var list []traceprof.Task
	err := s.read(ctx, func(t *bolt.Tx) (err error) {
		list, err = tasks(t, "MATCH (t:TraceTask {id: $id})", map[string]any{"id": bolt.StoredName(id)})
		return err
	})
	switch {
	case err != nil:
		return traceprof.Task{}, err
	case len(list) == 0:
		return traceprof.Task{}, traceprof.ErrNoTask
	}
	return list[0], nil
}

// Tasks implements traceprof.Store.
func (s *Store) Tasks(ctx context.Context, q traceprof.TaskQuery) ([]traceprof.Task, error) {
	match, params := "MATCH (t:TraceTask)", map[string]any{"from": q.From, "to": q.To}
	if q.Service != "" {
		match, params["service"] = "MATCH (t:TraceTask {service: $service})", bolt.StoredName(q.Service)
	}
	// Servers read the current tasks every half second, so that old ones stay there.
	match += " WHERE ($from = 0 OR t.start + t.duration >= $from) AND ($to = 0 OR t.start <= $to)"
	var list []traceprof.Task
	err := s.read(ctx, func(t *bolt.Tx) (err error) {
		list, err = tasks(t, match, params)
		return err
	})
	return q.Filter(list), err
}

// StopTask implements traceprof.Store.
func (s *Store) StopTask(ctx context.Context, id string, at int64) error {
	return s.write(ctx, "stopping a task", func(t *bolt.Tx) error {
		params := map[string]any{"id": bolt.StoredName(id)}
		if err := t.Do("MATCH (t:TraceTask {id: $id}) SET t.calls = coalesce(t.calls, 0) + 1", params); err != nil {
			return err
		}
		list, err := tasks(t, "MATCH (t:TraceTask {id: $id})", params)
		switch {
		case err != nil:
			return err
		case len(list) == 0:
			return traceprof.ErrNoTask
		case !list[0].Stop(at):
			return nil
		}
		params["at"] = list[0].Stopped
		return t.Do("MATCH (t:TraceTask {id: $id}) SET t.stopped = $at", params)
	})
}

// AppendLog implements traceprof.Store.
func (s *Store) AppendLog(ctx context.Context, lines ...traceprof.Log) error {
	rows := make([]bolt.Props, len(lines))
	for i, l := range lines {
		n := bolt.Props{"key": bolt.TextsID(l.Task, l.Instance, string(l.Event), strconv.FormatInt(l.Time, 10)),
			"instance": l.Instance, "event": string(l.Event), "time": l.Time}
		n.SetText("task", l.Task)
		bolt.Set(n, "text", l.Text)
		rows[i] = n
	}
	return s.write(ctx, "a log", func(t *bolt.Tx) error { return putNew(t, "TraceLog", "key", rows) })
}

// Logs implements traceprof.Store.
func (s *Store) Logs(ctx context.Context, tasks ...string) (list []traceprof.Log, err error) {
	err = s.read(ctx, func(t *bolt.Tx) error {
		list = nil
		return t.Each("MATCH (l:TraceLog) WHERE l.task IN $tasks RETURN l {.*}", map[string]any{"tasks": bolt.StoredNames(tasks)},
			func(r bolt.Row) error {
				n := r.Props(0)
				list = append(list, traceprof.Log{Task: n.WholeText("task"), Instance: n.Text("instance"),
					Event: traceprof.Event(n.Text("event")), Time: n.Int("time"), Text: n.Text("text")})
				return nil
			})
	})
	traceprof.SortLogs(list)
	return list, err
}
