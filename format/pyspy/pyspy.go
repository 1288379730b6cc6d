// Package pyspy reads what `py-spy dump` shows of a Python program: the stack of
// each of its threads at one moment, as text or, with --json, as JSON.
//
//	Process 12946: /usr/bin/python3 shop.py
//	Python v3.11.2 (/usr/bin/python3.11)
//
//	Thread 12948 (active+gil): "pricing"
//	    hot_loop (shop.py:6)
//	    price_all (shop.py:10)
//
// Every thread is one sample of the value type `threads`, with its state. Dumps that
// follow each other in one text are further samples; the text does not say when they were
// taken. docs/format/dumps.md has the grammar and what the reader does not keep.
//
// What `py-spy record` writes is folded text, speedscope or Chrome's format, and
// read by their packages. Time is linear in the text; memory is bounded by what is
// different in it and 32 bytes a sample.
package pyspy

import (
	"bytes"
	"io"
	"path"
	"strings"

	"github.com/dendroprof/dendro/format/internal/jsonscan"
	"github.com/dendroprof/dendro/format/internal/stacktext"
	"github.com/dendroprof/dendro/profile"
)

// Name is the name of the format, as in Profile.Format.
const Name = "pyspy"

// NewDecoder returns a decoder. It skips values of variables, and unknown lines with a
// warning. A text without any thread is an error.
func NewDecoder() profile.Decoder { return stacktext.NewDecoder(Name, read) }

func read(r *stacktext.Reading) error {
	p := r.Profile
	p.Profiler, p.Dumps = "py-spy", true
	t := &reader{Reading: r, table: stacktext.NewTable(r.Limits)}
	start, in, err := stacktext.Peek(r.In)
	switch {
	case err != nil:
		return err
	case start == '[':
		err = t.readJSON(in)
	default:
		err = t.readText(in)
	}
	p.Tables = []profile.Samples{t.table.Samples(profile.NamedType(profile.Threads), false, 0)}
	return err
}

// reader is the reading of one text.
type reader struct {
	*stacktext.Reading
	table *stacktext.Table

	process []byte

	// The thread in work.
	open            bool
	name, id, state []byte
}

func (t *reader) readText(r io.Reader) error {
	for t.Reset(r, t.Limits.Line); t.Next(); {
		if err := t.line(t.Text()); err != nil {
			return err
		}
	}
	t.close()
	if t.table.Len() == 0 {
		return t.Malformed("there is no thread in it")
	}
	return nil
}

// indent is what stands before a frame. Variables of the frame have twice as
// much.
var indent = []byte("    ")

func (t *reader) line(text []byte) error {
	if frame, ok := bytes.CutPrefix(text, indent); ok {
		if !t.open || len(frame) == 0 || frame[0] == ' ' {
			return nil
		}
		return t.frame(frame)
	}
	switch {
	case len(text) == 0:
		t.close()
	case t.thread(text):
	case bytes.HasPrefix(text, []byte("Process ")):
		t.close()
		if pid, _, ok := bytes.Cut(text[len("Process "):], []byte(":")); ok && len(pid) == stacktext.Digits(pid) {
			t.process = append(t.process[:0], pid...)
		}
	case bytes.HasPrefix(text, []byte("Python v")):
		version, _, _ := bytes.Cut(text, []byte(" ("))
		t.comment(stacktext.Clean(version))
	case t.open:
		t.notUnderstood()
	}
	return nil
}

func (t *reader) notUnderstood() {
	t.Notes.Add("a line in the middle of a thread is not understood", "lines in the middle of threads are not understood", t.Number())
}

// comment notes what Python ran the program, once.
func (t *reader) comment(text string) {
	if p := t.Profile; len(p.Comments) == 0 {
		p.Comments = []string{text}
	}
}

// thread reads `Thread 12948 (active+gil): "pricing"` and begins that thread. The
// name may be missing, and holds quotes as they are.
func (t *reader) thread(text []byte) bool {
	id, state, name, ok := splitThread(text)
	if !ok {
		return false
	}
	t.close()
	t.begin()
	t.id = append(t.id, id...)
	t.state = append(t.state, state...)
	t.name = append(t.name, name...)
	return true
}

func splitThread(text []byte) (id, state, name []byte, ok bool) {
	rest, ok := bytes.CutPrefix(text, []byte("Thread "))
	if !ok {
		return nil, nil, nil, false
	}
	id, rest, ok = bytes.Cut(rest, []byte(" ("))
	if ok {
		state, rest, ok = bytes.Cut(rest, []byte(")"))
	}
	if !ok || len(id) == 0 || id[0]-'0' > 9 || bytes.IndexByte(id, ' ') >= 0 {
		return nil, nil, nil, false
	}
	rest = bytes.TrimPrefix(bytes.TrimPrefix(rest, []byte(":")), []byte(" "))
	if n := len(rest); n >= 2 && rest[0] == '"' && rest[n-1] == '"' {
		name = rest[1 : n-1]
	}
	return id, state, name, true
}

func (t *reader) begin() {
	t.open = true
	t.name, t.id, t.state, t.Frames = t.name[:0], t.id[:0], t.state[:0], t.Frames[:0]
}

// close adds the thread in work.
func (t *reader) close() {
	if !t.open {
		return
	}
	t.open = false
	t.table.Add(stacktext.Row{
		Stack: t.Stack(t.Frames), Value: 1,
		Thread: t.Thread(t.process, t.name, t.id), State: t.State(t.state),
	})
}

// frame reads `Event.wait (threading.py:622)`. Frames of native code have a
// library and no line.
func (t *reader) frame(text []byte) error {
	open := bytes.LastIndex(text, []byte(" ("))
	if open <= 0 || text[len(text)-1] != ')' {
		t.notUnderstood()
		return nil
	}
	return t.PushText(text, func() profile.FrameID {
		file, line := text[open+2:len(text)-1], int64(0)
		if i := bytes.LastIndexByte(file, ':'); i >= 0 {
			if n, ok := stacktext.Uint(file[i+1:]); ok {
				file, line = file[:i], n
			}
		}
		return t.newFrame(stacktext.Clean(text[:open]), stacktext.Clean(file), line)
	})
}

func (t *reader) newFrame(name, file string, line int64) profile.FrameID {
	if line < 0 || line > 1<<31-1 {
		line = 0
	}
	s := t.Profile.Symbols
	fn := s.Function(profile.Function{Name: name, File: file, Kind: kindOf(file)})
	return s.Frame(profile.Frame{Function: fn, Line: int32(line)})
}

// kindOf tells Python from native code, which py-spy shows with --native.
func kindOf(file string) profile.Kind {
	switch ext := path.Ext(file); {
	case ext == ".py", ext == ".pyx", ext == ".pyc", strings.HasPrefix(file, "<"):
		return profile.KindPython
	case file == "":
		return profile.KindUnknown
	}
	return profile.KindNative
}

// Sniff reports whether a text that begins with prefix is a dump.
func Sniff(prefix []byte) bool {
	text := bytes.TrimLeft(prefix, " \t\r\n")
	if len(text) > 0 && text[0] == '[' {
		return jsonscan.NewOutline(text).Has("[].owns_gil")
	}
	python, process := false, false
	for line := range bytes.Lines(text) {
		line = bytes.TrimRight(line, "\r\n")
		if _, _, _, ok := splitThread(line); ok && python {
			return true
		}
		process = process || bytes.HasPrefix(line, []byte("Process "))
		python = python || process && bytes.HasPrefix(line, []byte("Python v"))
	}
	return false
}
