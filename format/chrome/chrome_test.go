package chrome

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

func decode(text string) (*profile.Profile, error) {
	return NewDecoder().Decode(strings.NewReader(text), nil, profile.Limits{})
}

// ev returns an event of thread 1 of process 2 at a time in microseconds.
func ev(phase, name string, at string, more ...string) string {
	text := fmt.Sprintf(`{"ph":%q,"pid":2,"tid":1,"ts":%s`, phase, at)
	if name != "" {
		text += fmt.Sprintf(`,"name":%q`, name)
	}
	return text + strings.Join(more, "") + "}"
}

func list(events ...string) string { return "[" + strings.Join(events, ",\n") + "]" }

func dur(d string) string { return `,"dur":` + d }

func TestTrace(t *testing.T) {
	const head = "== events nanoseconds scale 0 default\n"
	for _, tt := range []struct{ name, text, want string }{
		{"begin and end", list(ev("B", "a", "100"), ev("B", "b", "110.5"), ev("E", "b", "120"), ev("E", "", "130"), ev("B", "a", "140"),
			ev("E", "a", "141")),
			head + "10500 @0s [ tid=1 in 2] a\n9500 @10.5µs [ tid=1 in 2] a > b\n10000 @20µs [ tid=1 in 2] a\n10000 @30µs [ tid=1 in 2] -\n1000 @40µs [ tid=1 in 2] a\n"},
		{"complete, not in order", list(ev("X", "b", "2", dur("3")), ev("X", "a", "0", dur("10")), ev("X", "c", "2", dur("1"))),
			head + "2000 @0s [ tid=1 in 2] a\n1000 @2µs [ tid=1 in 2] a > b > c\n2000 @3µs [ tid=1 in 2] a > b\n5000 @5µs [ tid=1 in 2] a\n"},
		{"complete inside begin", list(ev("B", "a", "0"), ev("X", "b", "1", dur("2")), ev("E", "a", "5")),
			head + "1000 @0s [ tid=1 in 2] a\n2000 @1µs [ tid=1 in 2] a > b\n2000 @3µs [ tid=1 in 2] a\n"},
		{"crossing", list(ev("X", "a", "0", dur("4")), ev("X", "b", "2", dur("4"))),
			head + "2000 @0s [ tid=1 in 2] a\n2000 @2µs [ tid=1 in 2] a > b\nwarning: 1 events end behind the event around them and were ended with it\n"},
		{"unbalanced", list(ev("E", "x", "0"), ev("B", "a", "1"), ev("B", "b", "2"), ev("E", "a", "3"), ev("B", "c", "4"), ev("i", "tick", "6")),
			head + "1000 @0s [ tid=1 in 2] -\n1000 @1µs [ tid=1 in 2] a\n1000 @2µs [ tid=1 in 2] a > b\n1000 @3µs [ tid=1 in 2] -\n" + "marker \"tick\" 6µs-6µs [ tid=1 in 2]\n" +
				"warning: 1 ends of events that were not open were left out\nwarning: 1 events never end and were ended with the last event of their thread\nwarning: 1 events end behind the event around them and were ended with it\n"},
		{"names", list(ev("X", "a", "0", dur("1")), ev("M", "thread_name", "0", `,"args":{"name":"main"}`),
			ev("M", "process_name", "0", `,"args":{"name":"shop"}`)),
			head + "1000 @0s [main tid=1 in shop (2)] a\n"},
		{"asynchronous", list(ev("b", "r", "5", `,"cat":"net","id":"0x1"`), ev("b", "r", "6", `,"cat":"net","id":"0x2"`),
			ev("e", "r", "9", `,"cat":"net","id":"0x1"`), ev("X", "a", "5", dur("1"))),
			head + "1000 @0s [ tid=1 in 2] a\nmarker \"r\" 0s-4µs [ tid=1 in 2] category=\"net\"\nmarker \"r\" 1µs-1µs [ tid=1 in 2] category=\"net\"\n"},
		{"object", `{"metadata":{"x":[1]},"traceEvents":` + list(ev("X", "a", "0", dur("1"))) + `,"displayTimeUnit":"ms"}`,
			head + "1000 @0s [ tid=1 in 2] a\n"},
		{"no closing bracket", strings.TrimSuffix(list(ev("X", "a", "0", dur("1")), ev("X", "b", "3", dur("1"))), "]") + ",\n",
			head + "1000 @0s [ tid=1 in 2] a\n2000 @1µs [ tid=1 in 2] -\n1000 @3µs [ tid=1 in 2] b\nwarning: the list of events does not end; what there is was read\n"},
		{"times as strings, as Hermes writes them", list(`{"ph":"X","name":"a","ts":"2.5","dur":"1","pid":2,"tid":1}`),
			head + "1000 @0s [ tid=1 in 2] a\n"},
		{"since the year 1", list(ev("M", "process_name", "0"), ev("X", "a", "63907825250726409", dur("3")),
			ev("X", "b", "63907825250726410.25", dur("1"))),
			head + "1250 @0s [ tid=1 in 2] a\n1000 @1.25µs [ tid=1 in 2] a > b\n750 @2.25µs [ tid=1 in 2] a\n"},
		{"nothing", `[]`, head + "warning: the trace has no events\n"},
		{"chunks", list(ev("P", "Profile", "10", `,"id":"0x1","args":{"data":{"startTime":10}}`),
			ev("P", "ProfileChunk", "20", `,"id":"0x1","args":{"data":{"timeDeltas":[5,7],"cpuProfile":{"nodes":[{"id":1,"callFrame":{"functionName":"(root)"}},{"id":2,"parent":1,"callFrame":{"functionName":"f","url":"a.js","lineNumber":3,"columnNumber":0}}],"samples":[2,1]}}}`),
			ev("P", "ProfileChunk", "30", `,"id":"0x1","args":{"data":{"cpuProfile":{"nodes":[{"id":3,"parent":2,"callFrame":{"functionName":"(idle)"}}],"samples":[3]},"timeDeltas":[9]}}`)),
			"== samples count scale 0 default\n1 @5µs [ tid=1 in 2] f (a.js:4:1)\n1 @12µs [ tid=1 in 2] -\n1 @21µs [ tid=1 in 2] f (a.js:4:1) > (idle)\n" +
				"== wall nanoseconds scale 0\n5000 @5µs [ tid=1 in 2] f (a.js:4:1)\n7000 @12µs [ tid=1 in 2] -\n9000 @21µs [ tid=1 in 2] f (a.js:4:1) > (idle)\n"},
	} {
		p, err := decode(tt.text)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		} else if got := readtest.Describe(p); got != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, got, tt.want)
		}
		if tt.name != "nothing" && !Sniff([]byte(tt.text)) {
			t.Errorf("%s: not recognised", tt.name)
		}
	}
}

// TestPySpy: events of py-spy are functions of files, as in its other formats; those of others have no file.
func TestPySpy(t *testing.T) {
	in := func(cat, file string) string {
		return fmt.Sprintf(`,"cat":%q,"args":{"filename":%q,"line":3}`, cat, file)
	}
	p, err := decode(list(ev("B", "run", "0", in("py-spy", "a.py")), ev("B", "run", "0", in("py-spy", "b.py")),
		ev("B", "run", "0", in("io", "c.py")),
		ev("E", "run", "1", in("io", "c.py")), ev("E", "run", "1", in("py-spy", "b.py")),
		ev("E", "run", "2", in("py-spy", "a.py"))))
	if err != nil || len(p.Warnings) > 0 {
		t.Fatal(err, p.Warnings)
	}
	want := []profile.Function{{Name: "run", File: "a.py", Kind: profile.KindPython}, {Name: "run", File: "b.py", Kind: profile.KindPython},
		{Name: "run"}}
	if got := p.Symbols.Functions; !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// self returns the value of a function's own samples.
func self(p *profile.Profile, table int, name string) (sum int64) {
	t := &p.Tables[table]
	for i, st := range t.Stack {
		if st != profile.NoStack && p.Symbols.Functions[p.Symbols.Frames[p.Symbols.Leaf(st)].Function].Name == name {
			sum += t.Value[i]
		}
	}
	return sum
}

// TestRecordings compares with what is known of the recordings.
func TestRecordings(t *testing.T) {
	p, err := decode(string(readtest.File(t, "cpu.cpuprofile")))
	if err != nil {
		t.Fatal(err)
	}
	if p.Tables[0].Len() != 277 || self(p, 0, "hotLoop") != 221 || self(p, 1, "hotLoop") != 1_055_615_000 ||
		p.Duration.Microseconds() != 1_601_272 {
		t.Error(p.Tables[0].Len(), self(p, 0, "hotLoop"), self(p, 1, "hotLoop"), p.Duration)
	}
	for _, fn := range p.Symbols.Functions {
		want := profile.KindJS
		if fn.Name == "(program)" || fn.Name == "(garbage collector)" || fn.Name == "(idle)" {
			want = profile.KindVM
		}
		if fn.Name == "(root)" || fn.Name == "" || fn.Kind != want {
			t.Errorf("function %+v", fn)
		}
	}
	if p, err = decode(string(readtest.File(t, "trace.json"))); err != nil {
		t.Fatal(err)
	}
	// 20 complete events and 19 pairs; 6 instants and one pair are markers.
	if len(p.Warnings) != 0 || len(p.Markers) != 7 || p.Threads[1].Name != "JavaScriptMainThread" || p.Threads[1].Process != "node (13674)" {
		t.Error(p.Warnings, p.Markers, p.Threads)
	}
}

func TestProfiles(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"hits only", `{"nodes":[{"id":1,"callFrame":{"functionName":"(root)"},"children":[2]},{"id":2,"callFrame":{"functionName":""},"hitCount":3}]}`,
			"== samples count scale 0 default\n3 (anonymous)\n"},
		{"parents behind children", `{"nodes":[{"id":2,"callFrame":{"functionName":"f"},"hitCount":3},{"id":1,"callFrame":{"functionName":"g"},"children":[2]}]}`,
			"== samples count scale 0 default\n3 g > f\n"},
		{"back in time", `{"nodes":[{"id":1,"callFrame":{"functionName":"f"}}],"samples":[1,1,1],"timeDeltas":[5,-2,4],"startTime":100,"endTime":110}`,
			"== samples count scale 0 default\n1 @3µs f\n1 @5µs f\n1 @7µs f\n== wall nanoseconds scale 0\n3000 @3µs f\n2000 @5µs f\n2000 @7µs f\nwarning: 1 samples are earlier than the one before and were sorted by time\n"},
		{"unknown nodes", `{"nodes":[{"id":1,"callFrame":{"functionName":"f"}},{"id":2,"parent":7,"callFrame":{"functionName":"g"}}],"samples":[1,9,2]}`,
			"== samples count scale 0 default\n1 f\n1 (no stack)\n1 g\n== wall nanoseconds scale 0\n0 f\n0 (no stack)\n0 g\n" +
				"warning: 1 of 3 samples of a CPU profile cannot be placed, since their nodes are not in the file; they count as (no stack)\nwarning: 1 nodes of a CPU profile are called by nodes that are not in the file; their stacks begin there\n"},
		{"empty", `{"nodes":[],"samples":[],"timeDeltas":[],"startTime":1654100488066000,"endTime":1654100490779000}`, "== samples count scale 0 default\n"},
		{"times since the year 1", `{"nodes":[{"id":1,"callFrame":{"functionName":"f"}}],"startTime":63907825250726409,"endTime":63907825250729409,"samples":[1,1,1],"timeDeltas":[0,1000,2000]}`,
			"== samples count scale 0 default\n1 @0s f\n1 @1ms f\n1 @3ms f\n== wall nanoseconds scale 0\n0 @0s f\n1000000 @1ms f\n2000000 @3ms f\n"},
		{"an end far from the start", `{"nodes":[{"id":1,"callFrame":{"functionName":"f"}}],"startTime":1000,"endTime":63907825250729409,"samples":[1,1],"timeDeltas":[1000,1000]}`,
			"== samples count scale 0 default\n1 @1ms f\n1 @2ms f\n== wall nanoseconds scale 0\n1000000 @1ms f\n1000000 @2ms f\n"},
		{"timestamps since the year 1", `{"nodes":[{"id":1,"callFrame":{"functionName":"f"}}],"startTime":63907825250.726409,"samples":[1,1],"timestamps":[63907825250726409,63907825250727409.5]}`,
			"== samples count scale 0 default\n1 @0s f\n1 @1.0005ms f\n== wall nanoseconds scale 0\n0 @0s f\n1000500 @1.0005ms f\n"},
		{"numbers as texts", `{"nodes":[{"id":"1","callFrame":{"functionName":"f","url":"a.js","lineNumber":"11","columnNumber":"-1"},"children":["2"]},{"id":"2","callFrame":{"functionName":"g"}}],"samples":["1","2"],"timeDeltas":["5","7"],"startTime":"100"}`,
			"== samples count scale 0 default\n1 @5µs f (a.js:12:0)\n1 @12µs f (a.js:12:0) > g\n== wall nanoseconds scale 0\n5000 @5µs f (a.js:12:0)\n7000 @12µs f (a.js:12:0) > g\n"},
		{"old", `{"head":{"functionName":"(root)","id":1,"hitCount":0,"url":"","children":[{"functionName":"f","url":"a.js","lineNumber":1,"children":[],"id":2,"hitCount":2}]},"startTime":1.5,"endTime":2,"samples":[2,1,2],"timestamps":[100,105,107]}`,
			"== samples count scale 0 default\n1 @0s f (a.js:1:0)\n1 @5µs -\n1 @7µs f (a.js:1:0)\n== wall nanoseconds scale 0\n0 @0s f (a.js:1:0)\n5000 @5µs -\n2000 @7µs f (a.js:1:0)\n"},
		{"heap", `{"head":{"callFrame":{"functionName":"(root)","url":""},"selfSize":0,"id":1,"children":[{"children":[{"callFrame":{"functionName":"g","url":"b.js","lineNumber":0,"columnNumber":4},"selfSize":8,"id":3,"children":[]}],"callFrame":{"functionName":"f","url":"a.js","lineNumber":-1,"columnNumber":-1},"selfSize":16,"id":2}]},"samples":[{"size":8,"nodeId":3,"ordinal":1}]}`,
			"== live bytes scale 0 default\n16 f (a.js:0:0)\n8 f (a.js:0:0) > g (b.js:1:5)\n"},
	} {
		p, err := decode(tt.text)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if got := readtest.Describe(p); got != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, got, tt.want)
		}
		if !Sniff([]byte(tt.text)) {
			t.Errorf("%s: not recognised", tt.name)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, tt := range []struct {
		text string
		is   error
	}{
		{`{"snapshot":{"meta":{"node_fields":[]},"node_count":1},"nodes":[1]}`, profile.ErrUnsupported},
		{`{}`, profile.ErrMalformed}, {`"x"`, profile.ErrMalformed}, {`{"traceEvents":[`, profile.ErrMalformed},
		{`{"nodes":[{"id":1,"children":[2]},{"id":2,"children":[1]}]}`, profile.ErrMalformed},
		{`{"nodes":[{"id":1,"children":[1]}]}`, profile.ErrMalformed},
		{`{"nodes":[{"id":1,"children":[3]},{"id":2,"children":[3]},{"id":3}]}`, profile.ErrMalformed},
		{`{"nodes":[{"id":1},{"id":1}]}`, profile.ErrMalformed},
		{list(ev("M", "thread_name", "0")), profile.ErrUnsupported}, {list(ev("X", "a", `"x"`, dur("1"))), profile.ErrMalformed},
		{`{"nodes":[{"id":"x"}]}`, profile.ErrMalformed},
		{list(ev("X", "a", "9e15", dur("9e15"))), profile.ErrMalformed},
	} {
		_, err := decode(tt.text)
		if !errors.Is(err, tt.is) || readtest.WrongError(err, int64(len(tt.text))) != "" {
			t.Errorf("%s: %v, want %v", tt.text, err, tt.is)
		}
	}
	deep := `{"head":` + strings.Repeat(`{"selfSize":1,"callFrame":{"functionName":"f"},"children":[`, 3) + strings.Repeat(`]}`, 3) + `}`
	for _, text := range []string{deep, list(ev("B", "a", "1"), ev("B", "a", "2"), ev("B", "a", "3"))} {
		if _, err := NewDecoder().Decode(strings.NewReader(text), nil, profile.Limits{Depth: 2}); !errors.Is(err, profile.ErrTooLarge) {
			t.Error(err)
		}
		if _, err := NewDecoder().Decode(strings.NewReader(text), nil, profile.Limits{Depth: 3}); err != nil {
			t.Error(err)
		}
	}
}

func TestDamage(t *testing.T) {
	d := NewDecoder()
	for _, name := range []string{"cpu.cpuprofile", "trace.json"} {
		readtest.Damage(t, readtest.File(t, name), 2000, func(b []byte) (*profile.Profile, error) {
			return d.Decode(bytes.NewReader(b), nil, profile.Limits{})
		})
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(string(readtest.File(f, "cpu.cpuprofile")[:1500]))
	f.Add(string(readtest.File(f, "trace.json")[:1500]))
	f.Add(`{"head":{"callFrame":{"functionName":"f"},"selfSize":8,"id":3,"children":[{"id":4,"selfSize":2}]}}`)
	f.Add(`{"nodes":[{"id":1,"callFrame":{"functionName":"f"},"children":[2]},{"id":2}],"samples":[2,1],"timeDeltas":[5,-2],"startTime":100,"endTime":110}`)
	f.Add(list(ev("P", "ProfileChunk", "20", `,"id":"0x1","args":{"data":{"timeDeltas":[5,7],"cpuProfile":{"nodes":[{"id":1},{"id":2,"parent":1}],"samples":[2,1]}}}`)))
	f.Add(list(ev("B", "a", "1"), ev("X", "b", "2", dur("3")), ev("E", "", "4"), ev("b", "c", "5"), ev("e", "c", "6")))
	d := NewDecoder()
	f.Fuzz(func(t *testing.T, text string) {
		p, err := d.Decode(iotest.HalfReader(strings.NewReader(text)), nil, profile.Limits{})
		readtest.Sound(t, len(text), p, err)
		Sniff([]byte(text))
	})
}
