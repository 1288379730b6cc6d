// Package apps reads what the profilers of apps send: profiles of Sentry's SDKs, and the CPU
// samples of Dart's VM, which Flutter DevTools save.
//
//	Sentry  https://develop.sentry.dev/sdk/telemetry/profiles/sample-format-v1/, and -v2/
//	Dart    CpuSamples of https://github.com/dart-lang/sdk/blob/main/runtime/vm/service/service.md
//
// Both are JSON with a table of frames, and samples whose stacks name them innermost first.
// The tables may come behind the samples, so samples are kept as numbers until all is read.
// Kept are times, threads, lines and, of Dart, the tags; measurements, images and
// transactions are skipped. docs/format/browsers.md says the rest.
package apps

import (
	"bytes"
	"cmp"
	"math"
	"time"

	"github.com/dendroprof/dendro/format/internal/jsonscan"
	"github.com/dendroprof/dendro/format/internal/stacktext"
	"github.com/dendroprof/dendro/profile"
)

// file is what is kept of a file until all of it is read.
type file struct {
	s      *jsonscan.Scanner
	p      *profile.Profile
	limits profile.Limits
	rec    *stacktext.Recorder
	clock  jsonscan.Clock

	frames  []frame
	stacks  [][]int32 // of frames, innermost first
	samples []sample
	names   map[string]string // of threads, by their ids
	kind    profile.Kind
	period  int64 // nanoseconds between CPU samples; 0: none
}

// frame is a function and where it was.
type frame struct {
	profile.Function
	line, column int32
}

// sample is one sample. Its stack is one of the table.
type sample struct {
	at            int64 // nanoseconds
	stack         int32
	thread, state string
}

func newFile(s *jsonscan.Scanner, p *profile.Profile, l profile.Limits) *file {
	return &file{s: s, p: p, limits: l, rec: stacktext.NewRecorder(p), names: map[string]string{}}
}

// readStack reads indexes of frames, innermost first, and returns the number of the stack.
func (f *file) readStack() int32 {
	stack := jsonscan.Ints[int32](f.s, nil, -1)
	if len(stack) > f.limits.Depth {
		f.s.TooDeep(f.limits.Depth)
	}
	f.stacks = append(f.stacks, stack)
	return int32(len(f.stacks) - 1)
}

// link makes the table: one sample each. Samples of stacks that are not there count as lost,
// frames that are not there as unknown ones.
func (f *file) link() error {
	if err := f.s.End(); err != nil {
		return err
	}
	frames := make([]profile.FrameID, len(f.frames))
	for i, fr := range f.frames {
		fr.Name = cmp.Or(fr.Name, profile.NoName)
		fr.Kind = f.kind
		frames[i] = f.p.Symbols.Frame(profile.Frame{Function: f.p.Symbols.Function(fr.Function), Line: fr.line, Column: fr.column})
	}
	stacks, lost := make([]profile.StackID, len(f.stacks)), 0
	for i, list := range f.stacks {
		stacks[i] = profile.NoStack
		for n := len(list) - 1; n >= 0; n-- {
			var fr profile.FrameID
			if list[n] >= 0 && int(list[n]) < len(frames) {
				fr = frames[list[n]]
			} else {
				lost++
				fr = f.p.Symbols.Frame(profile.Frame{Function: f.p.Symbols.Function(profile.Function{Name: profile.NoName, Kind: f.kind})})
			}
			stacks[i] = f.p.Symbols.Stack(stacks[i], fr)
		}
	}
	f.p.WarnCount(lost, "%d frames of stacks are not in the list of %d frames; they count as %s", len(frames), profile.NoName)
	t, lost := stacktext.NewTable(f.limits), 0
	for _, s := range f.samples {
		stack := profile.NoStack
		if s.stack >= 0 && int(s.stack) < len(stacks) {
			stack = stacks[s.stack]
		}
		if stack == profile.NoStack {
			lost++
			stack = f.p.Symbols.Lost()
		}
		row := stacktext.Row{Stack: stack, Value: 1, Time: s.at, Thread: f.rec.Thread(nil, []byte(f.names[s.thread]), []byte(s.thread))}
		if s.state != "" {
			row.State = f.rec.State([]byte(s.state))
		}
		t.Add(row) // as many as there are samples
	}
	f.p.WarnCount(lost, "%d of %d samples have no stack in the file; they count as %s", len(f.samples), profile.LostName)
	typ := profile.NamedType(profile.WallSamples)
	if f.period > 0 {
		typ = profile.NamedType(profile.CPUSamples)
		typ.Period, typ.PeriodUnit = f.period, "nanoseconds"
		f.p.Interval = time.Duration(f.period)
	}
	if t.First < t.Last {
		f.p.Duration = time.Duration(t.Last - t.First)
	}
	f.p.Tables = []profile.Samples{t.Samples(typ, true, min(t.First, t.Last))}
	return nil
}

// SentryName is the name of Sentry's format in Profile.Format.
const SentryName = "sentry"

// NewSentryDecoder returns a decoder of profiles of Sentry.
func NewSentryDecoder() profile.Decoder { return jsonscan.NewDecoder(SentryName, readSentry) }

// SniffSentry reports whether content that begins with prefix is a profile of Sentry.
func SniffSentry(prefix []byte) bool {
	return bytes.Contains(prefix, []byte(`"profile"`)) &&
		jsonscan.NewOutline(prefix).Has("profile.samples[].stack_id", "profile.thread_metadata", "profile.frames[].function", "profile.stacks")
}

// sentryKinds are the kinds of the functions of a platform.
var sentryKinds = map[string]profile.Kind{
	"node": profile.KindJS, "javascript": profile.KindJS, "python": profile.KindPython, "php": profile.KindPHP, "ruby": profile.KindRuby,
	"java": profile.KindJava, "android": profile.KindJava, "csharp": profile.KindDotNet, "go": profile.KindGo, "rust": profile.KindRust,
	"cocoa": profile.KindNative,
}

func readSentry(s *jsonscan.Scanner, p *profile.Profile, l profile.Limits) error {
	f := newFile(s, p, l)
	p.Profiler = "Sentry"
	for key := range s.Object() {
		switch string(key) {
		case "platform":
			f.kind = sentryKinds[s.Scalar()]
		case "release":
			if text := s.Scalar(); text != "" {
				p.Comments = append(p.Comments, "release="+text)
			}
		case "profile":
			for key := range s.Object() {
				f.readSentry(string(key))
			}
		}
	}
	return f.link()
}

func (f *file) readSentry(key string) {
	s := f.s
	switch key {
	case "frames":
		for range s.Array() {
			var fr frame
			path := ""
			for key := range s.Object() {
				switch string(key) {
				case "function":
					fr.Name = s.Scalar()
				case "module":
					fr.Module = s.Scalar()
				case "filename":
					fr.File = s.Scalar()
				case "abs_path":
					path = s.Scalar()
				case "lineno":
					fr.line = s.Place()
				case "colno":
					fr.column = s.Place()
				}
			}
			fr.File = cmp.Or(fr.File, path)
			s.Take(jsonscan.EntryBytes)
			f.frames = append(f.frames, fr)
		}
	case "stacks":
		for range s.Array() {
			f.readStack()
		}
	case "samples":
		for range s.Array() {
			one := sample{stack: -1}
			for key := range s.Object() {
				switch string(key) {
				case "stack_id":
					one.stack = stackNumber(s.Int())
				case "thread_id":
					one.thread = s.Scalar()
				case "elapsed_since_start_ns":
					one.at = f.clock.Read(s, 0)
				case "timestamp": // of version 2
					one.at = f.clock.Read(s, 9)
				}
			}
			f.samples = append(f.samples, one)
		}
	case "thread_metadata":
		for id := range s.Object() {
			thread := string(id)
			for key := range s.Object() {
				if string(key) == "name" {
					f.names[thread] = s.Scalar()
				}
			}
		}
	}
}

// stackNumber returns the number of a stack, or one that is nowhere.
func stackNumber(v int64) int32 {
	if v < 0 || v > math.MaxInt32 {
		return -1
	}
	return int32(v)
}

// DartName is the name of Dart's format in Profile.Format.
const DartName = "dart"

// NewDartDecoder returns a decoder of CPU samples of Dart's VM.
func NewDartDecoder() profile.Decoder { return jsonscan.NewDecoder(DartName, readDart) }

// SniffDart reports whether content that begins with prefix is CPU samples of Dart's VM, as
// they are or in the answer of its service.
func SniffDart(prefix []byte) bool {
	if !bytes.Contains(prefix, []byte(`"CpuSamples"`)) {
		return false
	}
	o := jsonscan.NewOutline(prefix)
	return o["type"] == "CpuSamples" || o["result.type"] == "CpuSamples"
}

func readDart(s *jsonscan.Scanner, p *profile.Profile, l profile.Limits) error {
	f := newFile(s, p, l)
	p.Profiler = "Dart"
	for key := range s.Object() {
		if string(key) != "result" {
			f.readDart(string(key))
			continue
		}
		for key := range s.Object() {
			f.readDart(string(key))
		}
	}
	return f.link()
}

func (f *file) readDart(key string) {
	s := f.s
	switch key {
	case "samplePeriod": // microseconds
		f.period = s.Fixed(3)
	case "functions":
		for range s.Array() {
			s.Take(jsonscan.EntryBytes)
			f.frames = append(f.frames, readDartFunction(s))
		}
	case "samples":
		for range s.Array() {
			one := sample{stack: -1}
			for key := range s.Object() {
				switch string(key) {
				case "tid":
					one.thread = s.Scalar()
				case "timestamp":
					one.at = f.clock.Read(s, 3)
				case "vmTag":
					one.state = s.Scalar()
				case "stack":
					one.stack = f.readStack()
				}
			}
			f.samples = append(f.samples, one)
		}
	}
}

// readDartFunction reads a function with its class, if it has one.
func readDartFunction(s *jsonscan.Scanner) (fr frame) {
	for key := range s.Object() {
		switch string(key) {
		case "resolvedUrl":
			fr.File = s.Scalar()
		case "function":
			owner, class := "", false
			for key := range s.Object() {
				switch string(key) {
				case "name":
					fr.Name = s.Scalar()
				case "owner":
					if s.Kind() != jsonscan.Object {
						continue
					}
					for key := range s.Object() {
						switch string(key) {
						case "name":
							owner = s.Scalar()
						case "type":
							class = s.Scalar() == "@Class"
						}
					}
				}
			}
			if class && owner != "" {
				fr.Name = owner + "." + fr.Name
			}
		}
	}
	return fr
}
