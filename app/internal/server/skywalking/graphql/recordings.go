package graphql

import (
	"cmp"
	"context"
	"slices"

	"skywalking.apache.org/repo/goapi/query"

	"github.com/dendroprof/dendro/app/internal/server/skywalking/graphql/values"
	"github.com/dendroprof/dendro/app/internal/server/skywalking/uploads"
	"github.com/dendroprof/dendro/internal/column"
	"github.com/dendroprof/dendro/traceprof"
	"github.com/dendroprof/dendro/traceprof/ids"
)

// Tasks of async-profiler and of Go's profiler. Their types in the protocol have different names, and
// the requests that create them different fields; the rest is the same.

// ordered is the answer to a request that creates a task.
type ordered struct {
	Code        traceprof.RefusalCode `json:"code"`
	ErrorReason *string               `json:"errorReason"`
	ID          *string               `json:"id"`
}

// record creates a task that profiles instances, given by their ids.
func (r *resolver) record(ctx context.Context, o traceprof.Task, instanceIDs []string) (*ordered, error) {
	for _, id := range instanceIDs {
		_, name, err := ids.ParseInstance(id)
		if err != nil {
			return &ordered{Code: traceprof.BadArgument, ErrorReason: new(err.Error())}, nil
		}
		o.Instances = append(o.Instances, name)
	}
	t, refused, err := r.create(ctx, o)
	switch {
	case err != nil:
		return nil, err
	case refused != nil:
		return &ordered{Code: refused.Code, ErrorReason: &refused.Reason}, nil
	}
	return &ordered{Code: "SUCCESS", ID: &t.ID}, nil
}

// second is a second in the unit of times.
const second = 1000

// CreateAsyncProfilerTask answers Mutation.createAsyncProfilerTask.
func (r *resolver) CreateAsyncProfilerTask(ctx context.Context, in query.AsyncProfilerTaskCreationRequest) (*ordered, error) {
	o := traceprof.Task{Kind: traceprof.AsyncKind, ServiceID: in.ServiceID, Duration: int64(in.Duration) * second}
	for _, e := range in.Events {
		o.Events = append(o.Events, string(e))
	}
	if in.ExecArgs != nil {
		o.Arguments = *in.ExecArgs
	}
	return r.record(ctx, o, in.ServiceInstanceIds)
}

// CreatePprofTask answers Mutation.createPprofTask.
func (r *resolver) CreatePprofTask(ctx context.Context, in query.PprofTaskCreationRequest) (*ordered, error) {
	o := traceprof.Task{Kind: traceprof.PprofKind, ServiceID: in.ServiceID, Events: []string{string(in.Events)}}
	if in.Duration != nil {
		o.Duration = int64(*in.Duration) * traceprof.Minute
	}
	if in.DumpPeriod != nil {
		o.Period = int64(*in.DumpPeriod)
	}
	return r.record(ctx, o, in.ServiceInstanceIds)
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

// recordTasks returns the tasks of a kind that were created for a service in a range of
// time, newest first.
func (r *resolver) recordTasks(ctx context.Context, kind traceprof.Kind, serviceID string, d *query.Duration,
	limit *int) ([]traceprof.Task, error) {
	during, err := spanOf(d)
	if err != nil {
		return nil, err
	}
	name, err := ids.ParseService(serviceID)
	if err != nil {
		return nil, err
	}
	tasks, err := r.Store.Tasks(ctx, traceprof.TaskQuery{Kind: kind, Service: name})
	if err != nil {
		return nil, err
	}
	tasks = slices.DeleteFunc(tasks, func(t traceprof.Task) bool {
		return d != nil && (t.Created < during.from || t.Created > during.to)
	})
	slices.SortStableFunc(tasks, func(a, b traceprof.Task) int { return cmp.Compare(b.Created, a.Created) })
	most := maxTasks
	if limit != nil && *limit > 0 {
		most = min(most, *limit)
	}
	return tasks[:min(len(tasks), most)], nil
}

// instanceIDs returns the ids of a task's instances.
func instanceIDs(t *traceprof.Task) []string {
	return column.Of(t.Instances, func(name string) string { return ids.Instance(t.Service, name) })
}

// progress is the progress of a task at its instances.
type progress struct {
	Logs    []query.AsyncProfilerTaskLog `json:"logs"`
	Failed  []string                     `json:"errorInstanceIds"` // each once
	Success []string                     `json:"successInstanceIds"`
}

// QueryAsyncProfilerTaskProgress answers Query.queryAsyncProfilerTaskProgress.
func (r *resolver) QueryAsyncProfilerTaskProgress(ctx context.Context, id string) (*progress, error) {
	return r.progress(ctx, id, traceprof.AsyncKind, "JFR_")
}

// QueryPprofTaskProgress answers Query.queryPprofTaskProgress.
func (r *resolver) QueryPprofTaskProgress(ctx context.Context, id string) (*progress, error) {
	return r.progress(ctx, id, traceprof.PprofKind, "PPROF_")
}

// progress returns the progress of a task of a kind, which names an upload; empty if it is unknown.
func (r *resolver) progress(ctx context.Context, id string, kind traceprof.Kind, upload traceprof.Event) (*progress, error) {
	p := &progress{Logs: []query.AsyncProfilerTaskLog{}, Failed: []string{}, Success: []string{}}
	t, logs, err := r.task(ctx, id, kind)
	if err != nil || t == nil {
		return p, err
	}
	note := func(list *[]string, id string) {
		if !slices.Contains(*list, id) {
			*list = append(*list, id)
		}
	}
	for i := range logs {
		l, event, instance := &logs[i], logs[i].Event, ids.Instance(t.Service, logs[i].Instance)
		switch event {
		case traceprof.Finished:
			note(&p.Success, instance)
		case traceprof.Failed, traceprof.TooLarge:
			note(&p.Failed, instance)
		}
		if event == traceprof.TooLarge {
			event = upload + event
		}
		p.Logs = append(p.Logs, query.AsyncProfilerTaskLog{ID: logID(l), InstanceID: instance, InstanceName: l.Instance,
			OperationType: query.AsyncProfilerTaskLogOperationType(event), OperationTime: l.Time})
	}
	return p, nil
}

// QueryAsyncProfilerAnalyze answers Query.queryAsyncProfilerAnalyze.
func (r *resolver) QueryAsyncProfilerAnalyze(ctx context.Context, in query.AsyncProfilerAnalyzationRequest) (values.Value, error) {
	t, err := r.tree(ctx, in.TaskID, traceprof.AsyncKind, in.InstanceIds, uploads.Event(in.EventType))
	return analyzed("AsyncProfiler", t, map[string]values.Value{"type": values.Text(string(in.EventType))}), err
}

// QueryPprofAnalyze answers Query.queryPprofAnalyze.
func (r *resolver) QueryPprofAnalyze(ctx context.Context, in query.PprofAnalyzationRequest) (values.Value, error) {
	t, err := r.tree(ctx, in.TaskID, traceprof.PprofKind, in.InstanceIds, "")
	return analyzed("Pprof", t, map[string]values.Value{}), err
}

// analyzed returns an analysis: a tree, which may be nil, with more fields, of the types of a kind.
func analyzed(kind string, t *uploads.Tree, fields map[string]values.Value) values.Value {
	tree := values.Value(values.Null)
	if t != nil {
		fields["elements"] = elements(kind+"StackElement", t)
		tree = values.Object(kind+"StackTree", fields)
	}
	return values.Object(kind+"Analyzation", map[string]values.Value{"tree": tree})
}

// tree returns the sum of the instances' recordings for a task, or nil.
func (r *resolver) tree(ctx context.Context, id string, kind traceprof.Kind, instances []string, event uploads.Event) (*uploads.Tree,
	error) {
	t, _, err := r.task(ctx, id, kind)
	if err != nil || t == nil || r.Uploads == nil {
		return nil, err
	}
	var names []string
	for _, id := range instances {
		_, name, err := ids.ParseInstance(id)
		if err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	tree, err := r.Uploads.Tree(ctx, t, names, event)
	if err != nil || len(tree.Parent) == 0 {
		return nil, err
	}
	return tree, nil
}

// elements returns a tree as a list of elements of a type.
func elements(typ string, t *uploads.Tree) values.Value {
	rows := column.Places[int32](len(t.Signature))
	return values.Table(typ, len(rows), map[string]values.Column{
		"id":            values.IDs(func(row int) int64 { return int64(row) }),
		"parentId":      values.IDs(func(row int) int64 { return int64(t.Parent[row]) }),
		"codeSignature": values.NewTexts(len(rows), func(i int32) string { return t.Signature[i] }).Column(rows),
		"total":         values.Numbers(t.Total),
		"self":          values.Numbers(t.Self),
	})
}
