package jfr

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

// Classes of events in tests.
const (
	classExecution = 101 // async-profiler's number too
	classCPUTime   = iota + 200
	classLost
	classWall
	classNative
	classTLAB
	classOutside
	classSampled
	classLive
	classMalloc
	classFree
	classEnter
	classSleep
	classOld
	classSpan
	classDump
	classTrace
	classWindow
)

var long = testField{name: "startTime", class: classLong}
var duration = testField{name: "duration", class: classLong}
var onThread = testField{name: "eventThread", class: classThread, constant: true}
var sampled = testField{name: "sampledThread", class: classThread, constant: true}
var trace = testField{name: "stackTrace", class: classStack, constant: true}
var state = testField{name: "state", class: classState, constant: true}

func longField(name string) testField { return testField{name: name, class: classLong} }
func classField(name string) testField {
	return testField{name: name, class: classClass, constant: true}
}

var (
	execClass    = testClass{classExecution, "jdk.ExecutionSample", []testField{long, sampled, trace, state}}
	cpuTimeClass = testClass{classCPUTime, "jdk.CPUTimeSample",
		[]testField{long, trace, onThread, {name: "failed", class: classBoolean}, longField("samplingPeriod"),
			{name: "biased", class: classBoolean}}}
	lostClass   = testClass{classLost, "jdk.CPUTimeSamplesLost", []testField{long, longField("lostSamples"), onThread}}
	wallClass   = testClass{classWall, "profiler.WallClockSample", []testField{long, sampled, trace, state, {name: "samples", class: classInt}}}
	nativeClass = testClass{classNative, "jdk.NativeMethodSample", []testField{long, sampled, trace, state}}
	tlabClass   = testClass{classTLAB, "jdk.ObjectAllocationInNewTLAB",
		[]testField{long, onThread, trace, classField("objectClass"), longField("allocationSize"), longField("tlabSize")}}
	outsideClass = testClass{classOutside, "jdk.ObjectAllocationOutsideTLAB",
		[]testField{long, onThread, trace, classField("objectClass"), longField("allocationSize")}}
	sampledClass = testClass{classSampled, "jdk.ObjectAllocationSample",
		[]testField{long, onThread, trace, classField("objectClass"), longField("weight")}}
	mallocClass = testClass{classMalloc, "profiler.Malloc", []testField{long, onThread, trace, longField("address"), longField("size")}}
	freeClass   = testClass{classFree, "profiler.Free", []testField{long, onThread, trace, longField("address")}}
	enterClass  = testClass{classEnter, "jdk.JavaMonitorEnter",
		[]testField{long, duration, onThread, trace, classField("monitorClass"), {name: "previousOwner", class: classThread, constant: true}}}
	sleepClass = testClass{classSleep, "jdk.ThreadSleep", []testField{long, duration, onThread, trace}}
	oldClass   = testClass{classOld, "jdk.OldObjectSample",
		[]testField{long, onThread, trace, {name: "object", class: classOldObject, constant: true}}}
	spanClass  = testClass{classSpan, "profiler.Span", []testField{long, duration, onThread, {name: "tag", class: classString}}}
	dumpClass  = testClass{classDump, "jdk.ThreadDump", []testField{long, {name: "result", class: classString}}}
	traceClass = testClass{classTrace, "jdk.MethodTrace",
		[]testField{long, duration, onThread, trace, {name: "method", class: classMethod, constant: true}}}
	windowClass = testClass{classWindow, "profiler.Window", nil}
)

// withNames gives w two stacks: 1 is run > work, 2 is run > [libc.so]read, the
// second method as a native one; a thread, classes and states.
func withNames(w *writer) *writer {
	w.class(1, "a/A")
	w.class(2, "[Ljava/lang/String;")
	w.class(3, "libc.so")
	w.method(1, 1, "run")
	w.method(2, 1, "work")
	w.method(3, 3, "read")
	w.named(classFrameType, 1, "Interpreted")
	w.named(classFrameType, 2, "JIT compiled")
	w.named(classFrameType, 3, "Native")
	w.named(classState, 1, "STATE_DEFAULT")
	w.named(classState, 2, "STATE_RUNNABLE")
	w.named(classState, 3, "STATE_SLEEPING")
	w.stack(1, testFrame{2, 20, 2}, testFrame{1, 10, 1})
	w.stack(2, testFrame{3, 5, 3}, testFrame{1, 10, 1})
	w.thread(7, "main", 70)
	w.constant(classOldObject, 1, func(b *buffer) { b.varint(99); b.varint(2) })
	return w
}

// picture draws the samples of all tables, one a line.
func picture(p *profile.Profile) string {
	var b strings.Builder
	for i := range p.Tables {
		s := &p.Tables[i]
		fmt.Fprintf(&b, "%s %s", s.Type.Name, s.Type.Unit)
		if s.Type.Period != 0 {
			fmt.Fprintf(&b, " @%d%s", s.Type.Period, s.Type.PeriodName)
		}
		if i == p.Default {
			b.WriteString(" default")
		}
		b.WriteByte('\n')
		for i := range s.Len() {
			var names []string
			for _, id := range p.Symbols.Path(s.Stack[i], nil) {
				f := p.Symbols.Frames[id]
				fn := p.Symbols.Functions[f.Function]
				name := fn.Name + suffixes[f.Type]
				if fn.Module != "" {
					name = fn.Module + "!" + name
				}
				if f.Line != 0 {
					name += fmt.Sprintf(":%d", f.Line)
				}
				names = append(names, name)
			}
			fmt.Fprintf(&b, "  %d %s", s.Value[i], strings.Join(names, ";"))
			if s.Time != nil {
				fmt.Fprintf(&b, " t=%d", s.Time[i])
			}
			if s.Thread != nil {
				fmt.Fprintf(&b, " %s/%s", p.Threads[s.Thread[i]].Name, p.Threads[s.Thread[i]].ID)
			}
			if s.State != nil {
				fmt.Fprintf(&b, " %s", p.States[s.State[i]])
			}
			if s.Address != nil {
				fmt.Fprintf(&b, " 0x%x", s.Address[i])
			}
			b.WriteByte('\n')
		}
	}
	for _, m := range p.Markers {
		fmt.Fprintf(&b, "marker %s %d-%d %s\n", m.Name, m.Start, m.End, p.Threads[m.Thread].Name)
	}
	for _, w := range p.Warnings {
		fmt.Fprintf(&b, "warning %s\n", w)
	}
	return b.String()
}

// eventTests draw what becomes of each kind of event.
var eventTests = []struct {
	name  string
	write func() *writer
	want  string
}{
	{"JDK execution samples", func() *writer {
		w := withNames(newWriter(execClass, nativeClass))
		w.numbers(classExecution, 1500, 7, 1, 2)
		w.numbers(classExecution, 2000, 7, 2, 2)
		w.numbers(classNative, 3000, 7, 2, 2)
		w.setting(classExecution, "period", "20 ms")
		return w
	}, `
cpu-samples count @20000000cpu
  1 a/A.run_[0]:10;a/A.work_[j]:20 t=500 main/70 STATE_RUNNABLE
  1 a/A.run_[0]:10;libc.so.read:5 t=1000 main/70 STATE_RUNNABLE
cpu nanoseconds @20000000cpu default
  20000000 a/A.run_[0]:10;a/A.work_[j]:20 t=500 main/70 STATE_RUNNABLE
  20000000 a/A.run_[0]:10;libc.so.read:5 t=1000 main/70 STATE_RUNNABLE
native-samples count
  1 a/A.run_[0]:10;libc.so.read:5 t=2000 main/70 STATE_RUNNABLE
`},
	{"CPU time samples beside execution samples", func() *writer {
		w := withNames(newWriter(execClass, cpuTimeClass, lostClass))
		w.numbers(classExecution, 1500, 7, 1, 2)
		w.setting(classExecution, "period", "20 ms")
		w.numbers(classCPUTime, 1500, 1, 7, 0, 10_000_000, 0)
		w.numbers(classCPUTime, 1600, 1, 7, 0, 20_000_000, 1)
		w.numbers(classCPUTime, 1700, 0, 7, 1, 10_000_000, 0)
		w.numbers(classLost, 1700, 3, 7)
		return w
	}, `
cpu nanoseconds default
  10000000 a/A.run_[0]:10;a/A.work_[j]:20 t=500 main/70
  20000000 a/A.run_[0]:10;a/A.work_[j]:20 t=600 main/70
  10000000 (no stack) t=700 main/70
cpu-samples count @20000000cpu
  1 a/A.run_[0]:10;a/A.work_[j]:20 t=500 main/70 STATE_RUNNABLE
warning 1 CPU time samples failed and have no stack
warning 3 CPU time samples were lost while recording
`},
	{"async-profiler 2 calls CPU samples runnable", func() *writer {
		w := withNames(newWriter(execClass, windowClass))
		w.setting(classRecording, "event", "itimer")
		w.numbers(classExecution, 1500, 7, 2, 2)
		return w
	}, `
cpu-samples count @10000000cpu
  1 a/A.run_[0]:10;libc.so!read t=500 main/70 STATE_RUNNABLE
cpu nanoseconds @10000000cpu default
  10000000 a/A.run_[0]:10;libc.so!read t=500 main/70 STATE_RUNNABLE
`},
	{"wall alone", func() *writer {
		w := withNames(newWriter(execClass))
		w.numbers(classExecution, 1500, 7, 1, 2) // before the settings
		w.setting(classRecording, "event", "wall")
		w.setting(classRecording, "cstack", "vm")
		return w
	}, `
wall-samples count @50000000wall
  1 a/A.run_[0]:10;a/A.work_[j]:20 t=500 main/70 STATE_RUNNABLE
wall nanoseconds @50000000wall default
  50000000 a/A.run_[0]:10;a/A.work_[j]:20 t=500 main/70 STATE_RUNNABLE
`},
	{"wall beside CPU, by state and in batches", func() *writer {
		w := withNames(newWriter(execClass, wallClass))
		w.setting(classExecution, "interval", "2000000")
		w.setting(classExecution, "wall", "5000000")
		w.setting(classRecording, "event", "cpu")
		w.setting(classRecording, "version", "3.0")
		w.numbers(classWall, 1400, 7, 1, 3, 4)
		w.numbers(classExecution, 1500, 7, 1, 1)
		w.numbers(classExecution, 1600, 7, 1, 2)
		w.numbers(classExecution, 1700, 7, 1, 3)
		w.numbers(classExecution, 1800, 7, 1, 1)
		return w
	}, `
cpu-samples count @2000000cpu
  1 a/A.run_[0]:10;a/A.work_[j]:20 t=500 main/70 STATE_DEFAULT
  1 a/A.run_[0]:10;a/A.work_[j]:20 t=800 main/70 STATE_DEFAULT
cpu nanoseconds @2000000cpu default
  2000000 a/A.run_[0]:10;a/A.work_[j]:20 t=500 main/70 STATE_DEFAULT
  2000000 a/A.run_[0]:10;a/A.work_[j]:20 t=800 main/70 STATE_DEFAULT
wall-samples count @5000000wall
  4 a/A.run_[0]:10;a/A.work_[j]:20 t=400 main/70 STATE_SLEEPING
  1 a/A.run_[0]:10;a/A.work_[j]:20 t=600 main/70 STATE_RUNNABLE
  1 a/A.run_[0]:10;a/A.work_[j]:20 t=700 main/70 STATE_SLEEPING
wall nanoseconds @5000000wall
  20000000 a/A.run_[0]:10;a/A.work_[j]:20 t=400 main/70 STATE_SLEEPING
  5000000 a/A.run_[0]:10;a/A.work_[j]:20 t=600 main/70 STATE_RUNNABLE
  5000000 a/A.run_[0]:10;a/A.work_[j]:20 t=700 main/70 STATE_SLEEPING
`},
	{"hardware events are no time", func() *writer {
		w := withNames(newWriter(execClass, windowClass))
		w.setting(classRecording, "event", "cache-misses")
		w.setting(classExecution, "interval", "1000")
		w.numbers(classExecution, 1500, 7, 1, 1)
		return w
	}, `
cpu-samples count @1000cache-misses default
  1 a/A.run_[0]:10;a/A.work_[j]:20 t=500 main/70 STATE_DEFAULT
`},
	{"allocations in and outside of a TLAB", func() *writer {
		w := withNames(newWriter(tlabClass, outsideClass))
		w.numbers(classTLAB, 1500, 7, 1, 2, 24, 1000)
		w.numbers(classOutside, 1600, 7, 1, 1, 5000)
		return w
	}, `
alloc-samples count
  1 a/A.run_[0]:10;a/A.work_[j]:20;java.lang.String[]_[i] t=500 main/70
  1 a/A.run_[0]:10;a/A.work_[j]:20;a.A_[k] t=600 main/70
alloc bytes default
  1000 a/A.run_[0]:10;a/A.work_[j]:20;java.lang.String[]_[i] t=500 main/70
  5000 a/A.run_[0]:10;a/A.work_[j]:20;a.A_[k] t=600 main/70
`},
	{"the same allocations twice", func() *writer {
		w := withNames(newWriter(outsideClass, sampledClass))
		w.numbers(classSampled, 1500, 7, 1, 2, 1000)
		w.numbers(classOutside, 1600, 7, 1, 1, 5000)
		return w
	}, `
alloc-samples count
  1 a/A.run_[0]:10;a/A.work_[j]:20;a.A_[k] t=600 main/70
alloc bytes default
  5000 a/A.run_[0]:10;a/A.work_[j]:20;a.A_[k] t=600 main/70
warning 1 samples of allocations are left out: other events of the recording are of the same allocations
`},
	{"native memory", func() *writer {
		w := withNames(newWriter(mallocClass, freeClass))
		w.numbers(classFree, 1600, 7, 2, 0x10) // written before what it frees
		w.numbers(classMalloc, 1500, 7, 1, 0x10, 64)
		w.numbers(classMalloc, 1550, 7, 1, 0x20, 32)
		w.numbers(classMalloc, 1700, 7, 1, 0x10, 16)
		w.numbers(classFree, 1800, 7, 0, 0x30)
		return w
	}, `
malloc bytes default
  64 a/A.run_[0]:10;a/A.work_[j]:20 t=500 main/70 0x10
  32 a/A.run_[0]:10;a/A.work_[j]:20 t=550 main/70 0x20
  -64 a/A.run_[0]:10;libc.so.read:5 t=600 main/70 0x10
  16 a/A.run_[0]:10;a/A.work_[j]:20 t=700 main/70 0x10
warning 1 calls of free are of memory whose allocation is not in the file; they are left out
`},
	{"locks, waits, old objects, ticks of a microsecond", func() *writer {
		w := withNames(newWriter(enterClass, sleepClass, oldClass))
		w.ticksPerSecond = 1_000_000
		w.numbers(classEnter, 1500, 30, 7, 1, 1, 0)
		w.numbers(classEnter, 1600, 0, 7, 1, 1, 0)
		w.numbers(classSleep, 1700, 5, 7, 1)
		w.numbers(classOld, 1800, 7, 1, 1)
		return w
	}, `
lock-samples count
  1 a/A.run_[0]:10;a/A.work_[j]:20;a.A_[i] t=500000 main/70
  1 a/A.run_[0]:10;a/A.work_[j]:20;a.A_[i] t=600000 main/70
lock nanoseconds default
  30000 a/A.run_[0]:10;a/A.work_[j]:20;a.A_[i] t=500000 main/70
sleep nanoseconds
  5000 a/A.run_[0]:10;a/A.work_[j]:20 t=700000 main/70
old-objects count
  1 a/A.run_[0]:10;a/A.work_[j]:20;java.lang.String[]_[i] t=800000 main/70
`},
	{"spans are markers, thread dumps are read", func() *writer {
		w := withNames(newWriter(spanClass, dumpClass))
		for _, start := range []uint64{1900, 1500} {
			w.event(classSpan, func(b *buffer) { b.varint(start); b.varint(50); b.varint(7); b.text("request") })
		}
		for _, start := range []uint64{1500, 2500} {
			w.event(classDump, func(b *buffer) {
				b.varint(start)
				b.text("2026-11-20 23:24:18\nFull thread dump OpenJDK 64-Bit Server VM (25 mixed mode):\n\n" +
					"\"worker\" #9 [12] daemon prio=5 os_prio=0 cpu=" + strconv.FormatUint(start, 10) + ".5ms elapsed=3s tid=0x7 nid=12 runnable  [0x1]\n" +
					"   java.lang.Thread.State: RUNNABLE\n\tat a.A.work(A.java:7)\n\tat a.A.run(A.java:3)\n\n")
			})
		}
		return w
	}, `
threads count default
  1 a.A.run:3;a.A.work:7 t=500 worker/12 RUNNABLE
  1 a.A.run:3;a.A.work:7 t=1500 worker/12 RUNNABLE
marker request 500-550 main
marker request 900-950 main
`},
	{"the JDK's method traces have the caller's stack", func() *writer {
		w := withNames(newWriter(traceClass))
		w.numbers(classTrace, 1500, 40, 7, 1, 2)
		return w
	}, `
method-trace nanoseconds default
  40 a/A.run_[0]:10;a/A.work_[j]:20;a/A.work t=500 main/70
`},
	{"what is not there", func() *writer {
		w := newWriter(execClass)
		w.stack(1, testFrame{9, 1, 9})
		w.numbers(classExecution, 1500, 7, 1, 9)
		w.numbers(classExecution, 1600, 0, 5, 0)
		w.numbers(classExecution, 1700, 0, 0)
		return w
	}, `
cpu-samples count default
  1 [unknown]:1 t=500 /7
  1 (no stack) t=600 /
warning 1 events are damaged and left out
warning 1 samples have a stack trace that is not in the file
warning 1 methods are not in the file; their frames are called [unknown]
`},
}

func TestEvents(t *testing.T) {
	for _, tt := range eventTests {
		t.Run(tt.name, func(t *testing.T) {
			p := mustDecode(t, tt.write().bytes())
			if diff := cmp.Diff(strings.TrimPrefix(tt.want, "\n"), picture(p)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestSettingsHold reads recordings of several chunks whose settings are in the first one
// only, as async-profiler writes them, or repeated, as the JDK does.
func TestSettingsHold(t *testing.T) {
	chunk := func(settings ...string) []byte {
		w := withNames(newWriter(execClass, wallClass, windowClass))
		for i := 0; i+1 < len(settings); i += 2 {
			class := classExecution
			if settings[i] == "event" || settings[i] == "version" {
				class = classRecording
			}
			w.setting(class, settings[i], settings[i+1])
		}
		w.numbers(classExecution, 1500, 7, 1, 1)
		w.numbers(classExecution, 1600, 7, 2, 1)
		w.numbers(classWall, 1700, 7, 1, 3, 4)
		return w.bytes()
	}
	jdk := jdkChunk
	first := chunk("event", "cpu", "interval", "2000000", "wall", "5000000", "version", "3.0")
	for _, tt := range []struct {
		name   string
		chunks [][]byte
		want   map[string]int64 // totals
	}{
		{"one", [][]byte{first}, map[string]int64{"cpu": 4e6, "cpu-samples": 2, "wall": 20e6, "wall-samples": 4}},
		{"in the first chunk only", [][]byte{first, chunk(), chunk()},
			map[string]int64{"cpu": 12e6, "cpu-samples": 6, "wall": 60e6, "wall-samples": 12}},
		{"another recording behind", [][]byte{first, chunk(), chunk("event", "cpu", "interval", "1000000", "wall", "3000000"), chunk()},
			map[string]int64{"cpu": 12e6, "cpu-samples": 8, "wall": 64e6, "wall-samples": 16}},
		{"one of counted events behind", [][]byte{first, chunk("event", "cache-misses", "interval", "1000"), chunk()},
			map[string]int64{"cpu": 4e6, "cpu-samples": 6, "wall": 20e6 + 2*4*50e6, "wall-samples": 12}},
		{"clock of perf events", [][]byte{chunk("event", "cpu-clock", "interval", "1000000"), chunk()},
			map[string]int64{"cpu": 4e6, "cpu-samples": 4, "wall": 400e6, "wall-samples": 8}},
		{"the JDK repeats them", [][]byte{jdk("period", "20 ms"), jdk("period", "10 ms")}, map[string]int64{"cpu": 30e6, "cpu-samples": 2}},
		{"the JDK does not", [][]byte{jdk("period", "20 ms"), jdk(), jdk("period", "10 ms"), jdk()},
			map[string]int64{"cpu": 60e6, "cpu-samples": 4}},
		{"of another profiler", [][]byte{first, jdk()}, map[string]int64{"cpu": 4e6, "cpu-samples": 3, "wall": 20e6, "wall-samples": 4}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := mustDecode(t, bytes.Join(tt.chunks, nil))
			got := map[string]int64{}
			for i := range p.Tables {
				got[p.Tables[i].Type.Name] = p.Tables[i].Total()
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// jdkChunk is a chunk of the JDK with one sample, and the settings of ExecutionSample that
// are given by name and value.
func jdkChunk(settings ...string) []byte {
	w := withNames(newWriter(execClass))
	for i := 0; i+1 < len(settings); i += 2 {
		w.setting(classExecution, settings[i], settings[i+1])
	}
	w.numbers(classExecution, 1500, 7, 1, 1)
	return w.bytes()
}

// small is a chunk of one sample.
func small() []byte {
	w := withNames(newWriter(execClass))
	w.numbers(classExecution, 1500, 7, 1, 2)
	return w.bytes()
}

// withNumber returns a copy of b with a long at a place.
func withNumber(b []byte, at int, v int64) []byte {
	b = bytes.Clone(b)
	binary.BigEndian.PutUint64(b[at:], uint64(v))
	return b
}

// TestDamage gives what is wrong with a file, and what is left of it.
func TestDamage(t *testing.T) {
	one := small()
	old := bytes.Clone(one)
	old[5] = 0
	plain := bytes.Clone(one)
	plain[67] = 0
	for _, tt := range []struct {
		name    string
		file    []byte
		samples int
		err     error
		text    string // of the error or a warning
	}{
		{"whole", one, 1, nil, ""},
		{"two chunks", slices.Concat(one, one), 2, nil, ""},
		{"not finished", withNumber(withNumber(withNumber(one, 8, 0), 16, 0), 24, 0), 1, nil, "byte 0: the chunk was not finished"},
		{"not finished, another one behind", slices.Concat(withNumber(one, 8, 0), one), 2, nil, "byte 0: the chunk was not finished"},
		{"no places", withNumber(withNumber(one, 16, 0), 24, 1<<40), 1, nil, "the header of the chunk is of no use"},
		{"garbage behind", slices.Concat(one, []byte("garbage")), 1, nil, fmt.Sprintf("byte %d: 7 bytes are not read: malformed: no chunk begins here", len(one))},
		{"garbage between", slices.Concat(one, make([]byte, 100), one), 2, nil, "100 bytes are not read"},
		{"cut in the second header", slices.Concat(one, one[:30]), 1, nil, "ends in the header"},
		{"cut in the second chunk", slices.Concat(one, one[:len(one)-10]), 1, nil, "10 bytes early"},
		{"cut before the metadata", one[:len(one)-10], 0, profile.ErrMalformed, "no description of its events"},
		{"cut header", one[:30], 0, profile.ErrMalformed, "byte 0: malformed: the file ends in the header"},
		{"no recording", []byte("garbage"), 0, profile.ErrMalformed, "no chunk begins here"},
		{"empty", nil, 0, profile.ErrMalformed, "no chunk begins here"},
		{"version 0", old, 0, profile.ErrUnsupported, "version 0.0 of JFR"},
		{"integers of fixed length", plain, 0, profile.ErrUnsupported, "not compressed"},
		{"no ticks", withNumber(one, 56, 0), 0, profile.ErrMalformed, "0 ticks a second"},
		{"chunk too large", withNumber(one, 8, 1<<40), 0, profile.ErrTooLarge, "--max-message"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := NewDecoder().Decode(bytes.NewReader(tt.file), nil, profile.Limits{})
			if err != nil {
				var pe *profile.ParseError
				if !errors.Is(err, tt.err) || !errors.As(err, &pe) || pe.Offset < 0 || !strings.Contains(err.Error(), tt.text) {
					t.Fatalf("error %v", err)
				}
				return
			}
			if tt.err != nil {
				t.Fatalf("no error but\n%s", picture(p))
			}
			if n := p.Tables[0].Len(); n != tt.samples {
				t.Errorf("%d samples, want %d", n, tt.samples)
			}
			var warnings []string
			for _, w := range p.Warnings {
				warnings = append(warnings, w.String())
			}
			if all := strings.Join(warnings, "\n"); !strings.Contains(all, tt.text) || tt.text == "" && all != "" {
				t.Errorf("warnings %q, want %q", warnings, tt.text)
			}
		})
	}
}

func TestDepthLimit(t *testing.T) {
	_, err := NewDecoder().Decode(bytes.NewReader(small()), nil, profile.Limits{Depth: 1})
	if !errors.Is(err, profile.ErrTooLarge) || !strings.Contains(err.Error(), "--max-depth") {
		t.Errorf("error %v", err)
	}
}

// TestWarningsAreBounded reads a file of many chunks that are not finished.
func TestWarningsAreBounded(t *testing.T) {
	p := mustDecode(t, bytes.Repeat(withNumber(small(), 8, 0), 100))
	if len(p.Warnings) > maxWarnings+2 || p.Tables[0].Len() != 100 {
		t.Errorf("%d warnings, %d samples", len(p.Warnings), p.Tables[0].Len())
	}
}

// TestOracleNames reads a recording of JDK 9 or 10, which has other names for events and
// constants, and refuses one whose names nobody knows.
func TestOracleNames(t *testing.T) {
	recording := func(events, types string) []byte {
		w := withNames(newWriter(execClass))
		w.numbers(classExecution, 1500, 7, 1, 2)
		w.classes = slices.Clone(w.classes)
		names := strings.NewReplacer("jdk.types.", types, "jdk.", events)
		for i := range w.classes {
			w.classes[i].name = names.Replace(w.classes[i].name)
		}
		return w.bytes()
	}
	p := mustDecode(t, recording("com.oracle.jdk.", "com.oracle.jfr.types."))
	if got := p.Tables[0].Total(); got != 1 || p.Tables[0].Stack[0] == profile.NoStack {
		t.Errorf("%d samples", got)
	}
	_, err := NewDecoder().Decode(bytes.NewReader(recording("org.example.", "org.example.types.")), nil, profile.Limits{})
	readtest.Refused(t, "foreign", err, profile.ErrUnsupported, "org.example.ExecutionSample")
}

// TestContexts: samples have the labels of their context, in every table of the series.
func TestContexts(t *testing.T) {
	class := sampledClass
	class.fields = append(slices.Clone(class.fields), longField("contextId"))
	w := withNames(newWriter(class))
	for i, context := range []uint64{0, 7, 8, 7} {
		w.numbers(classSampled, uint64(1000+i), 7, 1, 2, uint64(100*i), context)
	}
	d := NewDecoder()
	d.Contexts = map[int64][]profile.Label{7: {{Key: "controller", Text: "checkout"}}}
	p, err := d.Decode(bytes.NewReader(w.bytes()), nil, profile.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range p.Tables {
		s := &p.Tables[i]
		for k := range s.Len() {
			text := fmt.Sprint(s.Type.Name, " ", s.Value[k])
			for _, l := range p.LabelSets[s.Labels[k]] {
				text += " " + l.Key + "=" + l.Text
			}
			got = append(got, text)
		}
	}
	want := "alloc-samples 1;alloc-samples 1 controller=checkout;alloc-samples 1;alloc-samples 1 controller=checkout;" +
		"alloc 100 controller=checkout;alloc 200;alloc 300 controller=checkout"
	if text := strings.Join(got, ";"); text != want {
		t.Errorf("got %s\nwant %s", text, want)
	}
}

// TestSharedTexts: what many constants and events refer to is counted each time, or made once.
func TestSharedTexts(t *testing.T) {
	const n = 1000
	texts := withNames(newWriter(execClass))
	texts.constant(classString, 1, func(b *buffer) { b.text(strings.Repeat("s", 1<<20)) })
	frames := withNames(newWriter(execClass))
	delete(frames.constants, classStack)
	for i, c := range frames.classes {
		if c.id == classFrame {
			frames.classes[i].fields = nil // frames of no bytes
		}
	}
	for i := range uint64(n) {
		texts.constant(classState, 100+i, func(b *buffer) { *b = append(*b, stringConstant, 1) })
		texts.numbers(classExecution, 1500, 7, 1, 100+i)
		frames.constant(classStack, 100+i, func(b *buffer) { *b = append(*b, 0); b.varint(60_000) })
		frames.numbers(classExecution, 1500, 7, 100+i, 2)
	}
	for name, w := range map[string]*writer{"texts": texts, "frames": frames} {
		_, err := NewDecoder().Decode(bytes.NewReader(w.bytes()), nil, profile.Limits{})
		readtest.Refused(t, name, err, profile.ErrTooLarge, "far too much")
	}
}
