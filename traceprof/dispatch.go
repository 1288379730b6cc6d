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
	// agents count its duration from when they are told.
	grace = 5 * Minute
	// prompt is how late an agent may hear of a running task and still be given
	// the whole duration: one interval between polls and a half.
	prompt = 30_000
	// refreshEvery is how old the known tasks may get: other servers may share
	// the store.
	refreshEvery = 1000
)

// maxText is the longest report of an agent that is kept, in characters.
const maxText = 4096

// Dispatcher makes tasks and tells agents of them. What it knows it reads from
// the store, at most once a second, so that several servers may share one and a
// restart forgets nothing; an agent that asks when there is nothing to tell costs
// two look-ups in maps.
//
// Agents are told in two ways. An agent that polls names the newest task it has
// heard of and is told of the later ones, and of those that the log does not say
// it knows: a task may begin after one that was made later. One that has restarted
// has heard of none and is told again. In replies to other reports an instance is
// told once of each task, unless the log says that it knows. That an instance was
// told is in the log before it is told.
//
// A Dispatcher is safe for concurrent use.
type Dispatcher struct {
	store Store
	now   func() int64
	log   journal
	live  *LiveInstances

	loading sync.Mutex // held by who reads the tasks
	known   atomic.Pointer[knownTasks]

	mu   sync.Mutex
	told map[string]map[string]bool // by task: the instances
}

// DispatcherOptions are what a Dispatcher may be given.
type DispatcherOptions struct {
	Now func() int64 // the clock, in ms; nil: the system's
}

// knownTasks is what was in the store at a time. It does not change.
type knownTasks struct {
	at    int64
	byFor map[audience][]Task // by creation, oldest first
	byID  map[string]bool
}

// audience is whom a task is for.
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
		store: st, now: o.Now, told: map[string]map[string]bool{},
		log: journal{store: st}, live: newLiveInstances(st, o.Now),
	}
}

// Create makes the task that a client asks for. What is not allowed is a
// *RefusedError.
func (d *Dispatcher) Create(ctx context.Context, o Order) (Task, error) {
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

// Stop ends a task now and returns it, or ErrNoTask. Agents cannot be told to
// stop: those that have begun go on for the duration they were given, or, the
// Java agent, until they are told of the service's next task.
func (d *Dispatcher) Stop(ctx context.Context, id string) (Task, error) {
	if err := d.store.StopTask(ctx, id, d.now()); err != nil {
		return Task{}, err
	}
	d.forget()
	return d.store.Task(ctx, id)
}

// Store returns the dispatcher's store for those who make and stop tasks in it
// themselves: the dispatcher learns of it at once.
func (d *Dispatcher) Store() Store { return &heard{d.store, d} }

// heard is a store whose tasks a dispatcher knows.
type heard struct {
	Store
	d *Dispatcher
}

// CreateTask creates the task.
func (h *heard) CreateTask(ctx context.Context, t Task) (Task, error) {
	defer h.d.forget()
	return h.Store.CreateTask(ctx, t)
}

// StopTask stops the task.
func (h *heard) StopTask(ctx context.Context, id string, at int64) error {
	defer h.d.forget()
	return h.Store.StopTask(ctx, id, at)
}

// Poll returns the tasks of a kind to tell an instance that asks: those created
// after last, the time of creation of the newest one it has heard of (-1: of
// none), and those of TraceKind of which no log says that it was told. Of the
// kinds that run one task at a time it is one.
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
		news := t.Created > last || kind == TraceKind && !d.wasTold(t.ID, instance)
		if news && t.deliverable(instance, now) {
			list = append(list, t.delivered(now))
		}
	}
	if len(list) > 1 && kind == AsyncKind {
		list = list[len(list)-1:] // a JVM's profiler runs one at a time: the newest
	} else if len(list) > 1 && kind == PprofKind {
		list = list[:1] // the next one with the next poll
	}
	return d.tell(ctx, list, instance, now)
}

// Push returns the tasks of TraceKind to tell an instance in the reply to a
// report that is no poll: those of which no log says that it was told. It is for
// reports whose replies agents read; others would enter the log in vain.
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
	return d.tell(ctx, list, instance, now)
}

// Report notes what an instance says became of a task. An unknown task is
// nothing.
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

// deliverable reports whether an instance may be told of the task now.
func (t *Task) deliverable(instance string, now int64) bool {
	if !t.wants(instance) {
		return false
	}
	if t.Kind != TraceKind {
		return t.Stopped == 0 && t.Start <= now && now < t.Start+grace
	}
	return t.Start <= now+ahead && now < t.End()
}

// delivered returns the task as an agent is to get it.
func (t Task) delivered(now int64) Task {
	if t.Kind == TraceKind {
		if now > t.Start+prompt {
			t.Duration = t.End() - now
		}
		t.Duration = t.Minutes() * Minute
	}
	t.Instances, t.Events = slices.Clone(t.Instances), slices.Clone(t.Events)
	return t
}

// tasks returns the known tasks, read again if they are too old. While somebody
// else reads them the old ones do.
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

// forget makes the next question read the tasks anew. Who reads at this moment
// may not have seen the change, so it waits for them.
func (d *Dispatcher) forget() {
	d.loading.Lock()
	defer d.loading.Unlock()
	d.known.Store(nil)
}

// load reads the tasks that may be delivered soon, and who was told of them.
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
	maps.DeleteFunc(d.told, func(task string, _ map[string]bool) bool { return !known.byID[task] })
	d.known.Store(known)
	return known, nil
}

// wasTold reports whether an instance was told of a task.
func (d *Dispatcher) wasTold(task, instance string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.told[task][instance]
}

// claim reports whether an instance is yet to be told of a task, and takes it as
// told from now on.
func (d *Dispatcher) claim(task, instance string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.told[task][instance] {
		return false
	}
	if d.told[task] == nil {
		d.told[task] = map[string]bool{}
	}
	d.told[task][instance] = true
	return true
}

// tell writes into the logs that an instance is told of tasks, and returns them.
// If that fails it is not told, and not taken as told.
func (d *Dispatcher) tell(ctx context.Context, list []Task, instance string, now int64) ([]Task, error) {
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
			delete(d.told[t.ID], instance)
		}
		return nil, err
	}
	return list, nil
}
