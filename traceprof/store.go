package traceprof

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
)

// Errors that callers branch on.
var (
	// ErrNoTask: there is no task of that id.
	ErrNoTask = errors.New("there is no such task")
	// ErrNotKept: the store does not support trace profiling. Every method returns it.
	ErrNotKept = errors.New("this store does not support trace profiling")
)

// Store stores the data of trace profiling. Engines of package store implement it too;
// package storetest tests it.
//
// As with store.Store, no transaction spans two calls. If a call returns no error, what it
// wrote survives a crash; if it fails, it wrote nothing. Methods are safe for concurrent
// use, also from several processes if the engine allows that. Arguments are not retained
// and results are not shared, except for Snapshots.Stacks. Texts are UTF-8; callers
// ensure it.
type Store interface {
	// CreateTask atomically calls Admit with the service's tasks of all kinds, and
	// stores and returns its result.
	CreateTask(ctx context.Context, t Task) (Task, error)

	// Task returns a task, or ErrNoTask.
	Task(ctx context.Context, id string) (Task, error)

	// Tasks lists tasks, newest start first, then newest creation.
	Tasks(ctx context.Context, q TaskQuery) ([]Task, error)

	// StopTask ends a task at a time. A task that was stopped before or has ended by
	// then does not change. An unknown task is ErrNoTask.
	StopTask(ctx context.Context, id string, at int64) error

	// AppendLog adds lines to logs. Task, instance, event and time identify a
	// line: a repeat is dropped.
	AppendLog(ctx context.Context, lines ...Log) error

	// Logs returns the logs of the tasks, newest first, then by task, instance,
	// event.
	Logs(ctx context.Context, tasks ...string) ([]Log, error)

	// PutInstances applies reports of instances with Instance.Merge.
	PutInstances(ctx context.Context, list ...Instance) error

	// Instances lists the instances of a service, or of all if it is empty, that
	// were seen at or after a time, by service and name.
	Instances(ctx context.Context, service string, since int64) ([]Instance, error)

	// PutSegments stores segments by id. A stored segment does not change.
	PutSegments(ctx context.Context, list ...Segment) error

	// Segments lists segments, newest start first, then by id.
	Segments(ctx context.Context, q SegmentQuery) ([]Segment, error)

	// Endpoints lists the endpoints of a service whose names contain the keyword
	// in any case, by name. Limit 0: all.
	Endpoints(ctx context.Context, service, keyword string, limit int) ([]Endpoint, error)

	// PutSnapshots stores snapshots. Task, segment and sequence identify one; the first
	// that was stored counts, in the order of the list. Snapshots of another language
	// than the first of their task and segment are dropped. Task and segment may be
	// unknown, or become known later.
	PutSnapshots(ctx context.Context, list ...Snapshots) error

	// Snapshots streams one value for each task and segment, in byte order of task,
	// then segment. The caller owns a value, except for Stacks, which is shared and
	// read-only.
	Snapshots(ctx context.Context, q SnapshotQuery) iter.Seq2[Snapshots, error]

	// SampledSegments lists what Snapshots streams, in its order, and reads no snapshot.
	SampledSegments(ctx context.Context, q SnapshotQuery) ([]SampledSegment, error)

	// Expire removes old data, see Expiry.
	Expire(ctx context.Context, e Expiry) (Expired, error)

	// LimitStacks drops the dictionaries of stacks that an engine keeps in memory and sets
	// their maximum size in bytes. Call it before the store is used.
	LimitStacks(bytes int64)
}

// TaskQuery selects tasks. Zero fields select everything.
type TaskQuery struct {
	Kind     Kind   `json:"kind,omitempty"`
	Service  string `json:"service,omitempty"`
	Endpoint string `json:"endpoint,omitempty"`
	// From and To select the tasks that are not over before From and do not
	// start after To, in ms.
	From  int64 `json:"from,omitempty"`
	To    int64 `json:"to,omitempty"`
	Limit int   `json:"limit,omitempty"`
}

// Matches reports whether a task is selected, ignoring Limit.
func (q *TaskQuery) Matches(t *Task) bool {
	return (q.Kind == "" || q.Kind == t.Kind) && (q.Service == "" || q.Service == t.Service) &&
		(q.Endpoint == "" || q.Endpoint == t.Endpoint) &&
		(q.From == 0 || t.End() >= q.From) && (q.To == 0 || t.Start <= q.To)
}

// Filter returns the tasks that are selected, in the order of Store.Tasks.
func (q *TaskQuery) Filter(all []Task) []Task {
	var list []Task
	for i := range all {
		if q.Matches(&all[i]) {
			list = append(list, all[i])
		}
	}
	slices.SortFunc(list, func(a, b Task) int {
		return cmp.Or(cmp.Compare(b.Start, a.Start), cmp.Compare(b.Created, a.Created), cmp.Compare(a.ID, b.ID))
	})
	return page(list, 0, q.Limit)
}

// SortLogs sorts lines into the order of Store.Logs.
func SortLogs(list []Log) {
	slices.SortFunc(list, func(a, b Log) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(a.Task, b.Task), cmp.Compare(a.Instance, b.Instance),
			cmp.Compare(a.Event, b.Event))
	})
}

// SortInstances sorts instances into the order of Store.Instances.
func SortInstances(list []Instance) {
	slices.SortFunc(list, func(a, b Instance) int {
		return cmp.Or(cmp.Compare(a.Service, b.Service), cmp.Compare(a.Name, b.Name))
	})
}

// page returns a part of a list. Limit 0: all from offset on.
func page[T any](list []T, offset, limit int) []T {
	list = list[min(max(offset, 0), len(list)):]
	if limit > 0 && limit < len(list) {
		list = list[:limit]
	}
	return list
}

// SegmentQuery selects segments that match all fields. Zero fields match everything.
type SegmentQuery struct {
	IDs       []string `json:"ids,omitempty"`
	Traces    []string `json:"traces,omitempty"`
	Service   string   `json:"service,omitempty"`
	Instance  string   `json:"instance,omitempty"`
	Endpoint  string   `json:"endpoint,omitempty"`
	Operation string   `json:"operation,omitempty"`
	From      int64    `json:"from,omitempty"`     // Start >= From, ms
	To        int64    `json:"to,omitempty"`       // Start <= To, ms
	Shortest  int64    `json:"shortest,omitempty"` // latency, ms
	Longest   int64    `json:"longest,omitempty"`
	Failed    *bool    `json:"failed,omitempty"`
	BySlowest bool     `json:"bySlowest,omitempty"` // order by latency, longest first, then as usual
	NoRaw     bool     `json:"noRaw,omitempty"`     // omit Raw
	Offset    int      `json:"offset,omitempty"`
	Limit     int      `json:"limit,omitempty"`
}

// Matches reports whether a segment is selected, ignoring Offset and Limit.
func (q *SegmentQuery) Matches(s *Segment) bool {
	among := func(list []string, v string) bool { return len(list) == 0 || slices.Contains(list, v) }
	is := func(want, v string) bool { return want == "" || want == v }
	return among(q.IDs, s.ID) && among(q.Traces, s.Trace) && is(q.Service, s.Service) && is(q.Instance, s.Instance) &&
		is(q.Endpoint, s.Endpoint) && is(q.Operation, s.Operation) &&
		(q.From == 0 || s.Start >= q.From) && (q.To == 0 || s.Start <= q.To) &&
		(q.Shortest == 0 || s.Latency() >= q.Shortest) && (q.Longest == 0 || s.Latency() <= q.Longest) &&
		(q.Failed == nil || *q.Failed == s.Error)
}

// Filter returns the segments that are selected, in the order of Store.Segments.
func (q *SegmentQuery) Filter(all []Segment) []Segment {
	var list []Segment
	for i := range all {
		if q.Matches(&all[i]) {
			list = append(list, all[i])
		}
	}
	slices.SortFunc(list, func(a, b Segment) int {
		order := cmp.Or(cmp.Compare(b.Start, a.Start), cmp.Compare(a.ID, b.ID))
		if q.BySlowest {
			return cmp.Or(cmp.Compare(b.Latency(), a.Latency()), order)
		}
		return order
	})
	list = page(list, q.Offset, q.Limit)
	for i := range list {
		if q.NoRaw {
			list[i].Raw = nil
		}
	}
	return list
}

// HasKeyword reports whether a name contains a keyword in any case.
func HasKeyword(name, keyword string) bool {
	return strings.Contains(strings.ToLower(name), strings.ToLower(keyword))
}

// SampledSegment is a segment of which a task has snapshots.
type SampledSegment struct{ Task, Segment string }

// Compare orders sampled segments as Store.Snapshots does.
func (s SampledSegment) Compare(o SampledSegment) int {
	return cmp.Or(cmp.Compare(s.Task, o.Task), cmp.Compare(s.Segment, o.Segment))
}

// SnapshotQuery selects snapshots by task, segment or both. Zero fields select
// everything.
type SnapshotQuery struct {
	Tasks    []string `json:"tasks,omitempty"`
	Segments []string `json:"segments,omitempty"`
}
