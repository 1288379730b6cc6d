package threaddump

import (
	"errors"
	"io"
	"time"

	"github.com/dendroprof/dendro/format/internal/jsonscan"
	"github.com/dendroprof/dendro/profile"
)

// readJSON reads the JSON of Thread.dump_to_file:
//
//	{"threadDump": {"processId": …, "time": …, "runtimeVersion": …, "threadContainers": [
//	  {"container": "<root>", "threads": [{"tid": …, "name": …, "state": …, "stack": ["…", …], …}, …]}, …]}}
//
// Numbers are strings or, in drafts of later versions, numbers. The beans of Spring's
// actuator are in beans.go.
func readJSON(c *Collector, r io.Reader) error {
	s := jsonscan.New(r, c.limits)
	j := &jsonReader{Collector: c, s: s}
	found := s.Kind() == jsonscan.Array
	if found {
		j.beans()
	} else {
		for key := range s.Object() {
			switch name := string(key); {
			case name == "threadDump":
				found = true
				j.dumpObject()
			case (name == "threads" || name == "value") && s.Kind() == jsonscan.Array:
				found = true
				j.beans()
			}
		}
	}
	if err := s.End(); err != nil {
		return err
	}
	if !found {
		s.Errorf("there is no thread dump in it")
		return s.Err()
	}
	return nil
}

type jsonReader struct {
	*Collector
	s         *jsonscan.Scanner
	container string
}

func (j *jsonReader) dumpObject() {
	j.begin(time.Time{})
	for key := range j.s.Object() {
		switch string(key) {
		case "processId":
			j.process = append(j.process[:0], j.s.Scalar()...)
		case "time":
			if at, ok := parseDate([]byte(j.s.Text())); ok && j.at.IsZero() {
				j.time = at.UnixNano()
			}
		case "runtimeVersion":
			j.vm("JDK", j.s.Text())
		case "threadContainers":
			for range j.s.Array() {
				j.containerObject()
			}
		}
	}
	j.end()
}

func (j *jsonReader) containerObject() {
	j.container = ""
	for key := range j.s.Object() {
		switch string(key) {
		case "container":
			j.container = j.s.Text()
		case "threads":
			for range j.s.Array() {
				j.threadObject()
			}
		}
	}
}

// threadObject reads a thread. What it waits for comes before what it holds, as
// addHold wants it.
func (j *jsonReader) threadObject() {
	t := j.open()
	if j.container != "" && j.container != "<root>" {
		j.label("container", []byte(j.container))
	}
	var id, carrier string
	virtual := false
	for key := range j.s.Object() {
		switch string(key) {
		case "tid":
			id = j.s.Scalar()
		case "name":
			t.name = append(t.name[:0], j.s.Text()...)
		case "state":
			t.state = append(t.state[:0], j.s.Text()...)
		case "virtual":
			virtual = j.s.Scalar() == "true"
		case "carrier":
			carrier = j.s.Scalar()
		case "blockedOn", "waitingOn":
			j.addLock(j.addWait, j.s.Text())
		case "parkBlocker":
			j.parkBlocker()
		case "stack":
			for range j.s.Array() {
				j.stackElement()
			}
		case "monitorsOwned":
			for range j.s.Array() {
				j.monitors()
			}
		}
	}
	t.id = append(append(t.id, '#'), id...)
	if virtual {
		j.label("virtual", yes)
		if len(t.name) == 0 {
			t.name = appendVirtual(t.name, []byte(id))
		}
	}
	if carrier != "" {
		j.label("carrier", []byte("#"+carrier))
	}
	j.close()
}

func (j *jsonReader) stackElement() { j.addFrameBytes(j.s.Bytes()) }

func (j *jsonReader) addFrameBytes(text []byte) {
	switch err := j.addFrame(text); {
	case errors.Is(err, errNoFrame):
		j.s.Errorf("not a frame")
	case err != nil:
		j.s.Fail(&profile.ParseError{Offset: j.s.Offset(), Err: err})
	}
}

func (j *jsonReader) parkBlocker() {
	for key := range j.s.Object() {
		if string(key) == "object" {
			j.addLock(j.addWait, j.s.Text())
		}
	}
}

func (j *jsonReader) monitors() {
	for key := range j.s.Object() {
		if string(key) == "locks" {
			for range j.s.Array() {
				j.addLock(j.addHold, j.s.Text())
			}
		}
	}
}

// addLock adds a lock if there is one: null stands for one that was optimised
// away.
func (j *jsonReader) addLock(add func(address, class []byte), name string) {
	if name != "" {
		add([]byte(name), nil)
	}
}
