// Package flamebearer reads the JSON in which Pyroscope hands out flame graphs:
// single ones and comparisons of two.
//
// Specification: the type FlamebearerProfileV1 of github.com/grafana/pyroscope;
// version 1 is the only one. The boxes of each level are listed from left to right:
//
//	single: skip, total, self, name
//	double: skip, total, self (left), skip, total, self (right), name
//
// where skip is the gap to the box before. A box lies in the box of the level above
// that is over its beginning. The outermost box, `total`, is no function. A
// comparison becomes two value types, `base` and `new`. docs/format/folded.md
// says what the units become.
//
// The levels are kept as numbers until the file is read, because what they mean
// comes behind them; memory and time are in proportion to the boxes.
package flamebearer

import (
	"fmt"
	"strings"
	"time"

	"github.com/dendroprof/dendro/format/internal/jsonscan"
	"github.com/dendroprof/dendro/profile"
)

// Name is the name of the format in Profile.Format.
const Name = "flamebearer"

// NewDecoder returns a decoder. Errors have the offset of the level in which the
// fault is.
func NewDecoder() profile.Decoder { return jsonscan.NewDecoder(Name, read) }

func read(s *jsonscan.Scanner, p *profile.Profile, l profile.Limits) error {
	f := file{scanner: s, depth: l.Depth}
	f.read()
	if err := s.End(); err != nil {
		return err
	}
	return f.link(p)
}

// Sniff reports whether content that begins with prefix is of this format.
func Sniff(prefix []byte) bool {
	return jsonscan.NewOutline(prefix).Has("flamebearer.names", "flamebearer.levels", "flamebearer.numTicks")
}

// file is one file.
type file struct {
	scanner *jsonscan.Scanner
	depth   int // limit

	names   []string
	levels  []level
	unknown int // boxes whose name is not listed

	format, spy, units, name string
	rate                     int64 // of samples, per second
	start, step              int64 // of the timeline, in seconds
	steps                    int
}

// level is one level of boxes.
type level struct {
	at    int64 // offset
	boxes []int64
}

func (f *file) read() {
	s := f.scanner
	for key := range s.Object() {
		switch string(key) {
		case "flamebearer":
			for key := range s.Object() {
				switch string(key) {
				case "names":
					for range s.Array() {
						f.names = append(f.names, s.Text())
					}
				case "levels":
					f.readLevels()
				default:
					f.readMetadata(string(key)) // where old files have it
				}
			}
		case "metadata":
			for key := range s.Object() {
				f.readMetadata(string(key))
			}
		case "timeline":
			f.readTimeline()
		}
	}
}

func (f *file) readLevels() {
	s := f.scanner
	f.levels = []level{} // of an empty profile there are none
	for range s.Array() {
		if len(f.levels) > f.depth {
			s.TooDeep(f.depth)
			return
		}
		boxes := jsonscan.Ints[int64](s, nil, 0)
		f.levels = append(f.levels, level{s.Offset(), boxes})
	}
}

func (f *file) readMetadata(key string) {
	s := f.scanner
	switch key {
	case "format":
		f.format = s.Scalar()
	case "spyName":
		f.spy = s.Scalar()
	case "units":
		f.units = s.Scalar()
	case "name":
		f.name = s.Scalar()
	case "sampleRate":
		f.rate = s.Fixed(0)
	}
}

func (f *file) readTimeline() {
	s := f.scanner
	for key := range s.Object() {
		switch string(key) {
		case "startTime":
			f.start = s.Fixed(0)
		case "durationDelta":
			f.step = s.Fixed(0)
		case "samples":
			for range s.Array() {
				f.steps++
			}
		}
	}
}

// box is one box of a level: where it lies and what it became.
type box struct {
	start, end int64
	stack      profile.StackID
}

// link makes the tables of the levels.
func (f *file) link(p *profile.Profile) error {
	if f.levels == nil {
		return &profile.ParseError{Offset: -1, Err: profile.Malformed("no levels")}
	}
	if f.start > 0 && f.start < 1<<33 {
		p.Start = time.Unix(f.start, 0).UTC()
		p.Duration = time.Duration(min(int64(f.steps)*max(0, min(f.step, 1<<20)), 1<<32)) * time.Second
	}
	p.Profiler = f.spy
	width := 4
	if f.format == "double" {
		width = 7
		p.Tables, p.Default = []profile.Samples{{Type: f.sideType(profile.Base)}, {Type: f.sideType(profile.Head)}}, 1
	} else {
		p.Tables = []profile.Samples{{Type: f.valueType()}}
	}
	frames := make([]profile.FrameID, len(f.names))
	for i, name := range f.names {
		frames[i] = noFrame
		if i == 0 && name == "total" {
			continue // never shown
		}
		frames[i] = f.frame(p, name)
	}
	var above []box
	for i, l := range f.levels {
		var err error
		if above, err = f.linkLevel(p, l, width, i, above, frames); err != nil {
			return err
		}
	}
	p.WarnCount(f.unknown, "%d boxes have a name that is not in the list of %d; they count as %s", len(f.names), profile.NoName)
	p.CountLost()
	return nil
}

// frame returns the frame of a name.
func (f *file) frame(p *profile.Profile, name string) profile.FrameID {
	return p.Symbols.Frame(profile.Frame{Function: p.Symbols.Function(profile.Function{Name: name, Kind: kinds[f.spy]})})
}

const noFrame = profile.FrameID(-1)

// linkLevel adds the boxes of one level and returns them.
func (f *file) linkLevel(p *profile.Profile, l level, width, depth int, above []box, frames []profile.FrameID) ([]box, error) {
	malformed := func(format string, args ...any) ([]box, error) {
		return nil, &profile.ParseError{Offset: l.at, Err: profile.Malformed("level %d: %s", depth, fmt.Sprintf(format, args...))}
	}
	if len(l.boxes)%width != 0 {
		return malformed("%d numbers, which is no multiple of %d", len(l.boxes), width)
	}
	boxes := make([]box, 0, len(l.boxes)/width)
	var x int64
	over := 0 // the box of above that is looked at
	for i := 0; i < len(l.boxes); i += width {
		b := l.boxes[i : i+width]
		var skip, total int64
		for side := 0; side < width-1; side += 3 {
			for _, v := range b[side : side+3] {
				if v < 0 || v > 1<<60 || x > 1<<60 {
					return malformed("%d in box %d", v, i/width)
				}
			}
			skip += b[side]
			total += b[side+1]
		}
		x += skip
		name := b[width-1]
		stack := profile.NoStack
		if depth > 0 {
			for over < len(above)-1 && above[over].end <= x {
				over++
			}
			if len(above) == 0 || x < above[over].start || x+total > above[over].end {
				return malformed("box %d lies in none of the level above", i/width)
			}
			stack = above[over].stack
		}
		named := name >= 0 && name < int64(len(frames))
		if !named {
			f.unknown++
			stack = p.Symbols.Stack(stack, f.frame(p, profile.NoName))
		} else if frames[name] != noFrame || depth > 0 {
			if frames[name] == noFrame {
				frames[name] = f.frame(p, f.names[name])
			}
			stack = p.Symbols.Stack(stack, frames[name])
		}
		for side := range p.Tables {
			if self := b[3*side+2]; self != 0 {
				p.Tables[side].Add(stack, self)
			}
		}
		boxes = append(boxes, box{x, x + total, stack})
		x += total
	}
	return boxes, nil
}

// kinds are the kinds of functions by what recorded them.
var kinds = map[string]profile.Kind{
	"gospy": profile.KindGo, "pyspy": profile.KindPython, "rbspy": profile.KindRuby, "javaspy": profile.KindJava,
	"dotnetspy": profile.KindDotNet, "phpspy": profile.KindPHP, "nodespy": profile.KindJS, "ebpfspy": profile.KindNative,
	"pyroscope-rs": profile.KindRust,
}

// nanosecondRate is the sample rate of a profile whose samples are nanoseconds.
const nanosecondRate = 1_000_000_000

// valueType returns the value type of the units. That an allocation is one, and not
// what is alive, only the name of the profile says.
func (f *file) valueType() profile.ValueType {
	t := profile.ValueType{Name: f.units, Unit: "count", Original: f.units}
	alloc, live := strings.Contains(f.name, "alloc"), strings.Contains(f.name, "inuse")
	switch {
	case f.units == "samples" && f.rate == nanosecondRate:
		t.Name, t.Unit = profile.CPU, "nanoseconds"
	case f.units == "samples" || f.units == "":
		t.Name = profile.CPUSamples
		if f.rate > 0 {
			t.Period, t.PeriodUnit, t.PeriodName = nanosecondRate/f.rate, "nanoseconds", "cpu"
		}
	case f.units == "bytes":
		t.Unit = "bytes"
		if alloc {
			t.Name = profile.Alloc
		} else if live {
			t.Name = profile.Live
		}
	case f.units == "objects" && alloc:
		t.Name = profile.AllocSamples
	case f.units == "objects" && live:
		t.Name = profile.LiveSamples
	case f.units == "lock_nanoseconds":
		t.Name, t.Unit = profile.Lock, "nanoseconds"
	case f.units == "lock_samples":
		t.Name = profile.LockSamples
	}
	return t
}

// sideType returns the value type of one side of a comparison.
func (f *file) sideType(name string) profile.ValueType {
	t := f.valueType()
	return profile.ValueType{Name: name, Unit: t.Unit, Original: t.Name}
}
