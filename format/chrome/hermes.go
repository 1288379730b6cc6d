package chrome

import (
	"math"
	"strconv"
	"strings"

	"github.com/dendroprof/dendro/format/internal/jsonscan"
	"github.com/dendroprof/dendro/profile"
)

// hermes is what the profiler of Hermes, the engine of React Native, writes next to trace
// events: `samples`, each with a thread, a time and the id of its innermost frame, and
// `stackFrames`, a tree of frames by id. Its numbers are strings.
type hermes struct {
	samples []hermesSample
	threads []threadKey
	number  map[threadKey]int32 // of threads
	frames  v8Profile           // its nodes, of which none has a parent until link
	parents []int64             // ids of the nodes' parents; none for a root
}

// hermesSample is one sample.
type hermesSample struct {
	at     int64 // nanoseconds
	thread int32 // number
	frame  int32 // id
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
func (h *hermes) readSample(s *jsonscan.Scanner) {
	sample := hermesSample{frame: none}
	var thread threadKey
	for key := range s.Object() {
		switch string(key) {
		case "ts":
			sample.at = micros(s)
		case "pid":
			thread.process = s.Scalar()
		case "tid":
			thread.id = s.Scalar()
		case "sf":
			if v := whole(s.Scalar()); v <= math.MaxInt32 {
				sample.frame = int32(v)
			}
		}
	}
	if sample.frame != none {
		sample.thread = h.thread(thread)
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

// position returns a line or column; 0 for none.
func position(text string) int32 {
	if v := whole(text); v > 0 && v <= math.MaxInt32 {
		return int32(v)
	}
	return 0
}

// readFrames reads `stackFrames`.
func (h *hermes) readFrames(s *jsonscan.Scanner, symbols *profile.Symbols) {
	h.frames.at = s.Offset()
	for key := range s.Object() {
		id := whole(string(key))
		if id == none {
			s.Errorf("the id of a frame: %.40q", key)
		}
		n, parent, category := node{id: id, parent: none}, int64(none), ""
		fn := profile.Function{Kind: profile.KindJS}
		for key := range s.Object() {
			switch string(key) {
			case "name":
				fn.Name, fn.File = hermesName(s.Scalar())
			case "category":
				category = s.Scalar()
			case "parent":
				parent = whole(s.Scalar())
			case "line":
				n.line = position(s.Scalar())
			case "column":
				n.column = position(s.Scalar())
			case "funcLine":
				fn.StartLine = position(s.Scalar())
			case "funcColumn":
				fn.Column = position(s.Scalar())
			}
		}
		switch category {
		case "Native":
			fn.Kind = profile.KindNative
		case "root", "Metadata": // [root], [GC Young Gen]
			fn.Kind = profile.KindVM
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
	if name == "" {
		name = "(anonymous)"
	}
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
	for i, parent := range h.parents {
		if parent == none {
			continue
		}
		p, ok := h.frames.index[parent]
		if !ok {
			return h.frames.malformed("frame %d is called by frame %d, which is not there", h.frames.nodes[i].id, parent)
		}
		h.frames.nodes[i].parent = p
	}
	threads := make([]*v8Profile, len(h.threads))
	for i, sample := range h.samples {
		v := threads[sample.thread]
		if v == nil {
			key := h.threads[sample.thread]
			t.e.pid, t.e.tid = []byte(key.process), []byte(key.id)
			v = &v8Profile{at: h.frames.at, index: h.frames.index, nodes: h.frames.nodes, thread: t.thread().id}
			threads[sample.thread] = v
			t.recorded = append(t.recorded, v)
		}
		if _, ok := h.frames.index[int64(sample.frame)]; !ok {
			return h.frames.malformed("sample %d is of frame %d, which is not there", i, sample.frame)
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
