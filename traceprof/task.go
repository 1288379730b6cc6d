package traceprof

import (
	"fmt"
	"slices"
)

// Kind is the kind of profile that agents record for a task.
type Kind string

// The kinds of task.
const (
	TraceKind Kind = "trace"          // sample the threads of an endpoint's segments
	AsyncKind Kind = "async-profiler" // run async-profiler in a JVM and send its recording
	PprofKind Kind = "pprof"          // run Go's profiler and send its profile
)

// Task describes a profile to record. A task of TraceKind profiles one endpoint of one
// service; the other kinds profile whole instances.
type Task struct {
	ID        string `json:"id"` // Created and ServiceID, joined by "_"
	Kind      Kind   `json:"kind"`
	Service   string `json:"service"`           // name, at most MaxServiceName characters
	ServiceID string `json:"serviceId"`         // as clients write it; opaque here
	Created   int64  `json:"created"`           // ms; strictly increasing within a service
	Start     int64  `json:"start"`             // ms
	Duration  int64  `json:"duration"`          // ms
	Stopped   int64  `json:"stopped,omitempty"` // ms; 0: not stopped

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

// Over returns since when the task is over and kept: a task whose time was in the past when it
// was created counts from its creation.
func (t *Task) Over() int64 { return max(t.End(), t.Created) }

// OverWhenCreated reports whether the time of the task was over when it was created: no agent
// receives it.
func (t *Task) OverWhenCreated() bool { return t.Start+t.Duration <= t.Created }

// Minutes returns the duration in whole minutes, at least 1.
func (t *Task) Minutes() int64 { return max(1, t.Duration/Minute) }

// RefusedError is why a task was not created, in the words of SkyWalking's OAP.
type RefusedError struct {
	Reason string
	Code   RefusalCode
}

// Error returns the reason.
func (e *RefusedError) Error() string { return e.Reason }

// RefusalCode is the kind of a refusal, for clients that distinguish kinds.
type RefusalCode string

// The codes.
const (
	BadArgument      RefusalCode = "ARGUMENT_ERROR"
	AlreadyProfiling RefusalCode = "ALREADY_PROFILING_ERROR"
)

// ErrOverlap refuses a task while the service has another one at that time.
var ErrOverlap = &RefusedError{"current service already has monitor task execute at this time", AlreadyProfiling}

// Stop ends the task at a time and reports whether that changed it: a task that was
// stopped before or has ended by then does not change. It is the body of Store.StopTask.
func (t *Task) Stop(at int64) bool {
	if t.Stopped != 0 || t.End() <= at {
		return false
	}
	t.Stopped = at
	return true
}

// Admit checks that a new task overlaps with no existing task of its service and kind. It
// returns the task with an id and a time of creation later than that of all the service's
// tasks. It is the body of Store.CreateTask: engines call it while nothing else can change
// the service's tasks.
//
// An end that equals a start overlaps; a task that was stopped before its start never
// does. Times are exact, not rounded to minutes as in SkyWalking's OAP, which refuses
// tasks that do not overlap. Tasks of PprofKind overlap only if they share an event.
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

// overlaps reports whether an existing task and a new one overlap in time.
func (t *Task) overlaps(o *Task) bool {
	return t.Start <= t.End() && t.Start <= o.End() && o.Start <= t.End()
}

func common(a, b []string) bool {
	return slices.ContainsFunc(a, func(x string) bool { return slices.Contains(b, x) })
}

// Event is the type of a line in a task's log.
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

// AllFinished reports whether the log of a task, newest first, says that instances received it
// and that each of them has ended it since.
func AllFinished(logs []Log) bool {
	received, ended := map[string]bool{}, map[string]bool{}
	for _, l := range logs {
		switch {
		case l.Event == ServerStarted || received[l.Instance]:
		case l.Event != Notified:
			ended[l.Instance] = true
		case !ended[l.Instance]:
			return false
		default:
			received[l.Instance] = true
		}
	}
	return len(received) > 0
}

// Key returns what identifies a line: all but its text.
func (l Log) Key() Log {
	l.Text = ""
	return l
}
