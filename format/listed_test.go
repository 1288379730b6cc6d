package format

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/profile"
)

// listed are the files of tools that people bring, each as a recording of the reader's own
// tests or as the beginning that decides.
var listed = []struct {
	tool    string
	file    string // below the package, or
	content string
	want    string // the format's name, or a part of the hint if the format is refused
}{
	{tool: "cProfile", file: "pstats/testdata/shop.pstats", want: "pstats"},
	{tool: "memray transform speedscope", content: `{"exporter":"memray","$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[{"name":"a"}]},"profiles":[{"type":"sampled","name":"x","unit":"bytes","startValue":0,"endValue":8,"samples":[[0]],"weights":[8]}]}`, want: "speedscope"},
	{tool: "memray", content: "memray\x00\x0b\x00", want: "memray transform speedscope"},
	{tool: "austin", file: "austin/testdata/wall.austin.gz", want: "austin"},
	{tool: "austin MOJO", file: "austin/testdata/wall.mojo.gz", want: "austin"},
	{tool: "Scalene", file: "scalene/testdata/full.json.gz", want: "scalene"},
	{tool: "stackprof JSON", file: "stackprof/testdata/wall.json", want: "stackprof"},
	{tool: "stackprof dump", file: "stackprof/testdata/wall.dump", want: "stackprof"},
	{tool: "Hermes", content: `{"traceEvents":[],"samples":[{"cpu":"-1","name":"","ts":"1","pid":7,"tid":"1","weight":"1","sf":1}],"stackFrames":{"1":{"name":"[root]","category":"root"}}}`, want: "chrome"},
	{tool: "Instruments XML export", content: `<?xml version="1.0"?><trace-query-result><node><row></row></node></trace-query-result>`, want: "reports"},
	{tool: "Instruments deep copy", content: "Weight\tSelf Weight\t\tSymbol Name\n1.0 s\n", want: "reports"},
	{tool: "Instruments archive", content: "bplist00\xd4", want: "speedscope"},
	{tool: "dotnet-trace", content: "Nettrace\x14\x00\x00\x00!FastSerialization.1", want: "dotnet-trace convert FILE --format speedscope"},
	{tool: "Perfetto", content: "\x0a\x05\x18\x01\x40\x90\x4e\x0a\x02\x50\x01\x0a\x02\x40\x05", want: "traceconv profile --perf FILE"},
	{tool: "XHProf", file: "xhprof/testdata/wall.json", want: "xhprof"},
	{tool: "Tideways", file: "xhprof/testdata/tideways.xhprof", want: "xhprof"},
	{tool: "Excimer getCollapsed", content: "index.php;main;pay 3\nindex.php;main 1\n", want: "folded"},
	{tool: "Excimer getSpeedscopeData", content: `{"$schema":"https://www.speedscope.app/file-format-schema.json","exporter":"Excimer","shared":{"frames":[{"name":"main","file":"a.php","line":3}]},"profiles":[{"type":"sampled","name":"","unit":"seconds","startValue":0,"endValue":1,"samples":[[0]],"weights":[1]}]}`, want: "speedscope"},
	{tool: "gperftools CPU", file: "gperftools/testdata/shop.cpuprofile", want: "gperftools"},
	{tool: "gperftools heap", file: "gperftools/testdata/shop.tcmalloc.heap", want: "gperftools-heap"},
	{tool: "heaptrack", file: "heaptrack/testdata/shop.heaptrack", want: "heaptrack"},
	{tool: "massif", file: "valgrind/testdata/shop.massif", want: "massif"},
	{tool: "DHAT", file: "valgrind/testdata/shop.dhat.json", want: "dhat"},
	{tool: "jemalloc", file: "gperftools/testdata/shop.jemalloc.heap", want: "jemalloc"},
	{tool: "perf record", file: "perfdata/testdata/shop.perf.data.gz", want: "perfdata"},
	{tool: "perf record -o -", file: "perfdata/testdata/stream.perf.data.gz", want: "perfdata"},
	{tool: "perf script --header", file: "perfscript/testdata/perf-script-header.txt.gz", want: "perfscript"},
	{tool: "VTune top-down", content: "Function Stack,CPU Time:Total,CPU Time:Self\nTotal,100%,0\n", want: "reports"},
	{tool: "VTune hotspots", content: "Function / Call Stack,CPU Time,Module\nmain,1.2,shop\n", want: "perf record -g"},
	{tool: "bpftrace", file: "tracestacks/testdata/bpftrace-0.17.txt", want: "bpftrace"},
	{tool: "DTrace", file: "tracestacks/testdata/dtrace.txt", want: "dtrace"},
	{tool: "macOS sample", file: "macsample/testdata/report.txt", want: "macsample"},
	{tool: "GHC .prof", file: "ghcprof/testdata/shop-ticks.prof.gz", want: "ghcprof"},
	{tool: "GHC JSON", file: "ghcprof/testdata/shop.json.gz", want: "ghcprof"},
	{tool: "GHC eventlog", content: "hdrb\x68\x65\x74\x62", want: "hs-speedscope FILE"},
	{tool: "Rprof", file: "rprof/testdata/line.Rprof.gz", want: "rprof"},
	{tool: "sysprof", content: "\x5e\x97\xca\xfd\x01", want: "perf record -g"},
	{tool: "memray transform csv", file: "testdata/reported/memray.csv", want: "memray"},
	{tool: "phpspy", file: "testdata/reported/shop.phpspy", want: "phpspy"},
	{tool: "Sentry", file: "testdata/reported/sentry.json", want: "sentry"},
	{tool: "Dart", file: "testdata/reported/dart-cpusamples.json", want: "dart"},
	{tool: "d3-flame-graph", file: "testdata/reported/hierarchy.json", want: "hierarchy"},
	{tool: "Dart DevTools", content: `{"dartDevToolsScreen":"cpu-profiler","cpu-profiler":{}}`, want: "getCpuSamples"},
	{tool: "Go execution trace", file: "gotrace/testdata/work.trace.gz", want: "gotrace"},
	{tool: "hprof texts", file: "hprof/testdata/cpu.hprof.txt", want: "hprof"},
}

// TestListed detects the file of every listed tool. A format that Dendro does not read is
// refused by its content, with a hint.
func TestListed(t *testing.T) {
	names := []string{}
	for _, f := range All() {
		names = append(names, f.Name)
	}
	for _, x := range listed {
		content := x.content
		if x.file != "" {
			b, err := os.ReadFile(x.file)
			if err != nil {
				t.Fatal(err)
			}
			content = string(b)
		}
		for d, err := range NewReader(profile.Limits{}).Read("file", strings.NewReader(content)) {
			var refused *profile.ParseError
			switch {
			case slices.Contains(names, x.want) && err == nil && d.Format.Name == x.want:
			case errors.Is(err, profile.ErrUnsupported) && errors.As(err, &refused) && strings.Contains(refused.Hint, x.want):
			default:
				t.Errorf("%s: %v, %v, want %s", x.tool, d.Format, err, x.want)
			}
		}
	}
}
