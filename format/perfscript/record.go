package perfscript

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dendroprof/dendro/format/internal/perf"
	"github.com/dendroprof/dendro/format/internal/stacktext"
	"github.com/dendroprof/dendro/profile"
)

// run is the reading of one text.
type run struct {
	*stacktext.Reading
	chains  *chains
	fronts  stacktext.Texts // the fields before the time of a line
	whom    []who           // by the number of the text
	events  events
	periods map[string]uint64 // of all samples of an event, from the comments

	strong bool // a header with a time or an event was seen: others are no headers
	usual  bool // and one with a process: a word with a colon is no header

	samples, odd int
	firstOdd     error // what the first line that fits nowhere is instead

	// The record in work.
	open   bool
	head   header
	inHead bool // its only frame stands in the header line, as it does without call chains
	text   []byte
	pieces []piece // a line each, innermost first

	// The callers of all stacks by their text: mostly they were seen before, whatever
	// they called.
	callers stacktext.Texts
	called  []mark // by the number of the text

	key []byte // scratch
}

// who is what the first part of a header says.
type who struct {
	thread profile.ThreadID
	labels profile.LabelsID
}

// piece is the place of a frame's line, with its source line behind a line feed.
type piece struct {
	from, to int
	inlined  bool
}

// mark is what the lines up to here, counted from the outermost, come to.
type mark struct {
	stack profile.StackID
	frame profile.FrameID // the innermost
	depth int
}

func newRun(t *stacktext.Reading, known *chains) *run {
	return &run{Reading: t, chains: known, periods: map[string]uint64{}, events: events{limits: t.Limits, byText: map[string]*perf.Event{}}}
}

// read reads all lines.
func (r *run) read() error {
	for r.Next() {
		if err := r.line(r.Text()); err != nil {
			return err
		}
		if r.open && r.Cut() {
			r.Notes.Add("the text ends within a line: its last sample may be cut", "", r.Number())
		}
	}
	if err := r.close(); err != nil {
		return err
	}
	if r.odd > r.samples {
		return r.firstOdd // hardly what perf script prints
	}
	r.finish()
	return nil
}

// skip leaves out a line that fits nowhere.
func (r *run) skip(format string, line []byte) {
	if r.odd++; r.odd == 1 {
		r.firstOdd = r.Malformed(format, excerpt(line))
	}
	r.Notes.Add("a line that is neither the head of a sample nor a frame was left out", "lines that are neither heads of samples nor frames were left out", r.Number())
}

// line reads one line. What it can be depends on whether a record is open: a
// process may be called `dd`, which looks like an address.
func (r *run) line(line []byte) error {
	switch {
	case indent(line) == len(line):
		return r.close()
	case r.open && (startsBlank(line) || bareFrame(line)):
		if r.inHead {
			if h := parseHeader(line); h.strong() {
				return r.begin(h)
			}
		}
		return r.frameLine(line)
	}
	h := parseHeader(line)
	switch {
	case isComment(line, &h):
		r.comment(string(line))
		return nil
	case h.strong() && (!r.usual || h.hasPeriod || h.hasTime || h.usual()) || !r.strong && !startsBlank(line):
		return r.begin(h)
	case startsBlank(line) && frameShaped(line) && !r.strong:
		// No field was asked for but those of the frames.
		if err := r.begin(header{}); err != nil {
			return err
		}
		return r.frameLine(line)
	}
	r.skip("neither the head of a sample nor a frame: %s", line)
	return nil
}

// begin begins a record.
func (r *run) begin(h header) error {
	if err := r.close(); err != nil {
		return err
	}
	if bytes.HasPrefix(h.rest, []byte("PERF_RECORD_")) || bytes.HasPrefix(h.event, []byte("PERF_RECORD_")) {
		r.Notes.Add("an event that is no sample was left out", "events that are no samples were left out", r.Number())
		return nil
	}
	r.open = true
	r.strong = r.strong || h.strong()
	r.usual = r.usual || h.usual()
	if h.period > 1<<63-1 {
		return r.Malformed("a period of more than 63 bits")
	}
	if !h.hasPeriod && len(r.periods) > 0 {
		h.period, h.hasPeriod = r.periods[string(h.event)]
	}
	r.head = h
	r.head.who = r.who(h.front)
	if r.head.of = r.events.find(h.event, h.hasPeriod); r.head.of == nil {
		return r.Malformed("more than %d different events", maxEvents)
	}
	if frameShaped(h.rest) {
		r.inHead = true
		r.add(h.rest)
	}
	return nil
}

// who returns thread and labels of the front part of a header.
func (r *run) who(front []byte) who {
	i, ok := r.fronts.Find(front)
	if !ok {
		var w who
		name, pid, tid, cpu := parseFront(front)
		if len(name)+len(pid)+len(tid) > 0 {
			w.thread = r.Thread(pid, name, tid)
		}
		if n, ok := stacktext.Uint(cpu); ok {
			w.labels = r.Labels([]profile.Label{{Key: "cpu", Num: n}})
		}
		i = int32(len(r.whom))
		r.fronts.Add(front, i)
		r.whom = append(r.whom, w)
	}
	return r.whom[i]
}

// frameLine reads an indented line of the record in work.
func (r *run) frameLine(line []byte) error {
	switch {
	case frameShaped(line):
		if r.inHead {
			// It was an address that belongs to the event, not the stack.
			r.inHead = false
			r.text, r.pieces = r.text[:0], r.pieces[:0]
		}
		r.add(line)
	case len(r.pieces) > 0:
		last := &r.pieces[len(r.pieces)-1]
		if bytes.IndexByte(r.text[last.from:last.to], '\n') < 0 {
			r.text = append(append(r.text, '\n'), bytes.TrimSpace(line)...)
			last.to = len(r.text)
		}
	default:
		if h := parseHeader(line); h.strong() && h.usual() {
			return r.begin(h)
		}
		r.skip("a frame without an address: %s", line)
	}
	return nil
}

// inlinedMark stands in the place of the library of a frame that was inlined
// into the one below.
var inlinedMark = []byte("(inlined)")

func (r *run) add(line []byte) {
	from := len(r.text)
	r.text = append(r.text, line...)
	r.pieces = append(r.pieces, piece{from, len(r.text), bytes.HasSuffix(line, inlinedMark)})
}

// close ends the record in work, if there is one.
func (r *run) close() error {
	if !r.open {
		return nil
	}
	stack, err := r.stack()
	if err != nil {
		return err
	}
	h := &r.head
	if !h.strong() && !h.hasThread && len(r.pieces) == 0 {
		return r.Malformed("a sample without time, event, thread or stack")
	}
	if len(r.pieces) == 0 && len(h.event) > 0 && !h.hasPeriod && !h.usual() {
		r.open = false // a message that ends its first word in a colon
		r.skip("a sample without process, time, period or stack: %s", []byte(h.of.Name))
		return nil
	}
	value := int64(1)
	if h.hasPeriod {
		value = int64(h.period)
	}
	if value != 0 {
		h.of.HasTime = h.of.HasTime || h.hasTime
		if !h.of.Add(stacktext.Row{Stack: stack, Value: value, Time: h.time, Thread: h.who.thread, Labels: h.who.labels}, h.period) {
			return r.Malformed("the periods of %s add up to more than 63 bits", h.event)
		}
	}
	r.samples++
	r.text, r.pieces = r.text[:0], r.pieces[:0]
	r.open, r.inHead = false, false
	return nil
}

// stack returns the stack of the pieces of the record in work.
func (r *run) stack() (profile.StackID, error) {
	at := mark{stack: profile.NoStack, frame: noFrame}
	n := len(r.pieces)
	if n == 0 {
		return at.stack, nil
	}
	if n > 1 {
		callers := r.text[r.pieces[1].from:]
		if i, ok := r.callers.Find(callers); ok {
			at = r.called[i]
		} else {
			for _, p := range slices.Backward(r.pieces[1:]) {
				if err := r.extend(&at, r.text[p.from:p.to], p.inlined); err != nil {
					return 0, err
				}
			}
			if r.callers.Len() > stacktext.MostTexts {
				r.callers, r.called = stacktext.Texts{}, r.called[:0]
			}
			r.callers.Add(callers, int32(len(r.called)))
			r.called = append(r.called, at)
		}
	}
	err := r.extend(&at, r.text[:r.pieces[0].to], r.pieces[0].inlined)
	return at.stack, err
}

// noFrame is outside of the outermost frame.
const noFrame = profile.FrameID(-1)

// extend calls the frames of a line from at.
func (r *run) extend(at *mark, text []byte, inlined bool) error {
	key := text
	if inlined { // what it is inlined into belongs to what it is
		r.key = binary.LittleEndian.AppendUint32(append(append(r.key[:0], text...), 0), uint32(at.frame))
		key = r.key
	}
	frame, ok := r.Known.Find(key)
	if !ok {
		frame = r.newFrame(text, inlined, at.frame)
		r.Known.Add(key, frame)
	}
	if frame >= 0 {
		r.push(at, frame)
	} else {
		for _, f := range r.chains.list[-frame-1] {
			r.push(at, f)
		}
	}
	if at.depth > r.Limits.Depth {
		return r.At(profile.TooDeep(r.Limits.Depth))
	}
	return nil
}

func (r *run) push(at *mark, frame profile.FrameID) {
	at.stack = r.Profile.Symbols.Stack(at.stack, frame)
	at.frame = frame
	at.depth++
}

func excerpt(line []byte) string {
	const most = 60
	if len(line) > most {
		return fmt.Sprintf("%q…", line[:most])
	}
	return fmt.Sprintf("%q", line)
}

// comment reads a line of the header that `perf script --header` prints.
func (r *run) comment(line string) {
	key, value, ok := strings.Cut(strings.TrimLeft(line, "# "), ":")
	value = stacktext.Clean([]byte(strings.TrimSpace(value)))
	if !ok || value == "" {
		return
	}
	switch strings.TrimSpace(key) {
	case "perf version":
		r.Profile.ProfilerVersion = value
	case "captured on":
		// In the recording machine's time zone, which is not said.
		if t, err := time.Parse(time.ANSIC, value); err == nil {
			r.Profile.Start = t
		}
	case "cmdline":
		if len(r.Profile.Comments) == 0 {
			r.Profile.Comments = append(r.Profile.Comments, value)
		}
	case "event":
		r.event(value)
	}
}

// event reads the attributes of an event, and notes the period of its samples if it is fixed:
//
//	name = cpu-clock, , id = { 5, 6 }, type = 1, { sample_period, sample_freq } = 1000000, …, freq = 1
func (r *run) event(attributes string) {
	var name string
	period, fixed := uint64(0), true
	for attribute := range strings.SplitSeq(attributes, ", ") {
		key, value, _ := strings.Cut(attribute, " = ")
		switch key {
		case "name":
			name = value
		case "sample_freq }":
			period, _ = strconv.ParseUint(value, 10, 63)
		case "freq":
			fixed = false
		}
	}
	if fixed && period > 0 && len(r.periods) < maxEvents {
		r.periods[name] = period
	}
}

// finish fills in what is known at the end only.
func (r *run) finish() {
	perf.Fill(r.Profile, r.events.list)
	r.Profile.CountLost()
	if len(r.Profile.Tables) == 0 {
		r.Profile.Tables = []profile.Samples{{Type: profile.NamedType(profile.CPUSamples)}}
		r.Profile.Warnf("the file holds no samples")
	}
}
