package graphql

import (
	"context"

	"skywalking.apache.org/repo/goapi/query"

	"github.com/dendroprof/dendro/app/internal/server/skywalking/graphql/values"
	"github.com/dendroprof/dendro/traceprof"
)

// CreatePprofTask answers Mutation.createPprofTask.
func (r *resolver) CreatePprofTask(ctx context.Context, in query.PprofTaskCreationRequest) (*query.PprofTaskCreationResult, error) {
	o := traceprof.TaskSpec{Kind: traceprof.PprofKind, ServiceID: in.ServiceID, Events: []string{string(in.Events)}}
	if in.Duration != nil {
		o.Duration = int64(*in.Duration) * traceprof.Minute
	}
	if in.DumpPeriod != nil {
		o.Period = int64(*in.DumpPeriod)
	}
	t, refused, err := r.record(ctx, o, in.ServiceInstanceIds)
	switch {
	case err != nil:
		return nil, err
	case refused != nil:
		return &query.PprofTaskCreationResult{Code: query.PprofTaskCreationType(refused.Code), ErrorReason: &refused.Reason}, nil
	}
	return &query.PprofTaskCreationResult{Code: query.PprofTaskCreationTypeSuccess, ID: &t.ID}, nil
}

// QueryPprofTaskList answers Query.queryPprofTaskList. In the protocol a task has one
// event; tasks without a known event are omitted.
func (r *resolver) QueryPprofTaskList(ctx context.Context, in query.PprofTaskListRequest) (*query.PprofTaskListResult, error) {
	tasks, err := r.recordTasks(ctx, traceprof.PprofKind, in.ServiceID, in.QueryDuration, in.Limit)
	if err != nil {
		return nil, err
	}
	out := &query.PprofTaskListResult{Tasks: []*query.PprofTask{}}
	for i := range tasks {
		t := &tasks[i]
		minutes, period := int(t.Duration/traceprof.Minute), int(t.Period)
		for _, e := range t.Events[:min(len(t.Events), 1)] {
			if event := query.PprofEventType(e); event.IsValid() {
				out.Tasks = append(out.Tasks, &query.PprofTask{ID: t.ID, ServiceID: serviceIDOf(t), ServiceInstanceIds: instanceIDs(t),
					CreateTime: t.Created, Events: event, Duration: &minutes, DumpPeriod: &period})
			}
		}
	}
	return out, nil
}

// QueryPprofTaskProgress answers Query.queryPprofTaskProgress.
func (r *resolver) QueryPprofTaskProgress(ctx context.Context, id string) (*query.PprofTaskProgress, error) {
	p, err := r.progress(ctx, id, traceprof.PprofKind)
	if err != nil {
		return nil, err
	}
	out := &query.PprofTaskProgress{Logs: []*query.PprofTaskLog{}, ErrorInstanceIds: p.failed, SuccessInstanceIds: p.success}
	for _, l := range p.logs {
		operation := query.PprofTaskLogOperationType(l.Event)
		if l.Event == traceprof.TooLarge {
			operation = query.PprofTaskLogOperationTypePprofUploadFileTooLargeError
		}
		out.Logs = append(out.Logs, &query.PprofTaskLog{ID: l.id, InstanceID: l.instance, InstanceName: l.Instance,
			OperationType: operation, OperationTime: l.Time})
	}
	return out, nil
}

// QueryPprofAnalyze answers Query.queryPprofAnalyze.
func (r *resolver) QueryPprofAnalyze(ctx context.Context, in query.PprofAnalyzationRequest) (values.Value, error) {
	t, err := r.tree(ctx, in.TaskID, traceprof.PprofKind, in.InstanceIds, "")
	if err != nil {
		return nil, err
	}
	tree := values.Value(values.Null)
	if t != nil {
		tree = values.Object("PprofStackTree", map[string]values.Value{"elements": elements("PprofStackElement", t)})
	}
	return values.Object("PprofAnalyzation", map[string]values.Value{"tree": tree}), nil
}
