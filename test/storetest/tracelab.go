package storetest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/traceprof"
)

// RunTraces runs the contract of traceprof.Store.
func RunTraces(t *testing.T, e TraceEngine) {
	for _, test := range traceTests {
		t.Run(test.name, func(t *testing.T) { test.run(newTraceLab(t, e)) })
	}
}

// traceTests lists the suite, simple things first.
var traceTests = []struct {
	name string
	run  func(*traceLab)
}{
	{"NoTasks", testNoTasks},
	{"CreateTask", testCreateTask},
	{"TaskIDs", testTaskIDs},
	{"TaskQueries", testTaskQueries},
	{"StopTask", testStopTask},
	{"Logs", testLogs},
	{"Instances", testInstances},
	{"Segments", testSegments},
	{"SegmentQueries", testSegmentQueries},
	{"Endpoints", testEndpoints},
	{"Snapshots", testSnapshots},
	{"FirstWins", testFirstWins},
	{"SnapshotQueries", testSnapshotQueries},
	{"Sequences", testSequences},
	{"GoProfiles", testGoProfiles},
	{"Languages", testLanguages},
	{"HostileNames", testHostileNames},
	{"LargeStacks", testLargeStacks},
	{"GrowingStacks", testGrowingStacks},
	{"BadSnapshots", testBadSnapshots},
	{"OwnCopies", testOwnCopies},
	{"ManyParts", testManyParts},
	{"ExpireTasks", testExpireTasks},
	{"ExpirePast", testExpirePast},
	{"ExpireTogether", testExpireTogether},
	{"ExpireUnknown", testExpireUnknown},
	{"ExpireBySize", testExpireBySize},
	{"ExpireByArrival", testExpireByArrival},
	{"EndedContext", testEndedContext},
	{"OneTaskWins", testOneTaskWins},
	{"TwoClients", testTwoClients},
}

// traceLab is one store under test.
type traceLab struct {
	opened[traceprof.Store]
	stacks *calltree.Forest // of the tests' snapshots
}

func newTraceLab(t testing.TB, e TraceEngine) *traceLab {
	t.Helper()
	return &traceLab{open(t, e), new(calltree.Forest)}
}

// task creates a trace task.
func (l *traceLab) task(service string, start, duration int64) traceprof.Task {
	l.t.Helper()
	t, err := l.s.CreateTask(l.ctx, traceprof.Task{Kind: traceprof.TraceKind, Service: service, ServiceID: "id-" + service,
		Endpoint: "/" + service, Created: start, Start: start, Duration: duration, Period: 10, MaxSegments: 5})
	l.ok(err)
	return t
}

// taskIDs returns the ids of the tasks of a query.
func (l *traceLab) taskIDs(q traceprof.TaskQuery) string {
	l.t.Helper()
	list, err := l.s.Tasks(l.ctx, q)
	l.ok(err)
	var ids []string
	for _, t := range list {
		ids = append(ids, t.ID)
	}
	return strings.Join(ids, " ")
}

// segmentIDs returns the ids of the segments of a query.
func (l *traceLab) segmentIDs(q traceprof.SegmentQuery) string {
	l.t.Helper()
	list, err := l.s.Segments(l.ctx, q)
	l.ok(err)
	var ids []string
	for _, s := range list {
		ids = append(ids, s.ID)
	}
	return strings.Join(ids, " ")
}

// dump is one snapshot: its stack as names of frames, outermost first, with
// spaces between.
type dump struct {
	sequence int32
	time     int64
	stack    string
}

// dumps builds snapshots over the lab's dictionary of stacks.
func (l *traceLab) dumps(task, segment string, list ...dump) traceprof.Snapshots {
	s := traceprof.Snapshots{Task: task, Segment: segment}
	for _, d := range list {
		s.Sequence, s.Time = append(s.Sequence, d.sequence), append(s.Time, d.time)
		s.Path = append(s.Path, stackPath(l.stacks, strings.Fields(d.stack)))
	}
	s.Stacks = l.stacks.Snapshot()
	return s
}

// stackPath interns a stack.
func stackPath(f *calltree.Forest, frames []string) int32 {
	p := calltree.NoNode
	for _, frame := range frames {
		p = f.Path(p, f.Function(profile.Function{Name: frame}))
	}
	return p
}

func (l *traceLab) put(list ...traceprof.Snapshots) {
	l.t.Helper()
	l.ok(l.s.PutSnapshots(l.ctx, list...))
}

// want compares the result of a query as text: a line for each task and
// segment, and a line "sequence time: stack" for each snapshot.
func (l *traceLab) want(q traceprof.SnapshotQuery, picture string) {
	l.t.Helper()
	got, err := drawSnapshots(l.ctx, l.s, q)
	l.ok(err)
	var want strings.Builder
	for line := range strings.Lines(picture) {
		if line = strings.TrimSpace(line); line != "" {
			fmt.Fprintln(&want, line)
		}
	}
	if d := cmp.Diff(want.String(), got); d != "" {
		l.t.Errorf("%+v (-want +got):\n%s", q, d)
	}
}

// drawSnapshots draws what a query finds, and checks that every value is sound.
func drawSnapshots(ctx context.Context, s traceprof.Store, q traceprof.SnapshotQuery) (string, error) {
	var b strings.Builder
	for v, err := range s.Snapshots(ctx, q) {
		if err != nil {
			return "", err
		}
		if err := v.Check(); err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%s %s", v.Task, v.Segment)
		if v.Language == traceprof.GoProfiles {
			fmt.Fprint(&b, " go")
		}
		fmt.Fprintln(&b)
		for i, sequence := range v.Sequence {
			fmt.Fprintf(&b, "%d %d:", sequence, v.Time[i])
			if p := v.Path[i]; p != calltree.NoNode {
				fmt.Fprintf(&b, " %s", strings.Join(v.Stacks.Names(p), " "))
			}
			if v.Language == traceprof.GoProfiles {
				fmt.Fprintf(&b, " ×%d %d ns", v.Count[i], v.Nanos[i])
			}
			fmt.Fprintln(&b)
		}
	}
	return b.String(), nil
}
