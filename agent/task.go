package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	commonv3 "skywalking.apache.org/repo/goapi/collect/common/v3"
	profilev3 "skywalking.apache.org/repo/goapi/collect/language/profile/v3"
)

// Limits that the server checks too.
const (
	minMinutes, maxMinutes = 1, 15
	minPeriod              = 10 * time.Millisecond
	maxCount               = 9
	serials                = 64 // executed commands remembered
)

// task is what a command asks for.
type task struct {
	id, endpoint string
	minutes      int64
	threshold    time.Duration // a segment is profiled once it is older
	period       time.Duration // between two samples
	count        int           // maximum profiled root segments
	start        time.Time
	created      int64 // ms
}

// end returns when the task ends by its own times.
func (t *task) end(minute time.Duration) time.Time {
	return t.start.Add(time.Duration(t.minutes) * minute)
}

// parseTask reads a command. Missing numbers are 0.
func parseTask(args map[string]string) (t task, err error) {
	number := func(key string) int64 {
		text := args[key]
		if text == "" {
			return 0
		}
		n, e := strconv.ParseInt(text, 10, 64)
		if e != nil && err == nil {
			err = fmt.Errorf("%s: %q is no number", key, text)
		}
		return n
	}
	return task{
		id: args["TaskId"], endpoint: args["EndpointName"], minutes: number("Duration"),
		threshold: time.Duration(number("MinDurationThreshold")) * time.Millisecond,
		period:    time.Duration(number("DumpPeriod")) * time.Millisecond,
		count:     int(number("MaxSamplingCount")),
		start:     time.UnixMilli(number("StartTime")), created: number("CreateTime"),
	}, err
}

// check returns why the task cannot run, in the words of SkyWalking's Java agent.
func (t *task) check() error {
	switch {
	case t.id == "":
		return errors.New("task id cannot be empty")
	case t.endpoint == "":
		return errors.New("endpoint name cannot be empty")
	case t.minutes < minMinutes:
		return errors.New("monitor duration must greater than 1 minutes")
	case t.minutes > maxMinutes:
		return errors.New("the duration of the monitoring task cannot be greater than 15 minutes")
	case t.threshold < 0:
		return errors.New("min duration threshold must greater than or equals zero")
	case t.period < minPeriod:
		return errors.New("dump period must be greater than or equals 10 milliseconds")
	case t.count <= 0:
		return errors.New("max sampling count must greater than zero")
	case t.count > maxCount:
		return errors.New("max sampling count must less than 10")
	}
	return nil
}

// schedule receives tasks and runs one at a time. It is safe for concurrent use.
type schedule struct {
	agent  *agent
	minute time.Duration // unit of the durations of tasks; shorter in tests

	off     atomic.Bool // the server has no profiling
	profile atomic.Pointer[profiling]
	pace    pace

	mu      sync.Mutex
	last    int64    // the latest creation time of a command, ms; -1 before the first
	serials []string // of the last executed commands
	tasks   []task   // accepted, neither ended nor replaced
	timers  []*time.Timer
	closed  bool
}

func newSchedule(a *agent) *schedule {
	s := &schedule{agent: a, minute: time.Minute, last: -1, pace: pace{budget: a.Budget}}
	s.off.Store(a.NoProfiling)
	return s
}

// poll asks for tasks. A server that has no profiling is not asked again.
func (s *schedule) poll(ctx context.Context) {
	if s.off.Load() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	s.mu.Lock()
	q := &profilev3.ProfileTaskCommandQuery{Service: s.agent.Service, ServiceInstance: s.agent.Instance, LastCommandTime: s.last}
	s.mu.Unlock()
	reply, err := profilev3.NewProfileTaskClient(s.agent.conn).GetProfileTaskCommands(ctx, q)
	switch {
	case status.Code(err) == codes.Unimplemented:
		s.agent.Logger.Warn("agent: the server does not support trace profiling, which is off until the next start", "server", s.agent.Server)
		s.off.Store(true)
	case err != nil:
		s.agent.out.failed("poll", err)
	default:
		s.agent.out.succeeded("poll")
		s.receive(reply)
	}
}

// receive executes the commands of a reply; every reply may have some.
func (s *schedule) receive(reply *commonv3.Commands) {
	for _, c := range reply.GetCommands() {
		if c.GetCommand() != "ProfileTaskQuery" || s.off.Load() {
			continue
		}
		args := map[string]string{}
		for _, a := range c.GetArgs() {
			args[a.GetKey()] = a.GetValue()
		}
		if err := s.execute(args); err != nil {
			s.agent.Logger.Warn("agent: cannot run this profile task", "task", args["TaskId"], "endpoint", args["EndpointName"], "reason", err)
		}
	}
}

// execute runs the task of a command at its start, or does nothing if the command came before.
func (s *schedule) execute(args map[string]string) error {
	due, err := s.accept(args)
	if due != nil {
		s.begin(*due)
	}
	return err
}

// accept accepts the task of a command and returns it if it starts now.
func (s *schedule) accept(args map[string]string) (due *task, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || slices.Contains(s.serials, args["SerialNumber"]) {
		return nil, nil
	}
	s.serials = append(s.serials, args["SerialNumber"])
	s.serials = s.serials[max(0, len(s.serials)-serials):]
	t, err := parseTask(args)
	s.last = max(s.last, t.created)
	if err := cmp.Or(err, t.check()); err != nil {
		return nil, err
	}
	for i := range s.tasks {
		if o := &s.tasks[i]; !t.start.After(o.end(s.minute)) && !o.start.After(t.end(s.minute)) {
			return nil, fmt.Errorf("there already have processing task in time range, could not add a new task again. processing task monitor endpoint name: %s", o.endpoint)
		}
	}
	s.tasks = append(s.tasks, t)
	if wait := time.Until(t.start); wait > 0 {
		s.after(wait, func() { s.begin(t) })
		return nil, nil
	}
	return &t, nil
}

// after calls f later, unless the schedule is closed before. Callers hold s.mu.
func (s *schedule) after(d time.Duration, f func()) {
	s.agent.loops.Add(1)
	var timer *time.Timer
	timer = time.AfterFunc(d, func() {
		defer s.agent.loops.Done()
		s.mu.Lock()
		s.timers = slices.DeleteFunc(s.timers, func(t *time.Timer) bool { return t == timer })
		closed := s.closed
		s.mu.Unlock()
		if !closed {
			f()
		}
	})
	s.timers = append(s.timers, timer)
}

// begin runs a task; one that still runs is ended.
func (s *schedule) begin(t task) {
	s.finish(s.profile.Load())
	p := newProfiling(t, s)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || !s.profile.CompareAndSwap(nil, p) {
		return
	}
	s.agent.Logger.Info("agent: profile task starts", "task", t.id, "endpoint", t.endpoint, "minutes", t.minutes)
	s.agent.loop(p.run)
	s.after(time.Duration(t.minutes)*s.minute, func() { s.finish(p) })
}

// finish ends a task if it still runs, and lets its end be reported.
func (s *schedule) finish(p *profiling) {
	if p == nil || !s.profile.CompareAndSwap(p, nil) {
		return
	}
	p.close()
	s.mu.Lock()
	s.tasks = slices.DeleteFunc(s.tasks, func(t task) bool { return t.id == p.task.id })
	s.mu.Unlock()
	s.agent.Logger.Info("agent: profile task ends", "task", p.task.id, "segments", p.started, "period", p.period())
	s.agent.out.finished(p.task.id)
}

// close ends the task that runs; no other one starts.
func (s *schedule) close() {
	s.mu.Lock()
	s.closed = true
	for _, t := range s.timers {
		if t.Stop() {
			s.agent.loops.Done()
		}
	}
	s.timers = nil
	s.mu.Unlock()
	s.finish(s.profile.Load())
}

// busy reports whether a task runs, so that segments must be labelled.
func (s *schedule) busy() bool { return s.profile.Load() != nil }

// watch lets the running task profile a root segment if it is one of its endpoint.
func (s *schedule) watch(g *segment, operation string) *watched {
	p := s.profile.Load()
	if p == nil || p.task.endpoint != operation {
		return nil
	}
	return p.add(g, nil)
}

// watchChild lets the running task profile a segment that a profiled one started.
func (s *schedule) watchChild(g, parent *segment) *watched {
	parent.mu.Lock()
	w := parent.watched
	parent.mu.Unlock()
	if w == nil || w.profiling != s.profile.Load() {
		return nil
	}
	return w.profiling.add(g, w.root)
}
