package graphql

import (
	"context"

	"skywalking.apache.org/repo/goapi/query"

	"github.com/dendroprof/dendro/app/internal/server/skywalking/graphql/values"
	"github.com/dendroprof/dendro/app/internal/server/skywalking/uploads"
	"github.com/dendroprof/dendro/traceprof"
)

// second is a second in the unit of times.
const second = 1000

// CreateAsyncProfilerTask answers Mutation.createAsyncProfilerTask.
func (r *resolver) CreateAsyncProfilerTask(ctx context.Context,
	in query.AsyncProfilerTaskCreationRequest) (*query.AsyncProfilerTaskCreationResult, error) {
	o := traceprof.TaskSpec{Kind: traceprof.AsyncKind, ServiceID: in.ServiceID, Duration: int64(in.Duration) * second}
	for _, e := range in.Events {
		o.Events = append(o.Events, string(e))
	}
	if in.ExecArgs != nil {
		o.Arguments = *in.ExecArgs
	}
	t, refused, err := r.record(ctx, o, in.ServiceInstanceIds)
	switch {
	case err != nil:
		return nil, err
	case refused != nil:
		return &query.AsyncProfilerTaskCreationResult{Code: query.AsyncProfilerTaskCreationType(refused.Code), ErrorReason: &refused.Reason}, nil
	}
	return &query.AsyncProfilerTaskCreationResult{Code: query.AsyncProfilerTaskCreationTypeSuccess, ID: &t.ID}, nil
}

// QueryAsyncProfilerTaskList answers Query.queryAsyncProfilerTaskList.
func (r *resolver) QueryAsyncProfilerTaskList(ctx context.Context,
	in query.AsyncProfilerTaskListRequest) (*query.AsyncProfilerTaskListResult, error) {
	tasks, err := r.recordTasks(ctx, traceprof.AsyncKind, in.ServiceID, in.QueryDuration, in.Limit)
	if err != nil {
		return nil, err
	}
	out := &query.AsyncProfilerTaskListResult{Tasks: []*query.AsyncProfilerTask{}}
	for i := range tasks {
		t := &tasks[i]
		task := &query.AsyncProfilerTask{ID: t.ID, ServiceID: serviceIDOf(t), ServiceInstanceIds: instanceIDs(t), CreateTime: t.Created,
			Events: []query.AsyncProfilerEventType{}, Duration: int(t.Duration / second)}
		if t.Arguments != "" { // otherwise null, as in the OAP
			task.ExecArgs = &t.Arguments
		}
		for _, e := range t.Events {
			if event := query.AsyncProfilerEventType(e); event.IsValid() {
				task.Events = append(task.Events, event)
			}
		}
		out.Tasks = append(out.Tasks, task)
	}
	return out, nil
}

// QueryAsyncProfilerTaskProgress answers Query.queryAsyncProfilerTaskProgress.
func (r *resolver) QueryAsyncProfilerTaskProgress(ctx context.Context, id string) (*query.AsyncProfilerTaskProgress, error) {
	p, err := r.progress(ctx, id, traceprof.AsyncKind)
	if err != nil {
		return nil, err
	}
	out := &query.AsyncProfilerTaskProgress{Logs: []*query.AsyncProfilerTaskLog{}, ErrorInstanceIds: p.failed, SuccessInstanceIds: p.success}
	for _, l := range p.logs {
		operation := query.AsyncProfilerTaskLogOperationType(l.Event)
		if l.Event == traceprof.TooLarge {
			operation = query.AsyncProfilerTaskLogOperationTypeJfrUploadFileTooLargeError
		}
		out.Logs = append(out.Logs, &query.AsyncProfilerTaskLog{ID: l.id, InstanceID: l.instance, InstanceName: l.Instance,
			OperationType: operation, OperationTime: l.Time})
	}
	return out, nil
}

// QueryAsyncProfilerAnalyze answers Query.queryAsyncProfilerAnalyze.
func (r *resolver) QueryAsyncProfilerAnalyze(ctx context.Context, in query.AsyncProfilerAnalyzationRequest) (values.Value, error) {
	t, err := r.tree(ctx, in.TaskID, traceprof.AsyncKind, in.InstanceIds, uploads.Event(in.EventType))
	if err != nil {
		return nil, err
	}
	tree := values.Value(values.Null)
	if t != nil {
		tree = values.Object("AsyncProfilerStackTree", map[string]values.Value{
			"type":     values.Text(string(in.EventType)),
			"elements": elements("AsyncProfilerStackElement", t),
		})
	}
	return values.Object("AsyncProfilerAnalyzation", map[string]values.Value{"tree": tree}), nil
}
