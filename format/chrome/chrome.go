// Package chrome reads what Chrome, Node.js and other programs with V8 record:
// trace events (also of the many other programs that write them), CPU profiles
// (.cpuprofile) and sampling heap profiles (.heapprofile). Heap snapshots are
// recognised and refused.
//
// Specifications: the Trace Event Format document of Chromium, and the types
// Profiler.Profile and HeapProfiler.SamplingHeapProfile of the Chrome DevTools
// Protocol. Files of Node 12 to 20, Chrome 60 to 120 and of other writers of trace
// events were seen.
//
// A trace may hold two things. Duration events (B, E, X) nest by time on their
// thread; they become samples of value type `events`: one for each stretch of time
// in which the same events are open. The samples of V8's profiler, which come in
// chunks, become `samples` and `wall`, as those of a .cpuprofile do. Asynchronous
// events and instants become markers. docs/format/browsers.md says the rest.
//
// Events are kept as numbers, 40 bytes each, until the file is read, because they
// need not be in order; their texts are kept once per name. Time is linear in the
// file, but for sorting the events of a thread.
package chrome

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/dendroprof/dendro/format/internal/jsonscan"
	"github.com/dendroprof/dendro/profile"
)

// Name is the name of the format in Profile.Format.
const Name = "chrome"

// typeEvents is the name of the value type time in duration events, in nanoseconds.
const typeEvents = "events"

// NewDecoder returns a decoder.
func NewDecoder() profile.Decoder {
	return jsonscan.NewDecoder(Name, func(s *jsonscan.Scanner, p *profile.Profile, l profile.Limits) error {
		f := file{scanner: s, p: p, limits: l}
		return f.read()
	})
}

// Sniff reports whether content that begins with prefix is of one of these formats.
func Sniff(prefix []byte) bool {
	if !bytes.Contains(prefix, []byte(`"ph"`)) && !bytes.Contains(prefix, []byte(`"callFrame"`)) &&
		!bytes.Contains(prefix, []byte(`"functionName"`)) && !bytes.Contains(prefix, []byte(`"traceEvents"`)) &&
		!bytes.Contains(prefix, []byte(`"timeDeltas"`)) && !bytes.Contains(prefix, []byte(`"snapshot"`)) {
		return false
	}
	o := jsonscan.NewOutline(prefix)
	return o.Has("traceEvents", "[].ph", "nodes[].callFrame", "timeDeltas", "head.callFrame", "head.functionName",
		"head.selfSize", "head.hitCount", "snapshot.meta", "snapshot.node_count")
}

// file is one file. What it holds is known by its keys.
type file struct {
	scanner *jsonscan.Scanner
	p       *profile.Profile
	limits  profile.Limits

	trace   *trace
	clock   jsonscan.Clock
	profile v8Profile // of a .cpuprofile
	hermes  hermes
	heap    bool // profile is a sampling heap profile
}

func (f *file) read() error {
	s := f.scanner
	switch s.Kind() {
	case jsonscan.Array:
		f.readTrace(true)
	default:
		f.readObject()
	}
	if err := s.End(); err != nil && !f.cutOff(err) {
		return err
	}
	switch {
	case f.trace != nil:
		if err := f.trace.addHermes(&f.hermes); err != nil {
			return err
		}
		return f.trace.link()
	case f.profile.at == 0 && f.profile.samples == nil:
		return &profile.ParseError{Offset: -1, Err: profile.Malformed("neither trace events nor the nodes of a profile")}
	case f.heap:
		return f.linkHeap()
	}
	return f.linkProfile()
}

// cutOff reports whether the only fault is that a list of events does not end: the
// format says that the bracket may be missing, because a program that crashes
// cannot write it.
func (f *file) cutOff(err error) bool {
	if f.trace == nil || !f.trace.bare || !errors.Is(err, io.ErrUnexpectedEOF) {
		return false
	}
	f.p.Warnf("the list of events does not end; what there is was read")
	return true
}

func (f *file) readObject() {
	s := f.scanner
	for key := range s.Object() {
		switch string(key) {
		case "traceEvents":
			f.readTrace(false)
		case "head":
			f.readHead()
		case "samples":
			for range s.Array() {
				if s.Kind() == jsonscan.Object {
					f.hermes.readSample(s, &f.clock)
				} else {
					f.profile.readSample(s)
				}
			}
		case "stackFrames":
			f.hermes.readFrames(s, f.p.Symbols)
		case "snapshot":
			s.Fail(&profile.ParseError{
				Offset: s.Offset(), Err: fmt.Errorf("a heap snapshot: %w", profile.ErrUnsupported),
				Hint: "it has objects and no stacks; record a sampling heap profile instead: node --heap-prof",
			})
		default:
			f.profile.readField(f, string(key))
		}
	}
}
