// Package safari reads the timelines that Safari's Web Inspector exports as JSON: of a
// recording the stacks that its JavaScript profiler sampled, innermost frame first, with
// the time and the duration of each in seconds.
//
// A timeline also has records of other instruments (network, layout, processor usage),
// which are not read. docs/format/browsers.md lists what it does not keep.
package safari

import (
	"github.com/dendroprof/dendro/format/internal/jsonscan"
	"github.com/dendroprof/dendro/format/internal/stacktext"
	"github.com/dendroprof/dendro/profile"
)

// Name is the name of the format in Profile.Format.
const Name = "safari"

// NewDecoder returns a decoder.
func NewDecoder() profile.Decoder { return jsonscan.NewDecoder(Name, read) }

// Sniff reports whether content that begins with prefix is of this format.
func Sniff(prefix []byte) bool {
	return jsonscan.NewOutline(prefix).Has("recording.instrumentTypes", "recording.sampleStackTraces", "recording.sampleDurations")
}

// file is one file.
type file struct {
	s         *jsonscan.Scanner
	p         *profile.Profile
	rec       *stacktext.Recorder
	depth     int // limit
	stacks    []profile.StackID
	times     []int64
	clock     jsonscan.Clock
	durations []int64
	frames    []profile.FrameID // of the sample in work, innermost first
}

func read(s *jsonscan.Scanner, p *profile.Profile, l profile.Limits) error {
	p.Profiler = "Safari"
	f := file{s: s, p: p, rec: stacktext.NewRecorder(p), depth: l.Depth}
	for key := range s.Object() {
		if string(key) != "recording" {
			continue
		}
		for key := range s.Object() {
			switch string(key) {
			case "displayName":
				if text := s.Scalar(); text != "" {
					p.Comments = append(p.Comments, text)
				}
			case "sampleStackTraces":
				for range s.Array() {
					f.readSample()
				}
			case "sampleDurations":
				f.durations = jsonscan.Fixeds(s, f.durations, 9)
			}
		}
	}
	if err := s.End(); err != nil {
		return err
	}
	samples, wall := stacktext.NewTable(l), stacktext.NewTable(l)
	for i, stack := range f.stacks {
		row := stacktext.Row{Stack: stack, Time: f.times[i], Value: 1}
		samples.Add(row)
		if i < len(f.durations) && f.durations[i] > 0 {
			row.Value = f.durations[i]
			if !wall.Add(row) {
				s.Errorf("the durations add up to more than 63 bits")
				return s.Err()
			}
		}
	}
	p.Tables = []profile.Samples{samples.Samples(profile.ValueType{Name: "samples", Unit: "count"}, true, samples.First)}
	if wall.Len() > 0 {
		p.Tables = append(p.Tables, wall.Samples(profile.NamedType(profile.Wall), true, samples.First))
	}
	if len(f.durations) > 0 && len(f.durations) != len(f.stacks) {
		p.Warnf("the file has %d stacks and %d durations", len(f.stacks), len(f.durations))
	}
	return nil
}

// readSample reads a stack, innermost frame first, and its time.
func (f *file) readSample() {
	s := f.s
	at := int64(0)
	f.frames = f.frames[:0]
	for key := range s.Object() {
		switch string(key) {
		case "timestamp":
			at = max(0, f.clock.Read(s, 9))
		case "stackFrames":
			for range s.Array() {
				if f.frames = append(f.frames, f.readFrame()); len(f.frames) > f.depth {
					s.TooDeep(f.depth)
				}
			}
		}
	}
	if s.Err() == nil {
		f.stacks, f.times = append(f.stacks, f.rec.Stack(f.frames)), append(f.times, at)
	}
}

// readFrame reads a frame: a function, where it begins, and where it was.
func (f *file) readFrame() profile.FrameID {
	s := f.s
	fn, fr := profile.Function{Kind: profile.KindJS}, profile.Frame{}
	for key := range s.Object() {
		switch string(key) {
		case "name":
			fn.Name = s.Scalar()
		case "url":
			fn.File = s.Scalar()
		case "line":
			fn.StartLine = s.Place()
		case "column":
			fn.Column = s.Place()
		case "expressionLocation":
			for key := range s.Object() {
				switch string(key) {
				case "line":
					fr.Line = s.Place()
				case "column":
					fr.Column = s.Place()
				}
			}
		}
	}
	switch {
	case fn.Name == "":
		fn.Name = "(anonymous)"
	case fn.StartLine == 0:
		fn.Kind = profile.KindNative
	}
	fr.Function = f.p.Symbols.Function(fn)
	return f.p.Symbols.Frame(fr)
}
