package tasks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/param"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/traceprof"
)

// WatchTaskRequest asks for the changes of a task while it runs.
type WatchTaskRequest struct {
	TaskRequest
	Every Millis `param:"every" arg:"time" default:"1s" help:"time between two checks, at least 100ms"`
	Grace Millis `param:"grace" arg:"time" default:"30s" help:"time to wait for agents after the end of the task"`
	Retry Millis `param:"retry" arg:"time" default:"2m" help:"time to wait for a server that does not answer"`
}

// TaskEvent is a change of a task (docs/tasks.md).
type TaskEvent struct {
	Time  time.Time `json:"time"`
	What  string    `json:"what"` // task, instance, log, snapshots, why, connection, end
	Text  string    `json:"text"` // for people
	Value any       `json:"value"`
}

// TaskEnd is the value of the last event.
type TaskEnd struct {
	Finished bool                `json:"finished"`           // on all instances that received the task
	Coverage *traceprof.Coverage `json:"coverage,omitempty"` // of kind trace
}

// Watched answers what a watcher of a task asks, again and again.
type Watched struct {
	Task      func(ctx context.Context, r *TaskRequest) (*TaskResult, error)
	Log       func(ctx context.Context, r *TaskLogRequest) (*TaskLogResult, error)
	Instances func(ctx context.Context, r *InstancesRequest) (*query.List[traceprof.Instance], error)
}

// WatchTask passes each change of a task to emit, once, until all instances that
// received the task have finished it, or the grace after its end is over, or emit
// fails. It waits for a store that does not answer (store.ErrUnavailable), such as a
// server that restarts.
func WatchTask(ctx context.Context, st Watched, r *WatchTaskRequest, emit func(TaskEvent) error) error {
	if r.Every < 100 {
		return param.Errorf("--every is %d ms: give at least 100ms", r.Every)
	}
	first, err := st.Task(ctx, &r.TaskRequest)
	if err != nil {
		return err
	}
	w := taskWatcher{emit: emit, seen: map[string]bool{}}
	w.report("task", first.Task.String(), first.Task)
	tick := time.NewTicker(time.Duration(r.Every) * time.Millisecond)
	defer tick.Stop()
	for answered := time.Now(); ; {
		done, err := w.check(ctx, st, first.ID, time.Now().UnixMilli(), int64(r.Grace))
		switch {
		case err == nil && !done:
			answered = time.Now()
		case errors.Is(err, store.ErrUnavailable) && time.Since(answered) < time.Duration(r.Retry)*time.Millisecond:
			w.connected(err)
		default:
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// taskWatcher reports what it has not reported yet.
type taskWatcher struct {
	emit     func(TaskEvent) error
	seen     map[string]bool // events that are reported once
	coverage string          // as reported last
	requests int             // of that report
	reported int64           // its time, in ms since 1970
	lost     bool            // the store did not answer
	err      error           // the first of emit
}

func (w *taskWatcher) report(what, text string, value any) {
	if w.err == nil {
		w.err = w.emit(TaskEvent{time.Now().UTC(), what, text, value})
	}
}

// once reports an event unless it was reported before.
func (w *taskWatcher) once(what, text string, value any) {
	if key := what + text; !w.seen[key] {
		w.seen[key] = true
		w.report(what, text, value)
	}
}

// connected reports when the store stops answering, and when it answers again.
func (w *taskWatcher) connected(err error) {
	if lost := err != nil; lost != w.lost {
		w.lost = lost
		text := "the server answers again"
		if lost {
			text = words.Clean(err.Error()) + "; trying again"
		}
		w.report("connection", text, !lost)
	}
}

// causes reports each kind of cause once: its text has numbers, which rise with every check. At
// the end all are reported as they are then.
func (w *taskWatcher) causes(list []traceprof.Cause, end bool) {
	for i := range list {
		code := "why" + string(list[i].Code)
		if end || !w.seen[code] {
			w.seen[code] = true
			w.once("why", causeText(&list[i]), list[i])
		}
	}
}

// quiet is how long a coverage of the same requests is not reported again, in ms: it changes
// with every snapshot.
const quiet = 10_000

// covered reports how much was sampled: when a request is new, and now and then while one goes
// on. The end has the final numbers.
func (w *taskWatcher) covered(c *traceprof.TaskCoverage, now int64) {
	text := CoverageText(c)
	if text == w.coverage || c.Requests == w.requests && now < w.reported+quiet {
		return
	}
	w.coverage, w.requests, w.reported = text, c.Requests, now
	w.report("snapshots", text, c.Coverage)
}

// patience is how long after its start a task may be without data before the causes are
// reported, in ms: agents poll every 20 s.
const patience = 5_000

// check reports what has changed, and whether nothing more is expected.
func (w *taskWatcher) check(ctx context.Context, st Watched, id string, now, grace int64) (done bool, err error) {
	about, err := st.Task(ctx, &TaskRequest{id})
	if err != nil {
		return false, err
	}
	t := &about.Task
	if t.Stopped != 0 {
		w.once("task", "the task was stopped "+words.Instant(t.Stopped), *t)
	}
	if err := w.instances(ctx, st, &t.Task, now); err != nil {
		return false, err
	}
	finished, err := w.log(ctx, st, id)
	if err != nil {
		return false, err
	}
	w.connected(nil)
	if c := about.Coverage; c != nil && c.Received > 0 {
		w.covered(c, now)
	}
	done = finished || now > t.End+grace
	if w.coverage == "" && now > t.Start+patience || done {
		w.causes(about.Causes, done)
	}
	if done {
		w.end(about, finished)
	}
	return done, w.err
}

func (w *taskWatcher) instances(ctx context.Context, st Watched, t *traceprof.Task, now int64) error {
	list, err := st.Instances(ctx, &InstancesRequest{Service: t.Service, Since: time.UnixMilli(now - recently)})
	if err != nil {
		return err
	}
	for _, i := range list.Rows {
		text := "polls for tasks"
		switch {
		case i.Polled == 0:
			text = "reports, but has not polled for tasks yet"
		case i.Polled < t.Created:
			text = "last polled for tasks " + words.Instant(i.Polled)
		}
		w.once("instance", words.Clean(i.Name)+" "+text, i)
	}
	return nil
}

// log reports new lines of the log, and whether all instances that received the task
// have finished it.
func (w *taskWatcher) log(ctx context.Context, st Watched, id string) (finished bool, err error) {
	list, err := st.Log(ctx, &TaskLogRequest{TaskRequest: TaskRequest{id}})
	if err != nil {
		return false, err
	}
	for _, l := range slices.Backward(list.Rows) {
		instance := words.Clean(l.Instance)
		text := fmt.Sprintf("%s finished %s", instance, words.Instant(l.Time))
		switch l.Event {
		case traceprof.Notified:
			text = fmt.Sprintf("%s received the task %s", instance, words.Instant(l.Time))
		case traceprof.Finished:
		case traceprof.ServerStarted:
			text = words.Clean(l.Text)
		default:
			text = strings.TrimSuffix(fmt.Sprintf("%s: %s: %s", instance, l.Event, words.Clean(l.Text)), ": ")
		}
		w.once("log", text, l)
	}
	return traceprof.AllFinished(list.Rows), nil
}

// end reports the last event.
func (w *taskWatcher) end(about *TaskResult, finished bool) {
	text := "the time to wait is over"
	if finished {
		text = "all instances have finished"
	}
	e := TaskEnd{Finished: finished}
	if about.Coverage != nil {
		text += ": " + CoverageText(about.Coverage)
		e.Coverage = &about.Coverage.Coverage
	}
	w.report("end", text, e)
}
