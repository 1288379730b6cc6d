package jfr

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dendroprof/dendro/profile"
)

// settings are what a recording says about how it was made. async-profiler writes them
// into its first chunk only, so they hold for later chunks too (inherit).
type settings struct {
	any               bool // there are some
	profiler, version string
	jvm               string // name and version of the virtual machine
	async             bool   // async-profiler says so
	event             string // async-profiler's: "cpu", "wall", "cycles", …
	interval          int64  // of event: nanoseconds or events; 0: the profiler's own
	hasWall           bool   // wall-clock samples were taken beside event
	wall              int64  // nanoseconds between them; 0: the profiler's own
	alloc, lock       bool
	period            time.Duration // of jdk.ExecutionSample
	throttle          time.Duration // of jdk.CPUTimeSample and datadog.ExecutionSample
}

// The profilers.
const (
	asyncProfiler   = "async-profiler"
	datadogProfiler = "Datadog java-profiler"
	flightRecorder  = "JDK Flight Recorder"
)

// async-profiler's intervals when it is not told any.
const (
	asyncInterval     = 10 * time.Millisecond
	asyncWallInterval = 50 * time.Millisecond
)

// clocks are the events whose interval is in nanoseconds of processor time: timers, and
// the software clocks of perf events. Intervals of all others count events.
var clocks = []string{"cpu", "itimer", "ctimer", "cpu-clock", "task-clock"}

// settingClasses are the classes of which settings are read.
var settingClasses = []string{
	"jdk.ExecutionSample", "jdk.CPUTimeSample", "jdk.ObjectAllocationInNewTLAB", "jdk.JavaMonitorEnter", "jdk.ActiveRecording",
}

// setting reads a jdk.ActiveSetting: a name and a value of the class with the
// given id.
func (ch *chunk) setting(_ *eventType, r *record) {
	s := &ch.settings
	about := ch.meta.classes[r[slotID]]
	if about == nil || !slices.Contains(settingClasses, about.name) {
		return // the JDK writes hundreds
	}
	class := about.name
	s.any = true
	name := string(ch.text(nil, r[slotName]))
	value := string(ch.text(nil, r[slotValue]))
	n, _ := strconv.ParseInt(value, 10, 64)
	switch class + "#" + name {
	case "jdk.ExecutionSample#interval":
		s.interval = max(n, 0)
	case "jdk.ExecutionSample#wall":
		s.hasWall, s.wall = true, n
	case "jdk.ExecutionSample#period":
		s.period = parsePeriod(value)
	case "jdk.CPUTimeSample#throttle":
		s.throttle = parsePeriod(value)
	case "jdk.ObjectAllocationInNewTLAB#alloc":
		s.alloc = true
	case "jdk.JavaMonitorEnter#lock":
		s.lock = true
	case "jdk.ActiveRecording#event":
		s.event = value
	case "jdk.ActiveRecording#version":
		s.version = value
	case "jdk.ActiveRecording#jstackdepth", "jdk.ActiveRecording#cstack", "jdk.ActiveRecording#engine":
		s.async = true
	}
}

// jvm reads jdk.JVMInformation.
func (ch *chunk) jvm(_ *eventType, r *record) {
	if ch.settings.jvm == "" {
		ch.settings.jvm = string(ch.text(nil, r[slotValue]))
	}
}

// periodUnits are the units of a setting such as "20 ms" or "10ms".
var periodUnits = map[string]time.Duration{
	"ns": time.Nanosecond, "us": time.Microsecond, "ms": time.Millisecond, "s": time.Second,
	"m": time.Minute, "h": time.Hour, "d": 24 * time.Hour,
}

// parsePeriod returns 0 for what is no period ("everyChunk", "500/s").
func parsePeriod(text string) time.Duration {
	digits := strings.TrimLeft(text, "0123456789")
	unit := periodUnits[strings.TrimSpace(digits)]
	n, err := strconv.ParseInt(text[:len(text)-len(digits)], 10, 32)
	if err != nil || n <= 0 || unit == 0 {
		return 0
	}
	return time.Duration(n) * unit
}

// async reports whether async-profiler or Datadog's fork of it wrote the chunk: native frames are those
// of native code then, in JDK recordings Java methods that are native.
func (ch *chunk) async() bool { return ch.meta.async || ch.settings.async }

// profiler returns who wrote the chunk.
func (ch *chunk) profiler() string {
	switch {
	case ch.meta.datadog:
		return datadogProfiler
	case ch.async():
		return asyncProfiler
	}
	return flightRecorder
}

// asyncClasses are classes that only async-profiler describes.
var asyncClasses = []string{"profiler.Log", "profiler.LiveObject", "profiler.Window", "profiler.WallClockSample"}

// The states that tell CPU from wall-clock samples where both are
// jdk.ExecutionSample.
const (
	stateDefault  = "STATE_DEFAULT"
	stateSleeping = "STATE_SLEEPING"
)

// close gives the samples of the chunk what only all of its settings tell: which
// execution samples are of wall-clock time, and what time each stands for.
// Settings may come anywhere in a chunk.
func (ch *chunk) close() {
	s := &ch.settings
	s.inherit(&ch.last, ch.profiler())
	s.complete(ch.profiler())
	ch.last = *s
	if ch.async() {
		ch.moveWallSamples()
	}
	ch.weigh(execution, s.cpuPeriod())
	ch.weigh(cpuDatadog, period{value: int64(cmp.Or(s.throttle, asyncInterval)), unit: nanoseconds, name: profile.CPU})
	ch.weigh(wall, s.wallPeriod())
	if ch.made.profiler == "" {
		ch.made = *s
	}
}

// inherit adds what the settings before say and these do not. async-profiler writes all of
// its settings or none; the JDK repeats those of all its events. Settings of the other
// profiler, whose recording was appended, hold no longer.
func (s *settings) inherit(before *settings, profiler string) {
	switch {
	case !before.any || profiler != before.profiler:
	case profiler == flightRecorder:
		s.any = true
		s.period = cmp.Or(s.period, before.period)
		s.throttle = cmp.Or(s.throttle, before.throttle)
	case !s.any:
		*s = *before
	}
}

// complete names the profiler, and its version by that of the virtual machine in s.jvm.
func (s *settings) complete(profiler string) {
	s.profiler = profiler
	if profiler != flightRecorder {
		return
	}
	jvm := s.jvm
	if _, version, ok := strings.Cut(jvm, "("); ok { // "OpenJDK 64-Bit Server VM (25.0.3+9) for …"
		jvm, _, _ = strings.Cut(version, ")")
	}
	s.version = jvm
}

// moveWallSamples moves the execution samples of the chunk that are of
// wall-clock time. async-profiler 2 marks CPU samples as runnable, 3 and later
// as default; so the state tells only if both were recorded.
func (ch *chunk) moveWallSamples() {
	from, to := &ch.series[execution], &ch.series[wall]
	all := *from
	from.Truncate(ch.from[execution])
	for i := from.Len(); i < all.Len(); i++ { // what stays is put back, to its place or before it
		row := all.row(i)
		state := ch.p.States[row.State]
		if ch.settings.event == "wall" || ch.settings.hasWall && state != stateDefault || state == stateSleeping {
			to.add(row)
			to.count = append(to.count, 1)
			continue
		}
		from.add(row)
	}
}

// cpuPeriod returns what an execution sample stands for.
func (s *settings) cpuPeriod() period {
	switch {
	case s.profiler != asyncProfiler:
		return period{value: int64(s.period), unit: nanoseconds, name: profile.CPU}
	case slices.Contains(clocks, s.event):
		p := period{value: int64(asyncInterval), unit: nanoseconds, name: profile.CPU}
		if s.interval > 0 {
			p.value = s.interval
		}
		return p
	case s.event != "" && s.event != "wall":
		return period{value: s.interval, unit: "events", name: s.event}
	}
	return period{}
}

// wallPeriod returns what a wall-clock sample stands for.
func (s *settings) wallPeriod() period {
	p := period{value: int64(asyncWallInterval), unit: nanoseconds, name: profile.Wall}
	switch {
	case s.event == "wall" && s.interval > 0:
		p.value = s.interval
	case s.wall > 0:
		p.value = s.wall
	}
	return p
}

// weigh sets the values of the chunk's samples of a series.
func (ch *chunk) weigh(id seriesID, p period) {
	s := &ch.series[id]
	from := ch.from[id]
	if from == s.Len() {
		return
	}
	s.period.merge(p)
	if p.unit != nanoseconds {
		return
	}
	for i := from; i < s.Len(); i++ {
		s.Value[i] = p.value
		if s.count != nil {
			s.Value[i] = times(s.count[i], p.value)
		}
	}
}

// times multiplies numbers that are not negative. What does not fit is the
// largest number, which the check of the profile's sums then refuses.
func times(a, b int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if hi != 0 || lo > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(lo)
}

// purpose returns the value type that the recording was made for, if it says so.
func (s *settings) purpose() string {
	switch {
	case s.event == profile.Wall || s.event == profile.Alloc || s.event == profile.Lock:
		return s.event
	case s.event == "" && s.alloc:
		return profile.Alloc
	case s.event == "" && s.lock:
		return profile.Lock
	}
	return ""
}

// interval returns the time between two samples of a type.
func interval(t profile.ValueType, s settings) time.Duration {
	switch {
	case t.Original == seriesTypes[cpuTime].original:
		return s.throttle
	case t.PeriodUnit == nanoseconds:
		return time.Duration(t.Period)
	}
	return 0
}
