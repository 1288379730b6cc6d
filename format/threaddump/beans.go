package threaddump

import (
	"bytes"
	"strconv"
	"time"

	"github.com/dendroprof/dendro/format/internal/jsonscan"
	"github.com/dendroprof/dendro/profile"
)

// beanPaths are where the JSON of ThreadInfo beans has the name of a thread: Spring Boot's
// actuator since 2.0, before, and Jolokia.
var beanPaths = []string{"threads[].threadName", "[].threadName", "value[].threadName"}

// beans reads an array of ThreadInfo beans:
//
//	{"threads": [{"threadName": …, "threadId": 77, "threadState": "RUNNABLE", "stackTrace": [
//	  {"className": …, "methodName": …, "fileName": …, "lineNumber": 829, "nativeMethod": false}, …], …}, …]}
func (j *jsonReader) beans() {
	j.begin(time.Time{})
	for range j.s.Array() {
		j.bean()
	}
	j.end()
}

func (j *jsonReader) bean() {
	t := j.open()
	holds := [][]byte{}
	for key := range j.s.Object() {
		switch string(key) {
		case "threadName":
			t.name = append(t.name[:0], j.s.Text()...)
		case "threadId":
			t.id = append(append(t.id[:0], '#'), j.s.Scalar()...)
		case "threadState":
			t.state = append(t.state[:0], j.s.Text()...)
		case "lockName":
			j.addLock(j.addWait, j.s.Text())
		case "lockOwnerName":
			if owner := j.s.Text(); owner != "" {
				j.label(profile.LabelOwner, []byte(owner))
				t.owned = true
			}
		case "daemon":
			if j.s.Scalar() == "true" {
				j.label("daemon", yes)
			}
		case "stackTrace":
			for range j.s.Array() {
				j.element()
			}
		case "lockedMonitors", "lockedSynchronizers":
			for range j.s.Array() {
				if lock := j.lockInfo(); len(lock) > 0 && len(holds) < mostHeld {
					holds = append(holds, lock)
				}
			}
		}
	}
	for _, lock := range holds {
		j.addHold(lock, nil) // after what the thread waits for
	}
	j.close()
}

// element reads a frame and adds it as jstack spells it.
func (j *jsonReader) element() {
	var class, method, file, line, module string
	native := false
	for key := range j.s.Object() {
		switch string(key) {
		case "className":
			class = j.s.Text()
		case "methodName":
			method = j.s.Text()
		case "fileName":
			file = j.s.Text()
		case "lineNumber":
			line = j.s.Scalar()
		case "moduleName":
			module = j.s.Text()
		case "nativeMethod":
			native = j.s.Scalar() == "true"
		}
	}
	var b bytes.Buffer
	if module != "" {
		b.WriteString(module + "/")
	}
	b.WriteString(class + "." + method)
	switch {
	case native:
		b.WriteString("(Native Method)")
	case file == "":
		b.WriteString("(Unknown Source)")
	default:
		b.WriteString("(" + file + ":" + line + ")")
	}
	j.addFrameBytes(b.Bytes())
}

// lockInfo reads a lock as ThreadInfo prints it: `java.lang.Object@4617c264`.
func (j *jsonReader) lockInfo() []byte {
	var class string
	var hash int64
	for key := range j.s.Object() {
		switch string(key) {
		case "className":
			class = j.s.Text()
		case "identityHashCode":
			hash = j.s.Int()
		}
	}
	if class == "" {
		return nil
	}
	return strconv.AppendUint([]byte(class+"@"), uint64(uint32(hash)), 16)
}

// sniffBeans reports whether JSON has beans of threads.
func sniffBeans(text []byte) bool { return jsonscan.NewOutline(text).Has(beanPaths...) }
