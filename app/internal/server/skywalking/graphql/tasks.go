package graphql

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"skywalking.apache.org/repo/goapi/query"

	"github.com/dendroprof/dendro/traceprof"
	"github.com/dendroprof/dendro/traceprof/ids"
)

// maxTasks is the maximum number of tasks in a list.
const maxTasks = 1000

// create creates a task. It returns a refusal separately from errors.
func (r *resolver) create(ctx context.Context, o traceprof.Task) (traceprof.Task, *traceprof.RefusedError, error) {
	var err error
	if o.ServiceID != "" { // otherwise Dispatcher.Create returns the refusal
		if o.Service, err = ids.ParseService(o.ServiceID); err != nil {
			return traceprof.Task{}, &traceprof.RefusedError{Reason: err.Error(), Code: traceprof.BadArgument}, nil
		}
	}
	t, err := r.Dispatcher.Create(ctx, o)
	if refused, ok := errors.AsType[*traceprof.RefusedError](err); ok {
		return traceprof.Task{}, refused, nil
	}
	return t, nil, err
}

// CreateProfileTask answers Mutation.createProfileTask.
func (r *resolver) CreateProfileTask(ctx context.Context, in *query.ProfileTaskCreationRequest) (*query.ProfileTaskCreationResult, error) {
	if in == nil {
		return nil, errors.New("creationRequest cannot be null")
	}
	o := traceprof.Task{Kind: traceprof.TraceKind, ServiceID: in.ServiceID, Endpoint: in.EndpointName,
		Duration: int64(in.Duration) * traceprof.Minute, MinDuration: int64(in.MinDurationThreshold),
		Period: int64(in.DumpPeriod), MaxSegments: in.MaxSamplingCount}
	if in.StartTime != nil {
		o.Start = *in.StartTime
	}
	t, refused, err := r.create(ctx, o)
	switch {
	case err != nil:
		return nil, err
	case refused != nil:
		return &query.ProfileTaskCreationResult{ErrorReason: &refused.Reason}, nil
	}
	return &query.ProfileTaskCreationResult{ID: &t.ID}, nil
}

// GetProfileTaskList answers Query.getProfileTaskList. An invalid service id has no tasks.
func (r *resolver) GetProfileTaskList(ctx context.Context, serviceID, endpoint string) ([]*query.ProfileTask, error) {
	q := traceprof.TaskQuery{Kind: traceprof.TraceKind, Endpoint: endpoint, Limit: maxTasks}
	list := []*query.ProfileTask{}
	if serviceID != "" {
		var err error
		if q.Service, err = ids.ParseService(serviceID); err != nil {
			return list, nil //nolint:nilerr // see above
		}
	}
	tasks, logs, err := r.tasks(ctx, q)
	if err != nil {
		return nil, err
	}
	for i := range tasks {
		t := &tasks[i]
		out := &query.ProfileTask{
			ID: t.ID, ServiceID: serviceIDOf(t), ServiceName: t.Service, EndpointName: t.Endpoint, StartTime: t.Start,
			Duration: int(t.Minutes()), MinDurationThreshold: int(t.MinDuration), DumpPeriod: int(t.Period),
			MaxSamplingCount: t.MaxSegments, Logs: profileLogs(t, logs[t.ID]),
		}
		list = append(list, out)
	}
	return list, nil
}

// serviceIDOf returns the service id with which a client of this protocol created the
// task, otherwise the id of the service.
func serviceIDOf(t *traceprof.Task) string {
	if t.ServiceID != "" {
		return t.ServiceID
	}
	return ids.Service(t.Service)
}

// tasks returns tasks, and their logs by task, newest first.
func (r *resolver) tasks(ctx context.Context, q traceprof.TaskQuery) ([]traceprof.Task, map[string][]traceprof.Log, error) {
	tasks, err := r.Store.Tasks(ctx, q)
	if err != nil || len(tasks) == 0 {
		return nil, nil, err
	}
	names := make([]string, len(tasks))
	for i := range tasks {
		names[i] = tasks[i].ID
	}
	lines, err := r.Store.Logs(ctx, names...)
	if err != nil {
		return nil, nil, err
	}
	logs := map[string][]traceprof.Log{}
	for _, l := range ofAgents(lines) {
		logs[l.Task] = append(logs[l.Task], l)
	}
	return tasks, logs, nil
}

// task returns a task of a kind and its log, newest first, or nil.
func (r *resolver) task(ctx context.Context, id string, kind traceprof.Kind) (*traceprof.Task, []traceprof.Log, error) {
	t, err := r.Store.Task(ctx, id)
	if errors.Is(err, traceprof.ErrNoTask) || err == nil && t.Kind != kind {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	logs, err := r.Store.Logs(ctx, id)
	return &t, ofAgents(logs), err
}

// ofAgents returns the lines caused by agents: SkyWalking has no others.
func ofAgents(lines []traceprof.Log) []traceprof.Log {
	return slices.DeleteFunc(lines, func(l traceprof.Log) bool { return l.Event == traceprof.ServerStarted })
}

// GetProfileTaskLogs answers Query.getProfileTaskLogs.
func (r *resolver) GetProfileTaskLogs(ctx context.Context, taskID string) ([]*query.ProfileTaskLog, error) {
	t, logs, err := r.task(ctx, taskID, traceprof.TraceKind)
	if err != nil || t == nil {
		return []*query.ProfileTaskLog{}, err
	}
	return profileLogs(t, logs), nil
}

// profileLogs returns the lines of a log whose events clients know.
func profileLogs(t *traceprof.Task, logs []traceprof.Log) []*query.ProfileTaskLog {
	list := []*query.ProfileTaskLog{}
	for i := range logs {
		l := &logs[i]
		if operation := query.ProfileTaskLogOperationType(l.Event); operation.IsValid() {
			list = append(list, &query.ProfileTaskLog{ID: logID(l), InstanceID: ids.Instance(t.Service, l.Instance),
				InstanceName: l.Instance, OperationType: operation, OperationTime: l.Time})
		}
	}
	return list
}

// logID returns an id for a line of a log.
func logID(l *traceprof.Log) string {
	return fmt.Sprintf("%s_%s_%s_%d", l.Task, l.Instance, l.Event, l.Time)
}
