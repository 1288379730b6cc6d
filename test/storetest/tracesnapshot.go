package storetest

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/traceprof"
)

func testSnapshots(l *traceLab) {
	l.put(l.dumps("t", "s", dump{0, 100, "A B"}, dump{1, 110, "A B C"}, dump{2, 121, ""}))
	l.put(l.dumps("t", "s", dump{3, 130, "A B"}))
	l.put(l.dumps("t", "s"))
	for range 2 {
		l.want(traceprof.SnapshotQuery{}, `
			t s
			0 100: A B
			1 110: A B C
			2 121:
			3 130: A B`)
		l.reopen()
	}
	l.put(l.dumps("t", "s", dump{4, 140, "A B D"}, dump{7, 170, "X"}))
	l.want(traceprof.SnapshotQuery{Segments: []string{"s"}}, `
		t s
		0 100: A B
		1 110: A B C
		2 121:
		3 130: A B
		4 140: A B D
		7 170: X`)
	l.put(traceprof.Snapshots{Task: "t", Segment: "nothing", Sequence: []int32{5}, Time: []int64{1}, Path: []int32{calltree.NoNode}})
	l.want(traceprof.SnapshotQuery{Segments: []string{"nothing"}}, `
		t nothing
		5 1:`)
}

// testFirstWins repeats sequences in one value, in one call and over calls, in
// any order.
func testFirstWins(l *traceLab) {
	l.put(
		l.dumps("t", "s", dump{5, 150, "first"}, dump{3, 130, "first"}, dump{5, 151, "second"}),
		l.dumps("t", "s", dump{3, 131, "second"}, dump{4, 140, "first"}),
		l.dumps("u", "s", dump{3, 139, "of another task"}),
	)
	l.put(l.dumps("t", "s", dump{4, 99, "late"}, dump{1, 110, "late but first"}, dump{6, 160, "first"}, dump{1, 111, "second"}))
	l.reopen()
	l.put(l.dumps("t", "s", dump{6, 1, "again"}, dump{1, 1, ""}, dump{3, 1, "again"}))
	l.want(traceprof.SnapshotQuery{Tasks: []string{"t"}}, `
		t s
		1 110: late but first
		3 130: first
		4 140: first
		5 150: first
		6 160: first`)
	l.want(traceprof.SnapshotQuery{Tasks: []string{"u"}}, `
		u s
		3 139: of another task`)
}

func testSnapshotQueries(l *traceLab) {
	for _, task := range []string{"b", "a", "B", "ab"} {
		for _, segment := range []string{"2", "1", "10"} {
			l.put(l.dumps(task, segment, dump{0, 1, task + " " + segment}))
		}
	}
	for _, c := range []struct {
		q    traceprof.SnapshotQuery
		want string // tasks and segments
	}{
		{traceprof.SnapshotQuery{}, "B1 B10 B2 a1 a10 a2 ab1 ab10 ab2 b1 b10 b2"},
		{traceprof.SnapshotQuery{Tasks: []string{"b"}}, "b1 b10 b2"},
		{traceprof.SnapshotQuery{Tasks: []string{"b", "B", "none", "b"}}, "B1 B10 B2 b1 b10 b2"},
		{traceprof.SnapshotQuery{Segments: []string{"10"}}, "B10 a10 ab10 b10"},
		{traceprof.SnapshotQuery{Segments: []string{"2", "1", "3"}, Tasks: []string{"a", "ab"}}, "a1 a2 ab1 ab2"},
		{traceprof.SnapshotQuery{Tasks: []string{"none"}}, ""},
		{traceprof.SnapshotQuery{Tasks: []string{"a"}, Segments: []string{"none"}}, ""},
	} {
		var got []string
		for v, err := range l.s.Snapshots(l.ctx, c.q) {
			l.ok(err)
			got = append(got, v.Task+v.Segment)
			if names := strings.Join(v.Stacks.Names(v.Path[0]), " "); names != v.Task+" "+v.Segment {
				l.t.Errorf("%s %s has the stack %s", v.Task, v.Segment, names)
			}
		}
		l.same(fmt.Sprintf("%+v", c.q), strings.Join(got, " "), c.want)
		list, err := l.s.SampledSegments(l.ctx, c.q)
		l.ok(err)
		got = nil
		for _, s := range list {
			got = append(got, s.Task+s.Segment)
		}
		l.same(fmt.Sprintf("sampled segments: %+v", c.q), strings.Join(got, " "), c.want)
	}
	for range l.s.Snapshots(l.ctx, traceprof.SnapshotQuery{}) {
		break
	}
}

// testSequences goes to the ends of numbers.
func testSequences(l *traceLab) {
	l.put(l.dumps("t", "s", dump{math.MaxInt32, math.MaxInt64, "A"}, dump{math.MinInt32, math.MinInt64, "B"}, dump{-1, 0, "C"},
		dump{0, -5, "D"}, dump{5_000_000, math.MinInt64, "A"}))
	l.put(l.dumps("t", "s", dump{math.MinInt32, 1, "E"}, dump{math.MaxInt32 - 1, 7, "B"}, dump{-2, 1, "E"}))
	l.want(traceprof.SnapshotQuery{}, `
		t s
		-2147483648 -9223372036854775808: B
		-2 1: E
		-1 0: C
		0 -5: D
		5000000 -9223372036854775808: A
		2147483646 7: B
		2147483647 9223372036854775807: A`)
}

func testGoProfiles(l *traceLab) {
	s := l.dumps("t", "s", dump{1, 100, "main f"}, dump{0, 100, "main g"}, dump{1, 3, "again"})
	s.Language, s.Count, s.Nanos = traceprof.GoProfiles, []int64{3, math.MaxInt64, 4}, []int64{30_000_000, -1, 2}
	l.put(s)
	l.reopen()
	later := l.dumps("t", "s", dump{2, 200, ""})
	later.Language, later.Count, later.Nanos = traceprof.GoProfiles, []int64{0}, []int64{math.MinInt64}
	l.put(later)
	l.want(traceprof.SnapshotQuery{}, `
		t s go
		0 100: main g ×9223372036854775807 -1 ns
		1 100: main f ×3 30000000 ns
		2 200: ×0 -9223372036854775808 ns`)
}

// testLanguages mixes what cannot be mixed.
func testLanguages(l *traceLab) {
	goes := l.dumps("t", "s", dump{9, 1, "go"}, dump{0, 1, "go"})
	goes.Language, goes.Count, goes.Nanos = traceprof.GoProfiles, []int64{1, 1}, []int64{1, 1}
	none := l.dumps("t", "s")
	none.Language = traceprof.GoProfiles
	l.put(none, l.dumps("t", "s", dump{0, 1, "A"}), goes)
	l.put(goes)
	l.reopen()
	l.put(goes, l.dumps("t", "s", dump{1, 2, "A"}))
	l.want(traceprof.SnapshotQuery{}, `
		t s
		0 1: A
		1 2: A`)
}

// hostileNames mean something to somebody.
var hostileNames = []string{"", " ", "'", "\"", "a;b", "\x00", "a\x00b", "%", "_", "\\", "\n", "NULL", "é", "\U0001F600", "\uFFFD", "$1",
	"?", "--", strings.Repeat("long ", 300)}

func testHostileNames(l *traceLab) {
	type key struct{ task, segment string }
	want := map[key]string{}
	stacks := new(calltree.Forest)
	for i, task := range hostileNames {
		for k, segment := range hostileNames {
			frames := []string{task, segment, hostileNames[(i*7+k)%len(hostileNames)]}
			l.ok(l.s.PutSnapshots(l.ctx, traceprof.Snapshots{Task: task, Segment: segment, Stacks: stacks,
				Sequence: []int32{1}, Time: []int64{2}, Path: []int32{stackPath(stacks, frames)}}))
			want[key{task, segment}] = fmt.Sprintf("%q", frames)
		}
	}
	l.reopen()
	seen := 0
	for _, task := range hostileNames {
		for v, err := range l.s.Snapshots(l.ctx, traceprof.SnapshotQuery{Tasks: []string{task}, Segments: hostileNames}) {
			l.ok(err)
			seen++
			if got := fmt.Sprintf("%q", v.Stacks.Names(v.Path[0])); got != want[key{v.Task, v.Segment}] {
				l.t.Errorf("task %q, segment %q: %s", v.Task, v.Segment, got)
			}
		}
	}
	l.same("values", seen, len(want))
}

// testLargeStacks puts a stack of 10,000 frames and a signature of a megabyte.
func testLargeStacks(l *traceLab) {
	deep := make([]string, 10_000)
	for i := range deep {
		deep[i] = fmt.Sprint("f", i%97)
	}
	wide := []string{strings.Repeat("W", 1<<20), "A"}
	stacks := new(calltree.Forest)
	l.ok(l.s.PutSnapshots(l.ctx, traceprof.Snapshots{Task: "t", Segment: "s", Stacks: stacks, Sequence: []int32{0, 1, 2},
		Time: []int64{0, 1, 2},
		Path: []int32{stackPath(stacks, deep), stackPath(stacks, wide), stackPath(stacks, deep[:9000])}}))
	l.reopen()
	for v, err := range l.s.Snapshots(l.ctx, traceprof.SnapshotQuery{}) {
		l.ok(err)
		for i, want := range [][]string{deep, wide, deep[:9000]} {
			if !slices.Equal(v.Stacks.Names(v.Path[i]), want) {
				l.t.Errorf("stack %d of %d frames is another one", i, len(want))
			}
		}
	}
}

// testGrowingStacks puts over one dictionary that grows, and over others in turn.
func testGrowingStacks(l *traceLab) {
	var want strings.Builder
	fmt.Fprintln(&want, "t s")
	forests := []*calltree.Forest{new(calltree.Forest), new(calltree.Forest), new(calltree.Forest)}
	for i := range int32(40) {
		f := forests[i%3]
		frames := []string{"main", fmt.Sprint("f", i%5), fmt.Sprint("g", i)}
		p := stackPath(f, frames)
		stackPath(f, []string{"unused", fmt.Sprint("u", i)})
		l.put(traceprof.Snapshots{Task: "t", Segment: "s", Stacks: f.Snapshot(), Sequence: []int32{i}, Time: []int64{int64(i)}, Path: []int32{p}})
		fmt.Fprintf(&want, "%d %d: %s\n", i, i, strings.Join(frames, " "))
		if i == 20 {
			l.reopen()
		}
	}
	l.want(traceprof.SnapshotQuery{}, want.String())
}

func testBadSnapshots(l *traceLab) {
	good := l.dumps("t", "good", dump{0, 1, "A"})
	bad := func(change func(*traceprof.Snapshots)) traceprof.Snapshots {
		s := l.dumps("t", "bad", dump{0, 1, "A"}, dump{1, 2, "A B"})
		change(&s)
		return s
	}
	for i, s := range []traceprof.Snapshots{
		bad(func(s *traceprof.Snapshots) { s.Time = s.Time[:1] }),
		bad(func(s *traceprof.Snapshots) { s.Path = nil }),
		bad(func(s *traceprof.Snapshots) { s.Path[1] = int32(s.Stacks.Paths.Len()) }),
		bad(func(s *traceprof.Snapshots) { s.Path[0] = -2 }),
		bad(func(s *traceprof.Snapshots) { s.Stacks = nil }),
		bad(func(s *traceprof.Snapshots) { s.Language = traceprof.GoProfiles }),
		bad(func(s *traceprof.Snapshots) { s.Count = []int64{1, 1} }),
	} {
		if err := l.s.PutSnapshots(l.ctx, good, s); err == nil {
			l.t.Errorf("columns %d were stored", i)
		}
	}
	l.want(traceprof.SnapshotQuery{}, "")
}

// testOwnCopies changes arguments and results.
func testOwnCopies(l *traceLab) {
	s := l.dumps("t", "s", dump{0, 1, "A"}, dump{1, 2, "A B"})
	l.put(s)
	s.Sequence[0], s.Time[1], s.Path[0] = 9, 9, 1
	for range 2 {
		for v, err := range l.s.Snapshots(l.ctx, traceprof.SnapshotQuery{}) {
			l.ok(err)
			l.same("values", fmt.Sprint(v.Sequence, v.Time, v.Stacks.Names(v.Path[0])), "[0 1] [1 2] [A]")
			v.Sequence[0], v.Time[0], v.Path[0] = 7, 7, 1
		}
	}
	raw := segment("x", 1, 1)
	l.ok(l.s.PutSegments(l.ctx, raw))
	raw.Raw[0] = 'X'
	got, err := l.s.Segments(l.ctx, traceprof.SegmentQuery{})
	l.ok(err)
	l.same("raw bytes", string(got[0].Raw), "raw of x")
}

// testManyParts puts one segment in many small parts among those of others.
func testManyParts(l *traceLab) {
	const parts, others = 150, 3
	for i := range int32(parts) {
		var list []traceprof.Snapshots
		for o := range others {
			list = append(list, l.dumps("t", fmt.Sprint("s", o), dump{2 * i, int64(20 * i), fmt.Sprint("A f", i%7)},
				dump{2*i + 1, int64(20*i + 9), "A"}))
		}
		l.put(list...)
	}
	l.reopen()
	n := 0
	for v, err := range l.s.Snapshots(l.ctx, traceprof.SnapshotQuery{}) {
		l.ok(err)
		l.same("segment", v.Segment, fmt.Sprint("s", n))
		l.same("snapshots", v.Len(), 2*parts)
		for i, sequence := range v.Sequence {
			if int(sequence) != i || v.Time[i] != int64(10*i-i%2) {
				l.t.Fatalf("row %d: sequence %d, time %d", i, sequence, v.Time[i])
			}
		}
		n++
	}
	l.same("values", n, others)
}

// testTwoClients has two clients store the same snapshots with different
// stacks, while others read: of each sequence one of both stays for ever, and
// what is read once is read again.
func testTwoClients(l *traceLab) {
	const rounds, width = 25, 8
	var writers, readers sync.WaitGroup
	done := make(chan struct{})
	for client := range 2 {
		writers.Go(func() {
			stacks := new(calltree.Forest)
			path := stackPath(stacks, []string{"main", fmt.Sprint("client", client)})
			for round := range int32(rounds) {
				s := traceprof.Snapshots{Task: "t", Segment: "s", Stacks: stacks.Snapshot()}
				own := traceprof.Snapshots{Task: fmt.Sprint("t", client), Segment: "own", Stacks: s.Stacks}
				for i := range int32(width) {
					s.Sequence, s.Time, s.Path = append(s.Sequence, round*width+i), append(s.Time, int64(client)), append(s.Path, path)
				}
				own.Sequence, own.Time, own.Path = s.Sequence, s.Time, s.Path
				if err := l.s.PutSnapshots(l.ctx, s, own); err != nil {
					l.t.Error(err)
				}
				if err := l.s.PutSegments(l.ctx, segment(fmt.Sprint("common ", round), 1, int64(client)),
					segment(fmt.Sprint(client, round), 1, 1)); err != nil {
					l.t.Error(err)
				}
			}
		})
	}
	seen := map[int32]int64{}
	look := func() {
		for v, err := range l.s.Snapshots(l.ctx, traceprof.SnapshotQuery{Tasks: []string{"t"}}) {
			if err != nil {
				l.t.Error(err)
				return
			}
			if v.Len()%width != 0 {
				l.t.Errorf("%d snapshots: a part of a call", v.Len())
			}
			for i, sequence := range v.Sequence {
				if name := v.Stacks.Names(v.Path[i])[1]; name != fmt.Sprint("client", v.Time[i]) {
					l.t.Errorf("sequence %d has the time of client %d and the stack of %s", sequence, v.Time[i], name)
				}
				if client, ok := seen[sequence]; ok && client != v.Time[i] {
					l.t.Errorf("sequence %d was client %d's", sequence, client)
				}
				seen[sequence] = v.Time[i]
			}
		}
	}
	readers.Go(func() {
		for {
			look()
			select {
			case <-done:
				return
			default:
			}
		}
	})
	writers.Wait()
	close(done)
	readers.Wait()
	l.reopen()
	look()
	l.same("snapshots", len(seen), rounds*width)
	list, err := l.s.Segments(l.ctx, traceprof.SegmentQuery{})
	l.ok(err)
	l.same("segments", len(list), 3*rounds)
}
