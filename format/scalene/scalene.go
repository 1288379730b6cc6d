// Package scalene reads the JSON of the Python profiler Scalene.
//
// The file has the shares of the time of each line, spent in Python, in native code and
// in the system, and what the line allocated: a table each of single frames. Since
// version 2 it also has the stacks of the samples. docs/format/scripting.md says what is
// lost.
package scalene

import (
	"cmp"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/dendroprof/dendro/format/internal/jsonscan"
	"github.com/dendroprof/dendro/format/internal/stacktext"
	"github.com/dendroprof/dendro/profile"
)

// Name is the name of the format in Profile.Format.
const Name = "scalene"

// NewDecoder returns a decoder.
func NewDecoder() profile.Decoder { return jsonscan.NewDecoder(Name, read) }

// Sniff reports whether content that begins with prefix is of this format.
func Sniff(prefix []byte) bool {
	o := jsonscan.NewOutline(prefix)
	return o.Has("elapsed_time_sec") && o.Has("files", "growth_rate", "alloc_samples") ||
		o.Has("alloc_samples") && o.Has("combined_stacks", "async_profile")
}

// states are where the time of a line is spent; the index is that of the percentages.
var states = [...]string{"python", "native", "system"}

// line is a line of a source file.
type line struct {
	file          string
	number, start int64              // start: line of its function; 0 for none
	percent       [len(states)]int64 // times 10^9
	allocated     int64              // bytes
}

// place is where a function begins.
type place struct {
	file string
	line int64
}

// file is one file.
type file struct {
	s         *jsonscan.Scanner
	p         *profile.Profile
	depth     int   // limit
	elapsed   int64 // nanoseconds
	lines     []line
	functions map[place]string
	samples   *stacktext.Table
	rec       *stacktext.Recorder
}

func read(s *jsonscan.Scanner, p *profile.Profile, l profile.Limits) error {
	p.Profiler = Name
	f := file{s: s, p: p, depth: l.Depth, functions: map[place]string{}, samples: stacktext.NewTable(l), rec: stacktext.NewRecorder(p)}
	for key := range s.Object() {
		switch string(key) {
		case "elapsed_time_sec":
			f.elapsed = max(0, s.Fixed(9))
			p.Duration = time.Duration(f.elapsed)
		case "start_time_absolute":
			p.Start = s.Date(9)
		case "program":
			if text := s.Scalar(); text != "" {
				p.Comments = append(p.Comments, text)
			}
		case "stacks":
			for range s.Array() {
				f.readStack()
			}
		case "files":
			for key := range s.Object() {
				f.readFile(string(key))
			}
		}
	}
	if err := s.End(); err != nil {
		return err
	}
	return f.fill(l)
}

// readStack reads [frames, {count: n, …}]. A frame is `file function:line;`.
func (f *file) readStack() {
	s := f.s
	stack, depth := profile.NoStack, 0
	for i := range s.Array() {
		switch i {
		case 0:
			for range s.Array() {
				text := strings.TrimSuffix(s.Text(), ";")
				fr := profile.Frame{}
				if i := strings.LastIndexByte(text, ':'); i > 0 {
					fr.Line = lineNumber(text[i+1:])
					text = text[:i]
				}
				fn := profile.Function{Name: text, Kind: profile.KindPython}
				if i := strings.LastIndexByte(text, ' '); i > 0 && i < len(text)-1 {
					fn.File, fn.Name = text[:i], text[i+1:]
				}
				fn.Name = cmp.Or(fn.Name, profile.NoName)
				fr.Function = f.p.Symbols.Function(fn)
				if depth++; depth > f.depth {
					s.TooDeep(f.depth)
				}
				stack = f.p.Symbols.Stack(stack, f.p.Symbols.Frame(fr))
			}
		case 1:
			for key := range s.Object() {
				if string(key) == "count" {
					if v := s.Int(); v < 0 || v > 0 && !f.samples.Add(stacktext.Row{Stack: stack, Value: v}) {
						s.Errorf("%d samples of a stack", v)
					}
				}
			}
		}
	}
}

func lineNumber(text string) int32 {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 0 {
		return 0
	}
	return int32(n)
}

// readFile reads the functions and lines of a source file.
func (f *file) readFile(name string) {
	s := f.s
	for key := range s.Object() {
		switch string(key) {
		case "functions":
			for range s.Array() {
				at, function := place{file: name}, ""
				for key := range s.Object() {
					switch string(key) {
					case "line":
						function = strings.TrimSpace(s.Scalar())
					case "lineno":
						at.line = s.Int()
					}
				}
				f.functions[at] = function
			}
		case "lines":
			for range s.Array() {
				if l := f.readLine(name); l.percent != [len(states)]int64{} || l.allocated != 0 {
					f.lines = append(f.lines, l)
				}
			}
		}
	}
}

func (f *file) readLine(name string) line {
	s, l := f.s, line{file: name}
	for key := range s.Object() {
		switch string(key) {
		case "lineno":
			l.number = s.Int()
		case "start_function_line":
			l.start = s.Int()
		case "n_cpu_percent_python":
			l.percent[0] = max(0, s.Fixed(9))
		case "n_cpu_percent_c":
			l.percent[1] = max(0, s.Fixed(9))
		case "n_sys_percent":
			l.percent[2] = max(0, s.Fixed(9))
		case "n_malloc_mb":
			l.allocated = int64(math.Round(min(max(0, s.Float()), 1<<40) * (1 << 20)))
		}
	}
	return l
}

// fill makes the sample tables: of stacks, if there are any, and of lines.
func (f *file) fill(l profile.Limits) error {
	if f.samples.Len() > 0 {
		f.p.Tables = append(f.p.Tables, f.samples.Samples(profile.NamedType(profile.CPUSamples), false, 0))
	}
	wall, alloc := stacktext.NewTable(l), stacktext.NewTable(l)
	ok := true
	for _, ln := range f.lines {
		fn := profile.Function{Name: "<module>", File: ln.file, Kind: profile.KindPython}
		if name, known := f.functions[place{ln.file, ln.start}]; known && name != "" {
			fn.Name, fn.StartLine = name, lineNumber(strconv.FormatInt(ln.start, 10))
		}
		fr := profile.Frame{Function: f.p.Symbols.Function(fn), Line: lineNumber(strconv.FormatInt(ln.number, 10))}
		row := stacktext.Row{Stack: f.p.Symbols.Stack(profile.NoStack, f.p.Symbols.Frame(fr))}
		for i, v := range ln.percent {
			if row.Value = int64(math.Round(float64(v) / 100e9 * float64(f.elapsed))); row.Value > 0 {
				row.State = f.rec.State([]byte(states[i]))
				ok = ok && v <= 101e9 && wall.Add(row)
			}
		}
		if row.Value, row.State = ln.allocated, 0; row.Value > 0 {
			ok = ok && alloc.Add(row)
		}
	}
	if !ok {
		return &profile.ParseError{Offset: -1, Err: profile.Malformed("shares of more than all")}
	}
	f.p.Tables = append(f.p.Tables, wall.Samples(profile.NamedType(profile.Wall), false, 0))
	if alloc.Len() > 0 {
		f.p.Tables = append(f.p.Tables, alloc.Samples(profile.NamedType(profile.Alloc), false, 0))
	}
	f.p.Warnf("times and allocations are of lines, without callers")
	return nil
}
