package speedscope

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

func decode(text string) (*profile.Profile, error) {
	return NewDecoder().Decode(strings.NewReader(text), nil, profile.Limits{})
}

// evented is a file of one evented profile in microseconds over frames A, B, C.
func evented(start, end, events string) string {
	return `{"profiles":[{"type":"evented","name":"t","unit":"microseconds","startValue":` + start + `,"endValue":` + end + `,"events":[` + events +
		`]}],"shared":{"frames":[{"name":"A"},{"name":"B"},{"name":"C"}]}}`
}

func TestDecode(t *testing.T) {
	const head = "== time nanoseconds scale 0 default\n"
	open := func(frame, at string) string { return `{"type":"O","frame":` + frame + `,"at":` + at + `}` }
	closed := func(frame, at string) string { return `{"type":"C","frame":` + frame + `,"at":` + at + `}` }
	list := func(events ...string) string { return strings.Join(events, ",") }
	for _, tt := range []struct{ name, text, want string }{
		{"sampled", `{"$schema":"s","shared":{"frames":[{"name":"A","file":"a.go","line":3,"col":2},{"name":"B"}]},
"profiles":[{"type":"sampled","name":"main","unit":"milliseconds","startValue":5,"endValue":9,"samples":[[0,1],[],[0]],"weights":[1,2,0.5]}]}`,
			head + "1000000 @0s [main] A:3:2 (a.go:0:0) > B\n2000000 @1ms [main] -\n500000 @3ms [main] A:3:2 (a.go:0:0)\n"},
		{"no weights, no name, fractions", `{"shared":{"frames":[{"name":"A"}]},"profiles":[{"type":"sampled","unit":"none","samples":[[0]]},
{"type":"sampled","unit":"none","samples":[[0]],"weights":[0.25]},{"type":"sampled","unit":"bytes","samples":[[0]],"weights":[7]}]}`,
			"== samples count scale 2 default\n100 A\n25 A\n== bytes bytes scale 0\n7 A\n"},
		{"units and starts of each profile", `{"shared":{"frames":[{"name":"A"}]},"profiles":[
{"type":"sampled","name":"a","unit":"seconds","startValue":1,"endValue":2,"samples":[[0]],"weights":[1]},
{"type":"sampled","name":"b","unit":"milliseconds","startValue":1500,"endValue":1507,"samples":[[0]],"weights":[7]},
{"type":"evented","name":"c","unit":"none","startValue":0,"endValue":3,"events":[{"type":"O","frame":0,"at":0},{"type":"C","frame":0,"at":3}]}]}`,
			head + "1000000000 @0s [a] A\n7000000 @500ms [b] A\n== samples count scale 0\n3 [c] A\n"},
		{"evented", evented("10", "90", list(open("0", "10"), open("1", "20"), closed("1", "40"), closed("0", "50"), open("2", "60"),
			closed("2", "90"))),
			head + "10000 @0s [t] A\n20000 @10µs [t] A > B\n10000 @30µs [t] A\n10000 @40µs [t] -\n30000 @50µs [t] C\n"},
		{"a close that is not the innermost", evented("0", "9",
			list(open("0", "0"), open("1", "1"), closed("0", "3"), closed("1", "4"), open("2", "5"), closed("2", "6"))),
			head + "1000 @0s [t] A\n2000 @1µs [t] A > B\n1000 @3µs [t] -\n1000 @4µs [t] -\n1000 @5µs [t] C\n" +
				"warning: 1 frames were closed by a close of a frame outside of them\nwarning: 1 closes of frames that were not open were left out\n"},
		{"left open", evented("0", "9", list(open("0", "1"), open("0", "2"))),
			head + "1000 @1µs [t] A\n7000 @2µs [t] A > A\nwarning: 2 frames were still open at the end and were closed there\n"},
		{"time goes back", evented("0", "9", list(open("0", "5"), closed("0", "3"), open("1", "4"), closed("1", "7"))),
			head + "2000 @5µs [t] B\nwarning: 2 events are earlier than the one before and were moved to its time\n"},
		{"unit behind the events, bytes", `{"shared":{"frames":[{"name":"A"}]},"profiles":[{"type":"evented","events":[{"type":"O","frame":0,"at":0.5},{"type":"C","frame":0,"at":2}],"unit":"bytes"}]}`,
			"== bytes bytes scale 1 default\n15 A\n"},
		{"frames that are not there", evented("0", "9", list(open("0", "0"), open("3", "1"), closed("3", "4"), closed("0", "6"))),
			head + "1000 @0s [t] A\n3000 @1µs [t] A > [unknown]\n2000 @4µs [t] A\nwarning: 1 frames of call paths are not in the list of 3 frames; they count as [unknown]\n"},
		{"since the year 1", evented("0", "63907825250726420",
			list(open("0", "63907825250726410"), open("1", "63907825250726412.5"), closed("1", "63907825250726414"))),
			head + "2500 @0s [t] A\n1500 @2.5µs [t] A > B\n6000 @4µs [t] A\nwarning: 1 frames were still open at the end and were closed there\n"},
		{"numbers as texts", `{"shared":{"frames":[{"name":"A","line":"3"}]},"profiles":[{"type":"sampled","unit":"milliseconds","startValue":"1","endValue":"2","samples":[["0"]],"weights":["1.5"]}]}`,
			head + "1500000 @0s A:3:0\n"},
		{".NET", `{"shared":{"frames":[{"name":"Process64 x (5) Args: "},{"name":"(Non-Activities)"},{"name":"Threads"},{"name":"Thread (7)"},{"name":"M!f"},{"name":"CPU_TIME"},{"name":"UNMANAGED_CODE_TIME"}]},
"profiles":[{"type":"sampled","name":"Thread (7)","unit":"milliseconds","startValue":0,"endValue":3,"samples":[[0,1,2,3,4,5],[0,1,2,3,4,6],[2,3,4]],"weights":[1,1,1]}]}`,
			head + "1000000 @0s [Thread (7) tid=7] <CPU_TIME> M!f\n1000000 @1ms [Thread (7) tid=7] <UNMANAGED_CODE_TIME> M!f\n1000000 @2ms [Thread (7) tid=7] M!f\n"},
		{"empty", `{"$schema":"https://www.speedscope.app/file-format-schema.json","profiles":[],"shared":{"frames":[]}}`,
			"== samples count scale 0 default\nwarning: the file holds no profiles\n"},
	} {
		p, err := decode(tt.text)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		} else if got := readtest.Describe(p); got != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, got, tt.want)
		}
		if tt.name != "empty" && !Sniff([]byte(tt.text)) {
			t.Errorf("%s: not recognised", tt.name)
		}
	}
}

// TestPySpy compares with what is known of the recording.
func TestPySpy(t *testing.T) {
	p, err := decode(string(readtest.File(t, "pyspy.speedscope.json")))
	if err != nil {
		t.Fatal(err)
	}
	table := &p.Tables[0]
	counts := map[string]int{}
	for i, id := range table.Thread {
		counts[p.Threads[id].Name+" "+p.Threads[id].ID]++
		if table.Value[i] != 10_000_000 {
			t.Fatalf("sample of %d ns", table.Value[i])
		}
	}
	if len(counts) != 3 || counts["MainThread 12946"] != 116 || counts["pricing 12948"] != 124 || counts["idle-wait; x 12949"] != 29 {
		t.Error(counts)
	}
	for _, fn := range p.Symbols.Functions {
		if strings.HasPrefix(fn.Name, "thread (") || fn.Kind != profile.KindPython {
			t.Errorf("function %v", fn)
		}
	}
	pricing := readtest.DescribeStack(p.Symbols, table.Stack[120])
	if !strings.Contains(pricing, "price_all:10:0 (/srv/shop/shop.py:0:0) > hot_loop:") || p.Profiler != "py-spy" ||
		p.ProfilerVersion == "" || p.Tables[0].Type.Period != 10_000_000 {
		t.Error(pricing, p.Profiler, p.ProfilerVersion)
	}
}

func TestErrors(t *testing.T) {
	for _, tt := range []struct{ text, says string }{
		{evented("0", "1", `{"type":"O","frame":-1,"at":0}`), "frame -1"},
		{evented("0", "1", `{"type":"X","frame":1,"at":0}`), `"X"`},
		{evented("0", "1e30", ``), "63 bits"},
		{evented("0", "1", `{"type":"O","frame":1,"at":1e18}`), "63 bits"},
		{`{"profiles":[{"type":"sampled","unit":"parsecs"}]}`, "parsecs"},
		{`{"profiles":[{"type":"drawn","unit":"none"}]}`, "drawn"},
		{`{"shared":{"frames":[{"name":"A"}]},"profiles":[{"type":"sampled","unit":"none","samples":[[0]],"weights":[1,2]}]}`, "1 samples with 2 weights"},
		{`{"profiles":`, "expected"},
	} {
		_, err := decode(tt.text)
		if err == nil || !errors.Is(err, profile.ErrMalformed) || !strings.Contains(err.Error(), tt.says) ||
			readtest.WrongError(err, int64(len(tt.text))) != "" {
			t.Errorf("%s: %v", tt.text, err)
		}
	}
	for _, text := range []string{
		`{"shared":{"frames":[{"name":"A"}]},"profiles":[{"type":"sampled","unit":"none","samples":[[0,0,0]]}]}`,
		evented("0", "1", strings.Repeat(`{"type":"O","frame":0,"at":0},`, 3)+`{"type":"O","frame":0,"at":1}`),
	} {
		if _, err := NewDecoder().Decode(strings.NewReader(text), nil, profile.Limits{Depth: 2}); !errors.Is(err, profile.ErrTooLarge) {
			t.Error(err)
		}
	}
}

func encode(t interface{ Fatalf(string, ...any) }, p *profile.Profile, table int) string {
	var b bytes.Buffer
	if err := Encode(&b, p, table); err != nil {
		t.Fatalf("%v", err)
	}
	if !json.Valid(b.Bytes()) {
		t.Fatalf("no JSON: %s", b.Bytes())
	}
	return b.String()
}

// samplesOf lists the samples of each thread without their times.
func samplesOf(p *profile.Profile, table *profile.Samples) string {
	untimed := *table
	untimed.Time = nil
	byThread := map[profile.ThreadID][]string{}
	for row := range table.Stack {
		byThread[table.Thread[row]] = append(byThread[table.Thread[row]], readtest.DescribeSample(p, &untimed, row))
	}
	var b strings.Builder
	for id := range p.Threads {
		for _, sample := range byThread[profile.ThreadID(id)] {
			b.WriteString(sample + "\n")
		}
	}
	return b.String()
}

func TestRoundtrip(t *testing.T) {
	for _, vt := range []profile.ValueType{
		timeType, {Name: "samples", Unit: "count", Scale: 2}, {Name: "bytes", Unit: "bytes"},
	} {
		rapid.Check(t, func(t *rapid.T) {
			p := readtest.Profile(t, readtest.Shape{Types: []profile.ValueType{vt}, Times: true, Threads: true})
			text := encode(t, p, -1)
			q, err := decode(text)
			if err != nil {
				t.Fatalf("%v in %s", err, text)
			}
			scale := 1
			for range vt.Scale - q.Tables[0].Type.Scale {
				scale *= 10
			}
			for i := range q.Tables[0].Value {
				q.Tables[0].Value[i] *= int64(scale)
			}
			if got, want := samplesOf(q, &q.Tables[0]), samplesOf(p, &p.Tables[0]); got != want {
				t.Fatalf("%s\nbecomes\n%s\nin %s", want, got, text)
			}
		})
	}
	p := profile.New(nil)
	if Encode(&bytes.Buffer{}, p, -1) == nil || Encode(&bytes.Buffer{}, p, 0) == nil {
		t.Error("a profile without tables is written")
	}
}

func TestDamage(t *testing.T) {
	d := NewDecoder()
	for _, name := range []string{"pyspy.speedscope.json", "speedscope-minimal-evented.speedscope.json",
		"speedscope-minimal-sampled.speedscope.json"} {
		readtest.Damage(t, readtest.File(t, name), 3000, func(b []byte) (*profile.Profile, error) {
			return d.Decode(bytes.NewReader(b), nil, profile.Limits{})
		})
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(string(readtest.File(f, "speedscope-minimal-evented.speedscope.json")))
	f.Add(string(readtest.File(f, "speedscope-minimal-sampled.speedscope.json")))
	f.Add(evented("0", "9", `{"type":"O","frame":0,"at":1.5},{"type":"O","frame":1,"at":2},{"type":"C","frame":0,"at":3}`))
	d := NewDecoder()
	f.Fuzz(func(t *testing.T, text string) {
		p, err := d.Decode(iotest.HalfReader(strings.NewReader(text)), nil, profile.Limits{})
		if !readtest.Sound(t, len(text), p, err) {
			return
		}
		for i := range p.Tables {
			if _, err := decode(encode(t, p, i)); err != nil && !errors.Is(err, profile.ErrMalformed) {
				t.Fatal(err)
			}
		}
		Sniff([]byte(text))
	})
}
