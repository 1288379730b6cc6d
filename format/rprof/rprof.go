// Package rprof reads the files of R's sampling profiler, Rprof: a head with the options
// and the interval, then a line for each sample, with the functions innermost first.
//
//	memory profiling: line profiling: sample.interval=20000
//	#File 1: /srv/shop/shop.R
//	:277228:1094339:28183064:219:"rnorm" 1#6 "build" 1#12 "main"
//
// The place in front of a function is where it was. The numbers are memory in use: small
// and large vectors in units of 8 bytes, nodes in bytes, and duplications of objects.
// docs/format/scripting.md lists what it does not keep.
package rprof

import (
	"bytes"
	"cmp"
	"math"
	"strings"
	"time"

	"github.com/dendroprof/dendro/format/internal/stacktext"
	"github.com/dendroprof/dendro/profile"
)

// Name is the name of the format in Profile.Format.
const Name = "rprof"

// NewDecoder returns a decoder.
func NewDecoder() profile.Decoder { return stacktext.NewDecoder(Name, read) }

const intervalKey = "sample.interval="

// Sniff reports whether content that begins with prefix is of this format.
func Sniff(prefix []byte) bool {
	line, _, _ := bytes.Cut(prefix[:min(len(prefix), 200)], []byte("\n"))
	options, _, ok := bytes.Cut(line, []byte(intervalKey))
	return ok && (len(options) == 0 || bytes.HasSuffix(options, []byte("profiling: ")))
}

// file is one file.
type file struct {
	*stacktext.Reading
	samples *stacktext.Table
	growth  *stacktext.Table

	files   map[int64]string
	places  map[string]string          // file of a function, by name
	at      map[string]profile.FrameID // by place and name: which file a name is of may change
	key     []byte
	inUse   [3]int64 // memory in the sample before
	started bool     // inUse is known
}

func read(in *stacktext.Reading) error {
	p := in.Profile
	p.Profiler = "Rprof"
	f := file{
		Reading: in, samples: stacktext.NewTable(in.Limits), growth: stacktext.NewTable(in.Limits),
		files: map[int64]string{}, places: map[string]string{}, at: map[string]profile.FrameID{},
	}
	memory := false
	for in.Next() {
		line := in.Text()
		var err error
		switch {
		case in.Number() == 1:
			memory = bytes.HasPrefix(line, []byte("memory"))
			err = f.head(line)
		case bytes.HasPrefix(line, []byte("#File ")):
			err = f.file(line[len("#File "):])
		case len(line) > 0:
			err = f.sample(line, memory)
		}
		if err != nil {
			return err
		}
	}
	if in.Number() == 0 {
		return f.Malformed("no head")
	}
	t := profile.NamedType(profile.CPUSamples)
	if p.Interval > 0 {
		t.Period, t.PeriodUnit, t.PeriodName = int64(p.Interval), "nanoseconds", profile.CPU
	}
	p.Tables = append(p.Tables, f.samples.Samples(t, false, 0))
	if memory {
		p.Tables = append(p.Tables, f.growth.Samples(profile.ValueType{Name: "memory", Unit: "bytes"}, false, 0))
	}
	return nil
}

// head reads the first line.
func (f *file) head(line []byte) error {
	_, value, ok := bytes.Cut(line, []byte(intervalKey))
	micros, number := stacktext.Uint(bytes.TrimSpace(value))
	if !ok || !number || micros > math.MaxInt64/1000 {
		return f.Malformed("the first line has no interval: %.60q", line)
	}
	f.Profile.Interval = time.Duration(micros) * time.Microsecond
	return nil
}

// file reads the number and name of a source file.
func (f *file) file(text []byte) error {
	number, name, ok := bytes.Cut(text, []byte(": "))
	n, isNumber := stacktext.Uint(number)
	if !ok || !isNumber {
		return f.Malformed("a source file %.60q", text)
	}
	f.files[n] = stacktext.Clean(name)
	return nil
}

// sample reads a line of a sample.
func (f *file) sample(line []byte, memory bool) error {
	grown := int64(0)
	if memory {
		var err error
		if grown, line, err = f.memory(line); err != nil {
			return err
		}
	}
	f.Frames = f.Frames[:0]
	for line = stacktext.TrimLeft(line); len(line) > 0; line = stacktext.TrimLeft(line) {
		place := []byte(nil)
		if line[0] != '"' {
			i := bytes.IndexByte(line, ' ')
			if i < 0 {
				break // a place behind the outermost function: of the script
			}
			place, line = line[:i], stacktext.TrimLeft(line[i:])
			if len(line) == 0 {
				break
			}
		}
		name, rest, ok := quoted(line)
		if !ok {
			return f.Malformed("no name in quotes: %.60q", line)
		}
		line = rest
		f.key = append(append(append(f.key[:0], place...), ' '), name...)
		fr, known := f.at[string(f.key)]
		if !known {
			fr = f.frame(stacktext.Clean(name), place)
			f.at[string(f.key)] = fr
		}
		if err := f.Push(fr); err != nil {
			return err
		}
	}
	if len(f.Frames) == 0 {
		return nil // between two expressions
	}
	row := stacktext.Row{Stack: f.Stack(f.Frames), Value: 1}
	err := f.Sample(f.samples, row)
	if row.Value = grown; grown > 0 {
		err = cmp.Or(err, f.Sample(f.growth, row))
	}
	return err
}

// memory reads the numbers in front of a stack, and returns by how many bytes the memory
// has grown since the sample before.
func (f *file) memory(line []byte) (grown int64, rest []byte, err error) {
	rest = line
	for i := range 4 {
		number, after, ok := bytes.Cut(bytes.TrimPrefix(rest, []byte(":")), []byte(":"))
		n, isNumber := stacktext.Uint(number)
		if !ok || !isNumber || n > 1<<50 {
			return 0, nil, f.Malformed("no memory in use: %.60q", line)
		}
		rest = after
		if i == 3 {
			break // duplications
		}
		if i < 2 {
			n *= 8
		}
		if f.started {
			grown += max(0, n-f.inUse[i])
		}
		f.inUse[i] = n
	}
	f.started = true
	return grown, rest, nil
}

// quoted cuts off a name. Quotes in it are not escaped: the last one is followed by
// the end of the line or by a blank and the next name or place.
func quoted(line []byte) (name, rest []byte, ok bool) {
	if line[0] != '"' {
		return nil, nil, false
	}
	for from := 1; ; {
		i := bytes.IndexByte(line[from:], '"')
		if i < 0 {
			return nil, nil, false
		}
		from += i + 1
		rest = line[from:]
		next := stacktext.TrimLeft(rest)
		if len(next) == 0 || len(next) < len(rest) && (next[0] == '"' || stacktext.Digits(next) > 0) {
			return line[1 : from-1], rest, true
		}
	}
}

// frame returns a function at a place (file#line), which may be missing.
func (f *file) frame(name string, place []byte) profile.FrameID {
	fn := profile.Function{Name: name}
	var fr profile.Frame
	if number, line, ok := bytes.Cut(place, []byte("#")); ok {
		n, _ := stacktext.Uint(number)
		if v, ok := stacktext.Uint(line); ok && v <= math.MaxInt32 {
			fr.Line = int32(v)
		}
		if f.places[name] != f.files[n] {
			f.places[name] = f.files[n]
			delete(f.at, " "+name) // without a place it was of no file, or of another
		}
	}
	fn.File = f.places[name]
	switch {
	case fn.Name == "<GC>":
		fn.Kind = profile.KindVM
	case strings.TrimSpace(fn.Name) == "":
		fn.Name = profile.NoName
	}
	fr.Function = f.Profile.Symbols.Function(fn)
	return f.Profile.Symbols.Frame(fr)
}
