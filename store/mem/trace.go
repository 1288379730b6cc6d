package mem

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/dendroprof/dendro/traceprof"
)

// traces is the part of the store for trace profiling. It has a separate lock: it and the
// profiles do not refer to each other.
type traces struct {
	mu        sync.RWMutex
	tasks     map[string]traceprof.Task
	logs      map[traceprof.Log]traceprof.Log // by Log.Key
	instances map[traceprof.InstanceKey]traceprof.Instance
	segments  map[string]traceprof.Segment
	snapshots map[string]*taskSnapshots // by task
}

func newTraces() traces {
	return traces{
		tasks:     map[string]traceprof.Task{},
		logs:      map[traceprof.Log]traceprof.Log{},
		instances: map[traceprof.InstanceKey]traceprof.Instance{},
		segments:  map[string]traceprof.Segment{},
		snapshots: map[string]*taskSnapshots{},
	}
}

// change runs f with the lock held, unless the context has ended.
func (t *traces) change(ctx context.Context, f func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return f()
}

// look runs f with the lock held for reading, unless the context has ended.
func (t *traces) look(ctx context.Context, f func()) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	f()
	return nil
}

// LimitStacks implements traceprof.Store: all stacks stay in memory.
func (t *traces) LimitStacks(int64) {}

// CreateTask implements traceprof.Store.
func (t *traces) CreateTask(ctx context.Context, task traceprof.Task) (admitted traceprof.Task, err error) {
	err = t.change(ctx, func() error {
		var existing []traceprof.Task
		for _, e := range t.tasks {
			if e.Service == task.Service {
				existing = append(existing, e)
			}
		}
		if admitted, err = traceprof.Admit(existing, task); err != nil {
			return err
		}
		if _, ok := t.tasks[admitted.ID]; ok {
			return fmt.Errorf("task %s: another service has a task of this id", admitted.ID)
		}
		t.tasks[admitted.ID] = admitted.Clone()
		return nil
	})
	if err != nil {
		return traceprof.Task{}, err
	}
	return admitted.Clone(), nil
}

// Task implements traceprof.Store.
func (t *traces) Task(ctx context.Context, id string) (task traceprof.Task, err error) {
	ok := false
	err = t.look(ctx, func() { task, ok = t.tasks[id] })
	if err == nil && !ok {
		err = traceprof.ErrNoTask
	}
	return task.Clone(), err
}

// Tasks implements traceprof.Store.
func (t *traces) Tasks(ctx context.Context, q traceprof.TaskQuery) (list []traceprof.Task, err error) {
	err = t.look(ctx, func() { list = q.Filter(slices.Collect(maps.Values(t.tasks))) })
	for i := range list {
		list[i] = list[i].Clone()
	}
	return list, err
}

// StopTask implements traceprof.Store.
func (t *traces) StopTask(ctx context.Context, id string, at int64) error {
	return t.change(ctx, func() error {
		task, ok := t.tasks[id]
		if !ok {
			return traceprof.ErrNoTask
		}
		if task.Stop(at) {
			t.tasks[id] = task
		}
		return nil
	})
}

// AppendLog implements traceprof.Store.
func (t *traces) AppendLog(ctx context.Context, lines ...traceprof.Log) error {
	return t.change(ctx, func() error {
		for _, l := range lines {
			key := l.Key()
			if _, ok := t.logs[key]; !ok {
				t.logs[key] = l
			}
		}
		return nil
	})
}

// Logs implements traceprof.Store.
func (t *traces) Logs(ctx context.Context, tasks ...string) (list []traceprof.Log, err error) {
	err = t.look(ctx, func() {
		for _, l := range t.logs {
			if slices.Contains(tasks, l.Task) {
				list = append(list, l)
			}
		}
	})
	traceprof.SortLogs(list)
	return list, err
}

// PutInstances implements traceprof.Store.
func (t *traces) PutInstances(ctx context.Context, list ...traceprof.Instance) error {
	return t.change(ctx, func() error {
		for _, i := range list {
			key := traceprof.InstanceKey{Service: i.Service, Name: i.Name}
			i.Properties = slices.Clone(i.Properties)
			if have, ok := t.instances[key]; ok {
				have.Merge(&i)
				i = have
			}
			t.instances[key] = i
		}
		return nil
	})
}

// Instances implements traceprof.Store.
func (t *traces) Instances(ctx context.Context, service string, since int64) (list []traceprof.Instance, err error) {
	err = t.look(ctx, func() {
		for _, i := range t.instances {
			if (service == "" || i.Service == service) && i.LastSeen >= since {
				i.Properties = slices.Clone(i.Properties)
				list = append(list, i)
			}
		}
	})
	traceprof.SortInstances(list)
	return list, err
}

// PutSegments implements traceprof.Store.
func (t *traces) PutSegments(ctx context.Context, list ...traceprof.Segment) error {
	return t.change(ctx, func() error {
		for _, s := range list {
			if _, ok := t.segments[s.ID]; !ok {
				s.Raw = slices.Clone(s.Raw)
				t.segments[s.ID] = s
			}
		}
		return nil
	})
}

// Segments implements traceprof.Store.
func (t *traces) Segments(ctx context.Context, q traceprof.SegmentQuery) (list []traceprof.Segment, err error) {
	err = t.look(ctx, func() { list = q.Filter(slices.Collect(maps.Values(t.segments))) })
	for i := range list {
		list[i].Raw = slices.Clone(list[i].Raw)
	}
	return list, err
}

// Endpoints implements traceprof.Store.
func (t *traces) Endpoints(ctx context.Context, service, keyword string, limit int) (list []traceprof.Endpoint, err error) {
	byName := map[string]traceprof.Endpoint{}
	err = t.look(ctx, func() {
		for _, s := range t.segments {
			if s.Service != service || !traceprof.HasKeyword(s.Endpoint, keyword) {
				continue
			}
			e, ok := byName[s.Endpoint]
			if !ok {
				e = traceprof.Endpoint{Service: service, Name: s.Endpoint, Slowest: s.Latency(), LastSeen: s.Start}
			}
			e.Segments++
			e.Slowest, e.LastSeen = max(e.Slowest, s.Latency()), max(e.LastSeen, s.Start)
			byName[s.Endpoint] = e
		}
	})
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		if limit > 0 && len(list) == limit {
			break
		}
		list = append(list, byName[name])
	}
	return list, err
}
