package storetest

import (
	"errors"
	"math"
	"strings"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// testMany puts many files in one call and the same again.
func testMany(l *lab) {
	im := NewImporter()
	files := func() []*store.File {
		return []*store.File{
			im.File("g", "a", "r1", profile.CPUSamples, "A  A\nB"),
			im.File("g", "b", "r1", profile.CPUSamples, "A\nC\nA"),
			im.File("h", "a", "r2", profile.CPUSamples, "×7\nA"),
			im.File("h", "a", "r1", profile.CPUSamples, "B"),
		}
	}
	l.put(files()...)
	l.check()
	before := l.profiles(store.Query{})
	l.put(files()...) // a no-op
	l.same("the listing after the same files again", l.profiles(store.Query{}), before)
	l.check()
	l.putAs(store.Replace, files()...)
	l.putAs(store.Add, files()...)
	l.same("the listing after replacing and adding the same", l.profiles(store.Query{}), before)

	// Order of import is the order of the files; another forest makes no difference.
	all := l.profiles(store.Query{Groups: []string{"g"}})
	if len(all) != 2 || all[0].Benchmark.Name != "a" || all[0].Seq >= all[1].Seq {
		l.t.Errorf("group g is listed as %+v", all)
	}
	l.put(File("g", "b", "r1", profile.CPUSamples, "A\nC\nA"))
	newest := File("g", "c", "r1", profile.CPUSamples, "A")
	l.put(newest)
	for _, p := range l.profiles(store.Query{}) {
		for _, old := range before {
			if p.Benchmark == newest.Benchmark && p.Seq <= old.Seq {
				l.t.Errorf("the newest profile has Seq %d, an older one %d", p.Seq, old.Seq)
			}
		}
	}
	l.check()
}

// testSameContent puts one content under several identities.
func testSameContent(l *lab) {
	im := NewImporter()
	for _, id := range [][3]string{{"g", "a", "r1"}, {"g", "a", "r2"}, {"g", "b", "r1"}, {"h", "a", "r1"}} {
		l.put(im.File(id[0], id[1], id[2], profile.CPUSamples, "A  A\nB"))
	}
	if n := len(l.profiles(store.Query{})); n != 4 {
		l.t.Errorf("%d profiles, want 4", n)
	}
	l.check()
}

// testTwiceInOnePut puts files that repeat and contradict each other.
func testTwiceInOnePut(l *lab) {
	im := NewImporter()
	first := im.File("g", "a", "r1", profile.CPUSamples, "A")
	second := im.File("g", "a", "r1", profile.CPUSamples, "B")
	second.Name = "second"
	same := im.File("g", "a", "r1", profile.CPUSamples, "A")
	out := l.putAs(store.Refuse, first, second, same)
	l.checkConflict(out[1].Err, first, second)
	l.check()
	l.putAs(store.Add, im.File("g", "b", "r1", profile.CPUSamples, "A"), im.File("g", "b", "r1", profile.CPUSamples, "B"))
	l.putAs(store.Replace, im.File("g", "c", "r1", profile.CPUSamples, "A"), im.File("g", "c", "r1", profile.CPUSamples, "B"))
	l.check()

	// The contract allows one profile per value type: a file with two is refused.
	f := im.File("g", "d", "r1", profile.CPUSamples, "A")
	im.Add(f, profile.CPUSamples, "B")
	out, err := l.s.Put(l.ctx, []*store.File{f}, store.PutOptions{Rules: Rules})
	if err != nil || out[0].Err == nil {
		l.t.Errorf("Put of a file with two contents of one identity: %v, %v", out, err)
	}
	l.m.leftovers = true
	l.check()
}

// checkConflict requires an error that names both files and the identity.
func (l *lab) checkConflict(err error, old, now *store.File) {
	l.t.Helper()
	var conflict *store.ConflictError
	if !errors.As(err, &conflict) {
		l.t.Errorf("%v is not a ConflictError", err)
		return
	}
	typ := now.Records[0].Type.Name
	want := store.ConflictError{ID: store.IDOf(now.Benchmark, now.Run.Key, typ), Identity: conflict.Identity, Old: old.Name, New: now.Name}
	l.same("the conflict", *conflict, want)
	for _, part := range []string{now.Benchmark.String(), now.Run.Key, typ} {
		if !strings.Contains(conflict.Identity, part) {
			l.t.Errorf("identity %q does not contain %q", conflict.Identity, part)
		}
	}
}

// testConflict puts other content under one identity, beside files that are fine.
func testConflict(l *lab) {
	im := NewImporter()
	old := im.File("g", "a", "r1", profile.CPUSamples, "A")
	l.put(old)
	fine1, fine2 := im.File("g", "b", "r1", profile.CPUSamples, "B"), im.File("g", "c", "r1", profile.CPUSamples, "C")
	other := im.File("g", "a", "r1", profile.CPUSamples, "×2\nX")
	other.Name = "other.pb"
	out := l.putAs(store.Refuse, fine1, other, fine2)
	l.checkConflict(out[1].Err, old, other)
	l.check()
	l.reopen()
	l.check()
}

// testAtomicFile puts files of several profiles of which one conflicts: nothing
// of them may be stored: neither profiles nor metrics nor facts of the run.
func testAtomicFile(l *lab) {
	im := NewImporter()
	l.put(im.File("g", "a", "r1", profile.Alloc, "×10\nA"))
	for _, types := range [][]string{
		{profile.CPU, profile.Alloc, profile.Wall}, {profile.Alloc, profile.CPU}, {profile.CPU, profile.Wall, profile.Alloc},
	} {
		f := newFile("g", "a", "r1")
		for _, typ := range types {
			im.Add(f, typ, "×20\nA\nNEW")
		}
		f.Run.Commit = "abc"
		f.Metrics = []testrun.Metric{Metric("time", 3)}
		f.Source = []byte("source")
		l.putAs(store.Refuse, f)
		l.check()
	}
	l.reopen()
	l.check()
}

// testReplace replaces content.
func testReplace(l *lab) {
	im := NewImporter()
	old := im.File("g", "a", "r1", profile.CPUSamples, "A  A\nB")
	old.Source = []byte("old")
	old.Metrics = []testrun.Metric{Metric("time", 1), Metric("size", 2)}
	im.AddMode(old.Records[0], profile.FrameC1, "A\nB")
	l.put(old, im.File("g", "b", "r1", profile.CPUSamples, "A\nC"))
	now := im.File("g", "a", "r1", profile.CPUSamples, "×5\nA\nD")
	now.Name = "now.pb"
	now.Metrics = []testrun.Metric{Metric("time", 7)}
	l.putAs(store.Replace, now)
	l.check()
	if n := len(l.profiles(store.Query{})); n != 2 {
		l.t.Errorf("%d profiles after replacing one of two", n)
	}
	l.reopen()
	l.check()
	l.compact()
	l.check()
}

// testAdd adds shards, with modes, negative values and another type beside.
func testAdd(l *lab) {
	im := NewImporter()
	shard := func(drawing, mode string) *store.File {
		f := im.File("g", "a", "r1", profile.CPUSamples, drawing)
		im.AddMode(f.Records[0], profile.FrameJIT, mode)
		return f
	}
	l.put(shard("×3  ×1\nA  A\nB", "×2\nA\nB"))
	l.putAs(store.Add, shard("×4  ×10\nA  C\nB", "×1  ×5\nA  C\nB"))
	l.check()
	second := shard("×-7  ×100\nA  D\nB", "×-3  ×20\nA  D\nB") // A;B vanishes
	im.AddMode(second.Records[0], profile.FrameInterpreted, "×30\nD")
	im.Add(second, profile.Alloc, "×4096\nA") // new beside the one that is added to
	l.putAs(store.Add, second)
	l.check()
	before := l.profiles(store.Query{})
	l.reopen()
	l.compact()
	l.check()

	// The parts of a sum are known, the first one and those added, also to
	// importers that did not add them.
	for _, again := range []*store.File{second, shard("×3  ×1\nA  A\nB", "×2\nA\nB"), shard("×4  ×10\nA  C\nB", "×1  ×5\nA  C\nB")} {
		l.putAs(store.Add, again)
		l.putAs(store.Refuse, again)
	}
	l.check()
	l.same("sums after the same parts again", l.profiles(store.Query{}), before)
	part := shard("×3  ×1\nA  A\nB", "×2\nA\nB")
	l.putAs(store.Replace, part)
	l.check()
	l.putAs(store.Add, second, part, second) // in one Put
	l.check()
}

// testAddRefused adds what does not add.
func testAddRefused(l *lab) {
	im := NewImporter()
	huge := newFile("g", "a", "r1")
	im.AddSamples(huge, profile.CPUSamples, Sample{[]string{"A"}, math.MaxInt64 - 10})
	l.put(huge)
	over := newFile("g", "a", "r1")
	im.AddSamples(over, profile.CPUSamples, Sample{[]string{"A"}, 5}, Sample{[]string{"B"}, 6})
	over.Metrics = []testrun.Metric{Metric("time", 1)}
	fine := newFile("g", "a", "r1")
	im.AddSamples(fine, profile.CPUSamples, Sample{[]string{"A"}, 4}, Sample{[]string{"B"}, 6})
	otherPeriod := im.File("g", "b", "r1", profile.CPUSamples, "A")
	otherPeriod.Records[0].Type.Period = 7
	l.put(im.File("g", "b", "r1", profile.CPUSamples, "B"))
	otherType := otherPeriod.Records[0].Type.Key()
	out := l.putAs(store.Add, over, fine, otherPeriod)
	for i, want := range map[int]string{
		0: `the sum of "` + huge.Name + `" and "` + over.Name + `" exceeds 63 bits`,
		2: `"` + otherPeriod.Name + `": values of type ` + otherType + ` cannot be added to values of type ` + profile.CPUSamples,
	} {
		if err := out[i].Err; !errors.Is(err, store.ErrConflict) || !strings.Contains(err.Error(), want) {
			l.t.Errorf("Put of file %d: %v, want a conflict with: %s", i, err, want)
		}
	}
	l.check()
	if p := l.profiles(store.Query{Benchmarks: []string{"a"}}); len(p) != 1 || p[0].Sum != math.MaxInt64 {
		l.t.Errorf("the sum is %+v", p)
	}
}

// testPeriods puts times of two sampling periods, which add: the period of one is not that of
// the sum.
func testPeriods(l *lab) {
	im := NewImporter()
	for i, run := range []string{"r1", "r2"} {
		f := im.File("g", "a", run, profile.CPU, "A  B")
		f.Records[0].Type.Period, f.Records[0].Type.PeriodUnit = []int64{10_000_000, 1_000_000}[i], "nanoseconds"
		l.put(f)
	}
	l.check()
	tree, list, err := store.MergeTrees(l.ctx, l.s, store.Query{})
	if err != nil || len(list) != 2 || tree.Type.Period != 0 || tree.Type.PeriodUnit != "" {
		l.t.Errorf("the sum of %d profiles is of %+v: %v", len(list), tree, err)
	}
}

// testRuns puts files that know different and contradicting things of a run.
func testRuns(l *lab) {
	im := NewImporter()
	file := func(benchmark string, set func(*testrun.Run)) *store.File {
		f := im.File("g", benchmark, "r1", profile.CPUSamples, "A\n"+benchmark)
		f.Run = testrun.Run{Key: "r1"}
		set(&f.Run)
		return f
	}
	l.put(file("a", func(r *testrun.Run) { r.Commit = "c1" }))
	l.put(file("b", func(r *testrun.Run) { r.Date = RunOf("r1").Date }))
	l.put(file("c", func(r *testrun.Run) { r.Attributes = map[string]string{"jdk": "21"} }))
	l.put(file("d", func(r *testrun.Run) {
		r.Commit, r.Branch, r.Machine, r.Repository = "c1", "main", "m1", "repo"
		r.Attributes = map[string]string{"os": "linux", "jdk": "21"}
	}))
	l.check()
	// An unchanged profile may have new facts of its run.
	l.put(file("e", func(r *testrun.Run) {}))
	l.put(file("e", func(r *testrun.Run) { r.Attributes = map[string]string{"more": "yes"} }))
	l.check()

	for _, set := range []func(*testrun.Run){
		func(r *testrun.Run) { r.Commit = "c2" },
		func(r *testrun.Run) { r.Branch = "dev" },
		func(r *testrun.Run) { r.Machine = "m2" },
		func(r *testrun.Run) { r.Repository = "elsewhere" },
		func(r *testrun.Run) { r.Date = RunOf("r2").Date },
		func(r *testrun.Run) { r.Attributes = map[string]string{"new": "1", "jdk": "17"} },
	} {
		bad := file("f", set)
		bad.Metrics = []testrun.Metric{Metric("time", 1)}
		known := file("a", set) // with a profile that is there
		metrics := &store.File{Name: "metrics", Benchmark: bad.Benchmark, Run: bad.Run, Metrics: bad.Metrics}
		out := l.putAs(store.Refuse, bad, file("g", func(*testrun.Run) {}), known, metrics)
		_, want := l.m.runs["r1"].Merge(bad.Run)
		for _, i := range []int{0, 2, 3} {
			if err := out[i].Err; err != nil && !strings.Contains(err.Error(), want.Error()) {
				l.t.Errorf("error %q does not contain: %s", err, want)
			}
		}
		l.check()
	}
	// Two new files of one Put contradict each other: the first wins.
	x, y := im.File("g", "x", "r9", profile.CPUSamples, "A"), im.File("g", "y", "r9", profile.CPUSamples, "A")
	x.Run.Commit, y.Run.Commit = "1", "2"
	l.putAs(store.Refuse, x, y)
	l.reopen()
	l.check()
}

// testMetrics puts metrics with profiles, alone, before, after and again.
func testMetrics(l *lab) {
	primary := func(m testrun.Metric) testrun.Metric { m.Primary = true; return m }
	im := NewImporter()
	f := im.File("g", "a", "r1", profile.CPUSamples, "A")
	im.Add(f, profile.Alloc, "B")
	f.Metrics = []testrun.Metric{
		Metric("zeta", 3.25), {Name: "rate", Mean: 1e300, Unit: "ops/s", Better: testrun.Higher}, primary(Metric("time", -0.1)),
		Metric("alpha", 1e-300),
	}
	l.put(f)
	l.check()
	for _, p := range l.profiles(store.Query{}) {
		if m, ok := p.Metric(); !ok || m != f.Metrics[2] {
			l.t.Errorf("the primary metric is %+v", m)
		}
	}
	l.put(MetricsFile("g", "a", "r1", Metric("zeta", 4), Metric("new", 5)))
	l.put(MetricsFile("g", "a", "r2", Metric("zeta", 99))) // another run
	l.put(im.File("g", "b", "r1", profile.CPUSamples, "A"))
	l.check()
	// Metrics come before their profiles, and bring facts of the run.
	early := MetricsFile("g", "c", "r3", Metric("time", 8))
	early.Run.Commit = "c3"
	l.put(early)
	l.check()
	l.put(im.File("g", "c", "r3", profile.CPUSamples, "A"), im.File("g", "a", "r2", profile.CPUSamples, "A"))
	l.check()
	// Metrics come with a profile that is there already.
	again := im.File("g", "b", "r1", profile.CPUSamples, "A")
	again.Metrics = []testrun.Metric{Metric("late", 1), {Name: "late", Mean: 2, Unit: "ms"}}
	l.put(again)
	l.check()
	l.reopen()
	l.check()
}

// testOperations puts the number of operations before, with and after a CPU profile, whose
// CPU time per operation every engine derives.
func testOperations(l *lab) {
	im, operations := NewImporter(), testrun.NewOperations(4, false)
	file := func(run string) *store.File {
		f := im.File("g", "a", run, profile.CPU, "A")
		im.Add(f, profile.Alloc, "B")
		f.Metrics = []testrun.Metric{{Name: "time", Mean: 1, Unit: "ms", Primary: true}}
		return f
	}
	with := file("with")
	with.Metrics = append(with.Metrics, operations)
	l.put(MetricsFile("g", "a", "before", operations))
	l.put(file("before"), with, file("after"), file("unknown"))
	l.put(MetricsFile("g", "a", "after", operations))
	l.put(MetricsFile("g", "a", "after", operations)) // again
	l.check()
	for _, p := range l.profiles(store.Query{}) {
		m, ok := p.Metric()
		if n, estimated := p.Operations(); estimated || n != 4 && p.Run.Key != "unknown" {
			l.t.Errorf("%s, run %s: %v operations, estimated %t", p.Type.Name, p.Run.Key, n, estimated)
		}
		if p.Run.Key == "unknown" || p.Type.Name == profile.Alloc {
			if !ok || m.Name != "time" {
				l.t.Errorf("%s, run %s: the first metric is %+v", p.Type.Name, p.Run.Key, m)
			}
		} else if m.Name != testrun.CPUMetric || m.Mean != float64(p.Sum)/4 || m.Unit != "ns/op" {
			l.t.Errorf("%s, run %s: %+v of %d ns in 4 operations", p.Type.Name, p.Run.Key, m, p.Sum)
		}
	}
	l.reopen()
	l.check()
}

// testRules checks that one set of naming rules holds for a store.
func testRules(l *lab) {
	f := File("g", "a", "r1", profile.CPUSamples, "A")
	l.put(f)
	if info, err := l.s.Info(l.ctx); err != nil || info.Rules != Rules {
		l.t.Errorf("Info has the rules %q, %v", info.Rules, err)
	}
	l.reopen()
	other := File("g", "b", "r1", profile.CPUSamples, "A")
	out, err := l.s.Put(l.ctx, []*store.File{other}, store.PutOptions{Rules: "storetest/2"})
	if !errors.Is(err, store.ErrOtherRules) {
		l.t.Errorf("Put with other rules: %v, %v", out, err)
	}
	l.check()
	l.put(other)
	l.check()
}

// testNotShared changes arguments of Put, and results but profiles, which requests share.
func testNotShared(l *lab) {
	im := NewImporter()
	f := im.File("g", "a", "r1", profile.CPUSamples, "×1  ×2\nA  B")
	im.AddMode(f.Records[0], profile.FrameC1, "A")
	f.Run.Attributes = map[string]string{"k": "v"}
	f.Metrics = []testrun.Metric{Metric("time", 1)}
	f.Source = []byte("source")
	l.put(f)
	r := f.Records[0]
	f.Run.Attributes["k"], f.Metrics[0].Mean, f.Source[0] = "changed", -1, 'X'
	r.Self.Nodes[0], r.Self.Nodes[1], r.Self.Self[0], r.Modes[0].Self[0], r.Type.Name = 1, 0, -1, -1, "changed"
	*r, *f = store.Record{}, store.File{}
	l.check()

	p := l.only()
	if source, err := l.s.Source(l.ctx, p.ID); err == nil {
		source[0] = 'X'
	}
	if names, err := l.s.FunctionNames(l.ctx); err == nil {
		names[0].Name = "changed"
	}
	if set, err := l.s.Functions(l.ctx, store.Query{}, nil); err == nil {
		set.Functions[0].Name = "changed"
		for rows := range set.Rows {
			rows.Self[0], rows.Function[0] = -1, -1
		}
	}
	if set, err := l.s.Trees(l.ctx, store.Query{}, store.TreeOptions{Modes: true}); err == nil {
		for v := range set.Vectors {
			v.Self[0], v.Nodes[0] = -1, -1
			if len(v.Modes) > 0 {
				v.Modes[0].Self[0] = -1
			}
		}
	}
	l.check()
}
