package chrome

import (
	"github.com/dendroprof/dendro/format/internal/jsonscan"
)

// pySpy is the category of all events of py-spy.
const pySpy = "py-spy"

// event is one event as it is read. Its fields may come in any order.
type event struct {
	name, category, phase []byte
	pid, tid, id          []byte
	at, length            int64

	label  string       // args.name
	source []byte       // args.filename
	chunk  v8Profile    // without its nodes
	nodes  []nodeFields //
	data   bool         // chunk was read
}

// read reads one event.
func (e *event) read(t *trace) {
	s := t.scanner
	*e = event{
		name: e.name[:0], category: e.category[:0], phase: e.phase[:0], pid: e.pid[:0], tid: e.tid[:0], id: e.id[:0], nodes: e.nodes[:0],
		source: e.source[:0],
	}
	for key := range s.Object() {
		switch string(key) {
		case "name":
			e.name = append(e.name, s.ScalarBytes()...)
		case "cat":
			e.category = append(e.category, s.ScalarBytes()...)
		case "ph":
			e.phase = append(e.phase, s.ScalarBytes()...)
		case "pid":
			e.pid = append(e.pid, s.ScalarBytes()...)
		case "tid":
			e.tid = append(e.tid, s.ScalarBytes()...)
		case "id":
			e.id = append(e.id, s.ScalarBytes()...)
		case "id2":
			for range s.Object() {
				e.id = append(e.id, s.ScalarBytes()...)
			}
		case "ts":
			e.at = t.clock.Read(s, 3)
		case "dur":
			e.length = s.Fixed(3)
		case "args":
			if s.Kind() == jsonscan.Object {
				e.readArgs(t)
			}
		}
	}
}

// readArgs reads the arguments that mean something: the name of a thread or
// process, the file of a function, and what V8's profiler recorded.
func (e *event) readArgs(t *trace) {
	s := t.scanner
	for key := range s.Object() {
		switch string(key) {
		case "name":
			e.label = s.Scalar()
		case "filename":
			e.source = append(e.source, s.ScalarBytes()...)
		case "data":
			if s.Kind() == jsonscan.Object {
				for key := range s.Object() {
					e.readData(t, string(key))
				}
			}
		}
	}
}

func (e *event) readData(t *trace, key string) {
	s := t.scanner
	switch key {
	case "startTime", "endTime", "timeDeltas":
		if s.Kind() != jsonscan.Object {
			e.chunk.readField(t.file, key)
		}
	case "cpuProfile":
		e.data = true
		for key := range s.Object() {
			if string(key) == "nodes" {
				t.readNodes()
				continue
			}
			e.chunk.readField(t.file, string(key))
		}
	}
}

// readNodes reads the nodes of a chunk. They may refer to those of chunks before,
// so they are kept apart until the recording is known.
func (t *trace) readNodes() {
	s := t.scanner
	t.e.chunk.at = s.Offset()
	for range s.Array() {
		n := nodeFields{}
		n.read(s)
		t.e.nodes = append(t.e.nodes, n)
	}
}
