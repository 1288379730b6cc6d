// Package pstats reads the files that Python's profilers cProfile and profile write
// (Stats.dump_stats, python -m cProfile -o FILE): marshal.dumps of a dictionary
//
//	(file, line, name): (primitive calls, calls, self time, total time, callers)
//
// in which callers has the same keys and the part of the callee's figures that is due
// to that caller; of the module profile only a number of calls. The clock of cProfile
// is the wall clock, that of profile the processor time.
//
// Marshal is documented as internal to Python and has been stable for such values:
// versions 0 to 4 are read (Python 2 and 3). The file has no stacks: package callgraph
// estimates them, self times are exact. docs/format/scripting.md lists what it does not keep.
package pstats

import (
	"bytes"
	"cmp"
	"math"

	"github.com/dendroprof/dendro/format/internal/callgraph"
	"github.com/dendroprof/dendro/format/internal/stacktext"
	"github.com/dendroprof/dendro/profile"
)

// Name is the name of the format in Profile.Format.
const Name = "pstats"

// NewDecoder returns a decoder.
func NewDecoder() profile.Decoder { return stacktext.NewDecoder(Name, read) }

func read(t *stacktext.Reading) error {
	p := t.Profile
	p.Profiler = "cProfile"
	f := file{marshal: newMarshal(t.In, t.Limits), p: p, graph: callgraph.New(p.Symbols)}
	f.read()
	if err := f.end(); err != nil {
		return err
	}
	samples := profile.Samples{Type: profile.NamedType(profile.Wall)}
	if p.Profiler == "profile" {
		samples.Type = profile.NamedType(profile.CPU)
	}
	f.graph.Samples(&samples, 0, 0, t.Limits.Depth)
	p.Tables = []profile.Samples{samples}
	callgraph.Warn(p, f.graph.Pairs())
	p.WarnCount(f.negative, "%d times are negative; they count as 0")
	return nil
}

// Sniff reports whether content that begins with prefix is of this format: a marshalled
// dictionary whose first key is a function.
func Sniff(prefix []byte) bool {
	m := newMarshal(bytes.NewReader(prefix), profile.Limits{}.WithDefaults())
	if m.tag() != '{' {
		return false
	}
	key, ok := m.function()
	return ok && key.Name != "" && m.size(m.tag()) == 5 && m.Err() == nil
}

// file is one file.
type file struct {
	*marshal
	p        *profile.Profile
	graph    *callgraph.Graph
	negative int // times
}

// read reads the dictionary into the graph.
func (f *file) read() {
	if f.tag() != '{' {
		f.Malformed("not a dictionary of functions")
	}
	for f.Err() == nil {
		key, ok := f.function()
		if !ok {
			return
		}
		n := f.node(key)
		if size := f.size(f.tag()); size != 5 {
			f.Malformed("%d figures of function %.60q, want 5", size, key.Name)
			return
		}
		f.number()
		f.number()
		self, total := f.nanoseconds(), f.nanoseconds()
		if f.Err() == nil && !f.graph.AddSelf(n, 0, self) {
			f.tooMuch()
		}
		f.callers(n, total)
	}
}

// call is the calls of one function by another.
type call struct {
	caller int32
	count  float64
}

// callers reads the callers of a function, whose total time is total.
func (f *file) callers(n int32, total int64) {
	if f.tag() != '{' {
		f.Malformed("the callers of a function are not a dictionary")
		return
	}
	var counted []call
	sum := 0.0
	for f.Err() == nil {
		key, ok := f.function()
		if !ok {
			break
		}
		caller := f.node(key)
		switch tag := f.tag(); tag {
		case '(', ')':
			if size := f.size(tag); size != 4 {
				f.Malformed("%d figures of a caller, want 4", size)
				return
			}
			f.number()
			f.number()
			f.nanoseconds()
			f.call(caller, n, f.nanoseconds())
		default: // of the module profile
			count := max(0, f.numberOf(tag))
			counted, sum = append(counted, call{caller, count}), sum+count
		}
	}
	if len(counted) > 0 {
		f.p.Profiler = "profile"
	}
	for _, c := range counted {
		if sum > 0 && c.count > 0 {
			f.call(c.caller, n, int64(math.Min(float64(total)*(c.count/sum), 1<<62)))
		}
	}
}

func (f *file) call(caller, callee int32, total int64) {
	if f.Err() == nil && !f.graph.AddCall(caller, callee, total) {
		f.tooMuch()
	}
}

func (f *file) tooMuch() { f.Malformed("the times add up to more than 63 bits of nanoseconds") }

// nanoseconds reads a time in seconds.
func (f *file) nanoseconds() int64 {
	v := math.Round(f.number() * 1e9)
	switch {
	case v < 0:
		f.negative++
		return 0
	case v >= 1<<62 || v != v:
		f.Malformed("a time of %g seconds", v/1e9)
		return 0
	}
	return int64(v)
}

// node returns the function of a key. Built-in functions have the file ~ and line 0.
func (f *file) node(fn profile.Function) int32 {
	fn.Kind = profile.KindPython
	if fn.File == "~" {
		fn.File, fn.Kind = "", profile.KindNative
	}
	fn.Name = cmp.Or(fn.Name, profile.NoName)
	return f.graph.Node(profile.Frame{Function: f.p.Symbols.Function(fn)}, 0)
}
