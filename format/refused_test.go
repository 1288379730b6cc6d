package format

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/proftest"
)

// TestBenchmarkResults checks that results of benchmarks are no profiles, which a directory
// of profiles may hold, and that the message names the flag for them.
func TestBenchmarkResults(t *testing.T) {
	for _, text := range []string{
		"goos: linux\ngoarch: amd64\npkg: shop\nBenchmarkCart-8   \t100\t 12 ns/op\nPASS\n",
		"BenchmarkCart-8   \t100\t 12 ns/op\n",
		`[{"jmhVersion" : "1.37", "benchmark" : "shop.Cart.add", "primaryMetric" : {"score": 3.1}}]`,
	} {
		_, err := Detect([]byte(text))
		if !errors.Is(err, profile.ErrUnrecognized) || !strings.Contains(err.Error(), "--metrics") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestRefused(t *testing.T) {
	etl := make([]byte, 1<<16)
	etl[2], etl[74], etl[75] = 1, 2, 0xc0 // a buffer of 64 KiB, and the header of the trace
	for _, tt := range []struct{ content, what string }{
		{"FLR\x00\x00\x00\x00\x09", "a recording of JDK 7 or 8"},
		{"*version\n3\nclock=dual\n", "a method trace of Android"},
		{"SLOW\x03\x00 \x00", "a method trace of Android"},
		{"MOJ\x04", "a recording of austin 4"},
		{"code-creation,Builtin,2\n", "a log of node --prof"},
		{"__rec=node,id=24,attr=10,data=588,parent=3\n", "a recording of Caliper"},
		{"[{'name': 'main', 'frame': {'name': 'main'}, 'metrics': {'time': 1.0}}]", "a literal of Hatchet"},
		{"File: lab\nType: cpu\nShowing nodes accounting for 370ms, 100% of 370ms total\n      flat  flat%   sum%        cum   cum%\n", "a report of pprof without stacks"},
		{"{\"graph\": [{\"0\": {\"data\": {\"name\": \"foo\"}, \"children\": []}}]}", "a graph frame of Hatchet"},
		{"@ CPU_CLK_UNHALTED_CORE [1234 samples]\n\n05.21%  [64]   f @ /bin/x\n", "a call graph of pmcstat"},
		{"\xef\xbb\xbfLevel,Function Name,Number of Calls,Elapsed\n0,\"a\",1\n", "a call tree of Visual Studio"},
		{"Process Name, Display Name, Process, Stack, Module\n", "a summary table of xperf"},
		{"HCAT\x01\x00", "a recording of Python's"},
		{"{ \"flamegraph\": {\n\"names\": []}}", "a flame graph of Pyroscope"},
		{"{\"flamegraph\": {\"root\": {\"cumulative\": 4}}}", "a flame graph of Parca"},
		{"{\"format\":\"profileJSONWithSymbolicationTable,1\"}", "a recording of Firefox"},
		{"2ELIFREP\x00\x00", "a perf.data file"},
		{"SIMPLEPERF\x01\x00", "a simpleperf report"},
		{"bplist00\xd4", "an Instruments trace"},
		{` {"snapshot":{"meta":{"node_fields":["type","name"]}},"nodes":[]}`, "a heap snapshot of V8"},
		{"Statistical profiling result from isolate-0x1-v8.log, (1 ticks).\n", "the report of node --prof-process"},
		{"v8-version,11,3\n", "a log of node --prof"},
		{"gmon\x01\x00\x00\x00", "a profile of gprof"},
		{"JAVA PROFILE 1.0.2\x00", "a heap dump of hprof"},
		{string(etl), "a Windows event trace"},
		{"Nettrace\x14\x00\x00\x00!FastSerialization.1", "an EventPipe trace"},
		{"memray\x00\x0b\x00", "a recording of memray"},
		{"hdrb\x68\x65\x74\x62", "an event log of GHC"},
		{"{\"event_id\":\"a\"}\n{\"type\":\"profile\"}\n{\"profile\":{\"samples\":[{\"stack_id\":0}]}}\n", "an envelope of Sentry"},
		{"{\"devToolsSnapshot\":true}", "an export of Dart DevTools"},
		{"{\"type\":\"_CpuProfileTimeline\",\"traceEvents\":[]}", "an export of Dart DevTools"},
		{"\x5e\x97\xca\xfd\x01", "a capture of sysprof"},
		{"\x0a\x05\x18\x01\x40\x90\x4e\x0a\x02\x50\x01\x0a\x02\x40\x05", "a Perfetto trace"},
	} {
		f, err := Detect([]byte(tt.content))
		var pe *profile.ParseError
		if f != nil || !errors.Is(err, profile.ErrUnsupported) || !errors.As(err, &pe) || pe.Hint == "" ||
			!strings.HasPrefix(err.Error(), tt.what) {
			t.Errorf("%.30q: %v", tt.content, err)
		}
	}
	for _, content := range []string{"gmon;a 1\n", "PERF;a 1\n", string(make([]byte, 200)), "sample;interval 1\n", "{}",
		"\x0a\x04\x08\x01\x10\x02", "Function Stack;a 1\n"} {
		if _, err := Detect([]byte(content)); errors.Is(err, profile.ErrUnsupported) {
			t.Errorf("%.30q: %v", content, err)
		}
	}
}

func TestPacking(t *testing.T) {
	for d, err := range NewReader(profile.Limits{}).Read("x", strings.NewReader(gz(tarred("a.lz4", lz4ed(foldedText), "b", foldedText)))) {
		want := map[string][]string{"x: a.lz4": {"gzip", "tar", "lz4"}, "x: b": {"gzip", "tar"}}[d.Name]
		if err != nil || !cmp.Equal(d.Packing, want) {
			t.Errorf("%s: %q, %v", d.Name, d.Packing, err)
		}
	}
}

func TestDescribe(t *testing.T) {
	p := proftest.Columns("×3  ×4  ×5  ×1\nA   A   A   ·\nB   B   C\nC")
	p.States = append(p.States, "idle")
	p.LabelSets = append(p.LabelSets, []profile.Label{{Key: "z"}, {Key: "a"}}, []profile.Label{{Key: "a"}},
		[]profile.Label{{Key: "a", Text: "x"}, {Key: "a", Text: "y"}, {Key: "a", Text: "y"}})
	p.Tables[0].Labels = []profile.LabelsID{3, 0, 3, 0}
	p.Threads = append(p.Threads, profile.Thread{Name: "x"})
	p.Tables[0].Time = []int64{30, 10, 20, 15}
	got := Describe(p)
	want := Description{
		Types:     []TypeDescription{{Type: p.Tables[0].Type, Default: true, Samples: 4, NoStack: 1, Total: 12}},
		Functions: 3, Stacks: 3, Depth: 3, Threads: 1, Duration: 20, States: []string{"idle"},
		Labels: []LabelDescription{{Key: "a", Values: []LabelValue{{"x", 8}, {"y", 8}, {"0", 0}}, None: 4},
			{Key: "z", Values: []LabelValue{{"0", 0}}, None: 12}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestDescribeManyLabels describes a sample with as many labels as a file may bring.
func TestDescribeManyLabels(t *testing.T) {
	const n = 400_000
	p := proftest.Columns("×3\nA")
	set := make([]profile.Label, n)
	for i := range set {
		set[i] = profile.Label{Key: "k", Num: int64(i)}
	}
	p.LabelSets = append(p.LabelSets, set)
	p.Tables[0].Labels = []profile.LabelsID{1}
	got := DescribeLabels(p, 0)
	if len(got) != 1 || len(got[0].Values) != mostLabelValues || got[0].More != n-mostLabelValues || got[0].Values[0].Total != 3 {
		t.Errorf("%+v", got)
	}
}
