package graphql

import (
	"cmp"
	"context"
	"slices"

	"skywalking.apache.org/repo/goapi/query"

	"github.com/dendroprof/dendro/app/internal/server/skywalking/graphql/values"
	"github.com/dendroprof/dendro/app/internal/server/skywalking/uploads"
	"github.com/dendroprof/dendro/traceprof"
	"github.com/dendroprof/dendro/traceprof/ids"
)

// The common parts of async-profiler and pprof tasks, which differ only in names. The
// fields are in asyncprofiler.go and pprof.go.

// record creates a task that profiles instances, given by their ids.
func (r *resolver) record(ctx context.Context, o traceprof.TaskSpec, instanceIDs []string) (traceprof.Task, *traceprof.RefusedError,
	error) {
	for _, id := range instanceIDs {
		_, name, err := ids.ParseInstance(id)
		if err != nil {
			return traceprof.Task{}, &traceprof.RefusedError{Reason: err.Error(), Code: traceprof.BadArgument}, nil
		}
		o.Instances = append(o.Instances, name)
	}
	return r.create(ctx, o)
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
	tasks, err := r.store.Tasks(ctx, traceprof.TaskQuery{Kind: kind, Service: name})
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
	list := []string{}
	for _, name := range t.Instances {
		list = append(list, ids.Instance(t.Service, name))
	}
	return list
}

// progress is the progress of a task at its instances.
type progress struct {
	logs            []logLine
	failed, success []*string // ids of instances, each once
}

// logLine is a line of a log, common to all kinds of tasks.
type logLine struct {
	*traceprof.Log
	id, instance string
}

// progress returns the progress of a task of a kind; empty if it is unknown.
func (r *resolver) progress(ctx context.Context, id string, kind traceprof.Kind) (progress, error) {
	p := progress{failed: []*string{}, success: []*string{}}
	t, logs, err := r.task(ctx, id, kind)
	if err != nil || t == nil {
		return p, err
	}
	note := func(list *[]*string, id string) {
		if !slices.ContainsFunc(*list, func(s *string) bool { return *s == id }) {
			*list = append(*list, &id)
		}
	}
	for i := range logs {
		line := logLine{&logs[i], logID(&logs[i]), ids.Instance(t.Service, logs[i].Instance)}
		p.logs = append(p.logs, line)
		switch line.Event {
		case traceprof.Finished:
			note(&p.success, line.instance)
		case traceprof.Failed, traceprof.TooLarge:
			note(&p.failed, line.instance)
		}
	}
	return p, nil
}

// tree returns the sum of the instances' recordings for a task, or nil.
func (r *resolver) tree(ctx context.Context, id string, kind traceprof.Kind, instances []string, event uploads.Event) (*uploads.Tree,
	error) {
	t, _, err := r.task(ctx, id, kind)
	if err != nil || t == nil || r.uploads == nil {
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
	tree, err := r.uploads.Tree(ctx, t, names, event)
	if err != nil || len(tree.Parent) == 0 {
		return nil, err
	}
	return tree, nil
}

// elements returns a tree as a list of elements of a type.
func elements(typ string, t *uploads.Tree) values.Value {
	rows := make([]int32, len(t.Signature))
	for i := range rows {
		rows[i] = int32(i)
	}
	return values.Table(typ, len(rows), map[string]values.Column{
		"id":            values.IDs(func(row int) int64 { return int64(row) }),
		"parentId":      values.IDs(func(row int) int64 { return int64(t.Parent[row]) }),
		"codeSignature": values.NewTexts(len(rows), func(i int32) string { return t.Signature[i] }).Column(rows),
		"total":         values.Numbers(t.Total),
		"self":          values.Numbers(t.Self),
	})
}
