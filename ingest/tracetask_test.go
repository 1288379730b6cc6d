package ingest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/tracetest"
	"github.com/dendroprof/dendro/traceprof"
)

// profiling is a store with a task of a minute that an instance was told of.
type profiling struct {
	*mem.Store
	t     *testing.T
	task  traceprof.Task
	tasks *TraceTasks
	now   time.Time
	got   []string // what was reported
}

func newProfiling(t *testing.T) *profiling {
	p := &profiling{Store: mem.New(), t: t, now: time.UnixMilli(1_700_000_000_000)}
	order := traceprof.Task{
		Kind: traceprof.TraceKind, ServiceID: "c2hvcA==.1", Service: "shop", Endpoint: "GET:/checkout",
		Duration: traceprof.Minute, Period: 10, MaxSegments: 5,
	}
	task, err := order.Requested(p.now.UnixMilli())
	if err == nil {
		p.task, err = p.CreateTask(t.Context(), task)
	}
	if err != nil {
		t.Fatal(err)
	}
	p.log(traceprof.Notified)
	p.tasks = p.server()
	return p
}

// server returns a server's view of the store, which tells what it does.
func (p *profiling) server() *TraceTasks {
	return NewTraceTasks(p, p, TraceOptions{Now: func() time.Time { return p.now }, Report: func(r Result) {
		p.got = append(p.got, fmt.Sprintf("%s %s %s/%s %d %s", r.Status, r.Run, r.Group, r.Bench, r.Samples, r.Error))
	}})
}

func (p *profiling) log(e traceprof.Event) {
	p.t.Helper()
	if err := p.AppendLog(p.t.Context(), traceprof.Log{Task: p.task.ID, Instance: "i", Event: e, Time: p.now.UnixMilli()}); err != nil {
		p.t.Fatal(err)
	}
}

// sample stores a segment of some latency, if any, and its snapshots.
func (p *profiling) sample(id, operation string, latency int64, picture string) {
	p.t.Helper()
	start := p.task.Start + 1000
	s := traceprof.Segment{ID: id, Trace: id, Service: "shop", Instance: "i", Operation: operation, Endpoint: operation, Start: start,
		End: start + latency}
	if latency > 0 {
		if err := p.PutSegments(p.t.Context(), s); err != nil {
			p.t.Fatal(err)
		}
	}
	if err := p.PutSnapshots(p.t.Context(), tracetest.Picture(p.task.ID, id, fmt.Sprintf("@0:%d %s", start, picture))); err != nil {
		p.t.Fatal(err)
	}
}

// turn lets a server look after a while, and returns what it did.
func (p *profiling) turn(after time.Duration, tasks *TraceTasks) string {
	p.t.Helper()
	p.got, p.now = nil, p.now.Add(after)
	if err := tasks.StoreDue(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
	return strings.Join(p.got, "\n")
}

// stored returns the only profile, and its tree as "path self" in ms.
func (p *profiling) stored() (store.Profile, string) {
	p.t.Helper()
	set, err := p.Trees(p.t.Context(), store.Query{}, store.TreeOptions{})
	if err != nil || len(set.Profiles) != 1 {
		p.t.Fatalf("%v, %v", set, err)
	}
	var lines []string
	for v, err := range set.Vectors {
		if err != nil {
			p.t.Fatal(err)
		}
		tree := calltree.NewTree(set.Table, set.Profiles[0].Type, dense(v.Vector, set.Table.Len()))
		for n := range int32(tree.Len()) {
			if tree.Self[n] != 0 {
				lines = append(lines, fmt.Sprintf("%s %d", strings.Join(tree.Path(n), "-"), tree.Self[n]))
			}
		}
	}
	return set.Profiles[0], strings.Join(lines, ", ")
}

func TestTraceTaskBecomesProfile(t *testing.T) {
	p := newProfiling(t)
	p.sample("a", "GET:/checkout", 300, "App.run:1-App.pay:7 App.run:1-App.pay:8 App.run:2")
	p.sample("b", "GET:/checkout", 100, "App.run:1")
	p.sample("child", "Thread/pay", 900, "App.pay:9 .")
	if got := p.turn(59*time.Second, p.tasks); got != "" {
		t.Fatalf("before the end: %s", got)
	}
	if got := p.turn(2*time.Second, p.tasks); got != "" {
		t.Fatalf("before the instance is done: %s", got)
	}
	p.log(traceprof.Finished)
	if got, want := p.turn(time.Second, p.tasks), "stored "+p.task.ID+" shop/GET:/checkout 6 "; got != want {
		t.Fatalf("got %q, want %q", got, want)
	}
	info, tree := p.stored()
	if tree != "App.pay 10, App.run 20, App.run-App.pay 20" {
		t.Errorf("tree %s", tree)
	}
	m, _ := info.Metric()
	if info.Type.Key() != "trace/milliseconds" || !info.Run.Date.Equal(time.UnixMilli(p.task.Start)) || m.Name != "latency" ||
		m.Mean != 200 || m.N != 2 {
		t.Errorf("%s of %v, metric %+v", info.Type.Key(), info.Run.Date, m)
	}
}

func TestTraceTaskOfSilentInstances(t *testing.T) {
	p := newProfiling(t)
	p.sample("a", "GET:/checkout", 300, "A A")
	if got := p.turn(11*time.Minute-time.Second, p.tasks); got != "" {
		t.Errorf("before ten minutes: %s", got)
	}
	if got := p.turn(time.Second, p.tasks); !strings.HasPrefix(got, "stored ") {
		t.Errorf("after ten minutes: %q", got)
	}
	empty := newProfiling(t)
	if got := empty.turn(time.Hour, empty.tasks); got != "" {
		t.Errorf("without snapshots: %q", got)
	}
}

// TestTraceTaskWaitsForRestarted waits for an instance that was told again.
func TestTraceTaskWaitsForRestarted(t *testing.T) {
	p := newProfiling(t)
	p.sample("a", "GET:/checkout", 300, "A A")
	p.now = p.now.Add(20 * time.Second)
	p.log(traceprof.Finished)
	p.now = p.now.Add(time.Second)
	p.log(traceprof.Notified)
	if got := p.turn(50*time.Second, p.tasks); got != "" {
		t.Errorf("got %q", got)
	}
}

func TestLateSnapshotsReplace(t *testing.T) {
	p := newProfiling(t)
	p.sample("a", "GET:/checkout", 300, "A A")
	p.log(traceprof.Finished)
	p.turn(time.Minute, p.tasks)
	other := p.server()
	if got := p.turn(time.Second, other); got != "" {
		t.Errorf("another server, or this one after a restart: %q", got)
	}
	p.sample("late", "GET:/checkout", 500, "A-B A-B")
	if got := p.turn(5*time.Second, p.tasks); got != "" {
		t.Errorf("looked at too soon: %q", got)
	}
	if got := p.turn(10*time.Second, p.tasks); !strings.HasPrefix(got, "stored ") {
		t.Errorf("got %q", got)
	}
	info, tree := p.stored()
	if m, _ := info.Metric(); tree != "A 20, A-B 20" || m.Mean != 400 {
		t.Errorf("tree %s, metric %+v", tree, m)
	}
	p.sample("later", "GET:/checkout", 0, "C")
	if got := p.turn(20*time.Hour, other); !strings.HasPrefix(got, "stored ") {
		t.Errorf("a day later: %q", got)
	}
}

// broken is a store that cannot be written.
type broken struct{ *mem.Store }

var errDisk = errors.New("disk full")

func (broken) Put(context.Context, []*store.File, store.PutOptions) ([]store.Outcome, error) {
	return nil, errDisk
}

func TestTraceTasksGoOn(t *testing.T) {
	p := newProfiling(t)
	p.sample("a", "GET:/checkout", 300, "A A")
	p.now = p.now.Add(time.Hour)
	failed := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	tasks := NewTraceTasks(p, broken{p.Store}, TraceOptions{Now: func() time.Time { return p.now },
		Report: func(r Result) { failed <- r.Err }})
	done := make(chan error)
	go func() { done <- tasks.Run(ctx) }()
	if err := <-failed; !errors.Is(err, errDisk) {
		t.Errorf("reported %v", err)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
}

func dense(v calltree.Vector, n int) []int64 {
	self := make([]int64, n)
	for i, node := range v.Nodes {
		self[node] = v.Self[i]
	}
	return self
}
