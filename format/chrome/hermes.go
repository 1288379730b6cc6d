package chrome

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/dendroprof/dendro/format/internal/jsonscan"
	"github.com/dendroprof/dendro/format/internal/perf"
	"github.com/dendroprof/dendro/format/internal/stacktext"
	"github.com/dendroprof/dendro/profile"
)

// hermes is what stands next to trace events in some files: `samples`, each with a thread, a
// time and the id of its innermost frame, and `stackFrames`, a tree of frames by id. The
// profiler of Hermes, the engine of React Native, writes them, with numbers as strings and
// every weight 1; converters of perf's recordings name the event that a sample counted, and
// its weight is how much.
type hermes struct {
	samples []hermesSample
	threads []threadKey
	number  map[threadKey]int32 // of threads
	frames  v8Profile           // its nodes, of which none has a parent until link
	parents []int64             // ids of the nodes' parents; none for a root

	ids      numbering      // of frames, which may be any text
	events   numbering      // of what samples counted, by name
	weighted map[int32]bool // events that have a weight that is not 1
}

// counted reports whether the samples are of events that were counted.
func (h *hermes) counted() bool {
	events := h.events.list
	return len(events) > 1 || len(h.weighted) > 0 || len(events) == 1 && events[0] != ""
}

// numbering numbers texts in the order in which they are first seen. The zero value is empty.
type numbering struct {
	list []string
	of   map[string]int32
}

// number returns the number of a text.
func (n *numbering) number(text string) int32 {
	k, ok := n.of[text]
	if !ok {
		if n.of == nil {
			n.of = map[string]int32{}
		}
		k = int32(len(n.list))
		n.of[text] = k
		n.list = append(n.list, text)
	}
	return k
}

// hermesSample is one sample.
type hermesSample struct {
	at     int64 // nanoseconds
	weight int64
	thread int32 // number
	frame  int32 // number of its id
	event  int32 // number of its name
}

// thread returns the number of a thread.
func (h *hermes) thread(key threadKey) int32 {
	n, ok := h.number[key]
	if !ok {
		if h.number == nil {
			h.number = map[threadKey]int32{}
		}
		n = int32(len(h.threads))
		h.threads = append(h.threads, key)
		h.number[key] = n
	}
	return n
}

// readSample reads an object that is an element of `samples`; those of heap profiles
// have no frame.
func (h *hermes) readSample(s *jsonscan.Scanner, clock *jsonscan.Clock) {
	sample := hermesSample{frame: none, weight: 1}
	var thread threadKey
	var name string
	for key := range s.Object() {
		switch string(key) {
		case "ts":
			sample.at = clock.Read(s, 3)
		case "pid":
			thread.process = s.Scalar()
		case "tid":
			thread.id = s.Scalar()
		case "sf":
			if id := s.Scalar(); id != "" {
				sample.frame = h.ids.number(id)
			}
		case "name":
			name = s.Scalar()
		case "weight":
			if sample.weight = s.Int(); sample.weight < 0 {
				s.Errorf("the weight of a sample: %d", sample.weight)
			}
		}
	}
	if sample.frame != none {
		sample.thread, sample.event = h.thread(thread), h.events.number(name)
		if sample.weight != 1 {
			if h.weighted == nil {
				h.weighted = map[int32]bool{}
			}
			h.weighted[sample.event] = true
		}
		h.samples = append(h.samples, sample)
	}
}

// whole returns a number from 0; none for anything else.
func whole(text string) int64 {
	if v, err := strconv.ParseInt(text, 10, 64); err == nil && v >= 0 {
		return v
	}
	return none
}

// readFrames reads `stackFrames`.
func (h *hermes) readFrames(s *jsonscan.Scanner, symbols *profile.Symbols) {
	h.frames.at = s.Offset()
	for key := range s.Object() {
		s.Take(jsonscan.EntryBytes)
		id := int64(h.ids.number(string(key)))
		n, parent, name, category := node{id: id, parent: none}, int64(none), "", ""
		var fn profile.Function
		for key := range s.Object() {
			switch string(key) {
			case "name":
				name = s.Scalar()
			case "category":
				category = s.Scalar()
			case "parent":
				if text := s.Scalar(); text != "" {
					parent = int64(h.ids.number(text))
				}
			case "line":
				n.line = s.Place()
			case "column":
				n.column = s.Place()
			case "funcLine":
				fn.StartLine = s.Place()
			case "funcColumn":
				fn.Column = s.Place()
			}
		}
		fn.Name, fn.File = hermesName(name)
		switch category {
		case "JavaScript":
			fn.Kind = profile.KindJS
		case "Native":
			fn.Kind = profile.KindNative
		case "root", "Metadata": // [root], [GC Young Gen]
			fn.Kind = profile.KindVM
		default: // the library, of perf's frames
			fn.Name, fn.File, fn.Module = cmp.Or(name, profile.NoName), "", category
			fn.Kind, _ = perf.KindOf(name, category)
		}
		if s.Err() == nil {
			h.frames.setIndex(s, id, int32(len(h.frames.nodes)))
			n.function = symbols.Function(fn)
			h.frames.nodes, h.parents = append(h.frames.nodes, n), append(h.parents, parent)
		}
	}
}

// hermesName splits `function(http://host/index.bundle:12:3)`.
func hermesName(text string) (name, file string) {
	name, place, ok := strings.Cut(text, "(")
	place, closed := strings.CutSuffix(place, ")")
	if !ok || !closed {
		name, place = text, ""
	}
	name = cmp.Or(name, "(anonymous)")
	for range 2 { // line and column
		if i := strings.LastIndexByte(place, ':'); i > 0 && whole(place[i+1:]) != none {
			place = place[:i]
		}
	}
	return name, place
}

// addHermes adds the samples of each thread as a recording.
func (t *trace) addHermes(h *hermes) error {
	if len(h.samples) == 0 {
		return nil
	}
	orphans := 0
	for i, parent := range h.parents {
		if parent == none {
			continue
		}
		if p, ok := h.frames.index[parent]; ok {
			h.frames.nodes[i].parent = p
		} else {
			orphans++
		}
	}
	t.p.WarnCount(orphans, "%d frames are called by frames that are not in the file; their stacks begin there")
	if h.counted() {
		return t.addCounted(h)
	}
	threads := make([]*v8Profile, len(h.threads))
	for _, sample := range h.samples {
		v := threads[sample.thread]
		if v == nil {
			v = &v8Profile{at: h.frames.at, index: h.frames.index, nodes: h.frames.nodes, thread: t.threadOf(h.threads[sample.thread])}
			threads[sample.thread] = v
			t.recorded = append(t.recorded, v)
		}
		v.samples, v.timestamps = append(v.samples, sample.frame), append(v.timestamps, sample.at)
	}
	for _, v := range threads {
		v.useTimestamps()
		t.spans(v.start, max(v.start, v.end))
	}
	t.p.Profiler = "Hermes"
	return nil
}

// threadOf returns the thread of a key.
func (t *trace) threadOf(key threadKey) profile.ThreadID {
	t.e.pid, t.e.tid = []byte(key.process), []byte(key.id)
	return t.thread().id
}

// addCounted makes the tables of samples that name the event they counted, as those of a
// recording of perf: a weight is the period of its sample.
func (t *trace) addCounted(h *hermes) error {
	stacks, err := h.frames.stacks(t.p, t.limits)
	if err != nil {
		return err
	}
	events := make([]*perf.Event, len(h.events.list))
	for i, name := range h.events.list {
		events[i] = perf.NewEvent(name, t.limits)
		events[i].HasPeriod, events[i].HasTime = h.weighted[int32(i)], true
	}
	lost := 0
	for i, sample := range h.samples {
		stack := profile.NoStack
		if n, ok := h.frames.index[int64(sample.frame)]; ok {
			stack = stacks[n]
		} else {
			stack = t.p.Symbols.Lost()
			lost++
		}
		row := stacktext.Row{Stack: stack, Value: sample.weight, Time: sample.at, Thread: t.threadOf(h.threads[sample.thread])}
		if !events[sample.event].Add(row, uint64(sample.weight)) {
			return h.frames.malformed("sample %d: the weights add up to more than 63 bits", i)
		}
		t.spans(sample.at, sample.at)
		t.counted = min(t.counted, sample.at)
	}
	t.p.WarnCount(lost, "%d of %d samples are of frames that are not in the file; they count as %s", len(h.samples), profile.LostName)
	perf.Fill(t.p, events)
	return nil
}
