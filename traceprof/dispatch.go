package traceprof

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dendroprof/dendro/internal/lru"
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
	// refreshEvery is how old the known tasks and what is known of their logs may get:
	// other servers may share the store.
	refreshEvery = 1000
)

// watchEvery is how often Watch reads the tasks: with the time of a read it stays below
// refreshEvery.
const watchEvery = 500 * time.Millisecond

// Bounds of the log of a task, whose instances and texts clients choose.
const (
	maxText  = 4096   // characters of a report
	maxLines = 20_000 // that one server adds; instances beyond these receive the task by polls, and are not logged
	maxLogs  = 10_000 // whose lines are counted: those that got one last
)

// ErrLogFull is the error for a report that the log of its task has no room for.
var ErrLogFull = fmt.Errorf("the log of the task has %d lines already", maxLines)

// Dispatcher creates tasks and delivers them to agents. It keeps the tasks that may be
// delivered soon in memory, by service, changes them with each task it creates or stops,
// and reads them again for those of other servers over the same store: every half second
// while Watch runs, otherwise with a poll once they are a second old. A poll without a task
// to deliver costs two map look-ups, however many tasks run.
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

	loading  sync.Mutex // held while the tasks are read
	known    atomic.Pointer[knownTasks]
	watching atomic.Bool // polls leave reading to Watch

	reading sync.Mutex // held while logs are read

	mu       sync.Mutex
	changes  []Task // created and stopped while the tasks are read; nil: they are not
	notified map[string]*receivers
	lines    lru.Cache[string, int] // of the logs of tasks that the store has
}

// receivers are the instances that received a task.
type receivers struct {
	instances map[string]bool
	at        int64 // when the task's log was read, in ms; 0: never
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

// put adds a task, or replaces it.
func (k *knownTasks) put(t Task) {
	a := audience{t.Kind, t.Service}
	list := slices.Clone(k.byFor[a])
	i, _ := slices.BinarySearchFunc(list, t.Created, func(have Task, created int64) int { return cmp.Compare(have.Created, created) })
	for i < len(list) && list[i].Created == t.Created && list[i].ID != t.ID {
		i++
	}
	if i < len(list) && list[i].ID == t.ID {
		list[i] = t
	} else {
		list = slices.Insert(list, i, t)
	}
	k.byFor[a], k.byID[t.ID] = list, true
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
	d := &Dispatcher{
		store: st, now: o.Now, notified: map[string]*receivers{},
		log: journal{store: st}, live: &LiveInstances{store: st, now: o.Now, known: map[InstanceKey]*liveInstance{}},
	}
	d.lines.Reset(maxLogs)
	return d
}

// Create creates a task, or returns a *RefusedError.
func (d *Dispatcher) Create(ctx context.Context, o Task) (Task, error) {
	t, err := o.Requested(d.now())
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
	d.changed(t)
	return t, nil
}

// Stop ends a task now and returns it, or ErrNoTask. The protocol cannot stop agents:
// those that have begun continue for the duration they received, Java agents at most
// until they receive the service's next task.
func (d *Dispatcher) Stop(ctx context.Context, id string) (Task, error) {
	if err := d.store.StopTask(ctx, id, d.now()); err != nil {
		return Task{}, err
	}
	t, err := d.store.Task(ctx, id)
	if err == nil {
		d.changed(t)
	}
	return t, err
}

// Store returns the dispatcher's store for callers that create and stop tasks in it
// themselves: the dispatcher then knows the change.
func (d *Dispatcher) Store() Store { return &notifyingStore{d.store, d} }

// notifyingStore tells a dispatcher of changes.
type notifyingStore struct {
	Store
	d *Dispatcher
}

// CreateTask creates the task.
func (s *notifyingStore) CreateTask(ctx context.Context, t Task) (Task, error) {
	t, err := s.Store.CreateTask(ctx, t)
	if err == nil {
		s.d.changed(t)
	}
	return t, err
}

// StopTask stops the task.
func (s *notifyingStore) StopTask(ctx context.Context, id string, at int64) error {
	if err := s.Store.StopTask(ctx, id, at); err != nil {
		return err
	}
	if t, err := s.Task(ctx, id); err == nil {
		s.d.changed(t)
	}
	return nil
}

// Poll returns the tasks of a kind to deliver to an instance: those created after
// last, the time of creation of the newest one it has received (-1: none), and those
// of TraceKind that the log does not list for it. Of the kinds that run one task at a
// time it is one.
//
// A task of TraceKind is delivered from 5 minutes before its start until its
// end. Its Duration is then what is left of it in whole minutes, at least one;
// all of it if it began at most half a minute ago. Its Start is by the clock of the
// instance, as far as that is known to be wrong. Tasks of the other kinds are
// delivered whole, from their start until 5 minutes after it.
func (d *Dispatcher) Poll(ctx context.Context, kind Kind, service, instance string, last int64) ([]Task, error) {
	service, instance = CutName(service, MaxServiceName), CutName(instance, MaxInstanceName)
	now := d.now()
	d.live.polled(InstanceKey{service, instance})
	known, err := d.tasks(ctx, now)
	if err != nil {
		return nil, err
	}
	list := d.deliverable(known.byFor[audience{kind, service}], instance, now)
	if err := d.readLogs(ctx, list, last, instance, now); err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(t Task) bool {
		return t.Created <= last && (kind != TraceKind || d.wasNotified(t.ID, instance))
	})
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
	list := d.deliverable(known.byFor[audience{TraceKind, service}], instance, now)
	if err := d.readLogs(ctx, list, math.MaxInt64, instance, now); err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(t Task) bool { return !d.claim(t.ID, instance) })
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
	if !d.hasRoom(task) {
		return ErrLogFull
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

// deliverable returns the tasks that an instance may receive now, as it receives them.
func (d *Dispatcher) deliverable(all []Task, instance string, now int64) (list []Task) {
	for i := range all {
		if all[i].deliverable(instance, now) {
			list = append(list, all[i].delivered(now, d.live.wrong(InstanceKey{all[i].Service, instance})))
		}
	}
	return list
}

// delivered returns the task as an agent receives it whose clock is wrong by some ms.
func (t Task) delivered(now, wrong int64) Task {
	if t.Kind == TraceKind {
		if now > t.Start+promptness {
			t.Duration = t.End() - now
		}
		t.Duration = t.Minutes() * Minute
		t.Start += wrong
	}
	return t.Clone()
}

// Watch reads the tasks again every half second until the context ends, so that polls find
// them in memory. It calls failed with each error of the store and tries again.
func (d *Dispatcher) Watch(ctx context.Context, failed func(error)) {
	d.watching.Store(true)
	defer d.watching.Store(false)
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		d.loading.Lock()
		_, err := d.load(ctx, d.now())
		d.loading.Unlock()
		if err != nil && ctx.Err() == nil {
			failed(err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// tasks returns the known tasks, read again if they are too old and nothing else reads
// them.
func (d *Dispatcher) tasks(ctx context.Context, now int64) (*knownTasks, error) {
	known := d.known.Load()
	if known.fresh(now) || known != nil && d.watching.Load() {
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

// changed makes a task that was created or stopped known.
func (d *Dispatcher) changed(t Task) {
	t = t.Clone()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.changes != nil {
		d.changes = append(d.changes, t)
	}
	if known := d.known.Load(); known != nil {
		next := &knownTasks{known.at, maps.Clone(known.byFor), maps.Clone(known.byID)}
		next.put(t)
		d.known.Store(next)
	}
}

// load reads the tasks that may be delivered soon. The caller holds the lock loading.
func (d *Dispatcher) load(ctx context.Context, now int64) (*knownTasks, error) {
	d.mu.Lock()
	d.changes = []Task{}
	d.mu.Unlock()
	list, err := d.store.Tasks(ctx, TaskQuery{From: now - grace - refreshEvery, To: now + ahead + refreshEvery})
	known := &knownTasks{at: now, byFor: map[audience][]Task{}, byID: map[string]bool{}}
	slices.SortFunc(list, func(a, b Task) int { return cmp.Compare(a.Created, b.Created) })
	for _, t := range list {
		known.byID[t.ID] = true
		a := audience{t.Kind, t.Service}
		known.byFor[a] = append(known.byFor[a], t)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	changes := d.changes
	if d.changes = nil; err != nil {
		return nil, err
	}
	for _, t := range changes { // the list may not have them
		known.put(t)
	}
	maps.DeleteFunc(d.notified, func(task string, _ *receivers) bool { return !known.byID[task] })
	d.known.Store(known)
	return known, nil
}

// readLogs reads the logs of those tasks that an instance is about to receive although
// they were created up to a time, unless they were read less than a second ago: another
// server, or this one before a restart, may have delivered them.
func (d *Dispatcher) readLogs(ctx context.Context, list []Task, until int64, instance string, now int64) error {
	unread := func() (tasks []string) {
		d.mu.Lock()
		defer d.mu.Unlock()
		for i := range list {
			t := &list[i]
			r := d.notified[t.ID]
			recent := r != nil && r.at != 0 && r.at <= now && now < r.at+refreshEvery
			if t.Kind == TraceKind && t.Created <= until && !recent && (r == nil || !r.instances[instance]) {
				tasks = append(tasks, t.ID)
			}
		}
		return tasks
	}
	if len(unread()) == 0 {
		return nil
	}
	d.reading.Lock()
	defer d.reading.Unlock()
	tasks := unread() // another poll may have read them meanwhile
	if len(tasks) == 0 {
		return nil
	}
	logs, err := d.store.Logs(ctx, tasks...)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, task := range tasks {
		d.receivers(task).at = now
	}
	for _, l := range logs {
		if l.Event == Notified {
			d.receivers(l.Task).instances[l.Instance] = true
		}
	}
	return nil
}

// receivers returns the instances that received a task. The caller holds the lock mu.
func (d *Dispatcher) receivers(task string) *receivers {
	r := d.notified[task]
	if r == nil {
		r = &receivers{instances: map[string]bool{}}
		d.notified[task] = r
	}
	return r
}

// wasNotified reports whether an instance received a task, or may have: nothing is known of those
// beyond maxLines.
func (d *Dispatcher) wasNotified(task, instance string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.notified[task]
	return r != nil && (r.instances[instance] || len(r.instances) >= maxLines)
}

// claim reports whether an instance has not received a task yet, and marks it as
// received.
func (d *Dispatcher) claim(task, instance string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.receivers(task)
	if r.instances[instance] || len(r.instances) >= maxLines {
		return false
	}
	r.instances[instance] = true
	return true
}

// hasRoom reports whether the log of a task has room for another line, which it counts.
func (d *Dispatcher) hasRoom(task string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, _ := d.lines.Get(task)
	d.lines.Put(task, n+1, 1)
	return n < maxLines
}

// deliver logs that an instance receives tasks, and returns them. If that fails the
// instance does not receive them, and they are not marked.
func (d *Dispatcher) deliver(ctx context.Context, list []Task, instance string, now int64) ([]Task, error) {
	if len(list) == 0 {
		return nil, nil
	}
	var lines []Log
	for _, t := range list {
		d.claim(t.ID, instance)
		if d.hasRoom(t.ID) {
			lines = append(lines, Log{Task: t.ID, Instance: instance, Event: Notified, Time: now})
		}
	}
	if len(lines) == 0 {
		return list, nil
	}
	if err := d.log.append(ctx, lines...); err != nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		for _, t := range list {
			delete(d.receivers(t.ID).instances, instance)
		}
		return nil, err
	}
	return list, nil
}
