package format

import (
	"bytes"
	"fmt"

	"github.com/dendroprof/dendro/profile"
)

// refused is content that is recognised and not read, with what to do about it:
// by the bytes that it begins with, and by texts of which all are in its
// beginning.
var refused = []struct {
	begins string
	holds  []string
	what   string
	hint   string
}{
	{begins: "PERFILE2", what: "a perf.data file", hint: "convert it: perf script -i FILE > FILE.perf"},
	{begins: "2ELIFREP", what: "a perf.data file", hint: "convert it: perf script -i FILE > FILE.perf"},
	{begins: "SIMPLEPERF", what: "a simpleperf report", hint: "convert the recording with simpleperf's pprof_proto_generator.py or stackcollapse.py"},
	{begins: "bplist00", what: "an Instruments trace or another property list", hint: "load it in speedscope and save it from there"},
	{begins: "{", holds: []string{`"dhatFileVersion"`}, what: "a heap profile of Valgrind's DHAT", hint: "open it in dh_view.html; for functions record with valgrind --tool=callgrind"},
	{begins: "{", holds: []string{`"snapshot"`, `"node_fields"`}, what: "a heap snapshot of V8", hint: "it is a graph of objects, not of calls: record a .heapprofile or a .cpuprofile"},
	{begins: "{", holds: []string{`"recording"`, `"sampleStackTraces"`}, what: "a timeline of Safari's Web Inspector", hint: "load it in speedscope and save it from there"},
	{begins: "Statistical profiling result from ", what: "the report of node --prof-process", hint: "its trees are cut: record again with node --cpu-prof"},
	{begins: "v8-version,", what: "a log of node --prof", hint: "record again with node --cpu-prof"},
	{begins: "gmon\x01\x00\x00\x00", what: "a profile of gprof", hint: "it has pairs of callers only: record with perf record -g"},
	{begins: "JAVA PROFILE 1.0.", what: "a heap dump of hprof", hint: "it is a graph of objects, not of calls: record with async-profiler or JFR"},
}

// refuse returns why content that begins with prefix is not read although it is
// known; nil for anything else.
func refuse(prefix []byte) error {
	text := bytes.TrimLeft(prefix, " \t\r\n")
	for _, r := range refused {
		ok := bytes.HasPrefix(text, []byte(r.begins))
		for _, h := range r.holds {
			ok = ok && bytes.Contains(text, []byte(h))
		}
		if ok {
			return refusal(r.what, r.hint)
		}
	}
	if eventTrace(prefix) {
		return refusal("a Windows event trace (ETL)", "open it in PerfView and save it for speedscope")
	}
	return nil
}

func refusal(what, hint string) error {
	return &profile.ParseError{Offset: -1, Err: fmt.Errorf("%s: %w", what, profile.ErrUnsupported), Hint: hint}
}

// eventTrace reports whether content begins as an event trace of Windows does:
// with the size of a buffer, a power of two, and behind the 72 bytes of the
// buffer's head with the header of the trace itself, of type 0xc001 or 0xc002.
func eventTrace(prefix []byte) bool {
	if len(prefix) < 128 {
		return false
	}
	size := uint32(prefix[0]) | uint32(prefix[1])<<8 | uint32(prefix[2])<<16 | uint32(prefix[3])<<24
	return size >= 1<<10 && size <= 1<<26 && size&(size-1) == 0 && prefix[75] == 0xc0 && (prefix[74] == 1 || prefix[74] == 2)
}
