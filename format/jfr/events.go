package jfr

import (
	"maps"
	"math"
	"strconv"
	"time"

	"github.com/dendroprof/dendro/format/threaddump"
	"github.com/dendroprof/dendro/profile"
)

// eventType is a class of events that is read.
type eventType struct {
	*eventKind
	program program
	record  record
}

// eventKind says what becomes of a kind of event.
type eventKind struct {
	series seriesID
	weight weight
	// class is the mode of the innermost frame that stands for the allocated or
	// locked class, as async-profiler marks it; 0: there is none.
	class  profile.FrameType
	fields map[string]slot // beside commonFields
	read   func(*chunk, *eventType, *record)
}

// weight says what the value of a sample is.
type weight uint8

const (
	weightNone  weight = iota // nothing, or what is known at the end of the chunk
	weightSlot                // slotWeight
	weightTicks               // the duration of the event
)

// commonFields are the fields that mean the same in all events.
var commonFields = map[string]slot{
	"startTime": slotStart, "duration": slotDuration, "stackTrace": slotStack,
	"eventThread": slotThread, "sampledThread": slotThread, "contextId": slotContext,
}

// eventKinds are the events that are read, by name.
var eventKinds = map[string]*eventKind{
	"jdk.ExecutionSample":    {series: execution, fields: map[string]slot{"state": slotState}, read: (*chunk).sample},
	"jdk.NativeMethodSample": {series: native, fields: map[string]slot{"state": slotState}, read: (*chunk).sample},
	"jdk.CPUTimeSample": {series: cpuTime, weight: weightSlot,
		fields: map[string]slot{"failed": slotFailed, "samplingPeriod": slotWeight}, read: (*chunk).cpuTimeSample},
	"jdk.CPUTimeSamplesLost": {fields: map[string]slot{"lostSamples": slotWeight}, read: (*chunk).cpuTimeLost},

	"profiler.WallClockSample": {series: wall, fields: map[string]slot{"state": slotState, "samples": slotWeight}, read: (*chunk).wallSample},

	"jdk.ObjectAllocationInNewTLAB": {series: alloc, weight: weightSlot, class: profile.FrameInlined,
		fields: map[string]slot{"objectClass": slotClass, "tlabSize": slotWeight}, read: (*chunk).sample},
	"jdk.ObjectAllocationOutsideTLAB": {series: alloc, weight: weightSlot, class: profile.FrameKernel,
		fields: map[string]slot{"objectClass": slotClass, "allocationSize": slotWeight}, read: (*chunk).sample},
	"jdk.ObjectAllocationSample": {series: allocSampled, weight: weightSlot, class: profile.FrameInlined,
		fields: map[string]slot{"objectClass": slotClass, "weight": slotWeight}, read: (*chunk).sample},
	"profiler.LiveObject": {series: live, weight: weightSlot, class: profile.FrameInlined,
		fields: map[string]slot{"objectClass": slotClass, "allocationSize": slotWeight}, read: (*chunk).sample},
	"jdk.OldObjectSample": {series: oldObjects, class: profile.FrameInlined, fields: map[string]slot{"object": slotClass},
		read: (*chunk).oldObject},

	"profiler.Malloc": {fields: map[string]slot{"address": slotAddress, "size": slotWeight}, read: (*chunk).malloc},
	"profiler.Free":   {fields: map[string]slot{"address": slotAddress}, read: (*chunk).free},

	"jdk.JavaMonitorEnter": {series: lock, weight: weightTicks, class: profile.FrameInlined,
		fields: map[string]slot{"monitorClass": slotClass}, read: (*chunk).sample},
	"jdk.ThreadPark": {series: lock, weight: weightTicks, class: profile.FrameInlined, fields: map[string]slot{"parkedClass": slotClass},
		read: (*chunk).sample},
	"profiler.NativeLock": {series: lock, weight: weightTicks, read: (*chunk).sample},

	"jdk.JavaMonitorWait": {series: monitorWait, weight: weightTicks, class: profile.FrameInlined,
		fields: map[string]slot{"monitorClass": slotClass}, read: (*chunk).sample},
	"jdk.ThreadSleep": {series: sleep, weight: weightTicks, read: (*chunk).sample},
	"jdk.SocketRead":  {series: socketRead, weight: weightTicks, read: (*chunk).sample},
	"jdk.SocketWrite": {series: socketWrite, weight: weightTicks, read: (*chunk).sample},
	"jdk.FileRead":    {series: fileRead, weight: weightTicks, read: (*chunk).sample},
	"jdk.FileWrite":   {series: fileWrite, weight: weightTicks, read: (*chunk).sample},
	"jdk.MethodTrace": {series: methodTrace, weight: weightTicks, fields: map[string]slot{"method": slotMethod}, read: (*chunk).methodTrace},

	"profiler.Span":      {fields: map[string]slot{"tag": slotName}, read: (*chunk).span},
	"jdk.ActiveSetting":  {fields: map[string]slot{"id": slotID, "name": slotName, "value": slotValue}, read: (*chunk).setting},
	"jdk.JVMInformation": {fields: map[string]slot{"jvmVersion": slotValue}, read: (*chunk).jvm},
	"jdk.ThreadDump":     {fields: map[string]slot{"result": slotValue}, read: (*chunk).threadDump},
}

// compileEvents makes the programs of the events that are read.
func (m *metadata) compileEvents() {
	for _, kinds := range []map[string]*eventKind{eventKinds, datadogKinds} {
		for name, kind := range kinds {
			m.compileEvent(name, kind)
		}
	}
}

func (m *metadata) compileEvent(name string, kind *eventKind) {
	id, ok := m.byName[name]
	if !ok {
		return
	}
	want := maps.Clone(commonFields)
	maps.Copy(want, kind.fields)
	if p := m.reader(id, want); p != nil {
		m.events = append(m.events, eventType{eventKind: kind, program: p})
		m.eventOf.put(id, int64(len(m.events)))
	}
}

// sample adds a sample to the series of its kind.
func (ch *chunk) sample(e *eventType, r *record) {
	s := sample{
		stack: ch.stack(r[slotStack]), time: ch.time(r[slotStart]),
		Tags: profile.Tags{Thread: ch.thread(r[slotThread]), State: ch.state(r[slotState]), Labels: ch.context(int64(r[slotContext]))},
	}
	switch e.weight {
	case weightSlot:
		s.value = int64(r[slotWeight])
	case weightTicks:
		s.value = ch.nanos(int64(r[slotDuration]))
	}
	if s.value < 0 {
		ch.found.badEvents++
		return
	}
	if e.class != profile.FrameUnknown && r[slotClass] != 0 {
		s.stack = ch.withClass(s.stack, r[slotClass], e.class)
	}
	ch.series[e.series].add(s)
}

// time returns nanoseconds since the start of the profile.
func (ch *chunk) time(ticks uint64) int64 {
	return ch.base + ch.nanos(int64(ticks)-ch.startTicks)
}

// withClass returns the stack with a class as its innermost frame.
func (ch *chunk) withClass(st profile.StackID, class uint64, mode profile.FrameType) profile.StackID {
	var fn profile.FunctionID
	if v := ch.classes.get(class); v != nil {
		fn = profile.FunctionID(*v - 1)
	} else {
		fn = ch.names.class(ch.className(class))
		ch.classes.put(class, int64(fn)+1)
	}
	return ch.p.Symbols.Stack(st, ch.names.frame(fn, 0, mode))
}

func (ch *chunk) cpuTimeSample(e *eventType, r *record) {
	if r[slotFailed] != 0 {
		ch.found.failedSamples++
	}
	ch.sample(e, r)
}

func (ch *chunk) cpuTimeLost(_ *eventType, r *record) {
	ch.found.lostSamples += int(min(r[slotWeight], math.MaxInt32))
}

// wallSample adds a sample that stands for several, taken one after the other
// while the thread slept.
func (ch *chunk) wallSample(e *eventType, r *record) {
	n := int64(int32(r[slotWeight]))
	if n <= 0 {
		ch.found.badEvents++
		return
	}
	ch.sample(e, r)
	s := &ch.series[wall]
	s.count = append(s.count, n)
}

// oldObject adds a sample whose class is that of an object.
func (ch *chunk) oldObject(e *eventType, r *record) {
	object := r[slotClass]
	r[slotClass] = 0
	if v := ch.pools[poolOldObject].get(object); v != nil {
		o := ch.constant(poolOldObject, v)
		r[slotClass] = o[slotClass]
	}
	ch.sample(e, r)
}

// methodTrace adds a sample of a traced method. The JDK's stack is the caller's,
// async-profiler's ends in the method.
func (ch *chunk) methodTrace(e *eventType, r *record) {
	ch.sample(e, r)
	stacks := ch.series[methodTrace].Stack
	if n := len(stacks); n > ch.from[methodTrace] && !ch.async() && r[slotMethod] != 0 {
		fn := ch.method(r[slotMethod], false, profile.FrameUnknown)
		stacks[n-1] = ch.p.Symbols.Stack(stacks[n-1], ch.names.frame(fn, 0, profile.FrameUnknown))
	}
}

// span adds a marker.
func (ch *chunk) span(_ *eventType, r *record) {
	ch.scratch = ch.text(ch.scratch[:0], r[slotName])
	tag := ch.names.texts[ch.names.text(ch.scratch)]
	start := ch.time(r[slotStart])
	ch.p.Markers = append(ch.p.Markers, profile.Marker{
		Name: tag, Start: start, End: start + max(0, ch.nanos(int64(r[slotDuration]))), Thread: ch.thread(r[slotThread]),
	})
}

// threadDump adds the threads of a dump, which a recording has as the text that
// jstack prints.
func (ch *chunk) threadDump(_ *eventType, r *record) {
	if ch.dumps == nil {
		ch.dumps = threaddump.NewCollector(ch.p, ch.limits)
	}
	ch.scratch = ch.text(ch.scratch[:0], r[slotValue])
	at := ch.p.Start.Add(time.Duration(ch.time(r[slotStart])))
	if err := ch.dumps.Add(string(ch.scratch), at); err != nil {
		ch.found.badDumps++
	}
}

// state returns the state of a number.
func (ch *chunk) state(id uint64) profile.StateID {
	v := ch.pools[poolState].get(id)
	if v == nil {
		return 0
	}
	if n, ok := entry(*v); ok {
		return profile.StateID(n)
	}
	r := ch.constant(poolState, v)
	n := ch.facts.State(clean(string(ch.text(nil, r[slotName]))))
	*v = resolved(int32(n))
	return n
}

// thread returns the thread of a number. A number that the chunk does not have
// becomes a thread of that id; 0 is none then.
func (ch *chunk) thread(id uint64) profile.ThreadID {
	if v := ch.threadOf.get(id); v != nil {
		return profile.ThreadID(*v - 1)
	}
	var t profile.Thread
	if v := ch.pools[poolThread].get(id); v != nil {
		t = ch.readThread(v)
	} else if id != 0 {
		t.ID = strconv.FormatUint(id, 10)
	}
	n := ch.facts.Thread(t)
	ch.threadOf.put(id, int64(n)+1)
	return n
}

// readThread reads a thread: its name in Java, or else in the operating system,
// and its number there. Virtual threads have only Java's.
func (ch *chunk) readThread(v *int64) profile.Thread {
	r := ch.constant(poolThread, v)
	name := ch.text(nil, r[slotName])
	if len(name) == 0 {
		name = ch.text(nil, r[slotOSName])
	}
	id := int64(r[slotOSThread])
	if id <= 0 {
		id = int64(r[slotJavaThread])
	}
	t := profile.Thread{Name: clean(string(name))}
	if id > 0 {
		t.ID = strconv.FormatInt(id, 10)
	}
	if t.Name == "[tid="+t.ID+"]" { // async-profiler, of a thread without a name
		t.Name = ""
	}
	return t
}
