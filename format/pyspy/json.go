package pyspy

import (
	"cmp"
	"io"
	"strconv"

	"github.com/dendroprof/dendro/format/internal/jsonscan"
)

// readJSON reads an array of threads:
//
//	[{"pid": 1, "thread_id": 2, "thread_name": "…", "os_thread_id": 3, "active": true,
//	  "owns_gil": false, "frames": [{"name": "…", "short_filename": "…", "line": 4, …}, …]}, …]
func (t *reader) readJSON(r io.Reader) error {
	s := jsonscan.New(r, t.Limits)
	for range s.Array() {
		t.threadObject(s)
	}
	return s.End()
}

func (t *reader) threadObject(s *jsonscan.Scanner) {
	t.begin()
	var thread, osThread int64
	active, gil := false, false
	for key := range s.Object() {
		switch string(key) {
		case "pid":
			t.process = strconv.AppendInt(t.process[:0], s.Int(), 10)
		case "thread_id":
			thread = s.Int()
		case "os_thread_id":
			osThread = s.Int()
		case "thread_name":
			t.name = append(t.name[:0], s.Bytes()...)
		case "active":
			active = s.Bool()
		case "owns_gil":
			gil = s.Bool()
		case "frames":
			for range s.Array() {
				t.frameObject(s)
			}
		}
	}
	if s.Err() != nil {
		return
	}
	// The text spells ids and states like this.
	if osThread != 0 {
		t.id = strconv.AppendInt(t.id, osThread, 10)
	} else {
		t.id = strconv.AppendUint(append(t.id, "0x"...), uint64(thread), 16)
	}
	switch {
	case gil:
		t.state = append(t.state, "active+gil"...)
	case active:
		t.state = append(t.state, "active"...)
	default:
		t.state = append(t.state, "idle"...)
	}
	t.close()
}

func (t *reader) frameObject(s *jsonscan.Scanner) {
	var name, file, short string
	line := int64(0)
	for key := range s.Object() {
		switch string(key) {
		case "name":
			name = s.Text()
		case "filename":
			file = s.Text()
		case "short_filename":
			short = s.Text()
		case "line":
			line = s.Int()
		}
	}
	short = cmp.Or(short, file)
	if t.Push(t.newFrame(name, short, line)) != nil {
		s.TooDeep(t.Limits.Depth)
	}
}
