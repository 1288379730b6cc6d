// Package tasks answers the questions about trace profiling: tasks, what they sampled, why
// data is missing, and where sampled requests spent their time.
//
// Words: a segment is the part of a request in one thread, a snapshot one dump of its stack.
// Requests and results are as in package query, whose surfaces they share. How agents get
// tasks and how snapshots become trees is the business of package traceprof.
package tasks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/param"
	"github.com/dendroprof/dendro/traceprof"
	"github.com/dendroprof/dendro/traceprof/ids"
)

// TaskRequest names a task of trace profiling.
type TaskRequest struct {
	Task string `param:"task" arg:"id" help:"task: its id, the beginning of its id, or last (the newest)" json:"-"`
}

// Task is a task with its place in time.
type Task struct {
	traceprof.Task
	End   int64           `json:"end"` // ms since 1970
	State traceprof.State `json:"state"`
}

func taskOf(t traceprof.Task, now int64) Task { return Task{t, t.End(), t.State(now)} }

// TasksRequest asks for the tasks of a store.
type TasksRequest struct {
	Kind     string    `param:"kind" group:"Selection" arg:"kind" choices:",trace,async-profiler,pprof" default:"" help:"kind: trace, async-profiler, pprof"`
	Service  string    `param:"service" group:"Selection" arg:"name" help:"service"`
	Endpoint string    `param:"endpoint" group:"Selection" arg:"name" help:"endpoint"`
	Since    time.Time `param:"since" group:"Selection" arg:"date" help:"tasks that end on or after this date (RFC 3339, 2026-11-21, Monday, or an age: 3d, 12h)"`
	Until    time.Time `param:"until" group:"Selection" arg:"date" help:"tasks that start before this date"`
	Rows     int       `param:"rows" group:"Limit" arg:"n" min:"0" help:"maximum number of rows (0: all)"`
}

// TasksResult lists tasks.
type TasksResult struct {
	Rows []Task `json:"rows"`
}

// TaskLogRequest asks for the events of a task.
type TaskLogRequest struct {
	TaskRequest
	Rows int `param:"rows" group:"Limit" arg:"n" min:"0" help:"maximum number of rows (0: all)"`
}

// TaskLogResult lists events of a task.
type TaskLogResult struct {
	Omitted query.Omitted   `json:"omitted,omitzero"`
	Rows    []traceprof.Log `json:"rows"`
}

// Tasks lists tasks, newest start first.
func Tasks(ctx context.Context, st traceprof.Store, r *TasksRequest) (*TasksResult, error) {
	list, err := st.Tasks(ctx, traceprof.TaskQuery{Kind: traceprof.Kind(r.Kind), Service: r.Service, Endpoint: r.Endpoint,
		From: query.Milli(r.Since), To: query.Milli(r.Until), Limit: r.Rows})
	result := &TasksResult{Rows: make([]Task, len(list))}
	now := time.Now().UnixMilli()
	for i := range list {
		result.Rows[i] = taskOf(list[i], now)
	}
	return result, err
}

// TaskResult describes a task, what it sampled, and what kept it from more.
type TaskResult struct {
	Task
	Coverage *traceprof.TaskCoverage `json:"coverage,omitempty"` // of kind trace
	Causes   []traceprof.Cause       `json:"causes"`             // the most telling first
}

// DescribeTask answers a TaskRequest.
func DescribeTask(ctx context.Context, st traceprof.Store, r *TaskRequest) (*TaskResult, error) {
	t, err := findTask(ctx, st, r.Task)
	if err != nil {
		return nil, err
	}
	return describeTask(ctx, st, t, time.Now().UnixMilli())
}

func describeTask(ctx context.Context, st traceprof.Store, t traceprof.Task, now int64) (*TaskResult, error) {
	coverage, causes, err := traceprof.Describe(ctx, st, t, now)
	if t.Kind != traceprof.TraceKind {
		coverage = nil
	}
	return &TaskResult{taskOf(t, now), coverage, causes}, err
}

// CoverTask returns the coverage of a task alone.
func CoverTask(ctx context.Context, st traceprof.Store, r *TaskRequest) (*traceprof.TaskCoverage, error) {
	t, err := findTask(ctx, st, r.Task)
	if err != nil {
		return nil, err
	}
	return traceprof.CoverTask(ctx, st, &t)
}

// TaskCauses returns the causes of a task alone.
func TaskCauses(ctx context.Context, st traceprof.Store, r *TaskRequest) (*query.List[traceprof.Cause], error) {
	about, err := DescribeTask(ctx, st, r)
	if err != nil {
		return nil, err
	}
	return &query.List[traceprof.Cause]{Rows: about.Causes}, nil
}

// TaskLog lists what happened to a task at its instances, newest first.
func TaskLog(ctx context.Context, st traceprof.Store, r *TaskLogRequest) (*TaskLogResult, error) {
	t, err := findTask(ctx, st, r.Task)
	if err != nil {
		return nil, err
	}
	list, err := st.Logs(ctx, t.ID)
	rows, omitted := query.First(list, r.Rows)
	return &TaskLogResult{omitted, rows}, err
}

// CreateTaskRequest describes a task to create.
type CreateTaskRequest struct {
	Kind        string   `param:"kind" group:"Task" arg:"kind" choices:"trace,async-profiler,pprof" help:"kind: trace, async-profiler, pprof" json:"kind"`
	Service     string   `param:"service" group:"Task" arg:"name" help:"service (required)" json:"service"`
	Endpoint    string   `param:"endpoint" group:"Task" arg:"name" help:"kind trace: endpoint" json:"endpoint"`
	Start       Moment   `param:"start" group:"Task" arg:"date" help:"start of the task (RFC 3339; default: now)" json:"start"`
	Duration    Millis   `param:"duration" group:"Task" arg:"time" default:"5m" help:"duration of the task" json:"duration"`
	MinDuration Millis   `param:"min-duration" group:"Task" arg:"time" help:"sample a request only after it has taken this time" json:"minDuration"`
	Period      Millis   `param:"period" group:"Task" arg:"time" default:"10ms" help:"time between two dumps; kind pprof: rate of block and mutex events" json:"period"`
	MaxSegments int      `param:"segments" group:"Task" arg:"n" default:"5" help:"maximum number of requests per instance" json:"maxSegments"`
	Instances   []string `param:"instance" group:"Task" arg:"name" help:"kinds async-profiler and pprof: instance (default: all); repeatable" json:"instances"`
	Events      []string `param:"event" group:"Task" arg:"event" help:"event; kind async-profiler: cpu, wall, alloc, lock, …; kind pprof: cpu, heap, block, mutex, goroutine, …; repeatable" json:"events"`
	Arguments   string   `param:"args" group:"Task" arg:"text" help:"kind async-profiler: additional arguments" json:"arguments"`
}

// CreatedTask is a task that was created just now.
type CreatedTask struct {
	Task
	Notes []string `json:"notes"` // what is known to keep it from its data
}

// CreateTask creates a task. The error wraps a *traceprof.RefusedError if such a task is
// not allowed.
func CreateTask(ctx context.Context, st traceprof.Store, r *CreateTaskRequest) (*CreatedTask, error) {
	if r.Service == "" {
		return nil, param.Errorf("--service is missing: the service to profile")
	}
	order := traceprof.Task{Kind: traceprof.Kind(r.Kind), Service: ids.ServiceName(r.Service), ServiceID: ids.Service(r.Service),
		Endpoint: r.Endpoint,
		Start:    int64(r.Start), Duration: int64(r.Duration), MinDuration: int64(r.MinDuration), Period: int64(r.Period),
		MaxSegments: r.MaxSegments, Instances: r.Instances, Events: r.Events, Arguments: r.Arguments}
	if err := r.check(); err != nil {
		return nil, err
	}
	now := time.Now().UnixMilli()
	if order.Kind != traceprof.TraceKind && len(order.Instances) == 0 {
		list, err := st.Instances(ctx, order.Service, now-recently)
		if err != nil {
			return nil, err
		}
		if len(list) == 0 {
			return nil, param.Errorf("no instance of service %s reported in the last 10 minutes: name one with --instance", order.Service)
		}
		for i := range list {
			order.Instances = append(order.Instances, list[i].Name)
		}
	}
	t, err := traceprof.NewDispatcher(st, traceprof.DispatcherOptions{}).Create(ctx, order)
	if refused, ok := errors.AsType[*traceprof.RefusedError](err); ok {
		err = overlapping(ctx, st, refused, &order, now)
	}
	if err != nil {
		return nil, err
	}
	notes, err := foreseen(ctx, st, &t)
	return &CreatedTask{taskOf(t, t.Created), notes}, err
}

// foreseen returns what is known to keep a task from its data already when it is created: its
// names may still come, or are misspelled.
func foreseen(ctx context.Context, st traceprof.Store, t *traceprof.Task) ([]string, error) {
	notes := []string{}
	if t.Kind != traceprof.AsyncKind && t.Duration%traceprof.Minute != 0 {
		notes = append(notes, fmt.Sprintf("agents run a task for whole minutes: this one for %s", words.Millis(t.Minutes()*traceprof.Minute)))
	}
	_, causes, err := traceprof.Describe(ctx, st, *t, max(t.Created, t.Start))
	for i := range causes {
		switch causes[i].Code {
		case traceprof.OverWhenCreated, traceprof.ServiceNeverSeen, traceprof.EndpointTooLong, traceprof.EndpointNeverSeen,
			traceprof.EndpointNotFirst:
			notes = append(notes, words.Clean(causes[i].Text))
		}
	}
	return notes, err
}

// check refuses what the kind of the task would ignore: agents would profile more than
// the user selected.
func (r *CreateTaskRequest) check() error {
	trace, async := traceprof.Kind(r.Kind) == traceprof.TraceKind, traceprof.Kind(r.Kind) == traceprof.AsyncKind
	for _, f := range []struct {
		ignored bool
		flag    string
		use     string
	}{
		{trace && len(r.Instances) > 0, "--instance", "all instances of the service receive a task of kind trace"},
		{trace && len(r.Events) > 0, "--event", "kind trace has no events (--kind async-profiler or pprof)"},
		{!async && r.Arguments != "", "--args", "only kind async-profiler has arguments"},
		{!trace && r.Endpoint != "", "--endpoint", "only kind trace samples an endpoint; the others profile whole instances"},
		{!trace && r.MinDuration != 0, "--min-duration", "only kind trace samples requests"},
	} {
		if f.ignored {
			return param.Errorf("%s does not apply: %s", f.flag, f.use)
		}
	}
	return nil
}

// recently is the time in which an instance that runs has reported, in ms.
const recently = 10 * traceprof.Minute

// OverlapError says which task a refused one overlaps.
type OverlapError struct {
	Refused *traceprof.RefusedError
	Task    string // id of the task that runs
	Until   int64  // ms since 1970
}

// Error says until when the other task runs.
func (e *OverlapError) Error() string {
	return fmt.Sprintf("the task is refused: %v: task %s runs until %s (stop it with dendro task stop)", e.Refused, e.Task, words.Instant(e.Until))
}

// Unwrap returns the refusal.
func (e *OverlapError) Unwrap() error { return e.Refused }

// overlapping returns the refusal, with the task that the refused one overlaps.
func overlapping(ctx context.Context, st traceprof.Store, refused *traceprof.RefusedError, order *traceprof.Task, now int64) error {
	if refused.Code == traceprof.AlreadyProfiling {
		begin := cmp.Or(order.Start, now)
		list, err := st.Tasks(ctx, traceprof.TaskQuery{Kind: order.Kind, Service: order.Service, From: begin, To: begin + order.Duration})
		if err == nil && len(list) > 0 {
			return &OverlapError{refused, list[0].ID, list[0].End()}
		}
	}
	if order.Kind == traceprof.TraceKind && refused.Code == traceprof.BadArgument { // the OAP's text has no values
		return fmt.Errorf("the task is refused: %w (limits: %s; this task: %s, %s, %d)", refused, traceprof.Limits(),
			words.Millis(order.Duration), words.Millis(order.Period), order.MaxSegments)
	}
	return fmt.Errorf("the task is refused: %w", refused)
}

// StopTask ends a task now.
func StopTask(ctx context.Context, st traceprof.Store, r *TaskRequest) (*Task, error) {
	t, err := findTask(ctx, st, r.Task)
	if err == nil {
		t, err = traceprof.NewDispatcher(st, traceprof.DispatcherOptions{}).Stop(ctx, t.ID)
	}
	if err != nil {
		return nil, err
	}
	return new(taskOf(t, time.Now().UnixMilli())), nil
}

// lastTask names the newest task.
const lastTask = "last"

// findTask returns the task that a user names.
func findTask(ctx context.Context, st traceprof.Store, name string) (traceprof.Task, error) {
	t, err := st.Task(ctx, name)
	if !errors.Is(err, traceprof.ErrNoTask) {
		return t, err
	}
	all, err := st.Tasks(ctx, traceprof.TaskQuery{})
	if err != nil {
		return t, err
	}
	var found []traceprof.Task
	for i := range all {
		switch {
		case name == lastTask && (len(found) == 0 || all[i].Created > found[0].Created):
			found = all[i : i+1]
		case name != lastTask && name != "" && strings.HasPrefix(all[i].ID, name):
			found = append(found, all[i])
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return t, param.Errorf("the ids of %d tasks begin with %s: %s, %s, …", len(found), name, found[0].ID, found[1].ID)
	case len(all) == 0:
		return t, fmt.Errorf("task %s: %w; the store has no tasks (create one with dendro task create)", name, traceprof.ErrNoTask)
	}
	return t, fmt.Errorf("task %s: %w (dendro task list prints all %d)", name, traceprof.ErrNoTask, len(all))
}

// traceTask is findTask for what only tasks of trace profiling have.
func traceTask(ctx context.Context, st traceprof.Store, name string) (traceprof.Task, error) {
	t, err := findTask(ctx, st, name)
	if err == nil && t.Kind != traceprof.TraceKind {
		err = param.Errorf("task %s is of kind %s: what it recorded is a run of the store (dendro top --run %[1]s)", t.ID, t.Kind)
	}
	return t, err
}

// String describes the task in a line.
func (t *Task) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, ", t.ID, t.State)
	if t.Kind == traceprof.TraceKind {
		fmt.Fprintf(&b, "%s of %s", words.Clean(t.Endpoint), words.Clean(t.Service))
	} else {
		fmt.Fprintf(&b, "%s of %s (%s)", t.Kind, words.Clean(t.Service), strings.Join(words.CleanAll(t.Events), ", "))
	}
	fmt.Fprintf(&b, ", %s from %s", words.Millis(t.Duration), words.Instant(t.Start))
	if t.Kind == traceprof.TraceKind {
		fmt.Fprintf(&b, ", a dump every %s, at most %s per instance", words.Millis(t.Period), words.Counted(t.MaxSegments, "request"))
	}
	if t.MinDuration > 0 {
		fmt.Fprintf(&b, ", requests longer than %s", words.Millis(t.MinDuration))
	}
	if t.Stopped != 0 {
		fmt.Fprintf(&b, ", stopped %s", words.Instant(t.Stopped))
	}
	return b.String()
}

// CoverageText writes a coverage in a line.
func CoverageText(c *traceprof.TaskCoverage) string {
	if c.Received == 0 {
		return "nothing sampled"
	}
	text := words.Counted(c.Requests, "request")
	if n := len(c.Segments); n != c.Requests {
		text += fmt.Sprintf(" (%d segments)", n)
	}
	text += ", " + words.Counted(int(c.Received), "snapshot")
	if c.CPU {
		text += fmt.Sprintf(", one every %s of CPU time", words.Millis(c.Period))
	}
	if c.Span > 0 {
		text += fmt.Sprintf(", %s of %s covered", words.Percent(c.Share), words.Millis(c.Span))
	}
	if c.Lost > 0 {
		text += fmt.Sprintf(", %s lost", words.Count(c.Lost))
	}
	return text
}

// causeText writes a cause in a line.
func causeText(c *traceprof.Cause) string { return fmt.Sprintf("%s: %s", c.Code, words.Clean(c.Text)) }

// CauseLines writes causes, each in a line.
func CauseLines(causes []traceprof.Cause) []string {
	lines := make([]string, len(causes))
	for i := range causes {
		lines[i] = causeText(&causes[i])
	}
	return lines
}

// Millis is a length of time in ms. Text has a unit (1m30s) or is in ms; JSON is a
// number of ms, or text.
type Millis int64

// UnmarshalText parses a length of time.
func (m *Millis) UnmarshalText(text []byte) error {
	if n, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		*m = Millis(n)
		return nil
	}
	d, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%.60q is not a length of time (90s, 5m, 20ms)", text)
	}
	if d%time.Millisecond != 0 {
		return fmt.Errorf("%.60q is not a whole number of milliseconds (20ms, 1.5s)", text)
	}
	*m = Millis(d.Milliseconds())
	return nil
}

// UnmarshalJSON parses a number or a text.
func (m *Millis) UnmarshalJSON(data []byte) error {
	return unmarshalMillis(data, (*int64)(m), m.UnmarshalText)
}

// Moment is a time in ms since 1970. Text is a date or an age; JSON is a number of ms, or
// text.
type Moment int64

// MarshalText returns the moment as UnmarshalText reads it.
func (m Moment) MarshalText() ([]byte, error) { return time.UnixMilli(int64(m)).UTC().MarshalText() }

// UnmarshalText parses a date or an age.
func (m *Moment) UnmarshalText(text []byte) error {
	t, err := words.ParseInstant(string(text), time.Now())
	*m = Moment(t.UnixMilli())
	return err
}

// UnmarshalJSON parses a number or a text.
func (m *Moment) UnmarshalJSON(data []byte) error {
	return unmarshalMillis(data, (*int64)(m), m.UnmarshalText)
}

func unmarshalMillis(data []byte, ms *int64, text func([]byte) error) error {
	var s string
	if len(data) == 0 || data[0] != '"' {
		return json.Unmarshal(data, ms)
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	return text([]byte(s))
}
