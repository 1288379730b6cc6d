package chrome

import (
	"errors"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

// hermesTrace has the shape of what Hermes writes.
const hermesTrace = `{"traceEvents":[
{"name":"process_name","ph":"M","cat":"__metadata","pid":7512,"ts":"11550183666","tid":"-1","args":{"name":"hermes"}},
{"name":"thread_name","ph":"M","cat":"__metadata","pid":7512,"ts":"11550183666","tid":"1","args":{"name":"mqt_js"}}],
"samples":[
{"cpu":"-1","name":"","ts":"11552125241","pid":7512,"tid":"1","weight":"1","sf":1},
{"cpu":"-1","name":"","ts":"11552125341","pid":7512,"tid":"2","weight":"1","sf":4},
{"cpu":"-1","name":"","ts":"11552146011","pid":7512,"tid":"1","weight":"1","sf":3},
{"cpu":"-1","name":"","ts":"11552159337","pid":7512,"tid":"1","weight":"1","sf":4}],
"stackFrames":{"1":{"name":"[root]","category":"root"},
"3":{"line":"17","column":"3","funcLine":"12","funcColumn":"1","name":"pay(http://localhost:8081/index.bundle?dev=false:12:1)","category":"JavaScript","parent":2},
"2":{"line":"9","name":"","category":"JavaScript","parent":1},
"4":{"name":"[GC Young Gen]","category":"Metadata","parent":1}}}`

func TestHermes(t *testing.T) {
	p, err := decode(hermesTrace)
	want := `== samples count scale 0 default
1 @0s [mqt_js tid=1 in hermes (7512)] [root]
1 @20.77ms [mqt_js tid=1 in hermes (7512)] [root] > (anonymous):9:0 > pay:17:3 (http://localhost:8081/index.bundle?dev=false:12:1)
1 @34.096ms [mqt_js tid=1 in hermes (7512)] [root] > [GC Young Gen]
1 @100µs [ tid=2 in hermes (7512)] [root] > [GC Young Gen]
== wall nanoseconds scale 0
0 @0s [mqt_js tid=1 in hermes (7512)] [root]
20770000 @20.77ms [mqt_js tid=1 in hermes (7512)] [root] > (anonymous):9:0 > pay:17:3 (http://localhost:8081/index.bundle?dev=false:12:1)
13326000 @34.096ms [mqt_js tid=1 in hermes (7512)] [root] > [GC Young Gen]
0 @100µs [ tid=2 in hermes (7512)] [root] > [GC Young Gen]
`
	if err != nil || readtest.Describe(p) != want || p.Profiler != "Hermes" {
		t.Errorf("%v\n%s\nwant\n%s", err, readtest.Describe(p), want)
	}
	if !Sniff([]byte(hermesTrace)) {
		t.Error("not recognised")
	}
	for _, change := range [][2]string{{`"parent":1},
"4"`, `"parent":3},
"4"`}, {`"4":{`, `"3":{`}} {
		text := strings.Replace(hermesTrace, change[0], change[1], 1)
		if p, err := decode(text); text == hermesTrace || !errors.Is(err, profile.ErrMalformed) ||
			readtest.WrongError(err, int64(len(text))) != "" {
			t.Errorf("%s: %v, %v", change[1], p, err)
		}
	}
	for _, change := range [][3]string{
		{`"sf":4`, `"sf":9`, "1 of 1 samples of a CPU profile cannot be placed"},
		{`"4":{`, `"x":{`, "1 of 3 samples of a CPU profile cannot be placed"},
		{`"parent":2`, `"parent":7`, "1 frames are called by frames that are not in the file"},
	} {
		p, err := decode(strings.Replace(hermesTrace, change[0], change[1], 1))
		if err != nil || len(p.Warnings) == 0 || !strings.Contains(p.Warnings[0].Message, change[2]) || p.Tables[0].Total() != 4 {
			t.Errorf("%s: %v, %v", change[1], p, err)
		}
	}
}

// countedTrace has the shape of perf's samples in the Trace Event Format.
const countedTrace = `{"traceEvents":[
{"name":"frame","ph":"X","ts":90,"dur":30,"pid":7,"tid":1}],
"stackFrames":{"5":{"name":"main","category":"shop"},"7a":{"parent":5,"name":"std::sort(int*)","category":"libc++.so"},"9":{"parent":"7a","name":"do_syscall_64","category":"[kernel.kallsyms]"}},
"samples":[
{"cpu":0,"tid":1,"ts":100.0,"name":"cycles:HG","sf":"7a","weight":250000},
{"cpu":1,"tid":2,"ts":110.0,"name":"cycles:HG","sf":9,"weight":750000},
{"cpu":1,"tid":2,"ts":120.0,"name":"cpu-clock","sf":5,"weight":4000000},
{"cpu":1,"tid":2,"ts":130.0,"name":"cache-misses","sf":5,"weight":1}]}`

// TestCounted reads samples that are no recording of Hermes: their weights count.
func TestCounted(t *testing.T) {
	p, err := decode(countedTrace)
	want := `== cycles count scale 0 default
250000 @10µs [ tid=1] shop!main > libc++.so!std::sort(int*)
750000 @20µs [ tid=2] shop!main > libc++.so!std::sort(int*) > [kernel.kallsyms]!do_syscall_64
== cpu nanoseconds scale 0 period 4000000 nanoseconds
4000000 @30µs [ tid=2] shop!main
== cache-misses-samples count scale 0
1 @40µs [ tid=2] shop!main
== events nanoseconds scale 0
30000 @0s [ tid=1 in 7] frame
`
	if err != nil || p.Profiler != "" || readtest.Describe(p) != want {
		t.Errorf("%v %q\n%s", err, p.Profiler, readtest.Describe(p))
	}
	if p, err := decode(strings.Replace(countedTrace, "250000", "-1", 1)); !errors.Is(err, profile.ErrMalformed) {
		t.Errorf("a negative weight: %v, %v", p, err)
	}
}
