package traceprof

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Rules of delivery, in ms.
const (
	// ahead is how long before its start a task is delivered.
	ahead = 5 * Minute
	// grace is how long after its start a task of the other kinds is delivered:
	// agents count its duration from when they receive it.
	grace = 5 * Minute
	// promptness is how late an agent may receive a running task and still get the
	// whole duration: one and a half intervals between polls.
	promptness = 30_000
	// refreshEvery is how old the known tasks may get: other servers may share
	// the store.
	refreshEvery = 1000
)

// maxText is the maximum length of an agent's report in the log, in characters.
const maxText = 4096

// Dispatcher creates tasks and delivers them to agents. It reads the tasks from the
// store at most once a second, so that several servers can share a store and a
// restart loses nothing. A poll without a task to deliver costs two map look-ups.
//
// Agents receive tasks in two ways. A poll names the newest task that the agent has
// received; its reply has the later ones, and those that the log does not list for the
// instance: a task may begin after one that was created later. An agent that
// restarted names none and receives them again. Replies to other reports have each
// task once per instance, unless the log lists it. The log entry is written before the
// task is delivered.
//
// A Dispatcher is safe for concurrent use.
type Dispatcher struct {
	store Store
	now   func() int64
	log   journal
	live  *LiveInstances

	loading sync.Mutex // held while the tasks are read
	known   atomic.Pointer[knownTasks]

	mu       sync.Mutex
	notified map[string]map[string]bool // by task: the instances
}

// DispatcherOptions are the options of a Dispatcher.
type DispatcherOptions struct {
	Now func() int64 // the clock, in ms; nil: the system's
}

// knownTasks is an immutable copy of the store's tasks at one time.
type knownTasks struct {
	at    int64
	byFor map[audience][]Task // by creation, oldest first
	byID  map[string]bool
}

// audience selects the agents that receive a task.
type audience struct {
	kind    Kind
	service string
}

// NewDispatcher returns a dispatcher of the tasks in a store.
func NewDispatcher(st Store, o DispatcherOptions) *Dispatcher {
	if o.Now == nil {
		o.Now = func() int64 { return time.Now().UnixMilli() }
	}
	return &Dispatcher{
		store: st, now: o.Now, notified: map[string]map[string]bool{},
		log: journal{store: st}, live: newLiveInstances(st, o.Now),
	}
}

// Create creates a task, or returns a *RefusedError.
func (d *Dispatcher) Create(ctx context.Context, o TaskSpec) (Task, error) {
	t, err := o.Task(d.now())
	if err != nil {
		return Task{}, err
	}
	t, err = d.store.CreateTask(ctx, t)
	if errors.Is(err, ErrOverlap) {
		err = o.Kind.overlap()
	}
	if err != nil {
		return Task{}, err
	}
	d.forget()
	return t, nil
}

// Stop ends a task now and returns it, or ErrNoTask. The protocol cannot stop agents:
// those that have begun continue for the duration they received, Java agents at most
// until they receive the service's next task.
func (d *Dispatcher) Stop(ctx context.Context, id string) (Task, error) {
	if err := d.store.StopTask(ctx, id, d.now()); err != nil {
		return Task{}, err
	}
	d.forget()
	return d.store.Task(ctx, id)
}

// Store returns the dispatcher's store for callers that create and stop tasks in it
// themselves: the dispatcher then reads the tasks again.
func (d *Dispatcher) Store() Store { return &notifyingStore{d.store, d} }

// notifyingStore makes a dispatcher read its tasks again after a change.
type notifyingStore struct {
	Store
	d *Dispatcher
}

// CreateTask creates the task.
func (s *notifyingStore) CreateTask(ctx context.Context, t Task) (Task, error) {
	defer s.d.forget()
	return s.Store.CreateTask(ctx, t)
}

// StopTask stops the task.
func (s *notifyingStore) StopTask(ctx context.Context, id string, at int64) error {
	defer s.d.forget()
	return s.Store.StopTask(ctx, id, at)
}

// Poll returns the tasks of a kind to deliver to an instance: those created after
// last, the time of creation of the newest one it has received (-1: none), and those
// of TraceKind that the log does not list for it. Of the kinds that run one task at a
// time it is one.
//
// A task of TraceKind is delivered from 5 minutes before its start until its
// end. Its Duration is then what is left of it in whole minutes, at least one;
// all of it if it began at most half a minute ago. Tasks of the other kinds are
// delivered whole, from their start until 5 minutes after it.
func (d *Dispatcher) Poll(ctx context.Context, kind Kind, service, instance string, last int64) ([]Task, error) {
	service, instance = CutName(service, MaxServiceName), CutName(instance, MaxInstanceName)
	now := d.now()
	d.live.polled(InstanceKey{service, instance})
	known, err := d.tasks(ctx, now)
	if err != nil {
		return nil, err
	}
	var list []Task
	for _, t := range known.byFor[audience{kind, service}] {
		news := t.Created > last || kind == TraceKind && !d.wasNotified(t.ID, instance)
		if news && t.deliverable(instance, now) {
			list = append(list, t.delivered(now))
		}
	}
	if len(list) > 1 && kind == AsyncKind {
		list = list[len(list)-1:] // a JVM's profiler runs one at a time: the newest
	} else if len(list) > 1 && kind == PprofKind {
		list = list[:1] // the next one with the next poll
	}
	return d.deliver(ctx, list, instance, now)
}

// Push returns the tasks of TraceKind to deliver to an instance in the reply to a
// report that is not a poll: those that the log does not list for it. Use it only for
// reports whose replies agents read.
func (d *Dispatcher) Push(ctx context.Context, service, instance string) ([]Task, error) {
	service, instance = CutName(service, MaxServiceName), CutName(instance, MaxInstanceName)
	now := d.now()
	known, err := d.tasks(ctx, now)
	if err != nil {
		return nil, err
	}
	var list []Task
	for _, t := range known.byFor[audience{TraceKind, service}] {
		if t.deliverable(instance, now) && d.claim(t.ID, instance) {
			list = append(list, t.delivered(now))
		}
	}
	return d.deliver(ctx, list, instance, now)
}

// Report logs what an instance reports about a task. An unknown task is ignored.
func (d *Dispatcher) Report(ctx context.Context, instance, task string, e Event, text string) error {
	now := d.now()
	known, err := d.tasks(ctx, now)
	if err != nil {
		return err
	}
	if !known.byID[task] {
		_, err := d.store.Task(ctx, task)
		if errors.Is(err, ErrNoTask) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return d.log.append(ctx, Log{
		Task: task, Instance: CutName(instance, MaxInstanceName), Event: e, Time: now, Text: CutName(text, maxText),
	})
}

// Live returns the tracker of live instances, which Poll updates. Someone must run it.
func (d *Dispatcher) Live() *LiveInstances { return d.live }

// wants reports whether the task is for an instance.
func (t *Task) wants(instance string) bool {
	return len(t.Instances) == 0 || slices.Contains(t.Instances, instance)
}

// deliverable reports whether an instance may receive the task now.
func (t *Task) deliverable(instance string, now int64) bool {
	if !t.wants(instance) {
		return false
	}
	if t.Kind != TraceKind {
		return t.Stopped == 0 && t.Start <= now && now < t.Start+grace
	}
	return t.Start <= now+ahead && now < t.End()
}

// delivered returns the task as an agent receives it.
func (t Task) delivered(now int64) Task {
	if t.Kind == TraceKind {
		if now > t.Start+promptness {
			t.Duration = t.End() - now
		}
		t.Duration = t.Minutes() * Minute
	}
	return t.Clone()
}

// tasks returns the known tasks, read again if they are too old. While another
// goroutine reads them it returns the old ones.
func (d *Dispatcher) tasks(ctx context.Context, now int64) (*knownTasks, error) {
	known := d.known.Load()
	if known.fresh(now) {
		return known, nil
	}
	if known == nil {
		d.loading.Lock()
	} else if !d.loading.TryLock() {
		return known, nil
	}
	defer d.loading.Unlock()
	if known = d.known.Load(); known.fresh(now) {
		return known, nil
	}
	return d.load(ctx, now)
}

func (k *knownTasks) fresh(now int64) bool {
	return k != nil && k.at <= now && now < k.at+refreshEvery
}

// forget makes the next query read the tasks again. A read in progress may miss the
// change, so it waits for it.
func (d *Dispatcher) forget() {
	d.loading.Lock()
	defer d.loading.Unlock()
	d.known.Store(nil)
}

// load reads the tasks that may be delivered soon, and which instances have them.
func (d *Dispatcher) load(ctx context.Context, now int64) (*knownTasks, error) {
	list, err := d.store.Tasks(ctx, TaskQuery{From: now - grace - refreshEvery, To: now + ahead + refreshEvery})
	if err != nil {
		return nil, err
	}
	known := &knownTasks{at: now, byFor: map[audience][]Task{}, byID: map[string]bool{}}
	slices.SortFunc(list, func(a, b Task) int { return cmp.Compare(a.Created, b.Created) })
	var running []string
	for _, t := range list {
		known.byID[t.ID] = true
		a := audience{t.Kind, t.Service}
		known.byFor[a] = append(known.byFor[a], t)
		if t.Kind == TraceKind && now < t.End() {
			running = append(running, t.ID)
		}
	}
	if len(running) > 0 {
		logs, err := d.store.Logs(ctx, running...)
		if err != nil {
			return nil, err
		}
		for _, l := range logs {
			if l.Event == Notified {
				d.claim(l.Task, l.Instance)
			}
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.DeleteFunc(d.notified, func(task string, _ map[string]bool) bool { return !known.byID[task] })
	d.known.Store(known)
	return known, nil
}

// wasNotified reports whether an instance received a task.
func (d *Dispatcher) wasNotified(task, instance string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.notified[task][instance]
}

// claim reports whether an instance has not received a task yet, and marks it as
// received.
func (d *Dispatcher) claim(task, instance string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.notified[task][instance] {
		return false
	}
	if d.notified[task] == nil {
		d.notified[task] = map[string]bool{}
	}
	d.notified[task][instance] = true
	return true
}

// deliver logs that an instance receives tasks, and returns them. If that fails the
// instance does not receive them, and they are not marked.
func (d *Dispatcher) deliver(ctx context.Context, list []Task, instance string, now int64) ([]Task, error) {
	if len(list) == 0 {
		return nil, nil
	}
	lines := make([]Log, len(list))
	for i, t := range list {
		d.claim(t.ID, instance)
		lines[i] = Log{Task: t.ID, Instance: instance, Event: Notified, Time: now}
	}
	if err := d.log.append(ctx, lines...); err != nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		for _, t := range list {
			delete(d.notified[t.ID], instance)
		}
		return nil, err
	}
	return list, nil
}
