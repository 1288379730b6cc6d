package otlp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/wire"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/proftest"
	"github.com/dendroprof/dendro/test/readtest"
)

// recorded are the real contents in testdata.
var recorded = []string{"ap46-cpu.otlp.gz", "ap46-alloc.otlp.gz", "ap46-alloc.otlp.json.gz"}

func decode(content []byte) (*profile.Profile, error) {
	return NewDecoder().Decode(bytes.NewReader(content), nil, profile.Limits{})
}

func mustDecode(tb testing.TB, content []byte) *profile.Profile {
	tb.Helper()
	p, err := decode(content)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func encode(tb testing.TB, p *profile.Profile, table int) []byte {
	tb.Helper()
	var b bytes.Buffer
	if err := Encode(&b, p, table); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// rows draws the samples of a profile.
func rows(p *profile.Profile) (list []string) {
	for i := range p.Tables {
		t := &p.Tables[i]
		for n, v := range t.Value {
			var b strings.Builder
			fmt.Fprintf(&b, "%s %d", t.Type.Key(), v)
			if t.Time != nil {
				fmt.Fprintf(&b, " @%d", t.Time[n])
			}
			if t.Thread != nil {
				th := p.Threads[t.Thread[n]]
				fmt.Fprintf(&b, " %s|%s|%s", th.Name, th.Process, th.ID)
			}
			if t.Labels != nil {
				for _, l := range p.LabelSets[t.Labels[n]] {
					fmt.Fprintf(&b, " %s=%s%d%s", l.Key, l.Text, l.Num, l.Unit)
				}
			}
			b.WriteString(":")
			for _, id := range p.Symbols.Path(t.Stack[n], nil) {
				fr := p.Symbols.Frames[id]
				fn := p.Symbols.Functions[fr.Function]
				fmt.Fprintf(&b, " %s(%s %s:%d %v %v)+%d", fn.Name, fn.Module, fn.File, fr.Line, fn.Kind, fr.Type, fr.InlineDepth)
			}
			list = append(list, b.String())
		}
	}
	return list
}

func TestRecorded(t *testing.T) {
	for _, tt := range []struct {
		file, key      string
		samples        int
		total          int64
		start          string
		duration       time.Duration
		threads        int
		hottest        string
		hottestSelf    int64
		interval       time.Duration
		thread         string
		samplesOfIt    int64
		commentsPieces int
	}{
		{"ap46-cpu.otlp.gz", "cpu-samples/count@4000000nanoseconds", 213, 297, "2026-11-20T23:20:42.207429Z", 3058327000, 11,
			"shop/demo/ShopServer$Ledger.work", 0, 4 * time.Millisecond, "pricing-2", 0, 0},
		{"ap46-alloc.otlp.gz", "alloc-samples/count@262144bytes", 71, 1233, "2026-11-20T23:20:46.1179Z", 2743399000, 1, "byte[]", 0, 0, "", 0, 0},
		{"ap46-alloc.otlp.json.gz", "alloc-samples/count@262144bytes", 71, 1233, "2026-11-20T23:20:46.1179Z", 2743399000, 1, "byte[]", 0, 0, "",
			0, 0},
	} {
		b := readtest.File(t, tt.file)
		p := mustDecode(t, b)
		s := &p.Tables[0]
		if len(p.Tables) != 1 || s.Type.Key() != tt.key || s.Len() != tt.samples || s.Total() != tt.total || p.Interval != tt.interval ||
			p.Start.Format(time.RFC3339Nano) != tt.start || p.Duration != tt.duration || len(p.Threads) != tt.threads || len(p.Warnings) > 0 {
			t.Errorf("%s: %d tables, %s, %d samples, total %d, start %s, duration %d, %d threads, %v", tt.file, len(p.Tables), s.Type.Key(), s.Len(), s.Total(),
				p.Start.Format(time.RFC3339Nano), p.Duration, len(p.Threads), p.Warnings)
		}
		tree := calltree.FromProfile(p, 0)
		list := tree.FunctionRows()
		slices.SortFunc(list, func(a, b calltree.FunctionRow) int { return int(b.Self - a.Self) })
		if got := tree.Functions[list[0].Func].Name; got != tt.hottest {
			t.Errorf("%s: most self in %s", tt.file, got)
		}
		if tt.thread != "" && !slices.ContainsFunc(p.Threads, func(th profile.Thread) bool { return th.Name == tt.thread && th.ID == "7925" }) {
			t.Errorf("%s: threads %v", tt.file, p.Threads)
		}
		if !Sniff(b) || !Sniff(b[:min(len(b), sniffLen)]) {
			t.Errorf("%s is not recognised", tt.file)
		}
		again := mustDecode(t, encode(t, p, -1))
		if again.Hash(0) != p.Hash(0) || !again.Start.Equal(p.Start) || again.Duration != p.Duration {
			t.Errorf("%s changes when it is written", tt.file)
		}
	}
	if a, b := mustDecode(t, readtest.File(t, recorded[1])), mustDecode(t, readtest.File(t, recorded[2])); a.Hash(0) != b.Hash(0) {
		t.Error("JSON and protocol buffers read differently")
	}
}

// full uses everything that the JSON form can say. Integers are numbers or texts.
const full = `{
"resourceProfiles": [
 {"resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "shop"}}, {"keyStrindex": 10, "value": {"boolValue": true}}]},
  "scopeProfiles": [{"scope": {"name": "prof", "version": "1.2"}, "profiles": [
   {"sampleType": {"typeStrindex": 1, "unitStrindex": 2}, "timeUnixNano": "1795216842000000000", "durationNano": 5000, "periodType": {"typeStrindex": 3, "unitStrindex": 4}, "period": "10",
    "profileId": "00", "droppedAttributesCount": 3, "attributeIndices": [5],
    "samples": [
     {"stackIndex": 1, "values": ["7"]},
     {"stackIndex": 2, "attributeIndices": [1, 2, 3], "linkIndex": 1, "timestampsUnixNano": ["1795216842000000100", 1795216842000000200]},
     {"stackIndex": 1, "values": [1, 2], "timestampsUnixNano": ["1795216842000000001", "1795216842000000002"]},
     {"stackIndex": 0, "values": [0]},
     {"values": [4]}]},
   {"sampleType": {"typeStrindex": 9, "unitStrindex": 4}, "samples": [{"stackIndex": 1, "values": [70]}]}]}]}],
"dictionary": {
 "stringTable": ["", "samples", "count", "cpu", "ns", "main", "work", "work.cpp", "/srv/bin/shop", "cpu", "flag", "thread.name", "endpoint", "profile.frame.type", "size", "pprof.profile.comment"],
 "mappingTable": [{}, {"filenameStrindex": 8, "memoryStart": "4096", "memoryLimit": 8192}],
 "functionTable": [{}, {"nameStrindex": 5}, {"nameStrindex": 6, "filenameStrindex": 7, "startLine": "3"}],
 "locationTable": [{}, {"mappingIndex": 1, "address": "4100", "lines": [{"functionIndex": 2, "line": 12}, {"functionIndex": 1, "line": "9"}], "attributeIndices": [4]}, {"address": 77}],
 "stackTable": [{}, {"locationIndices": [1]}, {"locationIndices": [2, 1]}],
 "linkTable": [{}, {"traceId": "0102030405060708090a0b0c0d0e0f10", "spanId": "0102030405060708"}],
 "attributeTable": [{}, {"keyStrindex": 11, "value": {"stringValue": "[worker tid=7]"}}, {"keyStrindex": 12, "value": {"stringValueStrindex": 5}}, {"keyStrindex": 14, "value": {"intValue": "5"}, "unitStrindex": 2},
  {"keyStrindex": 13, "value": {"stringValue": "rust"}}, {"keyStrindex": 15, "value": {"arrayValue": {"values": [{"stringValue": "nightly"}, {"stringValue": "b"}]}}}]
}}`

func TestJSON(t *testing.T) {
	p := mustDecode(t, []byte(full))
	const stack = " main(shop :9 rust )+0 work(shop work.cpp:12 rust inlined)+1"
	want := []string{
		"cpu-samples/count@10nanoseconds 7 @0 ||:" + stack,
		"cpu-samples/count@10nanoseconds 1 @100 worker||7 endpoint=main0 size=5count trace_id=0102030405060708090a0b0c0d0e0f100 span_id=01020304050607080:" + stack + " 0x4d( :0  )+0",
		"cpu-samples/count@10nanoseconds 1 @200 worker||7 endpoint=main0 size=5count trace_id=0102030405060708090a0b0c0d0e0f100 span_id=01020304050607080:" + stack + " 0x4d( :0  )+0",
		"cpu-samples/count@10nanoseconds 1 @1 ||:" + stack,
		"cpu-samples/count@10nanoseconds 2 @2 ||:" + stack,
		"cpu-samples/count@10nanoseconds 4 @0 ||: (no stack)( :0 label )+0",
		"cpu/nanoseconds 70:" + stack,
	}
	if diff := cmp.Diff(want, rows(p)); diff != "" {
		t.Error(diff)
	}
	if p.Profiler != "prof" || p.ProfilerVersion != "1.2" || p.Start.UnixNano() != 1795216842000000000 || p.Duration != 5000 ||
		p.Interval != 10 ||
		!cmp.Equal(p.Comments, []string{"service.name=shop", "flag=true", "nightly", "b"}) {
		t.Errorf("%+v", p)
	}
	again := mustDecode(t, encode(t, p, -1))
	for i := range p.Tables {
		if p.Hash(i) != again.Hash(i) {
			t.Errorf("table %d changes:\n%s", i, cmp.Diff(rows(p), rows(again)))
		}
	}
	var text bytes.Buffer
	if err := EncodeJSON(&text, p, -1); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(rows(p), rows(mustDecode(t, text.Bytes()))); diff != "" {
		t.Errorf("written as JSON: %s", diff)
	}
	if !Sniff([]byte(full)) || !Sniff(text.Bytes()) {
		t.Error("not recognised")
	}
	// Several messages: the resources tell samples apart.
	two := mustDecode(t, []byte(full+"\n"+strings.ReplaceAll(full, "\n", " ")+"\n"))
	if len(two.Tables) != 2 || two.Tables[0].Total() != 2*p.Tables[0].Total() || two.Tables[0].Len() != 12 {
		t.Errorf("%q", rows(two))
	}
}

// TestResources reads messages of a file one after the other: a resource holds for its own
// samples, and describes the profile if it is the only one.
func TestResources(t *testing.T) {
	message := func(service string, period int) string {
		return fmt.Sprintf(`{"resourceProfiles": [{"resource": {"attributes": [{"key": "service.name", "value": {"stringValue": %q}}]}, "scopeProfiles": [{"profiles": [
			{"sampleType": {"typeStrindex": 1, "unitStrindex": 2}, "periodType": {"typeStrindex": 1, "unitStrindex": 2}, "period": %d, "samples": [{"values": [%[2]d]}]},
			{"sampleType": {"typeStrindex": 1, "unitStrindex": 3}, "periodType": {"typeStrindex": 1, "unitStrindex": 2}, "period": %[2]d, "samples": [{"values": [1], "attributeIndices": [1]}]}]}]}],
			"dictionary": {"stringTable": ["", "cpu", "ns", "count", "thread.name", "x"], "attributeTable": [{}, {"keyStrindex": 4, "value": {"stringValueStrindex": 5}}]}}`, service, period)
	}
	for name, tt := range map[string]struct {
		text     string
		rows     []string
		comments []string
	}{
		"one": {message("shop", 10) + message("shop", 10), []string{
			"cpu/nanoseconds@10nanoseconds 10: (no stack)( :0 label )+0", "cpu/nanoseconds@10nanoseconds 10: (no stack)( :0 label )+0",
			"cpu-samples/count@10nanoseconds 1 x||: (no stack)( :0 label )+0", "cpu-samples/count@10nanoseconds 1 x||: (no stack)( :0 label )+0",
		}, []string{"service.name=shop"}},
		"two": {message("shop", 10) + message("cart", 20) + message("shop", 10), []string{
			"cpu/nanoseconds 10 service.name=shop0: (no stack)( :0 label )+0", "cpu/nanoseconds 20 service.name=cart0: (no stack)( :0 label )+0", "cpu/nanoseconds 10 service.name=shop0: (no stack)( :0 label )+0",
			"cpu-samples/count@10nanoseconds 1 x|| service.name=shop0: (no stack)( :0 label )+0", "cpu-samples/count@10nanoseconds 1 x|| service.name=shop0: (no stack)( :0 label )+0",
			"cpu-samples/count@20nanoseconds/count@20nanoseconds 1 x|| service.name=cart0: (no stack)( :0 label )+0",
		}, nil},
	} {
		p := mustDecode(t, []byte(tt.text))
		if diff := cmp.Diff(tt.rows, rows(p)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if !slices.Equal(p.Comments, tt.comments) {
			t.Errorf("%s: comments %q, want %q", name, p.Comments, tt.comments)
		}
	}
}

// TestJSONPlace checks that an error in what a message refers to names the place in the
// JSON text.
func TestJSONPlace(t *testing.T) {
	first := `{"dictionary": {}} `
	text := first + `{"resourceProfiles": [{"scopeProfiles": [{"profiles": [{"samples": [{}, {"stackIndex": 5, "values": [1]}]}]}]}], "dictionary": {"stackTable": [{}]}}`
	_, err := decode([]byte(text))
	var pe *profile.ParseError
	if want := int64(strings.Index(text, `{"stackIndex"`)); !errors.As(err, &pe) || pe.Offset != want {
		t.Errorf("%v, want the place %d", err, want)
	}
}

// TestFramed reads messages with their lengths in front.
func TestFramed(t *testing.T) {
	a, b := readtest.File(t, recorded[0]), readtest.File(t, recorded[1])
	var both []byte
	for _, msg := range [][]byte{a, b, a} {
		both = append(binary.BigEndian.AppendUint32(both, uint32(len(msg))), msg...)
	}
	p := mustDecode(t, both)
	if len(p.Tables) != 2 || p.Tables[0].Total() != 2*297 || p.Tables[1].Total() != 1233 {
		t.Errorf("%d tables, %v", len(p.Tables), p.Tables)
	}
	if !Sniff(both[:sniffLen]) {
		t.Error("not recognised")
	}
	for _, cut := range []int{len(both) - 1, len(both) - len(a) - 2, len(both) - len(a) - 4} {
		if _, err := decode(both[:cut]); cut == len(both)-len(a)-4 && err != nil ||
			cut != len(both)-len(a)-4 && !errors.Is(err, profile.ErrMalformed) {
			t.Errorf("cut at %d: %v", cut, err)
		}
	}
}

func TestErrors(t *testing.T) {
	good := readtest.File(t, recorded[1])
	sample := func(fields ...byte) []byte { // in the first Profile message
		p := wire.AppendBytes(nil, 2, fields)
		return wire.AppendBytes(nil, 1, wire.AppendBytes(nil, 2, wire.AppendBytes(nil, 2, p)))
	}
	dictionary := func(fields ...byte) []byte { return wire.AppendBytes(nil, 2, fields) }
	deep := append(wire.AppendBytes(nil, 2, ""), wire.AppendBytes(nil, 2, "")...) // two locations
	stack := wire.AppendBytes(nil, 1, bytes.Repeat([]byte{1}, 11))
	deep = append(wire.AppendBytes(deep, 7, ""), wire.AppendBytes(nil, 7, stack)...)
	for _, tt := range []struct {
		name   string
		msg    []byte
		limits profile.Limits
		is     error
	}{
		{"cut", good[:len(good)-1], profile.Limits{}, profile.ErrMalformed},
		{"another dictionary", append(slices.Clone(good), good...), profile.Limits{}, profile.ErrMalformed},
		{"wire type", []byte{1<<3 | wire.Varint, 1}, profile.Limits{}, profile.ErrMalformed},
		{"times", sample(5<<3|wire.Bytes, 3, 1, 2, 3), profile.Limits{}, profile.ErrMalformed},
		{"stack", sample(1<<3, 9, 4<<3, 1), profile.Limits{}, profile.ErrMalformed},
		{"location", append(sample(1<<3, 1, 4<<3, 1), dictionary(deep[4:]...)...), profile.Limits{}, profile.ErrMalformed},
		{"depth", append(sample(1<<3, 1, 4<<3, 1), dictionary(deep...)...), profile.Limits{Depth: 10}, profile.ErrTooLarge},
		{"size", good, profile.Limits{Message: 1000}, profile.ErrTooLarge},
		{"JSON", []byte(full[:len(full)/2]), profile.Limits{}, profile.ErrMalformed},
		{"second JSON", []byte(`{"dictionary": {}} {"dictionary": 7}`), profile.Limits{}, profile.ErrMalformed},
		{"integer", []byte(`{"dictionary": {"mappingTable": [{"memoryStart": "x"}]}}`), profile.Limits{}, profile.ErrMalformed},
	} {
		p, err := NewDecoder().Decode(bytes.NewReader(tt.msg), nil, tt.limits)
		var pe *profile.ParseError
		if p != nil || !errors.As(err, &pe) || !errors.Is(err, tt.is) || pe.Offset < 0 {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	p := mustDecode(t, append(sample(1<<3, 1, 2<<3, 9, 3<<3, 9, 4<<3, 5, 4<<3, 6), dictionary(deep...)...))
	if len(p.Warnings) != 2 || p.Tables[0].Total() != 11 {
		t.Errorf("%v, %q", p.Warnings, rows(p))
	}
}

func TestSniffOthers(t *testing.T) {
	for _, b := range []string{"", "\n\n\n", "\x0a", "{}", `{"resourceSpans": []}`, `{"resourceProfiles": []}`, "main;work 3\n",
		"\x00\x00\x00\x01\x0a", "PK\x03\x04", strings.Repeat("\x00", 70000)} {
		if Sniff([]byte(b)) {
			t.Errorf("%.20q is taken for OTLP", b)
		}
	}
}

// TestRoundTrip writes profiles of any shape and reads them.
func TestRoundTrip(t *testing.T) {
	names := []string{"main", "work", "a;b", "größe", "x.y/z"}
	rapid.Check(t, func(t *rapid.T) {
		p := profile.New(nil)
		s := p.Symbols
		if rapid.Bool().Draw(t, "dated") {
			p.Start = time.Unix(1795216842, 5).UTC()
		}
		p.Threads = append(p.Threads, profile.Thread{Name: "worker", ID: "7", Process: "12"}, profile.Thread{Name: "x", Process: "shop"},
			profile.Thread{ID: "0x7"})
		p.LabelSets = append(p.LabelSets, []profile.Label{{Key: "a", Text: "b"}, {Key: "n", Num: -5, Unit: "bytes"}, {Key: "z"}},
			[]profile.Label{{Key: keyTrace, Text: strings.Repeat("0a", 16)}, {Key: keySpan, Text: strings.Repeat("0b", 8)}},
			[]profile.Label{{Key: keySpan, Text: "no id"}, {Key: "a", Text: "c"}})
		mod := s.Module(profile.Module{Path: "/srv/bin/shop", Start: 4096, BuildID: "ab"})
		mods := []profile.ModuleID{0, mod}
		for _, typ := range []profile.ValueType{{Name: profile.CPU, Unit: "nanoseconds", Period: 10, PeriodUnit: "nanoseconds",
			PeriodName: "cpu"}, {Name: profile.CPUSamples, Unit: "count"}, {Name: "cycles", Unit: "count"}, {Name: profile.Alloc, Unit: "bytes"}} {
			table := profile.Samples{Type: typ}
			for range rapid.IntRange(0, 5).Draw(t, "samples") {
				st := profile.NoStack
				for range rapid.IntRange(0, 4).Draw(t, "depth") {
					m := rapid.SampledFrom(mods).Draw(t, "module")
					fn := profile.Function{Name: rapid.SampledFrom(names).Draw(t, "name"), File: rapid.SampledFrom([]string{"", "f.c"}).Draw(t, "file"),
						Kind: profile.Kind(rapid.IntRange(0, 5).Draw(t, "kind"))}
					if m != 0 {
						fn.Module = "shop"
					}
					fr := profile.Frame{Function: s.Function(fn), Module: m, Line: int32(rapid.IntRange(0, 2).Draw(t, "line")),
						Address: uint64(rapid.IntRange(0, 1).Draw(t, "address")),
						Type:    profile.FrameType(rapid.IntRange(0, profile.FrameTypes-1).Draw(t, "type"))}
					st = s.Stack(st, s.Frame(fr))
					if fr.InlineDepth++; rapid.Bool().Draw(t, "inlined") {
						fr.Type = profile.FrameInlined
						st = s.Stack(st, s.Frame(fr))
					}
				}
				if st == profile.NoStack {
					st = s.Lost()
				}
				table.Add(st, rapid.Int64Range(-5, 5).Draw(t, "value"))
				table.Thread = append(table.Thread, profile.ThreadID(rapid.IntRange(0, 3).Draw(t, "thread")))
				table.Labels = append(table.Labels, profile.LabelsID(rapid.IntRange(0, 3).Draw(t, "labels")))
				table.Time = append(table.Time, int64(len(table.Time)))
			}
			p.Tables = append(p.Tables, table)
		}
		var out bytes.Buffer
		if err := Encode(&out, p, -1); err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		if err := EncodeJSON(&text, p, -1); err != nil {
			t.Fatal(err)
		}
		again, err := decode(out.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if fromText, err := decode(text.Bytes()); err != nil || !cmp.Equal(rows(again), rows(fromText)) {
			t.Fatalf("as JSON: %v", err)
		}
		for i := range p.Tables {
			j, err := again.Table(p.Tables[i].Type.Name)
			if err != nil {
				t.Fatal(err)
			}
			if p.Hash(i) != again.Hash(j) {
				t.Fatalf("table %d changes:\n%s", i, cmp.Diff(rows(p), rows(again)))
			}
		}
	})
}

func TestEncode(t *testing.T) {
	p := proftest.Columns("×3  ×4\nA   A\nB")
	p.Tables[0].Type = profile.ValueType{Name: profile.CPU, Unit: "milliseconds", Scale: 1}
	again := mustDecode(t, encode(t, p, 0))
	if got := again.Tables[0]; got.Type.Key() != "cpu/microseconds" || got.Total() != 700 {
		t.Errorf("%s %d", got.Type.Key(), got.Total())
	}
	for _, table := range []int{-2, 1} {
		if err := Encode(io.Discard, p, table); err == nil {
			t.Errorf("table %d is written", table)
		}
	}
	broken := errors.New("disk full")
	for _, encode := range []func(io.Writer, *profile.Profile, int) error{Encode, EncodeJSON} {
		if err := encode(failing{broken}, p, 0); !errors.Is(err, broken) {
			t.Error(err)
		}
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestLooksJSON(t *testing.T) {
	for text, want := range map[string]bool{
		"{}": true, " \n{ \"resourceProfiles\" : []}": true, `{"a":1}`: true,
		"\n{\x12\x00": false, "\n{\n\"\x0a\x20\x0a\x0c": false, "": false, "{": false, "[{}]": false,
	} {
		if got := looksJSON([]byte(text)); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
