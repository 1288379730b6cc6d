package format

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/dendroprof/dendro/profile"
)

// refused lists content that is detected and not read, with what to do about it. All
// conditions of an entry must hold: the bytes at the beginning, a text in the first
// line, and texts anywhere in the prefix.
var refused = []struct {
	begins string
	line   string
	holds  []string
	what   string
	hint   string
	skip   bool // not a profile, and no error in a directory of profiles
}{
	{begins: "2ELIFREP", what: "a perf.data file of a big-endian machine", hint: "convert it: perf script -i FILE > FILE.perf"},
	{begins: "SIMPLEPERF", what: "a simpleperf report", hint: "convert the recording with simpleperf's pprof_proto_generator.py or stackcollapse.py"},
	{begins: "bplist00", what: "an Instruments trace or another property list", hint: "load it in speedscope and save it from there"},
	{begins: "Nettrace", what: "an EventPipe trace of .NET (.nettrace)", hint: "convert it: dotnet-trace convert FILE --format speedscope"},
	{begins: "memray\x00", what: "a recording of memray", hint: "convert it: memray transform speedscope FILE"},
	{begins: "{", holds: []string{`"event_id"`, `"profile"`, `"stack_id"`, "}\n{"}, what: "an envelope of Sentry",
		hint: "save the line of its profile as a file"},
	{begins: "{", holds: []string{`"_CpuProfileTimeline"`}, what: "an export of Dart DevTools", hint: "save the CPU samples of the VM service (getCpuSamples), or record a timeline for Perfetto"},
	{begins: "{", holds: []string{`"devToolsSnapshot"`}, what: "an export of Dart DevTools", hint: "save the CPU samples of the VM service (getCpuSamples), or record a timeline for Perfetto"},
	{begins: "{", holds: []string{`"dartDevToolsScreen"`}, what: "an export of Dart DevTools", hint: "save the CPU samples of the VM service (getCpuSamples), or record a timeline for Perfetto"},
	{begins: "{", holds: []string{`"benchmarks"`, `"machine_info"`}, what: results, hint: withMetrics, skip: true},
	{begins: "{", holds: []string{`"benchmarks"`, `"real_time"`}, what: results, hint: withMetrics, skip: true},
	{begins: "{", holds: []string{`"Benchmarks"`, `"HostEnvironmentInfo"`}, what: results, hint: withMetrics, skip: true},
	{begins: `{"reason":"benchmark-complete"`, what: results, hint: withMetrics, skip: true},
	{begins: "FLR\x00\x00\x00", what: "a recording of JDK 7 or 8 (JFR 0.9)", hint: "open it in JDK Mission Control; JDK 8u262 and later write what Dendro reads"},
	{begins: "*version\n", holds: []string{"clock="}, what: "a method trace of Android", hint: "open it in Android Studio; record with simpleperf and convert with its report_sample.py"},
	{begins: "SLOW", line: "\x00", what: "a method trace of Android", hint: "open it in Android Studio; record with simpleperf and convert with its report_sample.py"},
	{begins: "MOJ\x04", what: "a recording of austin 4", hint: "convert it: mojo2austin FILE FILE.austin"},
	{begins: "code-creation,", what: "a log of node --prof", hint: "record again with node --cpu-prof"},
	{begins: "@ ", line: " samples]", what: "a call graph of pmcstat", hint: "convert it: stackcollapse-pmc.pl FILE > FILE.folded"},
	{begins: "Level,Function Name,Number of Calls", what: "a call tree of Visual Studio",
		hint: "convert it: inferno-collapse-vsprof FILE > FILE.folded"},
	{begins: "Process Name, ", line: "Stack", what: "a summary table of xperf", hint: "open the .etl in PerfView and save it for speedscope"},
	{begins: "HCAT", line: "\x00", what: "a recording of Python's profiling.sampling", hint: "convert it: python -m profiling.sampling replay --collapsed -o FILE.folded FILE"},
	{begins: "TACH", line: "\x00", what: "a recording of Python's profiling.sampling", hint: "convert it: python -m profiling.sampling replay --collapsed -o FILE.folded FILE"},
	{begins: `{"flamegraph":{"names":`, what: "a flame graph of Pyroscope's query API", hint: "save the profile: profilecli query profile --output pprof=FILE.pb.gz"},
	{begins: `{"flamegraph":{"root":`, what: "a flame graph of Parca", hint: "download the profile as pprof in Parca"},
	{begins: `{"format":"profileJSONWithSymbolicationTable`, what: "a recording of Firefox before version 4 of its profiles",
		hint: "open it in profiler.firefox.com and save it from there"},
	{begins: "goos: ", holds: []string{"\nBenchmark"}, what: results, hint: withMetrics, skip: true},
	{begins: "Benchmark", line: " ns/op", what: results, hint: withMetrics, skip: true},
	{begins: "[", holds: []string{`"jmhVersion"`, `"primaryMetric"`}, what: results, hint: withMetrics, skip: true},
	{begins: "Function / Call Stack", line: "CPU Time", what: "a report of VTune",
		hint: "record with perf record -g and convert with perf script"},
	{begins: "__rec=", what: "a recording of Caliper (.cali)", hint: "convert it: cali-query -q 'select *,sum(sum#time.duration) group by path format json-split' FILE > FILE.json"},
	{begins: "[{'", line: "'metrics':", what: "a literal of Hatchet as Python prints it", hint: "write it as JSON: json.dump(gf.to_literal(), open('FILE.json', 'w'))"},
	{begins: `{"graph":[{"0":{"data":`, what: "a graph frame of Hatchet", hint: "write its tree: json.dump(gf.to_literal(), open('FILE.json', 'w'))"},
	{holds: []string{"Showing nodes accounting for ", "flat%"}, what: "a report of pprof without stacks", hint: "import the profile itself, or what pprof -traces or -raw prints"},
	{begins: "hdrb", what: "an event log of GHC", hint: "convert it: hs-speedscope FILE"},
	{begins: "\x5e\x97\xca\xfd", what: "a capture of sysprof", hint: "record with perf record -g and convert with perf script"},
	{begins: "{", holds: []string{`"snapshot"`, `"node_fields"`}, what: "a heap snapshot of V8", hint: "it is a graph of objects, not of calls: record a .heapprofile or a .cpuprofile"},
	{begins: "Statistical profiling result from ", what: "the report of node --prof-process",
		hint: "its trees are cut: record again with node --cpu-prof"},
	{begins: "v8-version,", what: "a log of node --prof", hint: "record again with node --cpu-prof"},
	{begins: "gmon\x01\x00\x00\x00", what: "a profile of gprof", hint: "it has pairs of callers only: record with perf record -g"},
	{begins: "JAVA PROFILE 1.0.", line: "\x00", what: "a heap dump of hprof", hint: "it is a graph of objects, not of calls: record with async-profiler or JFR"},
}

// What a benchmark prints is joined to profiles by its names.
const (
	results     = "results of benchmarks"
	withMetrics = "import them together with profiles: dendro import --metrics FILE PROFILES"
)

// refuse returns why content that begins with prefix is not read although it is
// known; nil for anything else.
func refuse(prefix []byte) error {
	text := bytes.TrimLeft(prefix, " \t\r\n")
	line, _, _ := bytes.Cut(text[:min(len(text), 500)], []byte("\n"))
	var compact []byte // JSON without blanks
	if bytes.HasPrefix(text, []byte("{")) {
		compact = bytes.Join(bytes.Fields(text[:min(len(text), 200)]), nil)
	}
	for _, r := range refused {
		ok := (bytes.HasPrefix(text, []byte(r.begins)) || bytes.HasPrefix(compact, []byte(r.begins))) && bytes.Contains(line, []byte(r.line))
		for _, h := range r.holds {
			ok = ok && bytes.Contains(text, []byte(h))
		}
		if ok && r.skip {
			return &profile.ParseError{Offset: -1, Err: fmt.Errorf("%s: %w", r.what, profile.ErrUnrecognized), Hint: r.hint}
		} else if ok {
			return refusal(r.what, r.hint)
		}
	}
	switch {
	case eventTrace(prefix):
		return refusal("a Windows event trace (ETL)", "open it in PerfView and save it for speedscope")
	case len(prefix) >= 12 && string(prefix[8:12]) == "DUCK": // in a directory, the store beside its profiles
		return &profile.ParseError{Offset: -1, Err: fmt.Errorf("a DuckDB file: %w", profile.ErrUnrecognized),
			Hint: "if it is a store, name it with --store FILE"}
	case perfetto(prefix):
		return refusal("a Perfetto trace", "convert it: traceconv profile --perf FILE for pprof files, or traceconv json FILE FILE.json")
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

// perfetto reports whether content begins as a trace of Perfetto does: with packets
// (field 1), each with a time (8), a sequence (10) or a user (3) as an integer.
func perfetto(prefix []byte) bool {
	const packet, wanted = 0x0a, 3
	for found := range wanted {
		if len(prefix) == 0 {
			return found > 0
		}
		size, n := binary.Uvarint(prefix[1:])
		if prefix[0] != packet || n <= 0 || size > uint64(len(prefix)-1-n) || !perfettoPacket(prefix[1+n:1+n+int(size)]) {
			return false
		}
		prefix = prefix[1+n+int(size):]
	}
	return true
}

// perfettoPacket reports whether a message has one of these integers.
func perfettoPacket(msg []byte) (found bool) {
	for len(msg) > 0 {
		tag, n := binary.Uvarint(msg)
		if n <= 0 {
			return false
		}
		v, m := binary.Uvarint(msg[n:])
		if m <= 0 {
			return false
		}
		msg = msg[n+m:]
		switch field := tag >> 3; tag & 7 {
		case 0:
			found = found || field == 3 || field == 8 || field == 10
		case 2:
			if v > uint64(len(msg)) {
				return false
			}
			msg = msg[v:]
		default:
			return false
		}
	}
	return found
}
