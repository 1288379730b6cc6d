package storetest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/dendroprof/dendro/traceprof"
)

func testNoTasks(l *traceLab) {
	if _, err := l.s.Task(l.ctx, "none"); !errors.Is(err, traceprof.ErrNoTask) {
		l.t.Errorf("Task: %v", err)
	}
	if err := l.s.StopTask(l.ctx, "none", 5); !errors.Is(err, traceprof.ErrNoTask) {
		l.t.Errorf("StopTask: %v", err)
	}
	l.same("tasks", l.taskIDs(traceprof.TaskQuery{}), "")
	l.same("segments", l.segmentIDs(traceprof.SegmentQuery{}), "")
	l.want(traceprof.SnapshotQuery{}, "")
	if out, err := l.s.Expire(l.ctx, traceprof.Expiry{Now: 10, Before: 10, MaxBytes: 1}); err != nil || out != (traceprof.Expired{}) {
		l.t.Errorf("Expire: %+v, %v", out, err)
	}
	l.ok(l.s.AppendLog(l.ctx))
	l.ok(l.s.PutInstances(l.ctx))
	l.ok(l.s.PutSegments(l.ctx))
	l.ok(l.s.PutSnapshots(l.ctx))
}

func testCreateTask(l *traceLab) {
	whole := traceprof.Task{Kind: traceprof.PprofKind, Service: "shop \x00'\"ü", ServiceID: "c2hvcA==.1", Created: 1_700_000_000_123,
		Start: 1_700_000_000_200, Duration: 5 * traceprof.Minute, Endpoint: "GET:/cart;\n%", MinDuration: 100, Period: 10, MaxSegments: 9,
		Instances: []string{"a@b", "", "c"}, Events: []string{"CPU", "BLOCK"}, Arguments: "x=1,y"}
	got, err := l.s.CreateTask(l.ctx, whole)
	l.ok(err)
	want := whole
	want.ID = "1700000000123_c2hvcA==.1"
	l.same("created", got, want)
	clear(got.Instances)
	for range 2 {
		kept, err := l.s.Task(l.ctx, want.ID)
		l.ok(err)
		l.same("kept", kept, want)
		l.reopen()
	}

	refused := whole
	refused.Start, refused.Events = whole.End(), []string{"HEAP", "CPU"}
	var why *traceprof.RefusedError
	if _, err := l.s.CreateTask(l.ctx, refused); !errors.As(err, &why) || why.Reason != traceprof.ErrOverlap.Reason {
		l.t.Errorf("a task that overlaps: %v", err)
	}
	l.same("tasks after the refusal", l.taskIDs(traceprof.TaskQuery{}), want.ID)
	later := refused
	later.Start++
	if _, err := l.s.CreateTask(l.ctx, later); err != nil {
		l.t.Errorf("a task behind another: %v", err)
	}
	other := whole
	other.Service, other.ServiceID = "other", "other"
	if _, err := l.s.CreateTask(l.ctx, other); err != nil {
		l.t.Errorf("a task of another service: %v", err)
	}
}

// testTaskIDs makes tasks of one moment.
func testTaskIDs(l *traceLab) {
	for i, kind := range []traceprof.Kind{traceprof.TraceKind, traceprof.AsyncKind, traceprof.PprofKind, traceprof.TraceKind} {
		t, err := l.s.CreateTask(l.ctx, traceprof.Task{Kind: kind, Service: "s", ServiceID: "s.1", Created: 1000, Start: int64(1000 * i),
			Duration: 500})
		l.ok(err)
		if t.Created != int64(1000+i) || t.ID != fmt.Sprintf("%d_s.1", 1000+i) {
			l.t.Errorf("task %d: created %d, id %s", i, t.Created, t.ID)
		}
	}
	if _, err := l.s.CreateTask(l.ctx, traceprof.Task{Kind: traceprof.TraceKind, Service: "namesake", ServiceID: "s.1",
		Created: 1000}); err == nil {
		l.t.Error("an id was given twice")
	}
}

func testTaskQueries(l *traceLab) {
	var all []traceprof.Task
	for i, t := range []traceprof.Task{
		{Kind: traceprof.TraceKind, Service: "a", Endpoint: "/x", Start: 1000, Duration: 100},
		{Kind: traceprof.TraceKind, Service: "a", Endpoint: "/y", Start: 2000, Duration: 100},
		{Kind: traceprof.AsyncKind, Service: "a", Start: 2000, Duration: 100},
		{Kind: traceprof.TraceKind, Service: "b", Endpoint: "/x", Start: 2000, Duration: 100},
		{Kind: traceprof.TraceKind, Service: "b", Endpoint: "/x", Start: 500, Duration: 100},
	} {
		t.ServiceID, t.Created = t.Service, int64(100+i%4)
		made, err := l.s.CreateTask(l.ctx, t)
		l.ok(err)
		all = append(all, made)
	}
	l.ok(l.s.StopTask(l.ctx, all[3].ID, 2050))
	for _, c := range []struct {
		q    traceprof.TaskQuery
		want string
	}{
		{traceprof.TaskQuery{}, "103_b 102_a 101_a 100_a 104_b"},
		{traceprof.TaskQuery{Limit: 2}, "103_b 102_a"},
		{traceprof.TaskQuery{Kind: traceprof.TraceKind}, "103_b 101_a 100_a 104_b"},
		{traceprof.TaskQuery{Service: "a"}, "102_a 101_a 100_a"},
		{traceprof.TaskQuery{Endpoint: "/x"}, "103_b 100_a 104_b"},
		{traceprof.TaskQuery{Service: "a", Endpoint: "/x"}, "100_a"},
		{traceprof.TaskQuery{Service: "c"}, ""},
		{traceprof.TaskQuery{From: 2100}, "102_a 101_a"},
		{traceprof.TaskQuery{From: 2050}, "103_b 102_a 101_a"},
		{traceprof.TaskQuery{From: 1100, To: 1999}, "100_a"},
		{traceprof.TaskQuery{To: 1000}, "100_a 104_b"},
		{traceprof.TaskQuery{To: 499}, ""},
	} {
		l.same(fmt.Sprintf("%+v", c.q), l.taskIDs(c.q), c.want)
	}
}

func testStopTask(l *traceLab) {
	t := l.task("s", 1000, 500)
	stopped := func() int64 {
		l.t.Helper()
		kept, err := l.s.Task(l.ctx, t.ID)
		l.ok(err)
		return kept.Stopped
	}
	l.ok(l.s.StopTask(l.ctx, t.ID, 1500))
	l.same("stopped when it had ended", stopped(), int64(0))
	l.ok(l.s.StopTask(l.ctx, t.ID, 1200))
	l.ok(l.s.StopTask(l.ctx, t.ID, 1100))
	l.reopen()
	l.same("stopped twice", stopped(), int64(1200))
	next := l.task("s", 1300, 500)
	l.same("tasks", l.taskIDs(traceprof.TaskQuery{}), next.ID+" "+t.ID)
}

func testLogs(l *traceLab) {
	line := func(task, instance string, event traceprof.Event, time int64, text string) traceprof.Log {
		return traceprof.Log{Task: task, Instance: instance, Event: event, Time: time, Text: text}
	}
	first := line("t1", "i", traceprof.Notified, 100, "first")
	l.ok(l.s.AppendLog(l.ctx, first, line("t1", "i", traceprof.Notified, 100, "again")))
	l.ok(l.s.AppendLog(l.ctx, line("t1", "i", traceprof.Notified, 100, "and again"), line("t1", "i", traceprof.Failed, 100, "")))
	others := []traceprof.Log{
		line("t2", "i", traceprof.Notified, 100, "1"), line("t1", "j", traceprof.Notified, 100, "2"),
		line("t1", "i", traceprof.Finished, 100, "3"), line("t1", "i", traceprof.Notified, 101, "4\x00'"),
		line("t3", "i", traceprof.Notified, 102, "5"),
	}
	l.ok(l.s.AppendLog(l.ctx, others...))
	l.reopen()
	got, err := l.s.Logs(l.ctx, "t2", "t1", "t9")
	l.ok(err)
	l.same("logs", got, []traceprof.Log{others[3], others[2], line("t1", "i", traceprof.Failed, 100, ""), first, others[1], others[0]})
	got, err = l.s.Logs(l.ctx)
	l.ok(err)
	l.same("logs of no task", got, []traceprof.Log(nil))
}

func testInstances(l *traceLab) {
	first := traceprof.Instance{Service: "s", Name: "a", Layer: "GENERAL", Language: "java", FirstSeen: 100, LastSeen: 100, Skew: 5,
		Properties: []traceprof.Property{{Key: "ipv4", Value: "1"}, {Key: "ipv4", Value: "2"}, {Key: "", Value: "\x00"}}}
	l.ok(l.s.PutInstances(l.ctx, first, traceprof.Instance{Service: "s", Name: "b", LastSeen: 300},
		traceprof.Instance{Service: "r", Name: "a", LastSeen: 200}))
	l.ok(l.s.PutInstances(l.ctx, traceprof.Instance{Service: "s", Name: "a", FirstSeen: 50, LastSeen: 250, Polled: 240},
		traceprof.Instance{Service: "s", Name: "a", Language: "go", LastSeen: 240, Polled: 230, Skew: 9}))
	l.reopen()
	merged := first
	merged.Language, merged.FirstSeen, merged.LastSeen, merged.Polled = "go", 50, 250, 240
	for _, c := range []struct {
		service string
		since   int64
		want    []traceprof.Instance
	}{
		{"s", 0, []traceprof.Instance{merged, {Service: "s", Name: "b", FirstSeen: 0, LastSeen: 300}}},
		{"s", 251, []traceprof.Instance{{Service: "s", Name: "b", LastSeen: 300}}},
		{"", 250, []traceprof.Instance{merged, {Service: "s", Name: "b", LastSeen: 300}}},
		{"", 0, []traceprof.Instance{{Service: "r", Name: "a", LastSeen: 200}, merged, {Service: "s", Name: "b", LastSeen: 300}}},
		{"q", 0, nil},
	} {
		got, err := l.s.Instances(l.ctx, c.service, c.since)
		l.ok(err)
		l.same(fmt.Sprint(c.service, c.since), got, c.want)
		for _, i := range got {
			clear(i.Properties)
		}
	}
}

// testOneTaskWins has clients create tasks of one service and time.
func testOneTaskWins(l *traceLab) {
	const clients, rounds = 4, 5
	for round := range int64(rounds) {
		var won, lost atomic.Int64
		var wg sync.WaitGroup
		for range clients {
			wg.Go(func() {
				_, err := l.s.CreateTask(l.ctx, traceprof.Task{Kind: traceprof.TraceKind, Service: "s", ServiceID: "s", Created: 7,
					Start: round * 1000, Duration: 500})
				switch {
				case err == nil:
					won.Add(1)
				case errors.Is(err, traceprof.ErrOverlap):
					lost.Add(1)
				default:
					l.t.Error(err)
				}
			})
		}
		wg.Wait()
		if won.Load() != 1 || lost.Load() != clients-1 {
			l.t.Errorf("round %d: %d tasks were made, %d refused", round, won.Load(), lost.Load())
		}
	}
	l.same("tasks", l.taskIDs(traceprof.TaskQuery{}), "11_s 10_s 9_s 8_s 7_s")
}
