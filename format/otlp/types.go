package otlp

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/dendroprof/dendro/profile"
)

// Keys of attributes that have a place of their own: those of the semantic
// conventions, and keyMode and keyState, which are Dendro's.
const (
	keyThreadName = "thread.name"
	keyThreadID   = "thread.id"
	keyPid        = "process.pid"
	keyProcess    = "process.executable.name"
	keyFrameType  = "profile.frame.type"
	keyMode       = "dendro.frame.mode"
	keyState      = "thread.state"
	keyComment    = "pprof.profile.comment"
	keyDropFrames = "pprof.profile.drop_frames"
	keyKeepFrames = "pprof.profile.keep_frames"
	keyTrace      = "trace_id" // labels that a link becomes
	keySpan       = "span_id"
)

// units are the spellings of the UCUM that profiles have, and what they are
// called here.
var units = map[string]string{
	"ns": "nanoseconds", "us": "microseconds", "ms": "milliseconds", "s": "seconds",
	"By": "bytes", "by": "bytes", "1": "count", "{sample}": "count", "{samples}": "count", "{count}": "count",
}

func unitName(unit string) string {
	if name, ok := units[unit]; ok {
		return name
	}
	return unit
}

// typeNames are the sample types of known profilers.
var typeNames = map[[2]string]string{
	{"cpu", "nanoseconds"}: profile.CPU, {"cpu", "count"}: profile.CPUSamples,
	{"samples", "count"}: profile.CPUSamples, {"sample", "count"}: profile.CPUSamples,
	{"on_cpu", "nanoseconds"}: profile.CPU, {"on_cpu", "count"}: profile.CPUSamples,
	{"wall", "nanoseconds"}: profile.Wall, {"wall", "count"}: profile.WallSamples,
	{"alloc_space", "bytes"}: profile.Alloc, {"alloc_objects", "count"}: profile.AllocSamples,
	{"allocated_space", "bytes"}: profile.Alloc, {"allocated_objects", "count"}: profile.AllocSamples,
	{"inuse_space", "bytes"}: profile.Live, {"inuse_objects", "count"}: profile.LiveSamples,
	{"delay", "nanoseconds"}: profile.Lock, {"contentions", "count"}: profile.LockSamples,
	{"goroutine", "count"}: profile.Goroutines,

	// async-profiler names them by its engines.
	{"perf_events", "count"}: profile.CPUSamples, {"ctimer", "count"}: profile.CPUSamples, {"itimer", "count"}: profile.CPUSamples,
	{"perf_events", "nanoseconds"}: profile.CPU, {"ctimer", "nanoseconds"}: profile.CPU, {"itimer", "nanoseconds"}: profile.CPU,
	{"object_sampler", "count"}: profile.AllocSamples, {"object_sampler", "bytes"}: profile.Alloc,
}

// valueType returns the type of a Profile message. Its period is what one sample
// stands for, also where samples are counted and the period is a time.
func (k *linker) valueType(x *profileMessage) profile.ValueType {
	name, unit := k.m.Tables.text(x.SampleType.Name), unitName(k.m.Tables.text(x.SampleType.Unit))
	unit = cmp.Or(unit, "count")
	periodName, periodUnit := k.m.Tables.text(x.PeriodType.Name), unitName(k.m.Tables.text(x.PeriodType.Unit))
	t := profile.ValueType{Name: name, Unit: unit, Original: name}
	if known, ok := typeNames[[2]string{name, unit}]; ok {
		t.Name = known
	}
	if t.Name == profile.CPUSamples && strings.HasPrefix(periodName, profile.Wall) {
		t.Name = profile.WallSamples
	}
	t.Name = cmp.Or(t.Name, profile.CPUSamples)
	if x.Period > 0 {
		t.Period, t.PeriodUnit, t.PeriodName = x.Period, periodUnit, periodName
	}
	return t
}

// fileNames is the reverse of typeNames.
var fileNames = map[string]string{
	profile.CPU: "cpu", profile.CPUSamples: "samples", profile.Wall: "wall", profile.WallSamples: "wall",
	profile.Alloc: "alloc_space", profile.AllocSamples: "alloc_objects", profile.Live: "inuse_space", profile.LiveSamples: "inuse_objects",
	profile.Lock: "delay", profile.LockSamples: "contentions", profile.Goroutines: "goroutine",
}

// frameTypes are the values of profile.frame.type, the first of a kind as it is
// written.
var frameTypes = []struct {
	text string
	kind profile.Kind
}{
	{"jvm", profile.KindJava}, {"native", profile.KindNative}, {"native", profile.KindCPP}, {"native", profile.KindVM},
	{"kernel", profile.KindKernel}, {"go", profile.KindGo}, {"go", profile.KindGoRuntime}, {"cpython", profile.KindPython},
	{"python", profile.KindPython},
	{"v8js", profile.KindJS}, {"ruby", profile.KindRuby}, {"dotnet", profile.KindDotNet}, {"php", profile.KindPHP}, {"rust", profile.KindRust},
}

func kindOf(text string) profile.Kind {
	for _, t := range frameTypes {
		if t.text == text {
			return t.kind
		}
	}
	return profile.KindUnknown
}

func frameTypeOf(kind profile.Kind) string {
	for _, t := range frameTypes {
		if t.kind == kind {
			return t.text
		}
	}
	return ""
}

// noMode is the mode of a frame whose type is not known although its kind says it.
const noMode = "unknown"

// modeOf is the inverse of profile.FrameType.String, of which noMode is none.
func modeOf(text string) profile.FrameType {
	for t := profile.FrameUnknown + 1; t < profile.FrameTypes; t++ {
		if t.String() == text {
			return t
		}
	}
	return profile.FrameUnknown
}

// lift moves an attribute that names the thread or its process into t; further
// ones of the same key stay labels.
func lift(t *profile.Thread, l profile.Label) bool {
	text := l.Text
	if text == "" && l.Num != 0 {
		text = strconv.FormatInt(l.Num, 10)
	}
	if text == "" {
		return false
	}
	var to *string
	switch l.Key {
	case keyThreadName:
		to = &t.Name
		if name, id, ok := threadFrame(text); ok && t.ID == "" && t.Name == "" {
			t.Name, t.ID = name, id
			return true
		}
	case keyThreadID:
		to = &t.ID
	case keyPid, keyProcess:
		to = &t.Process
	default:
		return false
	}
	if *to != "" {
		return false
	}
	*to = text
	return true
}

// threadFrame takes apart how async-profiler's converter names threads:
// `[pricing-1 tid=7925]`.
func threadFrame(text string) (name, id string, ok bool) {
	inner, ok := strings.CutPrefix(text, "[")
	if inner, ok2 := strings.CutSuffix(inner, "]"); ok && ok2 {
		if i := strings.LastIndex(inner, "tid="); i >= 0 && (i == 0 || inner[i-1] == ' ') {
			if id = inner[i+len("tid="):]; id != "" && strings.Trim(id, "0123456789") == "" {
				return strings.TrimSuffix(inner[:i], " "), id, true
			}
		}
	}
	return "", "", false
}
