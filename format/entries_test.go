package format_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/format"
	"github.com/dendroprof/dendro/internal/cost"
	"github.com/dendroprof/dendro/profile"
)

// entries are contents of empty entries, each of which takes a hundred times as much memory as it has
// bytes.
func entries() map[string]large {
	firefox := func(body, tail string) large {
		return large{head: `{"meta":{"preprocessedProfileVersion":57,"interval":1,"startTime":0,"markerSchema":[],"categories":[` +
			`{"name":"Other","color":"grey","subcategories":["Other"]}]},` + body, body: "{},", tail: tail}
	}
	pprof := func(field string) large {
		return large{head: "\x0a\x04\x08\x01\x10\x02", body: field, tail: "\x32\x00\x32\x03cpu"}
	}
	return map[string]large{
		"threads of Firefox":   firefox(`"shared":{"stringArray":["a"]},"threads":[`, `{}]}`),
		"libraries of Firefox": firefox(`"libs":[`, `{}],"shared":{"stringArray":["a"]},"threads":[{"name":"t"}]}`),
		"profiles of OTLP": {head: `{"resourceProfiles":[{"scopeProfiles":[{"profiles":[`, body: `{},`,
			tail: `{"sampleType":{"typeStrindex":1,"unitStrindex":2},"samples":[]}]}]}],"dictionary":{"stringTable":["","a"]}}`},
		"mappings of pprof":  pprof("\x1a\x00"),
		"functions of pprof": pprof("\x2a\x00"),
		"lines of pprof":     pprof("\x22\x14" + strings.Repeat("\x22\x00", 10)),
		"functions of Dart": {head: `{"type":"CpuSamples","samplePeriod":1000,"functions":[`, body: `{},`,
			tail: `{"kind":"Dart","function":{"name":"main"}}],"samples":[{"tid":7,"timestamp":1,"stack":[0]}]}`},
		"frames of stackprof": {head: `{"version":1.2,"mode":"wall","interval":1,"samples":1,"gc_samples":0,"missed_samples":0,"frames":{`,
			each: func(i int) string { return fmt.Sprintf(`"%d":{},`, i+1) }, tail: `"0":{"name":"a","samples":1}},"raw":[1,0,1]}`},
		"frames of Hermes": {head: `{"traceEvents":[],"samples":[{"cpu":"-1","name":"","ts":"1","pid":1,"tid":"1","weight":"1","sf":0}],"stackFrames":{`,
			each: func(i int) string { return fmt.Sprintf(`"%d":{},`, i+1) }, tail: `"0":{"line":"1","name":"a","category":"JavaScript"}}}`},
		"frames of DHAT": {head: `{"dhatFileVersion":2,"mode":"rust-heap","verb":"Allocated","bklt":true,"bkacc":false,"tu":"µs","Mtu":"s","tuth":10,` +
			`"cmd":"a","pid":1,"tg":1,"te":2,"pps":[],"ftbl":[`, body: `"",`, tail: `"a"]}`},
	}
}

// TestEntriesAreCounted: readers count the memory of entries before they make them.
func TestEntriesAreCounted(t *testing.T) {
	const most = 16 << 20
	for name, content := range entries() {
		ctx, end := cost.Begin(t.Context(), cost.Limits{Memory: cost.Limit{Max: most}})
		r := format.NewReader(profile.Limits{})
		r.Context, r.StackBytes = ctx, 768
		for _, err := range r.Read(name, content.reader(1<<20)) {
			if n := cost.Of(ctx).Spent(cost.Memory); !errors.As(err, new(*cost.Exceeded)) || n < most/2 {
				t.Errorf("%s: %v, %d bytes were counted", name, err, n)
			}
		}
		end()
	}
}

// TestEntriesHaveRoom: without an account, entries have some room besides that of their bytes.
func TestEntriesHaveRoom(t *testing.T) {
	for _, err := range format.NewReader(profile.Limits{}).Read("a.json", entries()["threads of Firefox"].reader(1<<20)) {
		if !errors.Is(err, profile.ErrTooLarge) || !strings.Contains(err.Error(), "takes more than 16 times its size in memory") {
			t.Error(err)
		}
	}
}
