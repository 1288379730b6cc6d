package firefox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

func decode(text string) (*profile.Profile, error) {
	return NewDecoder().Decode(strings.NewReader(text), nil, profile.Limits{})
}

func mustDecode(t testing.TB, text string) *profile.Profile {
	t.Helper()
	p, err := decode(text)
	if err != nil {
		t.Fatalf("%v\nin %s", err, text)
	}
	return p
}

// build writes the same small profile as the given version would. Its two threads
// have A > B at line 3, A > C (JavaScript, in app.js), and a library.
func build(version int) string {
	strs := []string{"A", "B", "C", "libc.so", "app.js", "m", "T"}
	meta := map[string]any{
		"preprocessedProfileVersion": version, "version": 30, "interval": 1, "startTime": 1000, "product": "Firefox",
		"categories": []any{
			map[string]any{"name": "Idle", "color": "transparent", "subcategories": []any{"Other"}},
			map[string]any{"name": "Other", "color": "grey", "subcategories": []any{"Other"}},
			map[string]any{"name": "JavaScript", "color": "yellow", "subcategories": []any{"Other", "JIT"}},
		},
		"markerSchema": []any{map[string]any{"name": "T", "fields": []any{map[string]any{"key": "s", "format": "unique-string"}}}},
	}
	if version < 55 {
		meta["markerSchema"] = []any{map[string]any{"name": "T", "data": []any{map[string]any{"key": "s", "format": "unique-string"}}}}
	}
	funcs := map[string]any{
		"length": 3, "name": []any{0, 1, 2}, "isJS": []any{false, false, true}, "relevantForJS": []any{false, true, false},
		"resource": []any{0, -1, -1}, "lineNumber": []any{nil, nil, 7}, "columnNumber": []any{nil, nil, 2},
	}
	if version < 58 {
		funcs["fileName"] = []any{nil, nil, 4}
	} else {
		funcs["source"] = []any{nil, nil, 0}
	}
	frames := map[string]any{
		"length": 3, "func": []any{0, 1, 2}, "line": []any{nil, 3, nil}, "column": []any{nil, nil, nil},
		"address": []any{256, -1, -1}, "inlineDepth": []any{0, 1, 0}, "category": []any{1, nil, 2}, "subcategory": []any{0, nil, 1},
	}
	stacks := map[string]any{"length": 3, "frame": []any{0, 1, 2}}
	if version < 53 {
		stacks["category"], stacks["subcategory"] = []any{1, 1, 2}, []any{0, 0, 1}
	}
	if version < 66 {
		stacks["prefix"] = []any{nil, 0, 0}
	} else {
		stacks["prefixOffset"] = []any{0, 1, 2}
	}
	resources := map[string]any{"length": 1, "name": []any{3}, "type": []any{1}, "host": []any{nil}}
	if version < 70 {
		resources["lib"] = []any{0}
	} else {
		frames["lib"] = []any{0, -1, -1}
	}
	var pid any = "5"
	if version < 47 {
		pid = 5
	}
	samples := map[string]any{"length": 3, "stack": []any{1, nil, 2}, "weight": []any{1, 2, 3}, "weightType": "samples"}
	if version < 50 {
		samples["time"] = []any{0, 1.5, 3}
	} else {
		samples["timeDeltas"] = []any{0, 1.5, 1.5}
	}
	markers := map[string]any{
		"length": 1, "name": []any{5}, "startTime": []any{1}, "endTime": []any{2}, "phase": []any{1}, "category": []any{1},
		"data": []any{map[string]any{"type": "T", "s": 4}},
	}
	thread := func(name string) map[string]any {
		t := map[string]any{"name": name, "pid": pid, "tid": 9, "samples": samples, "markers": markers}
		if version < 56 {
			t["stringArray"] = strs
		}
		if version < 60 {
			t["funcTable"], t["frameTable"], t["stackTable"], t["resourceTable"] = funcs, frames, stacks, resources
		}
		return t
	}
	shared := map[string]any{}
	if version >= 56 {
		shared["stringArray"] = strs
	}
	if version >= 58 {
		shared["sources"] = map[string]any{"length": 1, "filename": []any{4}}
	}
	if version >= 60 {
		shared["funcTable"], shared["frameTable"], shared["stackTable"], shared["resourceTable"] = funcs, frames, stacks, resources
	}
	text, err := json.Marshal(map[string]any{
		"meta": meta, "libs": []any{map[string]any{"name": "libc.so", "path": "/lib/libc.so", "breakpadId": "X"}},
		"shared": shared, "threads": []any{thread("main"), thread("worker")}, "counters": []any{1, 2},
	})
	if err != nil {
		panic(err)
	}
	return string(text)
}

const built = `== samples count scale 0 default
1 @0s [main tid=9 in 5] libc.so!A 0x100 in /lib/libc.so {Other} > B:3:0 inlined 1
2 @1.5ms [main tid=9 in 5] -
3 @3ms [main tid=9 in 5] libc.so!A 0x100 in /lib/libc.so {Other} > C (app.js:7:2) {JavaScript/JIT}
1 @0s [worker tid=9 in 5] libc.so!A 0x100 in /lib/libc.so {Other} > B:3:0 inlined 1
2 @1.5ms [worker tid=9 in 5] -
3 @3ms [worker tid=9 in 5] libc.so!A 0x100 in /lib/libc.so {Other} > C (app.js:7:2) {JavaScript/JIT}
marker "m" 1ms-2ms [main tid=9 in 5] {Other} s="app.js" type="T"
marker "m" 1ms-2ms [worker tid=9 in 5] {Other} s="app.js" type="T"
warning: 2 counters were left out
`

func TestVersions(t *testing.T) {
	for version := oldest; version <= newest; version++ {
		p := mustDecode(t, build(version))
		if got := readtest.Describe(p); got != built {
			t.Errorf("version %d:\n%s\nwant\n%s", version, got, built)
		}
		s := p.Symbols
		if s.Functions[0].Kind != profile.KindNative || s.Functions[1].Kind != profile.KindJSLabel || s.Functions[2].Kind != profile.KindJS {
			t.Errorf("version %d: kinds %v", version, s.Functions)
		}
		if fmt.Sprint(s.Categories) != "[{  } {Idle transparent } {Other grey } {JavaScript yellow } {JavaScript yellow JIT}]" {
			t.Errorf("version %d: categories %v", version, s.Categories)
		}
		if p.Interval != 1e6 || p.Start.UnixMilli() != 1000 || p.Profiler != "Firefox" {
			t.Errorf("version %d: %v %v %q", version, p.Interval, p.Start, p.Profiler)
		}
	}
}

func TestVersionsNotRead(t *testing.T) {
	for _, version := range []int{1, 24, 43, 71, 1000} {
		_, err := decode(strings.Replace(build(57), `Version":57`, fmt.Sprintf(`Version":%d`, version), 1))
		var pe *profile.ParseError
		if !errors.As(err, &pe) || !errors.Is(err, profile.ErrUnsupported) || pe.Hint == "" || pe.Offset <= 0 {
			t.Errorf("version %d: %v", version, err)
		}
	}
	for text, want := range map[string]error{
		`{"meta":{"version":13},"threads":[{"samples":{"data":[[0]],"schema":{"stack":0}}}]}`:            profile.ErrUnsupported,
		`{"meta":{"version":36},"threads":[{"samples":{"data":[[0]],"schema":{"stack":0}}}]}`:            profile.ErrUnsupported,
		`{"meta":{"version":37},"threads":[{"stackTable":{"schema":{"prefix":0,"frame":1},"data":[]}}]}`: profile.ErrUnsupported,
		`{"threads":[{"name":"x"}]}`: profile.ErrUnsupported, `{}`: profile.ErrMalformed, `{"meta":{}}`: profile.ErrMalformed,
		`[]`: profile.ErrMalformed,
	} {
		if _, err := decode(text); !errors.Is(err, want) || readtest.WrongError(err, int64(len(text))) != "" {
			t.Errorf("%s: %v, want %v", text, err, want)
		}
	}
}

func TestSamplesOfTheFormat(t *testing.T) {
	for _, version := range []string{"57", "70"} {
		text, err := os.ReadFile("testdata/firefox-processed-minimal-v" + version + ".json")
		if err != nil {
			t.Fatal(err)
		}
		got := readtest.Describe(mustDecode(t, string(text)))
		want := "== samples count scale 0 default\n1 @0s [main tid=1 in 1] A {Other} > B {Other}\n1 @1ms [main tid=1 in 1] A {Other} > B {Other}\n1 @2ms [main tid=1 in 1] A {Other} > C {Other}\n"
		if got != want {
			t.Errorf("version %s:\n%s", version, got)
		}
	}
}

// small is a profile of version 57 with one thread, functions A, B, C and stacks A,
// A > B, A > C, and the given fields of the thread.
func small(fields string) string {
	return `{"meta":{"preprocessedProfileVersion":57,"interval":1,"startTime":0,"categories":[{"name":"Other","color":"grey","subcategories":["Other"]}],
"markerSchema":[]},"shared":{"stringArray":["A","B","C","m"]},"threads":[{"name":"t",
"funcTable":{"name":[0,1,2],"isJS":[false,false,false],"relevantForJS":[false,false,false],"resource":[-1,-1,-1]},
"frameTable":{"func":[0,1,2]},"stackTable":{"frame":[0,1,2],"prefix":[null,0,0]},` + fields + `}]}`
}

func TestTables(t *testing.T) {
	for _, tt := range []struct{ name, fields, want string }{
		{"no weights", `"samples":{"stack":[0,1],"time":[0,1],"weight":null}`,
			"== samples count scale 0 default\n1 @0s [t] A\n1 @1ms [t] A > B\n"},
		{"length lies", `"samples":{"length":999,"stack":[0,1]}`,
			"== samples count scale 0 default\n1 [t] A\n1 [t] A > B\n"},
		{"fractions, negative", `"samples":{"weightType":"tracing-ms","stack":[0,1],"weight":[1.25,-2]}`,
			"== tracing milliseconds scale 2 default\n125 [t] A\n-200 [t] A > B\n"},
		{"bytes", `"samples":{"weight":[3],"stack":[0],"weightType":"bytes"}`,
			"== bytes bytes scale 0 default\n3 [t] A\n"},
		{"stacks that are not there", `"samples":{"stack":[0,3,-2]}`,
			"== samples count scale 0 default\n1 [t] A\n1 [t] (no stack)\n1 [t] (no stack)\nwarning: 2 samples are of stacks that are not in the file; they count as (no stack)\n"},
		{"times since the year 1", `"samples":{"stack":[0,1],"time":[63907825250726.5,63907825250727]},"markers":{"name":[3],"phase":[0],"startTime":[63907825250728],"endTime":[null],"category":[0],"data":[null]}`,
			"== samples count scale 0 default\n1 @500µs [t] A\n1 @1ms [t] A > B\nmarker \"m\" 2ms-2ms [t] {Other}\n"},
		{"numbers as texts", `"samples":{"stack":["0","1"],"time":["0","1.5"],"weight":["2","3"]}`,
			"== samples count scale 0 default\n2 @0s [t] A\n3 @1.5ms [t] A > B\n"},
		{"no samples", `"samples":{"length":0}`,
			"== samples count scale 0 default\nwarning: the file holds no samples\n"},
		{"no samples of a type", `"samples":{"stack":[],"weightType":"tracing-ms"}`,
			"== tracing milliseconds scale 0 default\nwarning: the file holds no samples\n"},
		{"no samples, allocations", `"samples":{"stack":[],"time":[]},"jsAllocations":{"stack":[1],"weight":[7],"time":[2]}`,
			"== samples count scale 0 default\n== js-allocations bytes scale 0\n7 @2ms [t] A > B\nwarning: the file holds no samples\n"},
		{"allocations", `"samples":{"stack":[0]},"jsAllocations":{"stack":[1],"weight":[7],"time":[2]},
"nativeAllocations":{"time":[1,2],"weight":[64,-64],"stack":[2,null],"memoryAddress":[4096,4096],"weightType":"bytes","length":2}`,
			"== samples count scale 0 default\n1 [t] A\n== native-allocations bytes scale 0\n64 @1ms [t] *1000 A > C\n-64 @2ms [t] *1000 -\n== js-allocations bytes scale 0\n7 @2ms [t] A > B\n"},
		{"CPU use", `"samples":{"stack":[0],"threadCPUDelta":[5]}`,
			"== samples count scale 0 default\n1 [t] A\nwarning: the CPU use of samples of 1 threads was left out\n"},
		{"deltas do not drift", `"samples":{"stack":[0,0,0,0],"timeDeltas":[0.0000003,0.0000003,0.0000003,0.0000003]}`,
			"== samples count scale 0 default\n1 @0s [t] A\n1 @1ns [t] A\n1 @1ns [t] A\n1 @1ns [t] A\n"},
		{"phases", `"samples":{"stack":[0,0],"time":[1,9]},"markers":{"name":[3,3,3,3,3],"phase":[2,2,3,3,3],"startTime":[2,3,null,null,null],
"endTime":[null,null,4,5,6],"category":[0,0,0,0,0],"data":[{"type":"x","a":1},null,{"b":"y"},{"a":2,"c":1.5,"d":true,"e":{},"f":""},null]}`,
			"== samples count scale 0 default\n1 @1ms [t] A\n1 @9ms [t] A\n" + `marker "m" 1ms-6ms [t] {Other}
marker "m" 2ms-5ms [t] {Other} a=2 c="1.5" d="true" type="x"
marker "m" 3ms-4ms [t] {Other} b="y"
`},
		{"open start, instant", `"samples":{"stack":[0,0],"time":[1,9]},"markers":{"name":[3,3],"phase":[2,0],"startTime":[2,0.5],"endTime":[null,null],"category":[0,0],"data":[null,null]}`,
			"== samples count scale 0 default\n1 @1ms [t] A\n1 @9ms [t] A\nmarker \"m\" 500µs-500µs [t] {Other}\nmarker \"m\" 2ms-10ms [t] {Other}\n"},
	} {
		if got := readtest.Describe(mustDecode(t, small(tt.fields))); got != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
}

func TestCategoriesOfStacks(t *testing.T) {
	text := strings.Replace(small(`"samples":{"stack":[1]}`), `"prefix":[null,0,0]`, `"prefix":[null,0,0],"category":[0,0,null],"subcategory":[0,0,null]`, 1)
	text = strings.Replace(text, `Version":57`, `Version":52`, 1)
	if got := readtest.Describe(mustDecode(t, text)); !strings.Contains(got, "A {Other} > B {Other}\n") {
		t.Error(got)
	}
}

func TestErrors(t *testing.T) {
	good := `"samples":{"stack":[0]}`
	for _, tt := range []struct{ name, text, at string }{
		{"weights of another length", small(`"samples":{"stack":[0],"weight":[1,2]}`), `"weight":[1,2`},
		{"prefix forward", strings.Replace(small(good), `[null,0,0]`, `[null,2,0]`, 1), `"prefix"`},
		{"prefix itself", strings.Replace(small(good), `[null,0,0]`, `[0,0,0]`, 1), `"prefix"`},
		{"negative offset", strings.Replace(small(good), `"prefix":[null,0,0]`, `"prefixOffset":[0,-1,1]`, 1), `"prefixOffset"`},
		{"phase", small(good + `,"markers":{"name":[3],"phase":[4]}`), `"phase"`},
		{"sum", small(`"samples":{"stack":[0,0],"weight":[9223372036854775807,1]}`), ``},
		{"text for a number", small(`"samples":{"stack":["x"]}`), `"x"`},
		{"large id", small(`"samples":{"stack":[2147483648]}`), `2147483648`},
	} {
		_, err := decode(tt.text)
		var pe *profile.ParseError
		if !errors.As(err, &pe) || !errors.Is(err, profile.ErrMalformed) || readtest.WrongError(err, int64(len(tt.text))) != "" {
			t.Errorf("%s: %v", tt.name, err)
		} else if tt.at != "" && pe.Offset != int64(strings.Index(tt.text, tt.at)) {
			t.Errorf("%s: %v, want it at byte %d", tt.name, err, strings.Index(tt.text, tt.at))
		}
	}
	deep := strings.Replace(small(`"samples":{"stack":[2]}`), `[null,0,0]`, `[null,0,1]`, 1)
	if _, err := NewDecoder().Decode(strings.NewReader(deep), nil, profile.Limits{Depth: 2}); !errors.Is(err, profile.ErrTooLarge) {
		t.Error(err)
	}
	if _, err := NewDecoder().Decode(strings.NewReader(deep), nil, profile.Limits{Depth: 3}); err != nil {
		t.Error(err)
	}
}

// TestUnknownReferences reads files in which rows name rows that are not there.
func TestUnknownReferences(t *testing.T) {
	good, warning := `"samples":{"stack":[1,2]}`, "warning: 1 references to strings, functions, frames or stacks that are not in the file; functions of these are [unknown]\n"
	for _, tt := range []struct{ name, text, want string }{
		{"function", strings.Replace(small(good), `"func":[0,1,2]`, `"func":[0,1,3]`, 1), "1 [t] A > B\n1 [t] A > [unknown]\n"},
		{"no function", strings.Replace(small(good), `"func":[0,1,2]`, `"func":[0,1,null]`, 1), "1 [t] A > B\n1 [t] A > [unknown]\n"},
		{"string", strings.Replace(small(good), `"name":[0,1,2]`, `"name":[0,1,4]`, 1), "1 [t] A > B\n1 [t] A > [unknown]\n"},
		{"resource", strings.Replace(small(good), `[-1,-1,-1]`, `[-1,-1,0]`, 1), "1 [t] A > B\n1 [t] A > C\n"},
		{"frame", strings.Replace(small(good), `"frame":[0,1,2]`, `"frame":[0,1,9]`, 1), "1 [t] A > B\n1 [t] A > [unknown]\n"},
		{"caller", strings.Replace(small(good), `[null,0,0]`, `[null,0,7]`, 1), "1 [t] A > B\n1 [t] C\n"},
		{"caller by offset", strings.Replace(small(good), `"prefix":[null,0,0]`, `"prefixOffset":[0,1,3]`, 1), "1 [t] A > B\n1 [t] C\n"},
		{"marker", small(`"samples":{"stack":[1]},"markers":{"name":[4],"phase":[0]}`), "1 [t] A > B\nmarker \"[unknown]\" 0s-0s [t]\n"},
	} {
		if got, want := readtest.Describe(mustDecode(t, tt.text)), "== samples count scale 0 default\n"+tt.want+warning; got != want {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, got, want)
		}
	}
	raw := strings.NewReplacer(`"data":[[0,false],`, `"data":[[99,false],`, `"prefix":0,`, `"prefix":"0",`).Replace(rawText)
	if got := readtest.Describe(mustDecode(t, raw)); !strings.Contains(got, "@500µs [GeckoMain tid=4 in 3] [unknown] > https://a.org!f:12:7") {
		t.Error(got)
	}
}

func TestOrderOfKeys(t *testing.T) {
	text := small(`"samples":{"stack":[2]}`)
	var m map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	late := fmt.Sprintf(`{"threads":%s,"shared":%s,"meta":%s}`, m["threads"], m["shared"], m["meta"])
	if got, want := readtest.Describe(mustDecode(t, late)), readtest.Describe(mustDecode(t, text)); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if !Sniff([]byte(late)) || !Sniff([]byte(text)) || Sniff([]byte(`{"traceEvents":[]}`)) {
		t.Error("Sniff")
	}
}

const rawText = `{"meta":{"version":27,"startTime":1000,"interval":1,"categories":[{"name":"Other","color":"grey","subcategories":["Other"]},{"name":"JavaScript","color":"yellow","subcategories":["Other"]}]},
"libs":[{"name":"xul","path":"/xul","start":4096,"end":8192,"breakpadId":"B"}],
"sources":{"schema":{"id":0,"filename":1,"startLine":2,"startColumn":3,"sourceMapURL":4},"data":[["5a11","https://a.org/x.js",1,1]]},
"threads":[{"name":"GeckoMain","pid":3,"tid":4,
"samples":{"schema":{"stack":0,"time":1,"eventDelay":2},"data":[[2,0.5,0],[null,1.5],[3,2.5,0]]},
"stackTable":{"schema":{"prefix":0,"frame":1},"data":[[null,0],[0,1],[1,2],[1,3]]},
"frameTable":{"schema":{"location":0,"relevantForJS":1,"innerWindowID":2,"implementation":3,"line":4,"column":5,"category":6,"subcategory":7},
"data":[[0,false],[1,false,0,null,12,7,1,0],[2,false],[3,true,null,null,null,null,0,0]]},
"markers":{"schema":{"name":0,"startTime":1,"endTime":2,"phase":3,"category":4,"data":5},"data":[[4,1,2,1,0,{"type":"x"}],[4,1,null,0,0]]},
"stringTable":["(root)","f (https://a.org/x.js:5:6)[3]","0x1010","Element.click","M"]}],
"processes":[{"meta":{"startTime":1100,"categories":[{"name":"Idle","color":"transparent","subcategories":["Other"]}]},"libs":[],
"threads":[{"name":"Web","pid":8,"tid":9,"processName":"Content","samples":{"schema":{"stack":0,"time":1},"data":[[0,1]]},
"stackTable":{"schema":{"prefix":0,"frame":1},"data":[[null,0]]},
"frameTable":{"schema":{"location":0,"relevantForJS":1,"category":2},"data":[[0,false,0]]},
"markers":{"schema":{"name":0},"data":[]},"stringTable":["g (in lib.so) + 12"]}],"processes":["ignored"]}]}`

func TestRaw(t *testing.T) {
	p := mustDecode(t, rawText)
	want := `== samples count scale 0 default
1 @500µs [GeckoMain tid=4 in 3] (root) > https://a.org!f:12:7 (https://a.org/x.js:5:6) {JavaScript} > xul!0x1010 0x10 in /xul
1 @1.5ms [GeckoMain tid=4 in 3] -
1 @2.5ms [GeckoMain tid=4 in 3] (root) > https://a.org!f:12:7 (https://a.org/x.js:5:6) {JavaScript} > Element.click {Other}
1 @101ms [Web tid=9 in Content (8)] lib.so!g {Idle}
marker "M" 1ms-2ms [GeckoMain tid=4 in 3] {Other} type="x"
marker "M" 1ms-1ms [GeckoMain tid=4 in 3] {Other}
`
	if got := readtest.Describe(p); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	kinds := []profile.Kind{profile.KindLabel, profile.KindJS, profile.KindNative, profile.KindJSLabel, profile.KindNative}
	for i, k := range kinds {
		if p.Symbols.Functions[i].Kind != k {
			t.Errorf("%v is no %v", p.Symbols.Functions[i], k)
		}
	}
}

// TestRawInherits leaves out of the head of a process what then holds of the file's.
func TestRawInherits(t *testing.T) {
	text := strings.Replace(rawText, `"meta":{"startTime":1100,"categories":[{"name":"Idle","color":"transparent","subcategories":["Other"]}]}`, `"meta":{}`, 1)
	want := "1 @1ms [Web tid=9 in Content (8)] lib.so!g {Other}\n"
	if got := readtest.Describe(mustDecode(t, text)); !strings.Contains(got, want) {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func TestDamage(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.json")
	texts := [][]byte{[]byte(rawText), []byte(build(44)), []byte(build(59)), []byte(build(70))}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, b)
	}
	d := NewDecoder()
	for _, text := range texts {
		readtest.Damage(t, text, 3000, func(b []byte) (*profile.Profile, error) {
			return d.Decode(bytes.NewReader(b), nil, profile.Limits{})
		})
	}
}

func FuzzDecode(f *testing.F) {
	for _, v := range []int{44, 52, 57, 60, 70} {
		f.Add(build(v))
	}
	f.Add(rawText)
	f.Add(small(`"samples":{"stack":[0]},"markers":{"name":[3,3],"phase":[2,3],"startTime":[1,2],"endTime":[1,2],"data":[{"a":1},null]}`))
	d := NewDecoder()
	f.Fuzz(func(t *testing.T, text string) {
		p, err := d.Decode(iotest.HalfReader(strings.NewReader(text)), nil, profile.Limits{})
		if !readtest.Sound(t, len(text), p, err) {
			return
		}
		for i := range p.Tables {
			var b bytes.Buffer
			if err := Encode(&b, p, i); err != nil {
				t.Fatal(err)
			}
			if _, err := d.Decode(&b, nil, profile.Limits{}); err != nil && !errors.Is(err, profile.ErrMalformed) {
				t.Fatalf("%v\nwritten for %q", err, text)
			}
		}
		Sniff([]byte(text))
	})
}
