package skywalking_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	commonv3 "skywalking.apache.org/repo/goapi/collect/common/v3"

	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/app/internal/server/skywalking"
	"github.com/dendroprof/dendro/app/internal/server/skywalking/uploads"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/traceprof"
)

// start is when the clock of a bench begins, in ms.
const start = 1_700_000_000_000

// bench is a server with a store in memory, and a connection to it.
type bench struct {
	*testing.T
	ctx        context.Context
	mem        *mem.Store
	store      *faulty
	dispatcher *traceprof.Dispatcher
	intake     *traceprof.Intake
	agents     *skywalking.Agents
	conn       *grpc.ClientConn
	server     *server.Server
	clock      atomic.Int64
	end        func() // ends the server in order
}

// faulty is a store that can be made to fail and to be slow.
type faulty struct {
	*mem.Store
	broken   atomic.Bool
	failures atomic.Int64
	delay    atomic.Int64 // ns of a write
}

var errBroken = errors.New("the disk is on fire")

func (f *faulty) write() error {
	time.Sleep(time.Duration(f.delay.Load()))
	if f.broken.Load() {
		f.failures.Add(1)
		return errBroken
	}
	return nil
}

func (f *faulty) PutSnapshots(ctx context.Context, list ...traceprof.Snapshots) error {
	if err := f.write(); err != nil {
		return err
	}
	return f.Store.PutSnapshots(ctx, list...)
}

func (f *faulty) PutSegments(ctx context.Context, list ...traceprof.Segment) error {
	if err := f.write(); err != nil {
		return err
	}
	return f.Store.PutSegments(ctx, list...)
}

func (f *faulty) PutInstances(ctx context.Context, list ...traceprof.Instance) error {
	if err := f.write(); err != nil {
		return err
	}
	return f.Store.PutInstances(ctx, list...)
}

func (f *faulty) AppendLog(ctx context.Context, lines ...traceprof.Log) error {
	if err := f.write(); err != nil {
		return err
	}
	return f.Store.AppendLog(ctx, lines...)
}

// newBench starts a server.
func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{T: t, ctx: t.Context(), mem: mem.New()}
	b.store = &faulty{Store: b.mem}
	b.clock.Store(start)
	now := b.clock.Load
	b.dispatcher = traceprof.NewDispatcher(b.store, traceprof.DispatcherOptions{Now: now})
	b.intake = traceprof.NewIntake(b.store, traceprof.IntakeOptions{MaxDelay: time.Millisecond, Now: now})
	b.agents = skywalking.New(skywalking.Options{Store: b.store, Dispatcher: b.dispatcher, Intake: b.intake,
		Uploads: uploads.New(b.mem, uploads.Options{}), Now: now})
	var err error
	b.server, err = server.New(server.Options{GRPCListen: "127.0.0.1:0", HTTPListen: "127.0.0.1:0",
		Limits: server.Limits{Drain: 5 * time.Second}}, b.agents.Part())
	if err != nil {
		t.Fatal(err)
	}
	if err := b.server.Listen(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- b.server.Serve(ctx) }()
	b.conn, err = grpc.NewClient(b.server.GRPCAddr(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	ended := false
	b.end = func() {
		if ended {
			return
		}
		ended = true
		b.conn.Close()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the server ended with %v", err)
		}
		if err := b.intake.Close(context.Background()); err != nil && !b.store.broken.Load() {
			t.Errorf("closing the intake: %v", err)
		}
	}
	t.Cleanup(b.end)
	return b
}

// pass lets the clock go on.
func (b *bench) pass(d time.Duration) { b.clock.Add(d.Milliseconds()) }

// task makes a task of trace profiling on an endpoint of the service shop.
func (b *bench) task(endpoint string) traceprof.Task {
	b.Helper()
	task, err := b.dispatcher.Create(b.ctx, traceprof.Task{Kind: traceprof.TraceKind, ServiceID: "c2hvcA==.1", Service: "shop",
		Endpoint: endpoint, Duration: traceprof.Minute, Period: 10, MaxSegments: 5})
	if err != nil {
		b.Fatal(err)
	}
	return task
}

// snapshots returns what is stored of a task, by segment.
func (b *bench) snapshots(task string) map[string]traceprof.Snapshots {
	b.Helper()
	held := map[string]traceprof.Snapshots{}
	for s, err := range b.mem.Snapshots(b.ctx, traceprof.SnapshotQuery{Tasks: []string{task}}) {
		if err != nil {
			b.Fatal(err)
		}
		held[s.Segment] = s
	}
	return held
}

// logs returns the events in a task's log, oldest first, as "instance event".
func (b *bench) logs(task string) (lines []string) {
	b.Helper()
	logs, err := b.mem.Logs(b.ctx, task)
	if err != nil {
		b.Fatal(err)
	}
	for i := len(logs) - 1; i >= 0; i-- {
		line := logs[i].Instance + " " + string(logs[i].Event)
		if logs[i].Text != "" {
			line += ": " + logs[i].Text
		}
		lines = append(lines, line)
	}
	return lines
}

// instance returns a stored instance.
func (b *bench) instance(service, name string) (traceprof.Instance, bool) {
	b.Helper()
	list, err := b.mem.Instances(b.ctx, service, 0)
	if err != nil {
		b.Fatal(err)
	}
	for _, i := range list {
		if i.Name == name {
			return i, true
		}
	}
	return traceprof.Instance{}, false
}

// names returns the names of the stack of a path.
func names(s traceprof.Snapshots, row int) []string { return s.Stacks.Names(s.Path[row]) }

// args returns the arguments of the only command.
func args(t *testing.T, c *commonv3.Commands) (name string, list [][2]string) {
	t.Helper()
	if len(c.GetCommands()) != 1 {
		t.Fatalf("%d commands, want one", len(c.GetCommands()))
	}
	for _, a := range c.GetCommands()[0].GetArgs() {
		list = append(list, [2]string{a.GetKey(), a.GetValue()})
	}
	return c.GetCommands()[0].GetCommand(), list
}

// eventually waits until something holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for range 3000 {
		if holds() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("it did not happen: %s", what)
}

// dialRaw opens a connection for bytes that are no gRPC.
func dialRaw(t *testing.T, address string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}
