// Package austin reads what the Python profiler austin records: text (a head of metadata
// and one line for each sample) and its binary format MOJO (mojo.go), versions 1 to 3.
//
//	# austin: 3.7.0
//	# mode: wall
//
//	P123;T0:123;/srv/app.py:main:12;/srv/app.py:load:7 10310
//
// The mode decides what the number of a sample is: microseconds since the sample before,
// bytes by which the process grew, or in mode full time, idle and bytes.
// docs/format/scripting.md lists what it does not keep.
package austin

import (
	"bytes"
	"cmp"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/dendroprof/dendro/format/internal/stacktext"
	"github.com/dendroprof/dendro/profile"
)

// Name is the name of the format in Profile.Format.
const Name = "austin"

// NewDecoder returns a decoder.
func NewDecoder() profile.Decoder { return stacktext.NewDecoder(Name, read) }

// Sniff reports whether content that begins with prefix is of this format.
func Sniff(prefix []byte) bool {
	return bytes.HasPrefix(prefix, []byte("# austin: ")) || bytes.HasPrefix(prefix, []byte(magic)) && len(prefix) > 4 && prefix[4] == metadata
}

func read(t *stacktext.Reading) error {
	t.Profile.Profiler = Name
	f := file{Reading: t, mode: "wall", tables: map[string]*stacktext.Table{}}
	for _, name := range []string{profile.Wall, profile.CPU, memory} {
		f.tables[name] = stacktext.NewTable(t.Limits)
	}
	first, r, err := stacktext.Peek(t.In)
	if err != nil {
		return err
	}
	if first == magic[0] {
		err = f.readMojo(r)
	} else {
		err = f.readText(r)
	}
	if err != nil {
		return err
	}
	f.fill()
	return nil
}

// memory is the name of the value type of memory: by how much the process grew or, with
// a negative value, shrank.
const memory = "memory"

// file is one file.
type file struct {
	*stacktext.Reading
	mode   string
	tables map[string]*stacktext.Table
}

// sample is one sample.
type sample struct {
	stack        profile.StackID
	thread       profile.ThreadID
	idle, gc     bool
	nanos, bytes int64
}

// meta reads a line of metadata.
func (f *file) meta(key, value string) {
	micros := func() time.Duration {
		v, err := strconv.ParseInt(value, 10, 64)
		if err != nil || v < 0 || v > math.MaxInt64/1000 {
			return 0
		}
		return time.Duration(v) * time.Microsecond
	}
	switch key {
	case "austin":
		f.Profile.ProfilerVersion = value
	case "interval":
		f.Profile.Interval = micros()
	case "duration":
		f.Profile.Duration = micros()
	case "mode":
		f.mode = value
	case "python":
		f.Profile.Comments = append(f.Profile.Comments, "Python "+value)
	}
}

// add adds a sample; false if the values add up to too much.
func (f *file) add(s sample) bool {
	row := stacktext.Row{Stack: s.stack, Thread: s.thread}
	switch {
	case s.gc:
		row.State = f.State([]byte("gc"))
	case s.idle:
		row.State = f.State([]byte("idle"))
	}
	put := func(name string, v int64) bool {
		row.Value = v
		return v == 0 || f.tables[name].Add(row)
	}
	switch f.mode {
	case "memory":
		return put(memory, s.bytes)
	case "full":
		return put(profile.Wall, s.nanos) && put(memory, s.bytes) && (s.idle || put(profile.CPU, s.nanos))
	case "cpu":
		return put(profile.CPU, s.nanos)
	default:
		return put(profile.Wall, s.nanos)
	}
}

// fill makes the sample tables of the mode.
func (f *file) fill() {
	names := []string{profile.Wall}
	switch f.mode {
	case "memory":
		names[0] = memory
	case "full":
		names = append(names, profile.CPU, memory)
	case "cpu":
		names[0] = profile.CPU
	}
	for _, name := range names {
		t := profile.NamedType(name)
		if name == memory {
			t.Unit = "bytes"
		}
		f.Profile.Tables = append(f.Profile.Tables, f.tables[name].Samples(t, false, 0))
	}
	f.Profile.CountLost()
}

// thread interns a thread by the ids of its process, interpreter and itself.
func (f *file) thread(process, id []byte) profile.ThreadID {
	if main, ok := bytes.CutPrefix(id, []byte("0:")); ok {
		id = main // of the main interpreter
	}
	return f.Thread(process, nil, id)
}

// frame interns a frame.
func (f *file) frame(file, function string, line, column int32) profile.FrameID {
	fn := profile.Function{Name: function, File: file, Kind: profile.KindPython}
	fn.Name = cmp.Or(fn.Name, profile.NoName)
	return f.Profile.Symbols.Frame(profile.Frame{Function: f.Profile.Symbols.Function(fn), Line: line, Column: column})
}

// readText reads a file of text.
func (f *file) readText(r io.Reader) error {
	for f.Reset(r, f.Limits.Line); f.Next(); {
		line := f.Text()
		switch {
		case len(line) == 0:
			continue
		case line[0] == '#':
			if key, value, ok := strings.Cut(stacktext.Clean(line[1:]), ":"); ok {
				f.meta(strings.TrimSpace(key), strings.TrimSpace(value))
			}
			continue
		}
		at := bytes.LastIndexByte(line, ' ')
		process, rest, ok := bytes.Cut(line[:max(at, 0)], []byte(";"))
		if !ok || len(process) < 2 || process[0] != 'P' {
			return f.Malformed("no sample of a process: %.60q", line)
		}
		id, rest, _ := bytes.Cut(rest, []byte(";"))
		if len(id) < 2 || id[0] != 'T' {
			return f.Malformed("no sample of a thread: %.60q", line)
		}
		s := sample{thread: f.thread(process[1:], id[1:])}
		if !f.metrics(&s, string(line[at+1:])) {
			return f.Malformed("%q is no value of mode %s", line[at+1:], f.mode)
		}
		f.Frames = f.Frames[:0]
		for len(rest) > 0 {
			i := bytes.LastIndexByte(rest, ';')
			text := rest[i+1:]
			rest = rest[:max(i, 0)]
			if string(text) == ":GC:" {
				s.gc = true
				continue
			}
			if err := f.PushText(text, func() profile.FrameID { return f.textFrame(text) }); err != nil {
				return err
			}
		}
		if s.stack = f.Stack(f.Frames); !f.add(s) {
			return stacktext.ErrSum
		}
	}
	return nil
}

// metrics reads the values of a sample.
func (f *file) metrics(s *sample, text string) bool {
	var v [3]int64
	words := strings.Split(text, ",")
	if want := map[string]int{"full": 3}[f.mode]; len(words) != max(1, want) {
		return false
	}
	for i, w := range words {
		n, err := strconv.ParseInt(w, 10, 64)
		if err != nil || n < -math.MaxInt64 {
			return false
		}
		v[i] = n
	}
	if f.mode == "memory" {
		s.bytes = v[0]
		return true
	}
	s.nanos, s.idle, s.bytes = v[0]*1000, v[1] != 0, v[2]
	return v[0] >= 0 && v[0] <= math.MaxInt64/1000
}

// textFrame returns the frame of a text: file:function:line.
func (f *file) textFrame(text []byte) profile.FrameID {
	s := stacktext.Clean(text)
	line := int32(0)
	if i := strings.LastIndexByte(s, ':'); i > 0 {
		if n, err := strconv.ParseInt(s[i+1:], 10, 32); err == nil && n >= 0 {
			s, line = s[:i], int32(n)
		}
	}
	if s == ":INVALID" || s == ":INVALID:" {
		return f.frame("", "[invalid]", 0, 0)
	}
	if i := strings.LastIndexByte(s, ':'); i >= 0 {
		return f.frame(s[:i], s[i+1:], line, 0)
	}
	return f.frame("", s, line, 0)
}
