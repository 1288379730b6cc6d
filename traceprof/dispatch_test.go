package traceprof_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/traceprof"
)

// began is when the clocks of the tests start.
const began = int64(1_700_000_000_000)

// dispatching is a dispatcher with a clock that stands still.
type dispatching struct {
	*traceprof.Dispatcher
	t     *testing.T
	store traceprof.Store
	now   int64
}

func dispatcher(t *testing.T, st traceprof.Store) *dispatching {
	d := &dispatching{t: t, store: st, now: began}
	d.Dispatcher = traceprof.NewDispatcher(st, traceprof.DispatcherOptions{Now: func() int64 { return d.now }})
	return d
}

// create makes a task.
func (d *dispatching) create(change func(*traceprof.Task)) traceprof.Task {
	d.t.Helper()
	task, err := d.Create(d.t.Context(), order(change))
	if err != nil {
		d.t.Fatal(err)
	}
	return task
}

// told returns "id:minutes" of what an instance is told, which is checked.
func (d *dispatching) told(tasks []traceprof.Task, err error) string {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
	var list []string
	for _, t := range tasks {
		list = append(list, fmt.Sprintf("%s:%d", t.ID, t.Duration/traceprof.Minute))
	}
	return strings.Join(list, " ")
}

func (d *dispatching) poll(instance string, last int64) string {
	d.t.Helper()
	return d.told(d.Poll(d.t.Context(), traceprof.TraceKind, "shop", instance, last))
}

func (d *dispatching) push(instance string) string {
	d.t.Helper()
	return d.told(d.Push(d.t.Context(), "shop", instance))
}

// log returns "instance event" of a task's log, oldest first.
func (d *dispatching) log(task string) string {
	d.t.Helper()
	logs, err := d.store.Logs(d.t.Context(), task)
	if err != nil {
		d.t.Fatal(err)
	}
	var list []string
	for i := range logs {
		l := logs[len(logs)-1-i]
		list = append(list, l.Instance+" "+string(l.Event))
	}
	return strings.Join(list, ", ")
}

func TestDeliveryInTime(t *testing.T) {
	const minute = traceprof.Minute
	for _, c := range []struct {
		name            string
		start, duration int64 // of the task, from now
		at              int64 // of the poll
		minutes         int64 // told; 0: not told
	}{
		{"at once", 0, 5 * minute, 0, 5},
		{"with the next poll", 0, 5 * minute, 20_000, 5},
		{"half a minute late", 0, 5 * minute, 30_000, 5},
		{"later", 0, 5 * minute, 30_001, 4},
		{"at ten minutes of fifteen", 0, 15 * minute, 10 * minute, 5},
		{"an instance that boots in the middle", 0, 15 * minute, 7*minute + 1, 7},
		{"in the last minute", 0, 5 * minute, 5*minute - 1, 1},
		{"at the end", 0, 5 * minute, 5 * minute, 0},
		{"after the end", 0, 5 * minute, 6 * minute, 0},
		{"long before the start", 10 * minute, 5 * minute, 5*minute - 1, 0},
		{"five minutes before the start", 10 * minute, 5 * minute, 5 * minute, 5},
	} {
		d := dispatcher(t, mem.New())
		task := d.create(func(o *traceprof.Task) { o.Start, o.Duration = began+c.start, c.duration })
		d.now += c.at
		want := ""
		if c.minutes > 0 {
			want = fmt.Sprintf("%s:%d", task.ID, c.minutes)
		}
		if got := d.poll("i", -1); got != want {
			t.Errorf("%s: told %q, want %q", c.name, got, want)
		}
	}
}

func TestPollTellsWhatIsNew(t *testing.T) {
	d := dispatcher(t, mem.New())
	first := d.create(nil)
	d.now += 6 * traceprof.Minute
	second := d.create(nil)
	if got := d.poll("i", first.Created); got != second.ID+":5" {
		t.Errorf("after the first one: %q", got)
	}
	if got := d.poll("i", second.Created); got != "" {
		t.Errorf("it knows both: %q", got)
	}
	d.now++
	if got := d.poll("i", -1); got != second.ID+":5" {
		t.Errorf("after a restart: %q", got)
	}
	if got := d.told(d.Poll(t.Context(), traceprof.TraceKind, "other", "i", -1)); got != "" {
		t.Errorf("of another service: %q", got)
	}
	if got := d.log(second.ID); got != "i NOTIFIED, i NOTIFIED" {
		t.Errorf("log: %s", got)
	}
}

// TestPollTellsOfEarlierOrders: a task is delivered although the agent has heard of
// one that was ordered later and began before it, once.
func TestPollTellsOfEarlierOrders(t *testing.T) {
	d := dispatcher(t, mem.New())
	planned := d.create(func(o *traceprof.Task) { o.Start = began + 10*traceprof.Minute })
	d.now++
	now := d.create(nil)
	if got := d.poll("i", -1); got != now.ID+":5" {
		t.Errorf("at first: %q", got)
	}
	d.now += 6 * traceprof.Minute
	if got := d.poll("i", now.Created); got != planned.ID+":5" {
		t.Errorf("before the start of the first one: %q", got)
	}
	if got := d.poll("i", now.Created); got != "" {
		t.Errorf("again: %q", got)
	}
}

func TestPushTellsOnce(t *testing.T) {
	st := mem.New()
	d := dispatcher(t, st)
	if got := d.push("i"); got != "" {
		t.Errorf("no task: %q", got)
	}
	task := d.create(nil)
	told := task.ID + ":5"
	if got := d.push("i"); got != told {
		t.Errorf("first report: %q", got)
	}
	if got := d.push("i"); got != "" {
		t.Errorf("second report: %q", got)
	}
	if got := d.poll("j", -1); got != told {
		t.Errorf("poll of another: %q", got)
	}
	if got := d.push("j"); got != "" {
		t.Errorf("report after the poll: %q", got)
	}
	again := dispatcher(t, st)
	if got := again.push("i") + again.push("j"); got != "" {
		t.Errorf("after a restart of the server: %q", got)
	}
	if got := again.push("k"); got != told {
		t.Errorf("a new instance after the restart: %q", got)
	}
	if got := d.log(task.ID); got != "k NOTIFIED, j NOTIFIED, i NOTIFIED" {
		t.Errorf("log: %s", got)
	}
}

func TestServersShareAStore(t *testing.T) {
	st := mem.New()
	a, b := dispatcher(t, st), dispatcher(t, st)
	if got := b.poll("i", -1); got != "" {
		t.Fatal(got)
	}
	task := a.create(nil)
	b.now += 999
	if got := b.poll("i", -1); got != "" {
		t.Errorf("before it looked again: %q", got)
	}
	b.now++
	if got := b.poll("i", -1); got != task.ID+":5" {
		t.Errorf("a second later: %q", got)
	}
	a.now += 2000
	if got := a.push("i"); got != "" {
		t.Errorf("the other server told it: %q", got)
	}
}

func TestStopEndsDelivery(t *testing.T) {
	d := dispatcher(t, mem.New())
	task := d.create(nil)
	d.now += 1000
	stopped, err := d.Stop(t.Context(), task.ID)
	if err != nil || stopped.End() != began+1000 {
		t.Fatalf("%+v, %v", stopped, err)
	}
	if got := d.poll("i", -1) + d.push("i"); got != "" {
		t.Errorf("told %q", got)
	}
	d.now++
	if next := d.create(nil); next.Created <= task.Created {
		t.Errorf("next one created at %d", next.Created)
	}
	if _, err := d.Stop(t.Context(), "none"); !errors.Is(err, traceprof.ErrNoTask) {
		t.Errorf("unknown task: %v", err)
	}
}

// TestChangesBesideTheDispatcher makes and stops tasks in the dispatcher's store, as
// another Dendro does through this server.
func TestChangesBesideTheDispatcher(t *testing.T) {
	d := dispatcher(t, mem.New())
	if got := d.push("a"); got != "" {
		t.Fatal(got)
	}
	other := dispatcher(t, d.Dispatcher.Store())
	task := other.create(nil)
	if got := d.push("a"); got != task.ID+":5" {
		t.Errorf("a new task: %q", got)
	}
	if _, err := other.Stop(t.Context(), task.ID); err != nil {
		t.Fatal(err)
	}
	if got := d.poll("b", -1); got != "" {
		t.Errorf("a stopped task: %q", got)
	}
}

func TestOverlapIsRefused(t *testing.T) {
	d := dispatcher(t, mem.New())
	other := func(kind traceprof.Kind, events ...string) func(*traceprof.Task) {
		return func(o *traceprof.Task) {
			*o = traceprof.Task{Kind: kind, ServiceID: "s", Service: "shop", Duration: traceprof.Minute, Instances: []string{"i"},
				Events: events}
		}
	}
	for _, c := range []struct {
		change func(*traceprof.Task)
		want   string
	}{
		{nil, ""},
		{func(o *traceprof.Task) { o.Endpoint = "/other" }, "current service already has monitor task execute at this time"},
		{other(traceprof.AsyncKind, "CPU"), ""},
		{other(traceprof.AsyncKind, "WALL"), "current service already has monitor async profiler task execute at this time"},
		{other(traceprof.PprofKind, "CPU"), ""},
		{other(traceprof.PprofKind, "HEAP"), ""},
		{other(traceprof.PprofKind, "CPU"), "current service already has monitor pprof task execute at this time"},
	} {
		_, err := d.Create(t.Context(), order(c.change))
		var refused *traceprof.RefusedError
		switch {
		case c.want == "" && err == nil:
		case c.want == "", !errors.As(err, &refused), refused.Reason != c.want, refused.Code != traceprof.AlreadyProfiling:
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

func TestOtherKindsAreForSomeInstances(t *testing.T) {
	d := dispatcher(t, mem.New())
	var tasks []traceprof.Task
	for _, kind := range []traceprof.Kind{traceprof.AsyncKind, traceprof.PprofKind} {
		for range 2 { // the second when the first is over
			tasks = append(tasks, d.create(func(o *traceprof.Task) {
				*o = traceprof.Task{Kind: kind, ServiceID: "s", Service: "shop", Duration: 10_000, Instances: []string{"i", "j"},
					Events: []string{"CPU"}}
			}))
			d.now += 10_001
		}
	}
	ids := func(kind traceprof.Kind, instance string, last int64) (list string) {
		got, err := d.Poll(t.Context(), kind, "shop", instance, last)
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range got {
			if task.Duration != 10_000 {
				t.Errorf("duration %d", task.Duration)
			}
			list += task.ID
		}
		return list
	}
	if got := ids(traceprof.AsyncKind, "i", -1); got != tasks[1].ID {
		t.Errorf("of async-profiler the newest: %s", got)
	}
	if got := ids(traceprof.PprofKind, "i", -1); got != tasks[2].ID {
		t.Errorf("of pprof the oldest: %s", got)
	}
	if got := ids(traceprof.PprofKind, "i", tasks[2].Created); got != tasks[3].ID {
		t.Errorf("then the next: %s", got)
	}
	if got := ids(traceprof.AsyncKind, "k", -1) + ids(traceprof.TraceKind, "i", -1) + d.push("i"); got != "" {
		t.Errorf("for others: %s", got)
	}
	d.now = tasks[3].Created + 5*traceprof.Minute
	if got := ids(traceprof.PprofKind, "j", -1); got != "" {
		t.Errorf("long after: %s", got)
	}
}

// TestOtherKindsBeginWhenOrdered: agents begin them when they are told, so they are
// told at the start, and a start that has passed is now.
func TestOtherKindsBeginWhenOrdered(t *testing.T) {
	const minute = traceprof.Minute
	for _, kind := range []traceprof.Kind{traceprof.AsyncKind, traceprof.PprofKind} {
		for _, c := range []struct {
			start, at int64 // of the task and of the poll, from now
			told      bool
		}{
			{-60 * minute, 0, true}, {-60 * minute, 5*minute - 1, true}, {-60 * minute, 5 * minute, false},
			{20 * minute, 20*minute - 1, false}, {20 * minute, 20 * minute, true}, {20 * minute, 25*minute - 1, true},
			{20 * minute, 25 * minute, false},
		} {
			d := dispatcher(t, mem.New())
			task := d.create(func(o *traceprof.Task) {
				*o = traceprof.Task{Kind: kind, ServiceID: "s", Service: "shop", Start: began + c.start, Duration: minute,
					Instances: []string{"i"}, Events: []string{"CPU"}}
			})
			d.now += c.at
			got := d.told(d.Poll(t.Context(), kind, "shop", "i", -1))
			if want := task.ID + ":1"; (got == want) != c.told || !c.told && got != "" {
				t.Errorf("%s that starts in %d ms, asked after %d: %q", kind, c.start, c.at, got)
			}
		}
	}
}

func TestReport(t *testing.T) {
	d := dispatcher(t, mem.New())
	task := d.create(nil)
	for range 2 { // a repeat at one time is one line
		if err := d.Report(t.Context(), "i", task.ID, traceprof.Finished, ""); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Report(t.Context(), "i", "unknown", traceprof.Finished, ""); err != nil {
		t.Fatal(err)
	}
	d.now += 60 * traceprof.Minute // it is not among the known ones any more
	if err := d.Report(t.Context(), "i", task.ID, traceprof.Failed, "no perf events"); err != nil {
		t.Fatal(err)
	}
	if got := d.log(task.ID) + d.log("unknown"); got != "i EXECUTION_FINISHED, i EXECUTION_TASK_ERROR" {
		t.Errorf("log: %s", got)
	}
}

// TestLogIsBounded: names that clients make up fill no log, and instances still receive the task.
func TestLogIsBounded(t *testing.T) {
	st := mem.New()
	d := dispatcher(t, st)
	task := d.create(nil)
	want := fmt.Sprintf("%s:%d", task.ID, task.Minutes())
	const lines = 20_000
	for i := range lines / 2 {
		if got := d.poll(fmt.Sprint("i", i), -1); got != want {
			t.Fatalf("%d: %q", i, got)
		}
	}
	report := func(i int) error {
		return d.Report(t.Context(), fmt.Sprint("i", i), task.ID, traceprof.Failed, "made up")
	}
	for i := range lines / 2 {
		if err := report(i); err != nil {
			t.Fatal(i, err)
		}
	}
	if err := report(lines); !errors.Is(err, traceprof.ErrLogFull) {
		t.Error(err)
	}
	if got := d.poll("another", -1); got != want {
		t.Errorf("another instance receives %q", got)
	}
	if logs, err := st.Logs(t.Context(), task.ID); err != nil || len(logs) != lines {
		t.Errorf("%d lines, %v", len(logs), err)
	}
}

func TestNamesAreCutAlike(t *testing.T) {
	d := dispatcher(t, mem.New())
	long := strings.Repeat("é", 100)
	task := d.create(func(o *traceprof.Task) { o.Service = long })
	if got := d.told(d.Poll(t.Context(), traceprof.TraceKind, long, long, -1)); got != task.ID+":5" {
		t.Errorf("told %q", got)
	}
	cut := strings.Repeat("é", traceprof.MaxInstanceName)
	if got := d.log(task.ID); got != cut+" NOTIFIED" {
		t.Errorf("log: %s", got)
	}
}

func TestPollsAreStored(t *testing.T) {
	st := mem.New()
	d := dispatcher(t, st)
	write := func(all bool) {
		t.Helper()
		if err := d.Live().Write(t.Context(), all); err != nil {
			t.Fatal(err)
		}
	}
	want := func(instance string, want int64) {
		t.Helper()
		list, err := st.Instances(t.Context(), "shop", 0)
		if err != nil {
			t.Fatal(err)
		}
		var got int64
		for _, i := range list {
			if i.Name == instance {
				got = i.Polled
			}
		}
		if got != want {
			t.Errorf("%s polled at %d, want %d", instance, got, want)
		}
	}
	d.poll("i", -1)
	write(false)
	want("i", began) // a new instance is written at once
	d.now += 9_999
	d.poll("i", -1)
	d.poll("j", -1)
	write(false)
	want("i", began)
	want("j", began+9_999)
	d.now++
	write(false)
	want("i", began+9_999)
	d.now++
	d.poll("j", -1)
	write(true)
	want("j", began+10_001)
}

// failing is a store whose logs cannot be written while it fails.
type failing struct {
	traceprof.Store
	err error
}

func (f *failing) AppendLog(ctx context.Context, lines ...traceprof.Log) error {
	if f.err != nil {
		return f.err
	}
	return f.Store.AppendLog(ctx, lines...)
}

// TestWhatIsNotLoggedIsNotTold tells an instance again when the log of the first
// time was lost.
func TestWhatIsNotLoggedIsNotTold(t *testing.T) {
	st := &failing{Store: mem.New()}
	d := dispatcher(t, st)
	task := d.create(nil)
	st.err = errors.New("disk full")
	if tasks, err := d.Push(t.Context(), "shop", "i"); !errors.Is(err, st.err) || tasks != nil {
		t.Errorf("told %v, %v", tasks, err)
	}
	st.err = nil
	if got := d.push("i"); got != task.ID+":5" {
		t.Errorf("told %q", got)
	}
}

// TestManyInstances tells many at once; each is told once and has its line.
func TestManyInstances(t *testing.T) {
	d := dispatcher(t, mem.New())
	task := d.create(nil)
	var wg sync.WaitGroup
	var mu sync.Mutex
	told := 0
	for i := range 200 {
		wg.Go(func() {
			for range 3 {
				tasks, err := d.Push(t.Context(), "shop", fmt.Sprint("i", i%100))
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				told += len(tasks)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	logs, err := d.store.Logs(t.Context(), task.ID)
	if err != nil || told != 100 || len(logs) != 100 {
		t.Errorf("%d told, %d lines, %v", told, len(logs), err)
	}
}

// counting counts the reads of a store.
type counting struct {
	traceprof.Store
	tasks, logs atomic.Int64
	slow        time.Duration // of a read of the tasks
}

func (c *counting) Tasks(ctx context.Context, q traceprof.TaskQuery) ([]traceprof.Task, error) {
	c.tasks.Add(1)
	list, err := c.Store.Tasks(ctx, q)
	time.Sleep(c.slow)
	return list, err
}

func (c *counting) Logs(ctx context.Context, tasks ...string) ([]traceprof.Log, error) {
	c.logs.Add(int64(len(tasks)))
	return c.Store.Logs(ctx, tasks...)
}

// running creates tasks that run now, one for each service "shop N".
func running(t testing.TB, d *traceprof.Dispatcher, n int) {
	for i := range n {
		if _, err := d.Create(t.Context(), order(func(o *traceprof.Task) {
			o.Service, o.ServiceID = fmt.Sprint("shop ", i), fmt.Sprint("s", i)
		})); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPollsReadNothing: polls and reports of a thousand agents read no tasks, and a log only
// when they deliver its task, although a read takes longer than a poll may be late.
func TestPollsReadNothing(t *testing.T) {
	st := &counting{Store: mem.New()}
	running(t, traceprof.NewDispatcher(st, traceprof.DispatcherOptions{}), 500)
	st.slow = 20 * time.Millisecond
	d := traceprof.NewDispatcher(st, traceprof.DispatcherOptions{})
	ctx, stop := context.WithCancel(t.Context())
	var watch sync.WaitGroup
	watch.Go(func() { d.Watch(ctx, func(err error) { t.Error(err) }) })
	for st.tasks.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	told := 0
	for round := range 3 {
		for i := range 1000 {
			service := fmt.Sprint("shop ", i)
			polled, err := d.Poll(ctx, traceprof.TraceKind, service, "i", int64(round-1))
			if err != nil {
				t.Fatal(err)
			}
			pushed, err := d.Push(ctx, service, "i")
			if err != nil || len(pushed) != 0 {
				t.Fatalf("%v, %v", pushed, err)
			}
			told += len(polled)
		}
	}
	stop()
	watch.Wait()
	if reads := st.tasks.Load(); reads > 20 { // by time alone
		t.Errorf("%d reads of the tasks", reads)
	}
	if told != 1500 { // an agent that names no task newer than its own receives it again
		t.Errorf("%d deliveries", told)
	}
	if logs := st.logs.Load(); logs > 0 {
		t.Errorf("%d logs read", logs)
	}
}

// TestWatchSeesOtherServers: tasks that another server creates and stops are known within a
// second, however seldom agents poll; those of this server at once, also during a read.
func TestWatchSeesOtherServers(t *testing.T) {
	st := &counting{Store: mem.New(), slow: 30 * time.Millisecond}
	here, there := traceprof.NewDispatcher(st, traceprof.DispatcherOptions{}), traceprof.NewDispatcher(st, traceprof.DispatcherOptions{})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go here.Watch(ctx, func(err error) { t.Error(err) })
	poll := func(instance string) int {
		list, err := here.Poll(ctx, traceprof.TraceKind, "shop 0", instance, -1)
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	running(t, there, 1)
	for reads := st.tasks.Load(); st.tasks.Load() < reads+2; {
		time.Sleep(time.Millisecond)
	}
	if poll("i") != 1 {
		t.Error("the task of another server is unknown after a read")
	}
	for round := range 20 { // at any moment of a read
		order := order(func(o *traceprof.Task) {
			o.Service, o.ServiceID = fmt.Sprint("own ", round), fmt.Sprint("o", round)
		})
		if _, err := here.Create(ctx, order); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			list, err := here.Poll(ctx, traceprof.TraceKind, order.Service, "i", -1)
			if err != nil || len(list) != 1 {
				t.Fatalf("round %d: %v, %v", round, list, err)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// BenchmarkPoll measures what an agent costs that polls while there are tasks for other
// services.
func BenchmarkPoll(b *testing.B) {
	for _, tasks := range []int{1, 10_000} {
		b.Run(fmt.Sprint("tasks=", tasks), func(b *testing.B) {
			d := traceprof.NewDispatcher(mem.New(), traceprof.DispatcherOptions{})
			running(b, d, tasks)
			ctx, stop := context.WithCancel(b.Context())
			defer stop()
			go d.Watch(ctx, func(err error) { b.Error(err) })
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				n++
				if _, err := d.Poll(ctx, traceprof.TraceKind, "other", fmt.Sprint("instance", n%1000), -1); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
