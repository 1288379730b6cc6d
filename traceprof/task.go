package traceprof

import (
	"fmt"
	"slices"
)

// Kind is what a task makes agents do.
type Kind string

// The kinds of task.
const (
	TraceKind Kind = "trace"          // sample the threads of an endpoint's segments
	AsyncKind Kind = "async-profiler" // run async-profiler in a JVM and send its recording
	PprofKind Kind = "pprof"          // run Go's profiler and send its profile
)

// Task orders a profile. A task of TraceKind profiles one endpoint of one
// service; the other kinds profile whole instances.
type Task struct {
	ID        string `json:"id"` // Created and ServiceID, joined by "_"
	Kind      Kind   `json:"kind"`
	Service   string `json:"service"`           // name, at most MaxServiceName characters
	ServiceID string `json:"serviceId"`         // as clients spell the service; opaque here
	Created   int64  `json:"created"`           // ms; strictly rising within a service
	Start     int64  `json:"start"`             // ms
	Duration  int64  `json:"duration"`          // ms
	Stopped   int64  `json:"stopped,omitempty"` // ms; 0: was not stopped early

	// Of TraceKind.
	Endpoint    string `json:"endpoint,omitempty"`
	MinDuration int64  `json:"minDuration,omitempty"` // ms: sampling begins once a request is older
	Period      int64  `json:"period,omitempty"`      // ms between two dumps; of PprofKind the rate of its event
	MaxSegments int    `json:"maxSegments,omitempty"` // per instance

	// Of the other kinds.
	Instances []string `json:"instances,omitempty"` // names; empty: all
	Events    []string `json:"events,omitempty"`    // upper case: CPU, ALLOC, …
	Arguments string   `json:"arguments,omitempty"` // for the profiler, as given
}

// Clone returns a copy that shares no memory with t.
func (t Task) Clone() Task {
	t.Instances, t.Events = slices.Clone(t.Instances), slices.Clone(t.Events)
	return t
}

// Minute is a minute in the unit of times.
const Minute = 60_000

// End returns when the task ends or ended, in ms.
func (t *Task) End() int64 {
	if t.Stopped != 0 {
		return min(t.Stopped, t.Start+t.Duration)
	}
	return t.Start + t.Duration
}

// Minutes returns the duration in whole minutes, at least 1.
func (t *Task) Minutes() int64 { return max(1, t.Duration/Minute) }

// RefusedError says why a task was not made, in the words that clients know.
type RefusedError struct {
	Reason string
	Code   RefusalCode
}

// Error returns the reason.
func (e *RefusedError) Error() string { return e.Reason }

// RefusalCode is the kind of a refusal, where clients distinguish kinds.
type RefusalCode string

// The codes.
const (
	BadArgument      RefusalCode = "ARGUMENT_ERROR"
	AlreadyProfiling RefusalCode = "ALREADY_PROFILING_ERROR"
)

// ErrOverlap refuses a task while the service has another one at that time.
var ErrOverlap = &RefusedError{"current service already has monitor task execute at this time", AlreadyProfiling}

// Stop ends the task at a time and reports whether that changed it: a task that
// is stopped or has ended by then stays as it is. It is the body of
// Store.StopTask.
func (t *Task) Stop(at int64) bool {
	if t.Stopped != 0 || t.End() <= at {
		return false
	}
	t.Stopped = at
	return true
}

// Admit decides whether a new task may stand beside those of the same kind that
// its service has, and gives it its time of creation, later than that of all of
// the service's tasks, and its id. It is the body of Store.CreateTask: engines
// call it where nothing else can change the service's tasks.
//
// Tasks overlap when one begins before the other's end has passed; an end that
// equals a start overlaps, a task that was stopped before its start never does.
// Start and end count as given, not rounded to minutes as SkyWalking's OAP does,
// which refuses tasks that do not overlap. Tasks of PprofKind overlap only if they
// have an event in common.
func Admit(existing []Task, t Task) (Task, error) {
	for i := range existing {
		e := &existing[i]
		if e.Kind == t.Kind && e.overlaps(&t) && (t.Kind != PprofKind || common(e.Events, t.Events)) {
			return Task{}, ErrOverlap
		}
		t.Created = max(t.Created, e.Created+1)
	}
	t.ID = fmt.Sprintf("%d_%s", t.Created, t.ServiceID)
	return t, nil
}

// overlaps reports whether a task that was admitted and a new one overlap in time.
func (t *Task) overlaps(o *Task) bool {
	return t.Start <= t.End() && t.Start <= o.End() && o.Start <= t.End()
}

func common(a, b []string) bool {
	return slices.ContainsFunc(a, func(x string) bool { return slices.Contains(b, x) })
}

// Event is what happened to a task at an instance.
type Event string

// The events of a task's log.
const (
	Notified Event = "NOTIFIED"
	Finished Event = "EXECUTION_FINISHED"
	Failed   Event = "EXECUTION_TASK_ERROR"
	TooLarge Event = "UPLOAD_FILE_TOO_LARGE_ERROR"

	// ServerStarted: a server started while the task ran, or after its end, and heard
	// nothing of agents for some time before. The line has no instance. SkyWalking does
	// not have this event.
	ServerStarted Event = "SERVER_STARTED"
)

// Log is one line of a task's log.
type Log struct {
	Task     string `json:"task"`
	Instance string `json:"instance"`
	Event    Event  `json:"event"`
	Time     int64  `json:"time"` // ms
	Text     string `json:"text,omitempty"`
}

// Key returns what identifies a line: all but its text.
func (l Log) Key() Log {
	l.Text = ""
	return l
}
