package austin

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/dendroprof/dendro/format/internal/bytescan"
	"github.com/dendroprof/dendro/format/internal/stacktext"
	"github.com/dendroprof/dendro/profile"
)

// magic begins a file of MOJO; its version follows.
const magic = "MOJ"

// The events of MOJO, versions 1 to 3.
const (
	metadata = 1 + iota
	stackEvent
	frameEvent
	frameInvalid
	frameRef
	frameKernel
	gcEvent
	idleEvent
	metricTime
	metricMemory
	stringEvent
	stringRef
)

// mojo reads a file of MOJO, which is a sequence of events. A sample is the event of its
// stack and all up to the next: references to its frames, outermost first, and its
// values. Strings and frames are defined once in each process, by keys.
type mojo struct {
	*file
	*bytescan.Scanner
	version int64

	process int64 // of the sample in work
	strings map[key]string
	known   map[key]profile.FrameID

	open   bool // a sample is
	sample sample
	frames []profile.FrameID // of it
}

// key is what a process calls a string or a frame.
type key struct{ process, number int64 }

func (f *file) readMojo(r io.Reader) error {
	m := mojo{file: f, Scanner: bytescan.New(r, "file", f.Limits), strings: map[key]string{}, known: map[key]profile.FrameID{}}
	for range magic {
		m.Byte()
	}
	if m.version = m.int(); m.Err() == nil && (m.version < 1 || m.version > 3) {
		m.Fail(fmt.Errorf("version %d of MOJO: %w", m.version, profile.ErrUnsupported), "convert it: mojo2austin FILE FILE.austin")
	}
	for m.More() {
		m.event(m.Byte())
	}
	m.finish()
	return m.Err()
}

func (m *mojo) event(event byte) {
	switch event {
	case metadata:
		key := m.text()
		if value := m.text(); m.Err() == nil {
			m.meta(key, value)
		}
	case stackEvent:
		m.finish()
		m.process = m.int()
		id := []byte(nil)
		if m.version >= 3 {
			id = append(strconv.AppendInt(id, m.int(), 10), ':')
		}
		thread := m.text()
		if n, err := strconv.ParseUint(thread, 16, 64); err == nil {
			thread = strconv.FormatUint(n, 10)
		}
		if m.Err() == nil {
			m.open = true
			m.sample = sample{thread: m.thread(strconv.AppendInt(nil, m.process, 10), append(id, thread...))}
			m.frames = m.frames[:0]
		}
	case frameEvent:
		k := key{m.process, m.int()}
		file, function := m.string(m.int()), m.string(m.int())
		line, column := m.int(), int64(0)
		if m.version >= 2 {
			m.int() // the line in which the expression ends
			column = m.int()
			m.int()
		}
		if m.Err() == nil {
			m.known[k] = m.frame(file, function, position(line), position(column))
		}
	case frameInvalid:
		m.push(m.frame("", "[invalid]", 0, 0))
	case frameRef:
		k := key{m.process, m.int()}
		fr, ok := m.known[k]
		if !ok {
			m.Malformed("a frame that was not defined: %d", k.number)
			return
		}
		m.push(fr)
	case frameKernel:
		if name := m.text(); m.Err() == nil {
			fn := m.Profile.Symbols.Function(profile.Function{Name: name, Kind: profile.KindKernel})
			m.push(m.Profile.Symbols.Frame(profile.Frame{Function: fn}))
		}
	case gcEvent:
		m.sample.gc = true
	case idleEvent:
		m.sample.idle = true
	case metricTime:
		v := m.int()
		if v < 0 || v > math.MaxInt64/1000 {
			m.Malformed("a time of %d microseconds", v)
		}
		m.sample.nanos = v * 1000
	case metricMemory:
		m.sample.bytes = m.int()
	case stringEvent:
		k := key{m.process, m.int()}
		if text := m.text(); m.Err() == nil {
			m.strings[k] = text
		}
	case stringRef:
		m.int()
	default:
		m.Fail(fmt.Errorf("event %d of MOJO: %w", event, profile.ErrUnsupported), "convert it: mojo2austin FILE FILE.austin")
	}
}

// push adds a frame to the sample in work.
func (m *mojo) push(fr profile.FrameID) {
	switch {
	case m.Err() != nil:
	case !m.open:
		m.Malformed("a frame without a sample")
	case len(m.frames) == m.Limits.Depth:
		m.Fail(profile.TooDeep(m.Limits.Depth), "")
	default:
		m.frames = append(m.frames, fr)
	}
}

// finish adds the sample in work.
func (m *mojo) finish() {
	if !m.open || m.Err() != nil {
		return
	}
	m.open = false
	slices.Reverse(m.frames)
	if m.sample.stack = m.Stack(m.frames); !m.add(m.sample) {
		m.Malformed("the values add up to more than 63 bits")
	}
}

// string returns the string of a key; 1 is an unknown name.
func (m *mojo) string(number int64) string {
	text, ok := m.strings[key{m.process, number}]
	if !ok && number > 1 {
		m.Malformed("a string that was not defined: %d", number)
	}
	return text
}

// position returns a line or column; 0 is unknown.
func position(v int64) int32 {
	if v < 0 || v > math.MaxInt32 {
		return 0
	}
	return int32(v)
}

// int reads a number: a sign and 6 bits in the first byte, 7 in each further one.
func (m *mojo) int() int64 {
	const more, negative = 0x80, 0x40
	c := m.Byte()
	sign := c & negative
	v := int64(c & 0x3f)
	for shift := 6; c&more != 0; shift += 7 {
		c = m.Byte()
		part := int64(c & 0x7f)
		if shift > 62 || part<<shift>>shift != part || part<<shift < 0 {
			m.Malformed("a number of more than 63 bits")
			return 0
		}
		v |= part << shift
	}
	if sign != 0 {
		return -v
	}
	return v
}

// text reads a string, which ends in NUL.
func (m *mojo) text() string {
	var b []byte
	for c := m.Byte(); c != 0; c = m.Byte() {
		if b = append(b, c); len(b) > m.Limits.Line {
			m.Fail(profile.TooLarge("string longer", int64(m.Limits.Line), "--max-line"), "")
			return ""
		}
	}
	return stacktext.Clean(b)
}
