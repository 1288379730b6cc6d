// Package stackprof reads the results of Ruby's profiler stackprof: as JSON
// (`stackprof --json`, JSON.generate) and as Ruby writes them with Marshal.dump
// (StackProf.run(out: FILE)), which marshal.go turns into the same JSON.
//
// A result has for each frame its samples by line and its callees, and with the option
// raw also the stacks and times of all samples. Without raw it is a call graph, whose
// paths package callgraph estimates; samples of functions and lines are exact.
// docs/format/scripting.md lists what it does not keep.
package stackprof

import (
	"bytes"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dendroprof/dendro/format/internal/bytescan"
	"github.com/dendroprof/dendro/format/internal/callgraph"
	"github.com/dendroprof/dendro/format/internal/jsonscan"
	"github.com/dendroprof/dendro/format/internal/stacktext"
	"github.com/dendroprof/dendro/profile"
)

// Name is the name of the format in Profile.Format.
const Name = "stackprof"

// NewDecoder returns a decoder.
func NewDecoder() profile.Decoder { return decoder{jsonscan.NewDecoder(Name, read)} }

type decoder struct{ json profile.Decoder }

// Decode implements profile.Decoder.
func (d decoder) Decode(r io.Reader, s *profile.Symbols, l profile.Limits) (*profile.Profile, error) {
	first, r, err := stacktext.Peek(r)
	if err != nil {
		return nil, err
	}
	if first != magic[0] {
		return d.json.Decode(r, s, l)
	}
	m := &marshal{Scanner: bytescan.New(r, "result", l.WithDefaults())}
	p, err := d.json.Decode(m, s, l)
	if pe, ok := err.(*profile.ParseError); ok {
		pe.Offset = -1 // it is one of the JSON
	}
	if m.Err() != nil {
		return nil, m.Err()
	}
	return p, err
}

// Sniff reports whether content that begins with prefix is of this format.
func Sniff(prefix []byte) bool {
	if bytes.HasPrefix(prefix, []byte(magic)) {
		return bytes.Contains(prefix, []byte(":\x0cversion")) && bytes.Contains(prefix, []byte(":\x09mode"))
	}
	o := jsonscan.NewOutline(prefix)
	return o.Has("version") && o.Has("mode") && o.Has("frames", "gc_samples", "missed_samples") && o.Has("interval", "samples")
}

// frame is one frame of a result: a method.
type frame struct {
	fn    profile.Function
	self  int64
	lines []line
	calls []call
}

type line struct{ line, self int64 }
type call struct{ callee, samples int64 } // callee is an id

// file is one file.
type file struct {
	scanner  *jsonscan.Scanner
	p        *profile.Profile
	limits   profile.Limits
	mode     string
	interval int64
	samples  int64
	frames   map[int64]*frame
	order    []int64 // ids in the order of the file
	raw      []int64 // frames of a stack, their ids, samples of it, and so on
	rawLines []int64 // as raw, with lines for ids
	times    []int64 // of each sample of raw, microseconds
}

func read(s *jsonscan.Scanner, p *profile.Profile, l profile.Limits) error {
	p.Profiler = Name
	f := file{scanner: s, p: p, limits: l, frames: map[int64]*frame{}, samples: -1}
	for key := range s.Object() {
		switch string(key) {
		case "mode":
			f.mode = s.Text()
		case "interval":
			f.interval = max(0, s.Fixed(0))
		case "samples":
			f.samples = s.Int()
		case "metadata":
			f.metadata()
		case "frames":
			f.readFrames()
		case "raw":
			f.raw = jsonscan.Ints(s, f.raw[:0], 0)
		case "raw_lines":
			f.rawLines = jsonscan.Ints(s, f.rawLines[:0], 0)
		case "raw_sample_timestamps":
			f.times = jsonscan.Ints(s, f.times[:0], 0)
		}
	}
	if err := s.End(); err != nil {
		return err
	}
	t := profile.Samples{Type: f.valueType()}
	if err := f.fill(&t); err != nil {
		return &profile.ParseError{Offset: -1, Err: err}
	}
	p.Tables = []profile.Samples{t}
	p.CountLost()
	if got := t.Total(); f.samples >= 0 && got != f.samples {
		p.Warnf("the file says %d samples and has %d", f.samples, got)
	}
	return nil
}

// metadata reads what the user said about the recording.
func (f *file) metadata() {
	s := f.scanner
	if s.Kind() != jsonscan.Object {
		return
	}
	for key := range s.Object() {
		name := string(key)
		if text := s.Scalar(); text != "" {
			f.p.Comments = append(f.p.Comments, name+": "+text)
		}
	}
}

func (f *file) readFrames() {
	s := f.scanner
	for key := range s.Object() {
		id, err := strconv.ParseInt(string(key), 10, 64)
		if err != nil {
			s.Errorf("a frame's id %.30q", key)
			return
		}
		s.Take(jsonscan.EntryBytes)
		fr := &frame{fn: profile.Function{Kind: profile.KindRuby}}
		for key := range s.Object() {
			switch string(key) {
			case "name":
				fr.fn.Name = s.Scalar()
			case "file":
				fr.fn.File = s.Scalar()
			case "line":
				fr.fn.StartLine = s.Place()
			case "samples":
				fr.self = s.Int()
			case "lines":
				f.readLines(fr)
			case "edges":
				for key := range s.Object() {
					callee, err := strconv.ParseInt(string(key), 10, 64)
					if err != nil {
						s.Errorf("a frame's id %.30q", key)
					}
					fr.calls = append(fr.calls, call{callee, s.Int()})
				}
			}
		}
		switch {
		case fr.fn.Name == "":
			fr.fn.Name = profile.NoName
		case strings.HasPrefix(fr.fn.Name, "(") && strings.HasSuffix(fr.fn.Name, ")") && fr.fn.File == "":
			fr.fn.Kind = profile.KindVM // (garbage collection), (marking), (sweeping)
		case fr.fn.File == "<cfunc>":
			fr.fn.File, fr.fn.Kind = "", profile.KindNative
		}
		if f.frames[id] == nil {
			f.order = append(f.order, id)
		}
		f.frames[id] = fr
	}
}

// readLines reads the samples of each line of a frame: [total, self], or total only.
func (f *file) readLines(fr *frame) {
	s := f.scanner
	for key := range s.Object() {
		n, err := strconv.ParseInt(string(key), 10, 32)
		if err != nil || s.Kind() != jsonscan.Array {
			continue
		}
		for i := range s.Array() {
			if v := s.Int(); i == 1 && v > 0 && n > 0 {
				fr.lines = append(fr.lines, line{n, v})
			}
		}
	}
}

// valueType returns the meaning of a sample. The interval is in microseconds, of mode
// object in allocations.
func (f *file) valueType() profile.ValueType {
	t := profile.ValueType{Unit: "count", Original: f.mode}
	switch f.mode {
	case "cpu", "wall":
		t.Name = f.mode + "-samples"
		if f.interval > 0 && f.interval < math.MaxInt64/1000 {
			t.Period, t.PeriodUnit, t.PeriodName = f.interval*1000, "nanoseconds", f.mode
		}
	case "object":
		t.Name = profile.AllocSamples
		t.Period, t.PeriodUnit = f.interval, "count"
	default:
		t.Name = "samples"
	}
	return t
}

// fill makes the sample table, of stacks if there are any.
func (f *file) fill(t *profile.Samples) error {
	if f.raw != nil {
		return f.fillRaw(t)
	}
	g := callgraph.New(f.p.Symbols)
	nodes := map[int64]int32{}
	for _, id := range f.order {
		nodes[id] = g.Node(profile.Frame{Function: f.p.Symbols.Function(f.frames[id].fn)}, 0)
	}
	ok := true
	for _, id := range f.order {
		fr := f.frames[id]
		rest := fr.self
		for _, l := range fr.lines {
			if l.self <= rest {
				rest -= l.self
				ok = ok && g.AddSelf(nodes[id], int32(l.line), l.self)
			}
		}
		if rest < 0 {
			return profile.Malformed("%d samples of frame %d", rest, id)
		}
		ok = ok && g.AddSelf(nodes[id], 0, rest)
		for _, c := range fr.calls {
			if callee, known := nodes[c.callee]; known && c.samples > 0 {
				ok = ok && g.AddCall(nodes[id], callee, c.samples)
			}
		}
	}
	if !ok {
		return profile.Malformed("the samples add up to more than 63 bits")
	}
	g.Samples(t, 0, 0, f.limits.Depth)
	callgraph.Warn(f.p, g.Pairs())
	return nil
}

// fillRaw adds the samples of raw. Each has a row of its own if it has a time.
func (f *file) fillRaw(t *profile.Samples) error {
	s := f.p.Symbols
	functions := map[int64]profile.FunctionID{}
	for _, id := range f.order {
		functions[id] = s.Function(f.frames[id].fn)
	}
	if len(f.rawLines) != len(f.raw) {
		f.rawLines = nil
	}
	first, at, unknown := int64(0), 0, 0
	if len(f.times) > 0 {
		first = slices.Min(f.times)
	}
	for raw := 0; raw < len(f.raw); {
		n := f.raw[raw]
		switch {
		case n < 0 || n >= int64(len(f.raw)-raw-1):
			return profile.Malformed("element %d of raw has a stack of %d frames in %d elements", raw, n, len(f.raw))
		case n > int64(f.limits.Depth):
			return profile.TooDeep(f.limits.Depth)
		}
		stack := profile.NoStack
		for i := raw + 1; i <= raw+int(n); i++ {
			fn, ok := functions[f.raw[i]]
			if !ok {
				unknown++
				fn = s.Function(profile.Function{Name: profile.NoName})
			}
			fr := profile.Frame{Function: fn}
			if f.rawLines != nil && f.rawLines[i] > 0 && f.rawLines[i] <= math.MaxInt32 {
				fr.Line = int32(f.rawLines[i])
			}
			stack = s.Stack(stack, s.Frame(fr))
		}
		raw += int(n) + 1
		count := f.raw[raw]
		raw++
		if count < 0 {
			return profile.Malformed("element %d of raw is a stack with %d samples", raw-1, count)
		}
		if count > int64(len(f.times)-at) {
			t.Append(stack, count, 0, profile.Tags{})
			at = len(f.times)
		}
		for ; count > 0 && at < len(f.times); count, at = count-1, at+1 {
			if f.times[at]-first > math.MaxInt64/1000 || f.times[at]-first < 0 {
				return profile.Malformed("a time of %d microseconds", f.times[at])
			}
			t.Append(stack, 1, (f.times[at]-first)*1000, profile.Tags{})
		}
		t.Bound(f.limits)
	}
	t.Bounded()
	f.p.WarnCount(unknown, "%d frames of stacks are not in the list of %d frames; they count as %s", len(f.order), profile.NoName)
	return nil
}
