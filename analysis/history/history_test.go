package history

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// matrix makes a matrix of one run from lines "stack count"; a frame is a name,
// with its kind behind a `!`: k kernel, v VM, n native, s stub, j Java.
func matrix(typ, lines string, service bool) *Matrix {
	kinds := map[string]profile.Kind{"k": profile.KindKernel, "v": profile.KindVM, "n": profile.KindNative, "s": profile.KindStub,
		"j": profile.KindJava}
	forest := &calltree.Forest{}
	sums := map[int32]int64{}
	for line := range strings.Lines(lines) {
		var stack string
		var n int64
		if _, err := fmt.Sscanf(strings.TrimSpace(line), "%s %d", &stack, &n); err != nil {
			continue
		}
		at := calltree.NoNode
		for frame := range strings.SplitSeq(stack, ";") {
			name, kind, _ := strings.Cut(frame, "!")
			at = forest.Path(at, forest.Function(profile.Function{Name: name, Kind: kinds[kind]}))
		}
		sums[at] += n
	}
	var paths []int32
	for p := range sums {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	cut := forest.Cut(paths)
	var v calltree.Vector
	for _, p := range paths {
		n, _ := cut.Node(p)
		v.Nodes, v.Self = append(v.Nodes, n), append(v.Self, sums[p])
	}
	return newMatrix(cut.Table, []store.Profile{{Type: profile.NamedType(typ)}}, []calltree.Vector{v}, service)
}

// text writes a matrix back as sorted lines, and the environment.
func text(m *Matrix) string {
	var lines []string
	r := &m.Runs[0]
	for i, n := range r.Nodes {
		lines = append(lines, fmt.Sprintf("%s %g", strings.Join(m.Table.Path(n), ";"), r.Count[i]))
	}
	slices.Sort(lines)
	return strings.Join(append(lines, fmt.Sprintf("environment %g", r.Environment)), "\n")
}

func TestFold(t *testing.T) {
	for _, c := range []struct{ name, typ, in, want string }{
		{"jvm", profile.CPUSamples, `
			start_thread!n;A.run!j;B.do!j 10
			start_thread!n;A.run!j;B.do!j;page_fault!k 2
			start_thread!n;A.run!j;B.do!j;vtable!s;C.get!j 3
			start_thread!n;A.run!j;memmove!n 4
			start_thread!n;A.run!j;JVM_Call!v;D.back!j 5
			start_thread!n;GC::work!v 6
			A.run!j;java.lang.invoke.MethodHandle.invoke!j;C.get!j 7
			[unknown];C.get!j 8`,
			`A.run;C.get 7
C.get 8
start_thread;A.run 4
start_thread;A.run;B.do 12
start_thread;A.run;B.do;C.get 3
start_thread;A.run;JVM_Call;D.back 5
environment 6`},
		{"go", profile.CPUSamples, `
			runtime.main;main.main;main.work 10
			runtime.main;main.main;main.work;runtime.mallocgc 1
			runtime.main;main.main;main.work;runtime.mallocgc;runtime.nextFree 2
			runtime.main;main.main;main.work;runtime.asyncPreempt;runtime.asyncPreempt2 3
			runtime.main;main.main;main.work;runtime.gcWriteBarrier1;runtime.wbBufFlush;runtime.systemstack 4
			runtime.main;main.main;main.work;gcWriteBarrier;runtime.wbBufFlush;runtime.systemstack;runtime.wbBufFlush1 2
			runtime.main;main.main;main.work;runtime.growslice;runtime.bulkBarrierPreWriteSrcOnly;runtime.typePointers.next 1
			runtime.main;main.main;main.work;runtime.mallocgc;runtime.deductAssistCredit;runtime.gcAssistAlloc;runtime.systemstack;runtime.gcDrainN 3
			runtime.main;main.main;main.work;runtime.mallocgc;runtime.(*mcache).refill;runtime.(*mcentral).cacheSpan;runtime.(*sweepLocked).sweep 1
			runtime.main;main.main;main.work;runtime.growslice;runtime.mallocgc;runtime.gcStart;runtime.systemstack 1
			runtime.main;main.main;main.work;runtime.asyncPreempt;main.handler 1
			runtime.gcBgMarkWorker;runtime.gcDrain 5
			encoding/json.Marshal!j;main.(*T).MarshalJSON 6`,
			`encoding/json.Marshal;main.(*T).MarshalJSON 6
runtime.main;main.main;main.work 20
runtime.main;main.main;main.work;runtime.growslice 2
runtime.main;main.main;main.work;runtime.mallocgc 7
environment 5`},
		{"native", profile.CPUSamples, `
			main;work 10
			main;work;sys_read!k;vfs_read!k 2
			swapper!k 3`,
			`main;work 12
environment 3`},
		{"wall", profile.WallSamples, `
			A.run!j;B.do!j 10
			A.run!j;jdk.internal.misc.Unsafe.park!j 90
			A.run!j;jdk.internal.misc.Unsafe.park!j;futex!k 80`,
			`A.run;B.do 10
environment 0`},
		{"service", profile.CPUSamples, `
			runtime.main;main.main;main.work;runtime.gcWriteBarrier1;runtime.wbBufFlush;runtime.systemstack 4
			runtime.main;main.main;main.work;gcWriteBarrier;runtime.wbBufFlush;runtime.systemstack;runtime.wbBufFlush1 2
			runtime.main;main.main;main.work;runtime.mallocgc;runtime.deductAssistCredit;runtime.gcAssistAlloc 3
			runtime.main;main.main;main.work;runtime.mallocgc;runtime.(*mcache).refill;runtime.(*mcentral).cacheSpan;runtime.(*sweepLocked).sweep 1
			runtime.main;main.main;main.work;runtime.mallocgc 8
			runtime.gcBgMarkWorker;runtime.gcDrain 5`,
			`runtime.main;main.main;main.work;runtime.mallocgc 8
environment 15`},
	} {
		if got := text(matrix(c.typ, c.in, c.name == "service")); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

// TestIdle: the measured CPU time is that of the samples in which the program does not sleep.
func TestIdle(t *testing.T) {
	table := &calltree.Forest{}
	work := table.Path(calltree.NoNode, table.Function(profile.Function{Name: "work", Kind: profile.KindJS}))
	idle := table.Path(calltree.NoNode, table.Function(profile.Function{Name: "(idle)", Kind: profile.KindVM}))
	cut := table.Cut([]int32{work, idle})
	p := store.Profile{Type: profile.ValueType{Name: profile.Unclocked, Unit: "count"}, Profiler: "V8", Sum: 400, Metrics: []testrun.Metric{
		{Name: testrun.ProcessTimeMetric, Mean: 0.2, Unit: "s"}, testrun.NewOperations(10, false)}}
	m := NewMatrix(cut.Table, []store.Profile{p}, []calltree.Vector{{Nodes: []int32{0, 1}, Self: []int64{100, 300}}})
	if r := &m.Runs[0]; r.Total != 300 || math.Abs(r.Rate()-20) > 1e-9 {
		t.Errorf("%v samples per operation in ms of CPU time, want 20: %+v", r.Rate(), r)
	}
}

// TestWaits: what a program takes longer because it waited for a processor is no change of its work.
func TestWaits(t *testing.T) {
	table := &calltree.Forest{}
	cut := table.Cut([]int32{table.Path(calltree.NoNode, table.Function(profile.Function{Name: "work", Kind: profile.KindPython}))})
	for _, c := range []struct {
		typ   string
		alike bool // rates
	}{{profile.Runnable, true}, {profile.CPU, false}} {
		var profiles []store.Profile
		var vectors []calltree.Vector
		for _, waited := range []float64{0, 0.4, 0.8} {
			cpu := math.Exp(0.25 * waited)
			sampled := int64(cpu / (1 - waited) * 1e9)
			profiles = append(profiles, store.Profile{Type: profile.NamedType(c.typ), Sum: sampled, Metrics: []testrun.Metric{
				{Name: testrun.ProcessTimeMetric, Mean: cpu, Unit: "s"}, testrun.NewOperations(1, false)}})
			vectors = append(vectors, calltree.Vector{Nodes: []int32{0}, Self: []int64{sampled}})
		}
		m := NewMatrix(cut.Table, profiles, vectors)
		low, mid, high := m.Runs[0].Rate(), m.Runs[1].Rate(), m.Runs[2].Rate()
		if math.Abs(high/low-1) < 1e-6 != c.alike {
			t.Errorf("%s: %v, %v and %v per operation", c.typ, low, mid, high)
		}
		if seconds := mid * m.Unit / 1e9; c.alike && math.Abs(seconds-1) > 1e-6 {
			t.Errorf("%v s per operation, want that of a run that did not wait", seconds)
		}
		if few := m.Runs[2].Total < 1.3*m.Runs[0].Total; few != c.alike {
			t.Errorf("%s: %v samples, and %v that say as much", c.typ, m.Runs[0].Total, m.Runs[2].Total)
		}
	}
}

func TestUnits(t *testing.T) {
	vectors := []calltree.Vector{{Nodes: []int32{0, 1}, Self: []int64{30_000_000, 50_000_000}}}
	for _, c := range []struct {
		typ      profile.ValueType
		unit     float64
		weighted bool
	}{
		{profile.ValueType{Name: "cpu-samples", Unit: "count"}, 1, false},
		{profile.ValueType{Name: "cpu", Unit: "nanoseconds", Period: 2_000_000, PeriodUnit: "nanoseconds"}, 2_000_000, false},
		{profile.ValueType{Name: "cpu", Unit: "nanoseconds"}, 10_000_000, true},
		{profile.ValueType{Name: "alloc", Unit: "bytes", Period: 524_288, PeriodUnit: "bytes", Scale: 1}, 5_242_880, false},
	} {
		if unit, weighted := unitOf([]store.Profile{{Type: c.typ}}, vectors); unit != c.unit || weighted != c.weighted {
			t.Errorf("%v: %v %t, want %v %t", c.typ, unit, weighted, c.unit, c.weighted)
		}
	}
}

func TestChoose(t *testing.T) {
	run := func(key, machine, branch string, flagged bool) store.Profile {
		p := store.Profile{Benchmark: testrun.Benchmark{Name: "b"}, Type: profile.NamedType(profile.CPUSamples),
			Run: testrun.Run{Key: key, Machine: machine, Branch: branch, Date: time.Unix(1, 0)}}
		if flagged {
			p.Run.Attributes = map[string]string{FlaggedAttribute: "true"}
		}
		return p
	}
	list := []store.Profile{run("1", "m", "main", false), run("2", "x", "main", false), run("3", "m", "side", false),
		run("4", "m", "main", true), run("5", "m", "main", false), run("6", "m", "main", false)}
	keys := func(s Series) string {
		var k []string
		for _, p := range s.Profiles {
			k = append(k, p.Run.Key)
		}
		return strings.Join(k, " ")
	}
	got := Choose(list, Options{})
	if len(got) != 1 || keys(got[0]) != "1 5 6" || fmt.Sprint(got[0].LeftOut) != "[{another branch 1} {another machine 1} {flagged 1}]" {
		t.Errorf("%+v", got)
	}
	if got := Choose(list, Options{AnyMachine: true, AnyProfiler: true, AnyBranch: true}); keys(got[0]) != "1 2 3 5 6" {
		t.Errorf("any: %s", keys(got[0]))
	}
	if got := Choose(list, Options{AnyBranch: true}); keys(got[0]) != "1 3 5 6" {
		t.Errorf("any branch: %s", keys(got[0]))
	}
	if got := Choose(list, Options{Window: 1, Extra: 1}); keys(got[0]) != "5 6" {
		t.Errorf("window: %s", keys(got[0]))
	}
}

func TestMetricUnit(t *testing.T) {
	for _, c := range []struct {
		m    testrun.Metric
		want string
	}{
		{testrun.Metric{Unit: "ms/op", Better: testrun.Lower}, "ms/op"},
		{testrun.Metric{Unit: "ops/s", Better: testrun.Higher}, "s/op"},
		{testrun.Metric{Unit: "points", Better: testrun.Higher}, "1/(points)"},
	} {
		if got := MetricUnit(c.m); got != c.want {
			t.Errorf("%+v: %s, want %s", c.m, got, c.want)
		}
	}
}

func TestDistinct(t *testing.T) {
	of := func(run, typ, unit string, period, sum int64) store.Profile {
		return store.Profile{Run: testrun.Run{Key: run}, Type: profile.ValueType{Name: typ, Unit: unit, Period: period}, Sum: sum}
	}
	list := []store.Profile{
		of("r1", profile.CPUSamples, "count", 1e7, 30),
		of("r1", profile.CPU, "nanoseconds", 1e7, 30e7),
		of("r2", profile.CPUSamples, "count", 1e7, 30), // alone
		of("r3", profile.AllocSamples, "count", 512, 30),
		of("r3", profile.Alloc, "bytes", 512, 40*512),    // other numbers
		of("r4", profile.LiveSamples, "count", 0, 32768), // of one sample
		of("r4", profile.Live, "bytes", 512, 1*512),
		of("r5", profile.LiveSamples, "count", 0, 1),
		of("r5", profile.Live, "bytes", 512, 1*512),
		of("r6", profile.Unclocked, "count", 0, 30), // of V8
		of("r6", profile.Wall, "nanoseconds", 0, 30e7),
		of("r7", profile.Wall, "nanoseconds", 0, 30e7), // alone
	}
	var got []string
	for _, p := range Distinct(list) {
		got = append(got, p.Run.Key+" "+p.Type.Name)
	}
	want := []string{"r1 cpu", "r2 cpu-samples", "r3 alloc-samples", "r3 alloc", "r4 live", "r5 live", "r6 samples", "r7 wall"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if alone := list[2:3]; testing.AllocsPerRun(1, func() { Distinct(alone) }) > 2 || &Distinct(alone)[0] != &alone[0] {
		t.Error("profiles of which none is dropped are copied or indexed")
	}
}

func TestMetricOfType(t *testing.T) {
	metrics := []testrun.Metric{{Name: "time/op", Unit: "ns/op"}, {Name: "B/op", Unit: "B/op"}, {Name: "allocs/op", Unit: "allocs/op"}}
	for typ, want := range map[string]string{profile.CPU: "time/op", profile.Alloc: "B/op", profile.AllocSamples: "allocs/op",
		profile.Live: ""} {
		p := &store.Profile{Type: profile.ValueType{Name: typ}}
		p.Measure(metrics)
		if m, ok := Metric(p); m.Name != want || ok != (want != "") {
			t.Errorf("%s: %+v", typ, m)
		}
	}
	if m, ok := Metric(&store.Profile{Type: profile.ValueType{Name: profile.Alloc}, Metrics: metrics[:1]}); ok {
		t.Errorf("a time for allocations: %+v", m)
	}
}
