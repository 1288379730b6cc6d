// Package gotrace reads the CPU samples of Go's execution traces (runtime/trace), which
// have them if the program's CPU profile was recorded at the same time.
//
// The parser is golang.org/x/exp/trace, which reads the traces of all versions of Go. It
// holds one generation of a trace, some seconds, in memory, and is for what the runtime
// has written: its panics on damaged files become errors. All events but samples are
// dropped. docs/format/go.md says what else is lost.
package gotrace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"golang.org/x/exp/trace"

	"github.com/dendroprof/dendro/format/internal/stacktext"
	"github.com/dendroprof/dendro/profile"
)

// Name is the name of the format in Profile.Format.
const Name = "gotrace"

// NewDecoder returns a decoder.
func NewDecoder() profile.Decoder { return decoder{} }

type decoder struct{}

// Sniff reports whether content that begins with prefix is of this format.
func Sniff(prefix []byte) bool {
	return bytes.HasPrefix(prefix, []byte("go 1.")) && bytes.Contains(prefix[:min(len(prefix), 16)], []byte(" trace\x00"))
}

// Decode implements profile.Decoder.
func (decoder) Decode(r io.Reader, s *profile.Symbols, l profile.Limits) (*profile.Profile, error) {
	l = l.WithDefaults()
	p := profile.New(s)
	p.Format, p.Profiler = Name, "runtime/trace"
	in := &limited{r: r, limits: l}
	err := read(in, p, l)
	switch pe := (*profile.ParseError)(nil); {
	case in.err != nil:
		return nil, in.err // the parser hides it
	case errors.As(err, &pe):
		return nil, pe
	case err != nil:
		return nil, &profile.ParseError{Offset: -1, Err: profile.Malformed("%w", err)}
	}
	return p.Checked()
}

// limited reads at most the bytes that may be in memory, and remembers the error of its
// reader.
type limited struct {
	r      io.Reader
	limits profile.Limits
	read   int64
	err    error
}

// Read implements io.Reader.
func (l *limited) Read(b []byte) (int, error) {
	n, err := l.r.Read(b)
	if l.read += int64(n); l.read > l.limits.Message {
		err = &profile.ParseError{Offset: -1, Err: profile.TooLarge("trace larger", l.limits.Message, "--max-message")}
	}
	if err != nil && err != io.EOF {
		l.err = err
	}
	return n, err
}

// read reads the samples.
func read(r io.Reader, p *profile.Profile, l profile.Limits) (err error) {
	defer func() {
		// The parser is for traces that the runtime has written.
		if e := recover(); e != nil {
			err = fmt.Errorf("the parser failed: %v", e)
		}
	}()
	in, err := trace.NewReader(r)
	if err != nil {
		return err
	}
	rec, table := stacktext.NewRecorder(p), stacktext.NewTable(l)
	first, last := int64(-1), int64(0)
	var frames []profile.FrameID
	for {
		event, err := in.ReadEvent()
		if err == io.EOF {
			break
		} else if err != nil {
			return err
		}
		last = int64(event.Time())
		if first < 0 {
			first = last
		}
		if event.Kind() != trace.EventStackSample {
			continue
		}
		frames = frames[:0]
		for f := range event.Stack().Frames() {
			if frames = append(frames, frame(p.Symbols, f)); len(frames) > l.Depth {
				return &profile.ParseError{Offset: -1, Err: profile.TooDeep(l.Depth)}
			}
		}
		name, id := "goroutine", int64(event.Goroutine())
		if id == int64(trace.NoGoroutine) {
			name, id = "thread", int64(event.Thread())
		}
		thread := rec.Thread(nil, []byte(name), strconv.AppendInt(nil, id, 10))
		table.Add(stacktext.Row{Stack: rec.Stack(frames), Value: 1, Time: last, Thread: thread})
	}
	if table.Len() == 0 {
		return &profile.ParseError{
			Offset: -1, Err: fmt.Errorf("an execution trace without CPU samples: %w", profile.ErrUnsupported),
			Hint: "record a CPU profile at the same time (pprof.StartCPUProfile); for waiting convert it: go tool trace -pprof=sched FILE > FILE.pb (or net, sync, syscall)",
		}
	}
	p.Duration = time.Duration(max(0, last-first))
	p.Tables = []profile.Samples{table.Samples(profile.NamedType(profile.CPUSamples), true, first)}
	p.CountLost()
	return nil
}

// frame interns a frame.
func frame(s *profile.Symbols, f trace.StackFrame) profile.FrameID {
	fn := profile.Function{Name: stacktext.Clean([]byte(f.Func)), File: stacktext.Clean([]byte(f.File)), Kind: profile.KindGo}
	for _, prefix := range []string{"runtime.", "runtime/internal/", "internal/runtime/"} {
		if strings.HasPrefix(fn.Name, prefix) {
			fn.Kind = profile.KindGoRuntime
		}
	}
	fr := profile.Frame{Line: int32(min(f.Line, 1<<31-1))}
	if fn.Name == "" {
		fn.Name, fn.Kind, fr.Address = profile.NoName, profile.KindUnknown, f.PC
	}
	fr.Function = s.Function(fn)
	return s.Frame(fr)
}
