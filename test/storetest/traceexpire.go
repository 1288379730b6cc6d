package storetest

import (
	"context"
	"fmt"
	"strings"

	"github.com/dendroprof/dendro/traceprof"
)

func (l *traceLab) expire(e traceprof.Expiry, want traceprof.Expired) {
	l.t.Helper()
	got, err := l.s.Expire(l.ctx, e)
	l.ok(err)
	l.same(fmt.Sprintf("%+v", e), got, want)
}

// profiledTasks lists the tasks that have snapshots.
func (l *traceLab) profiledTasks() string {
	l.t.Helper()
	var list []string
	for v, err := range l.s.Snapshots(l.ctx, traceprof.SnapshotQuery{}) {
		l.ok(err)
		if len(list) == 0 || list[len(list)-1] != v.Task {
			list = append(list, v.Task)
		}
	}
	return strings.Join(list, " ")
}

func testExpireTasks(l *traceLab) {
	old, recent, running := l.task("old", 1000, 100), l.task("recent", 1050, 100), l.task("running", 1000, 5000)
	for _, t := range []traceprof.Task{old, recent, running} {
		l.put(l.dumps(t.ID, "segment of "+t.ID, dump{0, 1, "A"}))
		l.ok(l.s.AppendLog(l.ctx, traceprof.Log{Task: t.ID, Event: traceprof.Notified, Time: 1}))
	}
	l.ok(l.s.AppendLog(l.ctx, traceprof.Log{Task: "unknown", Time: 1100}, traceprof.Log{Task: "unknown", Time: 1101}))
	l.ok(l.s.PutInstances(l.ctx, traceprof.Instance{Service: "s", Name: "gone", LastSeen: 1100},
		traceprof.Instance{Service: "s", Name: "there", LastSeen: 1101}))
	l.ok(l.s.PutSegments(l.ctx, segment("a", 1100, 50), segment("b", 1101, 50)))
	l.expire(traceprof.Expiry{Before: 1000}, traceprof.Expired{})
	l.expire(traceprof.Expiry{Before: 1101}, traceprof.Expired{Tasks: 1, Segments: 1, Instances: 1})
	for range 2 {
		l.same("tasks", l.taskIDs(traceprof.TaskQuery{}), recent.ID+" "+running.ID)
		l.same("tasks with snapshots", l.profiledTasks(), running.ID+" "+recent.ID)
		l.same("segments", l.segmentIDs(traceprof.SegmentQuery{}), "b")
		logs, err := l.s.Logs(l.ctx, old.ID, recent.ID, running.ID, "unknown")
		l.ok(err)
		l.same("lines of logs", len(logs), 3)
		instances, err := l.s.Instances(l.ctx, "", 0)
		l.ok(err)
		l.same("instances", instances, []traceprof.Instance{{Service: "s", Name: "there", LastSeen: 1101}})
		l.reopen()
	}
	// Expired tasks and segments may come again.
	l.put(l.dumps(old.ID, "segment of "+old.ID, dump{0, 2, "B"}))
	l.ok(l.s.PutSegments(l.ctx, segment("a", 2000, 1)))
	l.want(traceprof.SnapshotQuery{Tasks: []string{old.ID}}, old.ID+" segment of "+old.ID+"\n0 2: B")
	l.same("segments", l.segmentIDs(traceprof.SegmentQuery{}), "a b")
}

// testExpireTogether keeps the traces of tasks whole, and removes them whole.
func testExpireTogether(l *traceLab) {
	old, kept := l.task("old", 1000, 100), l.task("kept", 5000, 100)
	in := func(id, trace string, start int64) traceprof.Segment {
		s := segment(id, start, 1)
		s.Trace = trace
		return s
	}
	l.ok(l.s.PutSegments(l.ctx,
		in("profiled", "t1", 5010), in("caller", "t1", 900), // of the kept task
		in("old profiled", "t2", 1010), in("old caller", "t2", 2010), // of the old one
		in("both", "t3", 1010), in("both's caller", "t3", 1000), // of both
		in("loose", "t4", 1010), in("new loose", "t5", 2010),
		in("traceless", "", 1010), in("other traceless", "", 1010)))
	l.put(l.dumps(kept.ID, "profiled", dump{0, 1, "A"}), l.dumps(old.ID, "old profiled", dump{0, 1, "A"}),
		l.dumps(kept.ID, "both", dump{0, 1, "A"}), l.dumps(old.ID, "both", dump{0, 1, "A"}),
		l.dumps(kept.ID, "traceless", dump{0, 1, "A"}), l.dumps(kept.ID, "never came", dump{0, 1, "A"}))
	l.expire(traceprof.Expiry{Before: 2000}, traceprof.Expired{Tasks: 1, Segments: 4})
	l.same("segments", l.segmentIDs(traceprof.SegmentQuery{}), "profiled new loose both traceless both's caller caller")
	l.expire(traceprof.Expiry{Before: 6000}, traceprof.Expired{Tasks: 1, Segments: 6})
	l.same("segments", l.segmentIDs(traceprof.SegmentQuery{}), "")
	l.want(traceprof.SnapshotQuery{}, "")
}

// testExpireUnknown expires snapshots whose task never came.
func testExpireUnknown(l *traceLab) {
	l.put(l.dumps("ghost", "a", dump{0, 100, "A"}, dump{1, 300, "A"}, dump{2, 200, "A"}), l.dumps("phantom", "b", dump{0, 301, "A"}))
	l.ok(l.s.PutSegments(l.ctx, segment("a", 50, 1), segment("b", 50, 1)))
	l.expire(traceprof.Expiry{Before: 300}, traceprof.Expired{})
	l.expire(traceprof.Expiry{Before: 301}, traceprof.Expired{Segments: 1})
	l.same("tasks with snapshots", l.profiledTasks(), "phantom")
	l.expire(traceprof.Expiry{MaxBytes: 1}, traceprof.Expired{Segments: 1})
	l.same("tasks with snapshots", l.profiledTasks(), "")
}

// testExpireBySize fills a store and makes it smaller and smaller: what goes is
// always the oldest of what may go.
func testExpireBySize(l *traceLab) {
	const now = 100_000
	running := l.task("running", now-10, 1000)
	l.put(l.dumps(running.ID, "running", dump{0, 1, "A"}))
	l.ok(l.s.PutSegments(l.ctx, segment("running", 1, 1)))
	var tasks, loose []string
	for i := range int64(6) {
		t := l.task(fmt.Sprint("s", i), 1000+10*((i*5)%6), 5)
		id := fmt.Sprint("of ", t.ID)
		l.put(l.dumps(t.ID, id, dump{0, 1, fmt.Sprint(strings.Repeat("A", 5000), " B", i)}))
		l.ok(l.s.PutSegments(l.ctx, segment(id, 1, 1)))
	}
	for i := range int64(40) {
		s := segment(fmt.Sprintf("%02d", i), 2000+i, 1)
		s.Raw = incompressible(5000, i)
		l.ok(l.s.PutSegments(l.ctx, s))
	}
	l.expire(traceprof.Expiry{Now: now, MaxBytes: 1 << 40}, traceprof.Expired{})
	steps := 0
	before := ""
	for size := int64(300_000); size > 1; size = size * 4 / 5 {
		_, err := l.s.Expire(l.ctx, traceprof.Expiry{Now: now, MaxBytes: size})
		l.ok(err)
		tasks = strings.Fields(l.taskIDs(traceprof.TaskQuery{To: now - 100}))
		loose = strings.Fields(l.segmentIDs(traceprof.SegmentQuery{From: 2000}))
		for i, id := range loose {
			if id != fmt.Sprint(39-i) && id != fmt.Sprint("0", 39-i) {
				l.t.Fatalf("%d bytes: segment %s stays before a newer one: %v", size, id, loose)
			}
		}
		if len(loose) > 0 && len(tasks) < 6 {
			l.t.Fatalf("%d bytes: tasks go before segments: %v, %v", size, tasks, loose)
		}
		for i, id := range tasks {
			if want := fmt.Sprint(1050 - 10*i); !strings.HasPrefix(id, want) {
				l.t.Fatalf("%d bytes: task %s stays before a newer one: %v", size, id, tasks)
			}
		}
		if after := fmt.Sprint(tasks, loose); after != before {
			before = after
			steps++
		}
	}
	if len(tasks)+len(loose) > 0 || steps < 10 {
		l.t.Errorf("%d steps left the tasks %v and the segments %v", steps, tasks, loose)
	}
	l.expire(traceprof.Expiry{Now: now, MaxBytes: 1}, traceprof.Expired{})
	l.same("a running task", l.taskIDs(traceprof.TaskQuery{})+" "+l.profiledTasks()+" "+l.segmentIDs(traceprof.SegmentQuery{}),
		running.ID+" "+running.ID+" running")
}

// testExpireByArrival: what agents say about times decides nothing. Segments dated far ahead
// evict no good ones, and those dated long ago stay as long as others; snapshots of unknown
// tasks likewise.
func testExpireByArrival(l *traceLab) {
	const now, years = int64(1_700_000_000_000), int64(50) * 365 * 24 * 3_600_000
	put := func(id string, start, arrived int64) {
		s := segment(id, start, 1)
		s.Raw = incompressible(5000, arrived)
		s.SetArrived(arrived)
		l.ok(l.s.PutSegments(l.ctx, s))
		v := l.dumps("task of "+id, "unsegmented "+id, dump{0, start, strings.Repeat("A", 5000)})
		v.Received = arrived
		l.put(v)
	}
	for i := range int64(10) {
		put(fmt.Sprint("ahead ", i), now+years, now+i)
	}
	for i := range int64(10) {
		put(fmt.Sprint("good ", i), now+100+i, now+100+i)
		put(fmt.Sprint("behind ", i), now-years, now+100+i)
	}
	want := func(what, name string, segments, tasks int) {
		l.t.Helper()
		n := strings.Count(l.segmentIDs(traceprof.SegmentQuery{}), name)
		t := strings.Count(l.profiledTasks(), name)
		if n != segments || t != tasks {
			l.t.Errorf("%s: %d segments and %d tasks %q, want %d and %d", what, n, t, name, segments, tasks)
		}
	}
	l.expire(traceprof.Expiry{Now: now + 200, Before: now}, traceprof.Expired{})
	l.expire(traceprof.Expiry{Now: now + 200, Before: now + 10}, traceprof.Expired{Segments: 10})
	want("by time", "ahead", 0, 0)
	want("by time", "good", 10, 10)
	want("by time", "behind", 10, 10)
	for i := range int64(10) {
		put(fmt.Sprint("ahead ", i), now+years, now+50+i)
	}
	for size := int64(400_000); strings.Contains(l.segmentIDs(traceprof.SegmentQuery{}), "ahead"); size -= 2000 {
		_, err := l.s.Expire(l.ctx, traceprof.Expiry{Now: now + 200, MaxBytes: size})
		l.ok(err)
	}
	for _, name := range []string{"good", "behind"} {
		if n := strings.Count(l.segmentIDs(traceprof.SegmentQuery{}), name); n < 9 {
			l.t.Errorf("by size: %d segments %q", n, name)
		}
	}
	l.reopen()
	segments, err := l.s.Segments(l.ctx, traceprof.SegmentQuery{})
	l.ok(err)
	for _, s := range segments {
		if at := s.Arrived(); at < now+100 || at > now+110 {
			l.t.Errorf("%s arrived at %d", s.ID, at)
		}
	}
}

// incompressible returns bytes without a pattern.
func incompressible(n int, seed int64) []byte {
	b := make([]byte, n)
	x := uint64(seed)*2 + 1
	for i := range b {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		b[i] = byte(x)
	}
	return b
}

// testEndedContext calls everything with a context that has ended.
func testEndedContext(l *traceLab) {
	task := l.task("s", 1, 1)
	l.put(l.dumps("t", "s", dump{0, 1, "A"}))
	ctx, cancel := context.WithCancel(l.ctx)
	cancel()
	for name, err := range map[string]error{
		"CreateTask":   second(l.s.CreateTask(ctx, traceprof.Task{Service: "x"})),
		"Task":         second(l.s.Task(ctx, task.ID)),
		"Tasks":        second(l.s.Tasks(ctx, traceprof.TaskQuery{})),
		"StopTask":     l.s.StopTask(ctx, task.ID, 1),
		"AppendLog":    l.s.AppendLog(ctx, traceprof.Log{Task: "t"}),
		"Logs":         second(l.s.Logs(ctx, "t")),
		"PutInstances": l.s.PutInstances(ctx, traceprof.Instance{Name: "x"}),
		"Instances":    second(l.s.Instances(ctx, "", 0)),
		"PutSegments":  l.s.PutSegments(ctx, segment("x", 1, 1)),
		"Segments":     second(l.s.Segments(ctx, traceprof.SegmentQuery{})),
		"Endpoints":    second(l.s.Endpoints(ctx, "s", "", 0)),
		"PutSnapshots": l.s.PutSnapshots(ctx, l.dumps("t", "x", dump{0, 1, "A"})),
		"Snapshots":    second(drawSnapshots(ctx, l.s, traceprof.SnapshotQuery{})),
		"Sampled":      second(l.s.SampledSegments(ctx, traceprof.SnapshotQuery{})),
		"Expire":       second(l.s.Expire(ctx, traceprof.Expiry{Before: 1 << 60})),
	} {
		if err == nil {
			l.t.Errorf("%s ignores its context", name)
		}
	}
	l.want(traceprof.SnapshotQuery{}, "t s\n0 1: A")
	l.same("tasks", l.taskIDs(traceprof.TaskQuery{}), task.ID)
	l.same("segments", l.segmentIDs(traceprof.SegmentQuery{}), "")
}

func second[T any](_ T, err error) error { return err }

// testExpirePast: a task that was over when it was created is kept from its creation on.
func testExpirePast(l *traceLab) {
	past := traceprof.Task{ID: "past", Kind: traceprof.TraceKind, Service: "s", ServiceID: "s", Endpoint: "e", Created: 5000, Start: 1000,
		Duration: 100, Period: 10, MaxSegments: 1}
	past, err := l.s.CreateTask(l.ctx, past)
	l.ok(err)
	l.task("another that is due", 1000, 100)
	l.expire(traceprof.Expiry{Before: 5000}, traceprof.Expired{Tasks: 1})
	l.same("tasks", l.taskIDs(traceprof.TaskQuery{}), past.ID)
	l.expire(traceprof.Expiry{Before: 5001}, traceprof.Expired{Tasks: 1})
	l.same("tasks", l.taskIDs(traceprof.TaskQuery{}), "")
}
