package neo4j

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"github.com/dendroprof/dendro/traceprof"
)

// CreateTask implements traceprof.Store. The node of the service is held from
// before its tasks are read until the new one is committed.
func (s *Store) CreateTask(ctx context.Context, task traceprof.Task) (traceprof.Task, error) {
	service := facts{}
	service.setText("name", task.Service)
	var admitted traceprof.Task
	err := s.changeTraces(ctx, "making a task", func(t *tx) error {
		if err := t.do("MERGE (s:TraceService {name: $s.name}) ON CREATE SET s = $s SET s.calls = coalesce(s.calls, 0) + 1",
			map[string]any{"s": map[string]any(service)}); err != nil {
			return err
		}
		existing, err := t.tasks("MATCH (t:TraceTask {service: $service})", map[string]any{"service": service["name"]})
		if err != nil {
			return err
		}
		// A try before this one may have been committed after all.
		if admitted.ID != "" && slices.ContainsFunc(existing, func(e traceprof.Task) bool { return reflect.DeepEqual(e, admitted) }) {
			return nil
		}
		if admitted, err = traceprof.Admit(existing, task); err != nil {
			return err
		}
		r, err := t.one("OPTIONAL MATCH (t:TraceTask {id: $id}) RETURN t IS NULL", map[string]any{"id": storedName(admitted.ID)})
		if err != nil {
			return err
		}
		if free, _ := r[0].(bool); !free {
			return fmt.Errorf("task %s: another service has a task of this id", admitted.ID)
		}
		return t.do("CREATE (t:TraceTask) SET t = $task", map[string]any{"task": map[string]any(taskFacts(&admitted))})
	})
	if err != nil {
		return traceprof.Task{}, err
	}
	admitted.Instances, admitted.Events = slices.Clone(admitted.Instances), slices.Clone(admitted.Events)
	return admitted, nil
}

// taskFacts returns what a task's node says of it.
func taskFacts(task *traceprof.Task) facts {
	n := facts{"kind": string(task.Kind), "serviceId": task.ServiceID, "created": task.Created, "start": task.Start, "duration": task.Duration}
	n.setText("id", task.ID)
	n.setText("service", task.Service)
	set(n, "stopped", task.Stopped)
	set(n, "endpoint", task.Endpoint)
	set(n, "minDuration", task.MinDuration)
	set(n, "period", task.Period)
	set(n, "maxSegments", int64(task.MaxSegments))
	set(n, "arguments", task.Arguments)
	if len(task.Instances) > 0 {
		n["instances"] = task.Instances
	}
	if len(task.Events) > 0 {
		n["events"] = task.Events
	}
	return n
}

// readTask is the reverse.
func readTask(n facts) traceprof.Task {
	t := traceprof.Task{
		ID: n.wholeText("id"), Kind: traceprof.Kind(n.text("kind")), Service: n.wholeText("service"), ServiceID: n.text("serviceId"),
		Created: n.int("created"), Start: n.int("start"), Duration: n.int("duration"), Stopped: n.int("stopped"),
		Endpoint: n.text("endpoint"), MinDuration: n.int("minDuration"), Period: n.int("period"), MaxSegments: int(n.int("maxSegments")),
		Arguments: n.text("arguments"),
	}
	if list := n.texts("instances"); len(list) > 0 {
		t.Instances = list
	}
	if list := n.texts("events"); len(list) > 0 {
		t.Events = list
	}
	return t
}

// tasks returns the tasks that a clause matches as t.
func (t *tx) tasks(match string, params map[string]any) (list []traceprof.Task, err error) {
	err = t.each(match+" RETURN t {.*}", params, func(r row) error {
		list = append(list, readTask(r.facts(0)))
		return nil
	})
	return list, err
}

// Task implements traceprof.Store.
func (s *Store) Task(ctx context.Context, id string) (traceprof.Task, error) {
	var list []traceprof.Task
	err := s.askTraces(ctx, func(t *tx) (err error) {
		list, err = t.tasks("MATCH (t:TraceTask {id: $id})", map[string]any{"id": storedName(id)})
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
	match := "MATCH (t:TraceTask)"
	if q.Service != "" {
		match = "MATCH (t:TraceTask {service: $service})"
	}
	var list []traceprof.Task
	err := s.askTraces(ctx, func(t *tx) (err error) {
		list, err = t.tasks(match, map[string]any{"service": storedName(q.Service)})
		return err
	})
	return q.Filter(list), err
}

// StopTask implements traceprof.Store.
func (s *Store) StopTask(ctx context.Context, id string, at int64) error {
	return s.changeTraces(ctx, "stopping a task", func(t *tx) error {
		params := map[string]any{"id": storedName(id)}
		if err := t.do("MATCH (t:TraceTask {id: $id}) SET t.calls = coalesce(t.calls, 0) + 1", params); err != nil {
			return err
		}
		list, err := t.tasks("MATCH (t:TraceTask {id: $id})", params)
		switch {
		case err != nil:
			return err
		case len(list) == 0:
			return traceprof.ErrNoTask
		case !list[0].Stop(at):
			return nil
		}
		params["at"] = list[0].Stopped
		return t.do("MATCH (t:TraceTask {id: $id}) SET t.stopped = $at", params)
	})
}

// AppendLog implements traceprof.Store.
func (s *Store) AppendLog(ctx context.Context, lines ...traceprof.Log) error {
	rows := make([]facts, len(lines))
	for i, l := range lines {
		n := facts{"key": textsID(l.Task, l.Instance, string(l.Event), strconv.FormatInt(l.Time, 10)),
			"instance": l.Instance, "event": string(l.Event), "time": l.Time}
		n.setText("task", l.Task)
		set(n, "text", l.Text)
		rows[i] = n
	}
	return s.changeTraces(ctx, "a log", func(t *tx) error { return t.putNew("TraceLog", "key", rows) })
}

// Logs implements traceprof.Store.
func (s *Store) Logs(ctx context.Context, tasks ...string) (list []traceprof.Log, err error) {
	err = s.askTraces(ctx, func(t *tx) error {
		list = nil
		return t.each("MATCH (l:TraceLog) WHERE l.task IN $tasks RETURN l {.*}", map[string]any{"tasks": storedNames(tasks)}, func(r row) error {
			n := r.facts(0)
			list = append(list, traceprof.Log{Task: n.wholeText("task"), Instance: n.text("instance"),
				Event: traceprof.Event(n.text("event")), Time: n.int("time"), Text: n.text("text")})
			return nil
		})
	})
	slices.SortFunc(list, func(a, b traceprof.Log) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(a.Task, b.Task), cmp.Compare(a.Instance, b.Instance), cmp.Compare(a.Event, b.Event))
	})
	return list, err
}
