package chrome

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/dendroprof/dendro/format/internal/jsonscan"
	"github.com/dendroprof/dendro/profile"
)

// trace is what is kept of trace events until all are read.
type trace struct {
	*file
	bare bool // the file is nothing but a list of events

	names   map[called]int32 // of events
	texts   []called
	threads map[threadKey]*thread
	order   []*thread // in order of appearance
	last    *thread   // of the event before
	process map[string]string

	recordings map[recordingKey]*v8Profile
	recorded   []*v8Profile       // in order of appearance
	async      map[asyncKey][]int // open markers
	earliest   int64
	latest     int64
	counted    int64 // the first sample of counted events

	events int
	e      event // the one in work
	mended
}

// called is how an event is called; events of py-spy are functions, which have a file.
type called struct{ name, file string }

// mended counts what was repaired.
type mended struct {
	unopened, unclosed, crossed, unnamed int
}

type threadKey struct{ process, id string }

// thread is one thread of the trace.
type thread struct {
	threadKey
	name   string
	id     profile.ThreadID
	events []duration
}

// duration is the begin or end of a duration event, or a complete one.
type duration struct {
	at, length int64 // nanoseconds
	name       int32 // of texts; none if an end has no name
	phase      byte  // 'B', 'E' or 'X'
}

type recordingKey struct{ process, id string }

type asyncKey struct{ category, id, name string }

// readTrace reads a list of events.
func (f *file) readTrace(bare bool) {
	t := &trace{
		file: f, bare: bare, names: map[called]int32{}, threads: map[threadKey]*thread{}, process: map[string]string{},
		recordings: map[recordingKey]*v8Profile{}, async: map[asyncKey][]int{}, earliest: math.MaxInt64, latest: math.MinInt64,
		counted: math.MaxInt64,
	}
	f.trace = t
	s := f.scanner
	for range s.Array() {
		if s.Kind() != jsonscan.Object {
			s.Skip()
			continue
		}
		t.e.read(t)
		if s.Err() != nil {
			return
		}
		t.events++
		t.add()
	}
}

// add files the event that was read.
func (t *trace) add() {
	e := &t.e
	if len(e.phase) != 1 {
		return
	}
	switch e.phase[0] {
	case 'B', 'E', 'X':
		t.addDuration()
	case 'b', 'e', 'n', 'S', 'F', 'i', 'I', 'R':
		if e.data {
			t.addChunk() // an event CpuProfile is an instant
			return
		}
		t.addMarker()
	case 'P':
		t.addChunk()
	case 'M':
		switch string(e.name) {
		case "thread_name":
			t.thread().name = e.label
		case "process_name":
			t.process[string(e.pid)] = e.label
		}
	}
}

// thread returns the thread of the event.
func (t *trace) thread() *thread {
	e := &t.e
	if l := t.last; l != nil && l.threadKey.id == string(e.tid) && l.process == string(e.pid) {
		return l
	}
	key := threadKey{string(e.pid), string(e.tid)}
	th, ok := t.threads[key]
	if !ok {
		th = &thread{threadKey: key, id: profile.ThreadID(len(t.order) + 1)}
		t.threads[key] = th
		t.order = append(t.order, th)
	}
	t.last = th
	return th
}

// text returns the number of a name in a file.
func (t *trace) text(name, file []byte) int32 {
	id, ok := t.names[called{string(name), string(file)}]
	if !ok {
		id = int32(len(t.texts))
		t.texts = append(t.texts, called{string(name), string(file)})
		t.names[t.texts[id]] = id
	}
	return id
}

func (t *trace) addDuration() {
	e := &t.e
	d := duration{at: e.at, length: max(0, e.length), phase: e.phase[0], name: none}
	if string(e.category) != pySpy {
		e.source = e.source[:0]
	}
	if len(e.name) > 0 {
		d.name = t.text(e.name, e.source)
	} else if d.phase != 'E' {
		t.unnamed++
		return
	}
	if d.at > math.MaxInt64-d.length {
		t.scanner.Errorf("event %q ends at a time that does not fit 63 bits of nanoseconds", e.name)
	}
	th := t.thread()
	th.events = append(th.events, d)
	t.spans(d.at, d.at+d.length)
}

// spans notes that something happened between two times.
func (t *trace) spans(from, to int64) {
	t.earliest, t.latest = min(t.earliest, from), max(t.latest, to)
}

// addMarker adds an instant, or the begin or end of an asynchronous event. Ends
// belong to the last begin of the same category, id and name that is open.
func (t *trace) addMarker() {
	e := &t.e
	key := asyncKey{string(e.category), string(e.id), string(e.name)}
	open := t.async[key]
	t.spans(e.at, e.at)
	switch e.phase[0] {
	case 'b', 'S':
		t.async[key] = append(open, len(t.p.Markers))
	case 'e', 'F':
		if len(open) == 0 {
			t.unopened++
			return
		}
		m := &t.p.Markers[open[len(open)-1]]
		m.End = max(m.Start, e.at)
		t.async[key] = open[:len(open)-1]
		return
	}
	m := profile.Marker{Name: t.texts[t.text(e.name, nil)].name, Start: e.at, End: e.at, Thread: t.thread().id}
	if len(e.category) > 0 {
		m.Fields = []profile.Label{{Key: "category", Text: t.texts[t.text(e.category, nil)].name}}
	}
	t.p.Markers = append(t.p.Markers, m)
}

// addChunk adds what an event of V8's profiler holds to its recording.
func (t *trace) addChunk() {
	e, s := &t.e, t.scanner
	key := recordingKey{string(e.pid), string(e.id)}
	v, ok := t.recordings[key]
	whole := string(e.name) == "CpuProfile" // each is a recording of its own
	if again := ok && v.begun && string(e.name) == "Profile"; !ok || whole || again {
		v = &v8Profile{thread: t.thread().id, start: e.at, at: e.chunk.at}
		t.recordings[key] = v
		t.recorded = append(t.recorded, v)
	}
	v.begun = v.begun || string(e.name) == "Profile"
	if e.chunk.start != 0 {
		v.start = e.chunk.start
	}
	for i := range e.nodes {
		v.add(s, t.p.Symbols, &e.nodes[i])
	}
	if e.chunk.samples != nil {
		v.samples = append(v.samples, e.chunk.samples...)
		v.deltas = append(v.deltas, e.chunk.deltas...)
		for len(v.deltas) < len(v.samples) {
			v.deltas = append(v.deltas, 0)
		}
		v.deltas = v.deltas[:len(v.samples)]
	}
}

// link makes the profile of the events.
func (t *trace) link() error {
	p := t.p
	for _, v := range t.recorded {
		t.spans(v.start, v.start)
	}
	if t.earliest > t.latest {
		t.spans(0, 0)
	}
	p.Duration = time.Duration(max(0, t.latest-t.earliest))
	for i := range p.Tables { // of counted events, whose times count from their first sample
		for j := range p.Tables[i].Time {
			p.Tables[i].Time[j] += t.counted - t.earliest
		}
	}
	for _, th := range t.order {
		process := th.process
		if name := t.process[th.process]; name != "" {
			process = name + " (" + th.process + ")"
		}
		p.Threads = append(p.Threads, profile.Thread{Name: th.name, ID: th.threadKey.id, Process: process})
	}
	if err := t.linkRecordings(); err != nil {
		return err
	}
	if err := t.linkEvents(); err != nil {
		return err
	}
	switch {
	case len(p.Tables) > 0:
	case t.events > 0:
		return &profile.ParseError{
			Offset: -1, Err: fmt.Errorf("%d trace events, and none has a duration or samples: %w", t.events, profile.ErrUnsupported),
			Hint: "record with the category disabled-by-default-v8.cpu_profiler",
		}
	default:
		p.Tables = []profile.Samples{{Type: profile.ValueType{Name: typeEvents, Unit: "nanoseconds"}}}
		p.Warnf("the trace has no events")
	}
	for i := range p.Markers {
		p.Markers[i].Start -= t.earliest
		p.Markers[i].End -= t.earliest
	}
	slices.SortStableFunc(p.Markers, func(a, b profile.Marker) int { return cmp.Compare(a.Start, b.Start) })
	t.warn()
	return nil
}

func (t *trace) linkRecordings() error {
	tables := newV8Tables()
	some := false
	for _, v := range t.recorded {
		if len(v.nodes) == 0 {
			continue
		}
		some = true
		if err := tables.add(v, t.p, t.limits, t.earliest); err != nil {
			return err
		}
	}
	if some {
		t.p.Tables = append(t.p.Tables, tables.tables()...)
	}
	return nil
}

func (t *trace) linkEvents() error {
	table := profile.Samples{Type: profile.ValueType{Name: typeEvents, Unit: "nanoseconds"}, Intervals: true}
	some := false
	frames := slices.Repeat([]profile.FrameID{none}, len(t.texts))
	for _, th := range t.order {
		if len(th.events) == 0 {
			continue
		}
		some = true
		n := nesting{trace: t, thread: th.id, table: &table, frames: frames}
		if err := n.run(th.events); err != nil {
			return err
		}
		th.events = nil
	}
	if some {
		table.Bounded()
		t.p.Tables = append(t.p.Tables, table)
	}
	return nil
}

func (t *trace) warn() {
	t.p.WarnCount(t.unopened, "%d ends of events that were not open were left out")
	t.p.WarnCount(t.unclosed, "%d events never end and were ended with the last event of their thread")
	t.p.WarnCount(t.crossed, "%d events end behind the event around them and were ended with it")
	t.p.WarnCount(t.unnamed, "%d events without a name were left out")
	for _, v := range t.p.Threads {
		if strings.Contains(v.Process, "node") {
			t.p.Profiler = "node"
		}
	}
}
