package traceprof

import (
	"context"
	"errors"
	"iter"
)

// ErrNoTask: there is no task of that id.
var ErrNoTask = errors.New("there is no such task")

// Store is the contract of what trace profiling keeps. Engines of package store
// implement it beside their own; package storetest tests it.
//
// As there: no transaction spans two calls; when a call returns without an
// error, what it wrote survives the death of the process; methods are safe for
// concurrent use, also from several processes where the engine allows them.
type Store interface {
	// CreateTask adds a task in one atomic step: Admit is given the service's
	// tasks of the kind, and what it returns is stored and returned.
	CreateTask(ctx context.Context, t Task) (Task, error)

	// Task returns a task, or ErrNoTask.
	Task(ctx context.Context, id string) (Task, error)

	// Tasks lists tasks, newest start first, then newest creation.
	Tasks(ctx context.Context, q TaskQuery) ([]Task, error)

	// StopTask ends a task at a time, once: a task that is stopped or has ended
	// by then stays as it is. An unknown task is ErrNoTask.
	StopTask(ctx context.Context, id string, at int64) error

	// AppendLog adds lines to logs. Task, instance, event and time identify a
	// line: a repeat is dropped.
	AppendLog(ctx context.Context, lines ...Log) error

	// Logs returns the logs of the tasks, newest first, then by task, instance,
	// event.
	Logs(ctx context.Context, tasks ...string) ([]Log, error)

	// PutInstances takes in reports of instances with Instance.Merge.
	PutInstances(ctx context.Context, list ...Instance) error

	// Instances lists the instances of a service, or of all if it is empty, that
	// were seen at or after a time, by service and name.
	Instances(ctx context.Context, service string, since int64) ([]Instance, error)

	// PutSegments stores segments by id; one that is there already stays.
	PutSegments(ctx context.Context, list ...Segment) error

	// Segments lists segments, newest start first, then by id.
	Segments(ctx context.Context, q SegmentQuery) ([]Segment, error)

	// Endpoints lists the endpoints of a service whose names contain the keyword
	// in any case, by name. Limit 0: all.
	Endpoints(ctx context.Context, service, keyword string, limit int) ([]Endpoint, error)

	// PutSnapshots stores snapshots. Task, segment and sequence identify one: of
	// repeats the one that was stored first counts. Nothing is demanded of the
	// task or the segment: both may be unknown, or become known later.
	PutSnapshots(ctx context.Context, list ...Snapshots) error

	// Snapshots streams what is stored, one value for each task and segment, in
	// byte order of task, then segment. A value is the caller's to keep, but for
	// Stacks, which is shared and only read.
	Snapshots(ctx context.Context, q SnapshotQuery) iter.Seq2[Snapshots, error]

	// Expire removes what is too old or too much, see Expiry.
	Expire(ctx context.Context, e Expiry) (Expired, error)
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

// Matches reports whether a task is selected, but for Limit.
func (q *TaskQuery) Matches(t *Task) bool {
	return (q.Kind == "" || q.Kind == t.Kind) && (q.Service == "" || q.Service == t.Service) &&
		(q.Endpoint == "" || q.Endpoint == t.Endpoint) &&
		(q.From == 0 || t.End() >= q.From) && (q.To == 0 || t.Start <= q.To)
}

// SegmentQuery selects segments. Zero fields select everything; several lists
// must all hold.
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
	NoRaw     bool     `json:"noRaw,omitempty"`     // leave Raw out of the answer
	Offset    int      `json:"offset,omitempty"`
	Limit     int      `json:"limit,omitempty"`
}

// SnapshotQuery selects snapshots by task, segment or both.
type SnapshotQuery struct {
	Tasks    []string `json:"tasks,omitempty"`
	Segments []string `json:"segments,omitempty"`
}

// Expiry says what goes. A task goes with its logs and snapshots and with the
// segments of its traces, never before them: what of a trace was profiled stays
// together. Tasks that have not ended stay.
type Expiry struct {
	// Before removes tasks that ended, segments of no kept task that started,
	// and instances last seen before a time, in ms. 0: by size only. Snapshots of
	// unknown tasks go when their newest is older.
	Before int64 `json:"before"`
	// MaxBytes, if it is not 0, then removes the oldest segments of no kept task,
	// and after those the oldest tasks, until at most that many bytes of segments
	// and snapshots are held, by the engine's own count.
	MaxBytes int64 `json:"maxBytes,omitempty"`
}

// Expired says what Expire removed.
type Expired struct {
	Tasks     int `json:"tasks"`
	Segments  int `json:"segments"`
	Instances int `json:"instances"`
}
