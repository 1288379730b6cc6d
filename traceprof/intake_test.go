package traceprof_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/traceprof"
)

// gate is a store whose commits of snapshots can be held up or made to fail.
type gate struct {
	*mem.Store
	commits atomic.Int64
	rows    atomic.Int64 // of the largest commit
	entered chan struct{}
	pass    chan error // nil: nothing is held up
}

func (g *gate) PutSnapshots(ctx context.Context, list ...traceprof.Snapshots) error {
	g.commits.Add(1)
	n := int64(0)
	for i := range list {
		n += int64(list[i].Len())
	}
	g.rows.Store(max(n, g.rows.Load()))
	if g.pass != nil {
		g.entered <- struct{}{}
		select {
		case err := <-g.pass:
			if err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return g.Store.PutSnapshots(ctx, list...)
}

// heldUp returns a gate that holds commits up.
func heldUp() *gate {
	return &gate{Store: mem.New(), entered: make(chan struct{}, 1000), pass: make(chan error)}
}

// intake returns an Intake that is closed when the test ends, and leaves no
// goroutine behind.
func intake(t testing.TB, st traceprof.Store, o traceprof.IntakeOptions) *traceprof.Intake {
	before := runtime.NumGoroutine()
	in := traceprof.NewIntake(st, o)
	t.Cleanup(func() {
		in.Close(t.Context())
		for range 1000 {
			if runtime.NumGoroutine() <= before {
				return
			}
			time.Sleep(time.Millisecond)
		}
		t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), before)
	})
	return in
}

// snapshot is one of a task and segment whose stack is the names of frames with
// spaces between.
func snapshot(task, segment string, sequence int32, stack string) *traceprof.Snapshot {
	return &traceprof.Snapshot{Task: []byte(task), Segment: []byte(segment), Sequence: sequence, Time: int64(10 * sequence),
		Stack: []byte(stack), Frames: fields}
}

var errBroken = errors.New("broken stack")

// fields yields frames in memory that is overwritten afterwards.
func fields(stack []byte, yield func([]byte) bool) error {
	for frame := range bytes.FieldsSeq(stack) {
		own := bytes.Clone(frame)
		if !yield(own) {
			return nil
		}
		clear(own)
	}
	if bytes.HasSuffix(stack, []byte("!")) {
		return errBroken
	}
	return nil
}

func give(t testing.TB, s *traceprof.Stream, list ...*traceprof.Snapshot) {
	t.Helper()
	for _, d := range list {
		if err := s.Snapshot(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		clear(d.Task)
		clear(d.Segment)
		clear(d.Stack)
	}
}

// stored draws what a store has: for each task and segment its sequences and
// stacks.
func stored(t testing.TB, st traceprof.Store) string {
	t.Helper()
	var b strings.Builder
	for v, err := range st.Snapshots(context.Background(), traceprof.SnapshotQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s %s:", v.Task, v.Segment)
		for i, p := range v.Path {
			fmt.Fprintf(&b, " %d %d %s;", v.Sequence[i], v.Time[i], strings.Join(v.Stacks.Names(p), " "))
		}
		fmt.Fprintln(&b)
	}
	return b.String()
}

func same(t testing.TB, got, want string) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func TestIntake(t *testing.T) {
	st := mem.New()
	in := intake(t, st, traceprof.IntakeOptions{})
	a, b := in.Stream(), in.Stream()
	give(t, a, snapshot("t", "s", 0, "A B"), snapshot("t", "s", 1, ""), snapshot("t", "s", 1, "again"), snapshot("t", "r", 0, "A"))
	give(t, b, snapshot("t", "s", 2, "A B"), snapshot("u", "s", 0, "A B"), snapshot("\xff", "s\xfe", 7, "bad\xff name"))
	raw := []byte("raw")
	segment := traceprof.Segment{ID: "x\xff", Service: "s", Start: 5, Raw: raw}
	properties := []traceprof.Property{{Key: "k", Value: "v\xff"}}
	for _, err := range []error{
		a.Segment(t.Context(), segment), b.Segment(t.Context(), segment),
		a.Instance(t.Context(), traceprof.Instance{Service: "s", Name: "i", FirstSeen: 5, LastSeen: 5, Properties: properties}),
		b.Instance(t.Context(), traceprof.Instance{Service: "s", Name: "i", LastSeen: 9}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	raw[0], properties[0].Value = 'X', "changed"
	if err := errors.Join(a.Wait(t.Context()), b.Wait(t.Context()), in.Stream().Wait(t.Context())); err != nil {
		t.Fatal(err)
	}
	same(t, stored(t, st), "t r: 0 0 A;\nt s: 0 0 A B; 1 10 ; 2 20 A B;\nu s: 0 0 A B;\n\uFFFD s\uFFFD: 7 70 bad\uFFFD name;\n")
	segments, err := st.Segments(t.Context(), traceprof.SegmentQuery{})
	if err != nil || len(segments) != 1 || segments[0].ID != "x\uFFFD" || string(segments[0].Raw) != "raw" {
		t.Errorf("segments %+v, %v", segments, err)
	}
	instances, err := st.Instances(t.Context(), "s", 0)
	if err != nil || len(instances) != 1 || instances[0].LastSeen != 9 || instances[0].FirstSeen != 5 ||
		instances[0].Properties[0].Value != "v\uFFFD" {
		t.Errorf("instances %+v, %v", instances, err)
	}
	m := in.Metrics()
	if m.Snapshots != 7 || m.Segments != 2 || m.Batches == 0 || m.PendingBytes != 0 || m.Failed != 0 || m.StackBytes == 0 ||
		m.CommitTime <= 0 {
		t.Errorf("%+v", m)
	}
}

// TestIntakeFrames decodes each stack of a task once, and drops what it cannot
// decode.
func TestIntakeFrames(t *testing.T) {
	st := mem.New()
	in := intake(t, st, traceprof.IntakeOptions{})
	s := in.Stream()
	calls := 0
	for i := range int32(50) {
		d := snapshot(fmt.Sprint("t", i%2), "s", i, fmt.Sprint("A B", i%10/2))
		d.Frames = func(stack []byte, yield func([]byte) bool) error { calls++; return fields(stack, yield) }
		give(t, s, d)
	}
	if m := in.Metrics(); calls != 10 || m.NewStacks != 10 || m.Stacks != 10 {
		t.Errorf("%d calls for 10 stacks; %+v", calls, m)
	}
	if err := s.Snapshot(t.Context(), snapshot("t0", "s", 99, "A !")); !errors.Is(err, errBroken) {
		t.Errorf("a broken stack: %v", err)
	}
	give(t, s, snapshot("t0", "s", 100, "A !x"))
	if err := s.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := stored(t, st); strings.Contains(got, "99 990") || !strings.Contains(got, "100 1000 A !x") {
		t.Error(got)
	}
}

// TestIntakeTimes gives times that no clock shows and computes with what is stored.
func TestIntakeTimes(t *testing.T) {
	st := mem.New()
	s := intake(t, st, traceprof.IntakeOptions{}).Stream()
	first, last := snapshot("task", "segment", 0, "a"), snapshot("task", "segment", 1, "a")
	first.Time, last.Time = math.MinInt64, math.MaxInt64
	give(t, s, first, last)
	if err := s.Segment(t.Context(), traceprof.Segment{ID: "segment", Trace: "trace", Start: math.MinInt64, End: math.MaxInt64}); err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	const most = 2 * 253_402_300_799_999 // from the year 9999 back to 1970 and as far again
	list, err := st.Segments(t.Context(), traceprof.SegmentQuery{})
	if err != nil || len(list) != 1 || list[0].Latency() != most {
		t.Errorf("%v, %+v", err, list)
	}
	_, err = traceprof.Analyze(t.Context(), st, []traceprof.Range{{Segment: "segment", Start: math.MinInt64, End: math.MaxInt64}},
		traceprof.AnalyzeOptions{})
	if !errors.Is(err, traceprof.ErrDuration) {
		t.Errorf("a duration of all time: %v", err)
	}
}

// TestIntakeGroups holds up a commit, and wants all that comes meanwhile to go
// together.
func TestIntakeGroups(t *testing.T) {
	st := heldUp()
	in := intake(t, st, traceprof.IntakeOptions{MaxDelay: time.Millisecond})
	first := in.Stream()
	give(t, first, snapshot("t", "s", 0, "A"))
	<-st.entered
	const streams = 40
	var waiting sync.WaitGroup
	for i := range int32(streams) {
		s := in.Stream()
		give(t, s, snapshot("t", "s", 2*i+1, "A"), snapshot("t", fmt.Sprint(i), 2*i+2, "A B"))
		waiting.Go(func() {
			if err := s.Wait(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	st.pass <- nil
	<-st.entered
	st.pass <- nil
	waiting.Wait()
	if err := first.Wait(t.Context()); err != nil || st.commits.Load() != 2 || st.rows.Load() != 2*streams {
		t.Errorf("%d commits, %d snapshots in the largest, %v", st.commits.Load(), st.rows.Load(), err)
	}
}

// TestIntakeFailure fails a batch: everybody in it is told, nobody else.
func TestIntakeFailure(t *testing.T) {
	st := heldUp()
	in := intake(t, st, traceprof.IntakeOptions{MaxDelay: time.Millisecond})
	full := errors.New("the disk is full")
	a, b, c := in.Stream(), in.Stream(), in.Stream()
	give(t, a, snapshot("t", "s", 0, "A"))
	<-st.entered
	give(t, a, snapshot("t", "s", 1, "A"))
	give(t, b, snapshot("t", "s", 2, "A B"))
	st.pass <- nil
	<-st.entered
	give(t, c, snapshot("t", "s", 3, "A B"))
	st.pass <- full
	<-st.entered
	st.pass <- nil
	for range 2 {
		if err := a.Wait(t.Context()); !errors.Is(err, full) {
			t.Errorf("a: %v", err)
		}
	}
	if err := b.Wait(t.Context()); !errors.Is(err, full) {
		t.Errorf("b: %v", err)
	}
	if err := b.Snapshot(t.Context(), snapshot("t", "s", 9, "A")); !errors.Is(err, full) {
		t.Errorf("b goes on: %v", err)
	}
	if err := c.Wait(t.Context()); err != nil {
		t.Errorf("c: %v", err)
	}
	same(t, stored(t, st), "t s: 0 0 A; 3 30 A B;\n")
	if m := in.Metrics(); m.Snapshots != 2 || m.Failed != 2 || m.FailedBatches != 1 || m.PendingBytes != 0 {
		t.Errorf("%+v", m)
	}
}

// TestIntakeRoom lets too much wait: streams block until a commit makes room.
func TestIntakeRoom(t *testing.T) {
	const limit = 10_000
	st := heldUp()
	in := intake(t, st, traceprof.IntakeOptions{MaxBytes: limit, MaxDelay: time.Millisecond})
	s := in.Stream()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	n := int32(0)
	var err error
	for ; err == nil; n++ {
		err = s.Snapshot(ctx, snapshot("t", "s", n, "A"))
		if p := in.Metrics().PendingBytes; p > limit+1000 {
			t.Fatalf("%d bytes are pending", p)
		}
	}
	if !errors.Is(err, context.DeadlineExceeded) || n < 100 {
		t.Fatalf("%d snapshots, %v", n, err)
	}
	if err := s.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Wait: %v", err)
	}
	blocked := make(chan error)
	other := in.Stream()
	go func() { blocked <- other.Segment(t.Context(), traceprof.Segment{ID: "x", Raw: make([]byte, 3*limit)}) }()
	open := make(chan struct{})
	go func() {
		for {
			select {
			case st.pass <- nil:
			case <-open:
				return
			}
		}
	}()
	if err := <-blocked; err != nil {
		t.Error(err)
	}
	if err := errors.Join(other.Wait(t.Context()), s.Wait(t.Context())); err != nil {
		t.Error(err)
	}
	close(open)
	if m := in.Metrics(); m.Snapshots != int64(n-1) || m.Segments != 1 || m.PendingBytes != 0 {
		t.Errorf("%d snapshots went in: %+v", n-1, m)
	}
}

func TestIntakeClose(t *testing.T) {
	st := mem.New()
	in := intake(t, st, traceprof.IntakeOptions{MaxDelay: time.Hour})
	s := in.Stream()
	give(t, s, snapshot("t", "s", 0, "A"))
	for range 2 {
		if err := in.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	same(t, stored(t, st), "t s: 0 0 A;\n")
	if err := s.Wait(t.Context()); err != nil {
		t.Errorf("Wait: %v", err)
	}
	if err := s.Snapshot(t.Context(), snapshot("t", "s", 1, "A")); !errors.Is(err, traceprof.ErrClosed) {
		t.Errorf("Snapshot: %v", err)
	}

	stuck := heldUp()
	in = intake(t, stuck, traceprof.IntakeOptions{MaxBytes: 100, MaxDelay: time.Millisecond})
	s = in.Stream()
	give(t, s, snapshot("t", "s", 0, "A"))
	<-stuck.entered
	blocked := make(chan error)
	other := in.Stream()
	go func() { blocked <- other.Snapshot(context.Background(), snapshot("t", "s", 1, "A")) }()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := in.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Close: %v", err)
	}
	if err := <-blocked; !errors.Is(err, traceprof.ErrClosed) {
		t.Errorf("a stream that waited for room: %v", err)
	}
	if err := s.Wait(t.Context()); err == nil {
		t.Error("what was not stored is acknowledged")
	}
}

// TestIntakeForgets sends more tasks and stacks than are remembered.
func TestIntakeForgets(t *testing.T) {
	const limit = 50_000
	st := mem.New()
	in := intake(t, st, traceprof.IntakeOptions{MaxStacks: limit})
	s, idle := in.Stream(), in.Stream()
	var want strings.Builder
	for task := range 100 {
		fmt.Fprintf(&want, "t%02d s:", task)
		stacks := int32(5)
		if task == 50 {
			stacks = 400
		}
		for i := range stacks {
			give(t, s, snapshot(fmt.Sprintf("t%02d", task), "s", i, fmt.Sprintf("A B%d", i)))
			fmt.Fprintf(&want, " %d %d A B%d;", i, 10*i, i)
			if m := in.Metrics(); m.StackBytes > limit+2000 || m.Stacks*50 > limit {
				t.Fatalf("%+v", m)
			}
		}
		if task < 2 { // and are asked for again much later
			give(t, idle, snapshot("idle", "s", int32(task), "I"))
		}
		fmt.Fprintln(&want)
	}
	give(t, idle, snapshot("idle", "s", 2, "I"), snapshot("idle", "s", 3, "I J"))
	if err := errors.Join(s.Wait(t.Context()), idle.Wait(t.Context())); err != nil {
		t.Fatal(err)
	}
	same(t, stored(t, st), "idle s: 0 0 I; 1 10 I; 2 20 I; 3 30 I J;\n"+want.String())
}

// TestIntakeGoProfile hands over what was decoded elsewhere.
func TestIntakeGoProfile(t *testing.T) {
	st := mem.New()
	in := intake(t, st, traceprof.IntakeOptions{})
	s := in.Stream()
	give(t, s, snapshot("t", "dumps", 0, "main f"))
	stacks := new(calltree.Forest)
	name := func(n string) int32 { return stacks.Function(profile.Function{Name: n}) }
	stacks.Path(calltree.NoNode, name("unused"))
	f := stacks.Path(stacks.Path(calltree.NoNode, name("main")), name("f"))
	d := traceprof.Snapshots{Task: "t", Segment: "go", Language: traceprof.GoProfiles, Stacks: stacks,
		Sequence: []int32{0, 1, 2}, Time: []int64{5, 5, 5}, Path: []int32{f, calltree.NoNode, stacks.Paths.Parent[f]}, Count: []int64{1, 2, 3},
		Nanos: []int64{10, 20, 30}}
	if err := s.Snapshots(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	d.Sequence[0], d.Path[1], d.Count[2] = 9, 0, 9
	d.Time = nil
	if err := s.Snapshots(t.Context(), d); err == nil {
		t.Error("columns that do not belong together went in")
	}
	if err := s.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	same(t, stored(t, st), "t dumps: 0 0 main f;\nt go: 0 5 main f; 1 5 ; 2 5 main;\n")
	for v := range st.Snapshots(t.Context(), traceprof.SnapshotQuery{Segments: []string{"go"}}) {
		if fmt.Sprint(v.Language, v.Count, v.Nanos) != "1 [1 2 3] [10 20 30]" {
			t.Errorf("%+v", v)
		}
	}
}

// TestIntakeModel gives random snapshots to several streams, with dictionaries
// that hardly hold anything, and compares with a map.
func TestIntakeModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		st := mem.New()
		in := traceprof.NewIntake(st, traceprof.IntakeOptions{MaxStacks: rapid.Int64Range(1, 20_000).Draw(t, "stacks"),
			MaxDelay: time.Microsecond})
		streams := []*traceprof.Stream{in.Stream(), in.Stream(), in.Stream()}
		type key struct {
			task, segment string
			sequence      int32
		}
		want := map[key]string{}
		for range rapid.IntRange(0, 60).Draw(t, "n") {
			s := rapid.SampledFrom(streams).Draw(t, "stream")
			k := key{rapid.SampledFrom([]string{"t", "u", "v"}).Draw(t, "task"), rapid.SampledFrom([]string{"a", "b"}).Draw(t, "segment"),
				rapid.Int32Range(-2, 6).Draw(t, "sequence")}
			stack := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"A", "B", "C"}), 0, 4).Draw(t, "stack"), " ")
			if err := s.Snapshot(context.Background(), snapshot(k.task, k.segment, k.sequence, stack)); err != nil {
				t.Fatal(err)
			}
			if _, ok := want[k]; !ok {
				want[k] = stack
			}
			if rapid.IntRange(0, 9).Draw(t, "wait") == 0 {
				if err := s.Wait(context.Background()); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := in.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		got := map[key]string{}
		for v, err := range st.Snapshots(context.Background(), traceprof.SnapshotQuery{}) {
			if err != nil {
				t.Fatal(err)
			}
			for i, sequence := range v.Sequence {
				got[key{v.Task, v.Segment, sequence}] = strings.Join(v.Stacks.Names(v.Path[i]), " ")
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatal(d)
		}
	})
}

// TestIntakeConcurrent lets many streams go on at once; with the race detector
// it is the test of the locks.
func TestIntakeConcurrent(t *testing.T) {
	st := mem.New()
	in := intake(t, st, traceprof.IntakeOptions{MaxDelay: time.Millisecond, MaxBytes: 20_000, MaxStacks: 30_000})
	const streams, each = 16, 120
	var wg sync.WaitGroup
	for who := range streams {
		wg.Go(func() {
			for round := range int32(4) {
				s := in.Stream()
				for i := range int32(each / 4) {
					d := snapshot(fmt.Sprint("t", who%5), fmt.Sprint(who), round*each/4+i, fmt.Sprintf("A B%d C%d", i%7, who))
					if err := s.Snapshot(t.Context(), d); err != nil {
						t.Error(err)
					}
				}
				if err := s.Wait(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	n := 0
	for v, err := range st.Snapshots(t.Context(), traceprof.SnapshotQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range v.Path {
			if got, want := strings.Join(v.Stacks.Names(p), " "), fmt.Sprintf("A B%d C%s", v.Sequence[i]%(each/4)%7, v.Segment); got != want {
				t.Fatalf("segment %s, sequence %d: %s, want %s", v.Segment, v.Sequence[i], got, want)
			}
			n++
		}
	}
	if n != streams*each {
		t.Errorf("%d snapshots of %d", n, streams*each)
	}
}

// panicking is a store that panics once.
type panicking struct {
	traceprof.Store
	panicked bool
}

func (p *panicking) PutSnapshots(ctx context.Context, list ...traceprof.Snapshots) error {
	if !p.panicked {
		p.panicked = true
		panic("index out of range")
	}
	return p.Store.PutSnapshots(ctx, list...)
}

// TestIntakePanic: a store that panics fails the batch, and the intake goes on.
func TestIntakePanic(t *testing.T) {
	in := intake(t, &panicking{Store: mem.New()}, traceprof.IntakeOptions{MaxDelay: time.Millisecond})
	for i, want := range []string{"index out of range", ""} {
		s := in.Stream()
		give(t, s, snapshot("t", "s", int32(i), "A"))
		if err := s.Wait(t.Context()); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("stream %d: %v", i, err)
		}
	}
}

// TestManySegmentsHaveRoom: what a segment takes is counted, also of a snapshot of a few bytes.
func TestManySegmentsHaveRoom(t *testing.T) {
	in := intake(t, mem.New(), traceprof.IntakeOptions{MaxDelay: time.Hour})
	s := in.Stream()
	const n = 1000
	for i := range n {
		if err := s.Snapshot(t.Context(), snapshot("t", fmt.Sprint(i), 0, "A")); err != nil {
			t.Fatal(err)
		}
	}
	if p := in.Metrics().PendingBytes; p < 500*n {
		t.Errorf("%d bytes are pending", p)
	}
}
