package pprof

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/dendroprof/dendro/internal/wire"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

// builder writes messages for tests, right or wrong. Mark remembers the place
// at which an error is expected.
type builder struct {
	b      []byte
	marked int
}

func (m *builder) mark() *builder { m.marked = len(m.b); return m }

func (m *builder) raw(b ...byte) *builder { m.b = append(m.b, b...); return m }

func (m *builder) int(num int, v uint64) *builder {
	m.b = binary.AppendUvarint(binary.AppendUvarint(m.b, uint64(num)<<3), v)
	return m
}

func (m *builder) bytes(num int, data []byte) *builder {
	m.b = binary.AppendUvarint(m.b, uint64(num)<<3|wire.Bytes)
	m.b = append(binary.AppendUvarint(m.b, uint64(len(data))), data...)
	return m
}

func (m *builder) packed(num int, vs ...uint64) *builder {
	var data []byte
	for _, v := range vs {
		data = binary.AppendUvarint(data, v)
	}
	return m.bytes(num, data)
}

func (m *builder) strings(texts ...string) *builder {
	for _, t := range texts {
		m.bytes(fieldString, []byte(t))
	}
	return m
}

// ints is a message of integer fields 1, 2, 3, ….
func ints(vs ...uint64) []byte {
	var m builder
	for i, v := range vs {
		m.int(i+1, v)
	}
	return m.b
}

func sub(build func(m *builder)) []byte {
	var m builder
	build(&m)
	return m.b
}

// small is a right profile of one function, to which tests add what is wrong:
// type samples/count, function main (1) in location 1.
func small() *builder {
	return new(builder).
		bytes(fieldSampleType, ints(1, 2)).
		strings("", "samples", "count", "main", "main.go").
		bytes(fieldFunction, ints(1, 3, 3, 4, 10)).
		bytes(fieldLocation, sub(func(m *builder) { m.int(1, 1).bytes(4, ints(1, 12)) }))
}

// TestUnknown reads samples in locations, and lines of functions, that do not exist.
func TestUnknown(t *testing.T) {
	for name, msg := range map[string]*builder{
		"function": small().bytes(fieldLocation, sub(func(m *builder) { m.int(1, 2).bytes(4, ints(7)) })).bytes(fieldSample,
			sub(func(m *builder) { m.packed(1, 2, 1).int(2, 5) })),
		"line without function": small().bytes(fieldLocation, sub(func(m *builder) { m.int(1, 2).bytes(4, nil) })).bytes(fieldSample,
			sub(func(m *builder) { m.packed(1, 2, 1).int(2, 5) })),
		"location":        small().bytes(fieldSample, sub(func(m *builder) { m.packed(1, 7, 1).int(2, 5) })),
		"single location": small().bytes(fieldSample, sub(func(m *builder) { m.int(1, 7).int(1, 1).int(2, 5) })),
		"location id 0":   small().bytes(fieldSample, sub(func(m *builder) { m.packed(1, 0, 1).int(2, 5) })),
	} {
		p, err := decode(msg.b)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want := "== cpu-samples count scale 0 default\n5 main:12:0 (main.go:10:0) > [unknown]\nwarning: 1 references to functions and locations that the profile does not have; they count as [unknown]\n"
		if got := readtest.Describe(p); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
	}
}

func TestBadMessages(t *testing.T) {
	sample := func(fields func(m *builder)) []byte { return sub(fields) }
	tests := []struct {
		name  string
		msg   *builder
		error string
	}{
		{"nothing", new(builder), "no sample type"},
		{"no strings", new(builder).bytes(fieldSampleType, nil), "no string table"},
		{"first string", new(builder).bytes(fieldSampleType, nil).raw(fieldString<<3|2, 1).mark().raw('x'), "first string is not empty"},
		{"cut length", small().raw(fieldSample<<3 | 2).mark(), "the file is cut or damaged"},
		{"cut payload", small().raw(fieldSample<<3|2).mark().raw(10, 0), "10 bytes announced, 1 left"},
		{"huge length", small().raw(fieldSample<<3|2).mark().raw(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f), "bytes announced"},
		{"huge length of a string", small().raw(fieldString<<3|2).mark().raw(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01),
			"bytes announced"},
		{"long integer", small().raw(fieldTime<<3).mark().raw(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01),
			"longer than 64 bits"},
		{"large integer", small().raw(fieldTime<<3).mark().raw(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02),
			"longer than 64 bits"},
		{"group", small().mark().raw(fieldTime<<3 | 3), "field 9 has wire type 3"},
		{"field 0", small().mark().raw(0, 0), "field number 0"},
		{"wrong wire type", small().mark().bytes(fieldTime, nil), "field 9 has wire type 2"},
		{"sample as integer", small().mark().int(fieldSample, 1), "field 2 has wire type 0"},
		{"fixed sample", small().mark().raw(fieldSample<<3|1, 0, 0, 0, 0, 0, 0, 0, 0), "field 2 has wire type 1"},
		{"second time", small().int(fieldTime, 1).mark().int(fieldTime, 1), "several profiles in one file"},
		{"function 0", small().mark().bytes(fieldFunction, ints(0, 3)), "a function with id 0"},
		{"location 0", small().mark().bytes(fieldLocation, ints(0)), "a location with id 0"},
		{"mapping 0", small().mark().bytes(fieldMapping, ints(0)), "a mapping with id 0"},
		{"second function", small().mark().bytes(fieldFunction, ints(1, 3)), "a second function with id 1"},
		{"second location", small().mark().bytes(fieldLocation, ints(1)), "a second location with id 1"},
		{"second far location", small().bytes(fieldLocation, ints(1<<60)).mark().bytes(fieldLocation, ints(1<<60)),
			"a second location with id 1152921504606846976"},
		{"no values", small().mark().bytes(fieldSample, sample(func(m *builder) { m.int(1, 1) })), "0 values for 1 types"},
		{"two values", small().mark().bytes(fieldSample, sample(func(m *builder) { m.int(1, 1).packed(2, 3, 4) })), "2 values for 1 types"},
		{"cut in packed", small().raw(fieldSample<<3|2, 5, 0x0a, 1).mark().raw(0x81, 0x10, 1), "announced"},
		{"overflow", small().bytes(fieldSample, sample(func(m *builder) { m.int(1, 1).int(2, math.MaxInt64) })).
			mark().bytes(fieldSample, sample(func(m *builder) { m.int(1, 1).int(2, 1) })), "exceeds 63 bits"},
		{"smallest", small().mark().bytes(fieldSample, sample(func(m *builder) { m.int(1, 1).int(2, 1<<63) })), "exceeds 63 bits"},
		{"function name", small().mark().bytes(fieldFunction, ints(2, 77)), "string 77 of 5"},
		{"negative string", small().mark().int(fieldDropFrames, math.MaxUint64), "string -1 of 5"},
		{"type name", new(builder).mark().bytes(fieldSampleType, ints(9, 0)).strings(""), "string 9 of 1"},
		{"mapping file", small().mark().bytes(fieldMapping, ints(1, 0, 0, 0, 9)), "string 9 of 5"},
		{"label key", small().raw(fieldSample<<3|2, 8, 8, 1, 0x10, 1).mark().bytes(3, ints(8)), "string 8 of 5"},
		{"comment", small().raw(fieldComment<<3|2, 2, 1).mark().raw(9), "string 9 of 5"},
		{"label of bytes", small().raw(fieldSample<<3|2, 8, 8, 1, 0x10, 1).mark().bytes(3, sub(func(m *builder) { m.bytes(1, nil) })),
			"damaged label"},
		{"line as integer", small().raw(fieldLocation<<3|2, 4, 8, 2).mark().int(4, 1), "field 4 has wire type 0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := decode(tt.msg.b)
			pe, ok := err.(*profile.ParseError)
			if !ok || !errors.Is(err, profile.ErrMalformed) || !strings.Contains(err.Error(), tt.error) {
				t.Fatalf("error %v, want %q", err, tt.error)
			}
			if pe.Offset != int64(tt.msg.marked) {
				t.Errorf("%v, want it at byte %d", err, tt.msg.marked)
			}
		})
	}
}

// TestUnusual reads what is right and rarely seen.
func TestUnusual(t *testing.T) {
	m := new(builder).
		bytes(fieldSample, sub(func(m *builder) { // before everything it refers to
			m.raw(99<<3&0x7f|0x80|5, 6, 1, 2, 3, 4) // field 99, 4 bytes
			m.int(1, 1<<40).packed(1, 7, 1<<40).int(1, 7)
			m.bytes(3, ints(1, 2)).int(2, 3).bytes(3, ints(1, 0, 5, 3)) // labels apart
			m.int(2, math.MaxUint64)
		})).
		bytes(fieldSample, sub(func(m *builder) { m.packed(2, 0, 5) })). // no stack
		bytes(fieldSample, sub(func(m *builder) { m.packed(1, 7).packed(2).packed(2, 4, 0) })).
		bytes(fieldLocation, sub(func(m *builder) { m.int(3, 0x1234).int(1, 7).int(2, 66) })). // no lines, no such mapping
		bytes(fieldLocation, sub(func(m *builder) { m.bytes(4, ints(3, math.MaxUint64)).int(1, 1<<40).bytes(4, ints(3, 9, 2)) })).
		bytes(fieldFunction, sub(func(m *builder) { m.int(5, 1<<33).int(1, 3).int(2, 4) })).
		strings("", "key", "text", "bytes", "na\xffme", "hits", "space", "https://example.com/", "a comment").
		bytes(fieldSampleType, ints(5, 3)).bytes(fieldSampleType, ints(6, 3)).
		packed(fieldComment, 8, 8).int(fieldDocURL, 7).int(fieldDefaultType, 5).
		int(200, 1).raw(100<<3&0x7f|0x80|1, 6, 1, 2, 3, 4, 5, 6, 7, 8) // fields 200 and 100
	p := mustDecode(t, m.b)
	if got := rowsOf(p, 0); len(got) != 2 || got[1] !=
		`0x1234 ::0:0:0 0x1234+0  ; na�me ::0:9:2 0x0+0  ; na�me ::0:0:0 0x0+1  ; 0x1234 ::0:0:0 0x1234+0  ; `+
			`na�me ::0:9:2 0x0+0  ; na�me ::0:0:0 0x0+1   | ["key=/5bytes" "key=text/0"] | 3` {
		t.Errorf("table 0: %q", got)
	}
	if got := p.Tables[1]; got.Len() != 2 || got.Value[0] != -1 || got.Value[1] != 5 || got.Stack[1] != p.Symbols.Lost() || got.Total() != 4 {
		t.Errorf("table 1: %v", got)
	}
	if p.Default != 0 || strings.Join(p.Comments, "|") != "a comment|a comment|doc_url: https://example.com/" {
		t.Errorf("default %d, comments %q", p.Default, p.Comments)
	}
	if len(p.Warnings) != 2 {
		t.Errorf("warnings %q", p.Warnings)
	}
	var out bytes.Buffer
	if err := Encode(&out, p, -1); err != nil {
		t.Fatal(err)
	}
	again := mustDecode(t, out.Bytes())
	readtest.Same(t, p, again)
}

func TestLimits(t *testing.T) {
	deep := small()
	ids := make([]uint64, 100)
	for i := range ids {
		ids[i] = 1
	}
	deep.bytes(fieldSample, sub(func(m *builder) { m.packed(1, ids...).int(2, 1) }))
	inlined := small().bytes(fieldLocation, sub(func(m *builder) {
		m.int(1, 2)
		for range 100 {
			m.bytes(4, ints(1))
		}
	})).mark().bytes(fieldSample, sub(func(m *builder) { m.int(1, 2).int(2, 1) }))
	for _, tt := range []struct {
		msg    []byte
		limits profile.Limits
		error  string
	}{
		{deep.b, profile.Limits{Depth: 100}, ""},
		{deep.b, profile.Limits{Depth: 99}, "stack deeper than 99: too large (raise it with --max-depth)"},
		{inlined.b, profile.Limits{Depth: 100}, ""},
		{inlined.b, profile.Limits{Depth: 99}, "stack deeper than 99: too large (raise it with --max-depth)"},
		{deep.b, profile.Limits{Message: int64(len(deep.b))}, ""},
		{deep.b, profile.Limits{Message: int64(len(deep.b) - 1)}, "too large (raise it with --max-message)"},
	} {
		for _, r := range []io.Reader{bytes.NewReader(tt.msg), iotest.OneByteReader(bytes.NewReader(tt.msg)),
			iotest.DataErrReader(bytes.NewReader(tt.msg))} {
			_, err := NewDecoder().Decode(r, nil, tt.limits)
			switch {
			case tt.error == "" && err != nil:
				t.Errorf("%+v: %v", tt.limits, err)
			case tt.error != "" && (!errors.Is(err, profile.ErrTooLarge) || !strings.HasSuffix(err.Error(), tt.error)):
				t.Errorf("%+v: error %v, want %s", tt.limits, err, tt.error)
			}
		}
	}
	broken := errors.New("disk on fire")
	_, err := NewDecoder().Decode(io.MultiReader(bytes.NewReader(deep.b), iotest.ErrReader(broken)), nil, profile.Limits{})
	if pe, ok := err.(*profile.ParseError); !ok || !errors.Is(err, broken) || pe.Offset != int64(len(deep.b)) {
		t.Errorf("error %v, want the reader's", err)
	}
}

func TestThreads(t *testing.T) {
	texts := []string{"", "samples", "count", "main", "main.go", "thread", "worker", "thread_id", "7", "process", "shop", "tid",
		"thread name", "other", "endpoint", "/cart"}
	label := func(key, text string) []byte {
		at := func(s string) uint64 {
			for i, t := range texts {
				if t == s {
					return uint64(i)
				}
			}
			panic(s)
		}
		return ints(at(key), at(text))
	}
	m := new(builder).bytes(fieldSampleType, ints(1, 2)).strings(texts...).bytes(fieldLocation, ints(1))
	add := func(labels ...[]byte) {
		m.bytes(fieldSample, sub(func(m *builder) {
			m.int(1, 1).int(2, 1)
			for _, l := range labels {
				m.bytes(3, l)
			}
		}))
	}
	add(label("thread", "worker"), label("endpoint", "/cart"), label("thread_id", "7"), label("process", "shop"))
	add(label("thread name", "other"), ints(11, 0, 12)) // tid 12
	add(label("endpoint", "/cart"))
	add(label("thread", "worker"), label("thread", "other"), label("thread name", "other"))
	p := mustDecode(t, m.b)
	s := &p.Tables[0]
	want := []struct {
		thread profile.Thread
		labels int
	}{
		{profile.Thread{Name: "worker", ID: "7", Process: "shop"}, 1},
		{profile.Thread{Name: "other", ID: "12"}, 2},
		{profile.Thread{}, 1},
		{profile.Thread{Name: "worker"}, 2},
	}
	for i, w := range want {
		if got := p.Threads[s.Thread[i]]; got != w.thread {
			t.Errorf("sample %d: thread %+v, want %+v", i, got, w.thread)
		}
		if got := p.LabelSets[s.Labels[i]]; len(got) != w.labels {
			t.Errorf("sample %d: labels %v, want %d", i, got, w.labels)
		}
	}
	if s.Labels[0] != s.Labels[2] {
		t.Error("equal labels of two threads are two sets")
	}
	var out bytes.Buffer
	if err := Encode(&out, p, 0); err != nil {
		t.Fatal(err)
	}
	if again := mustDecode(t, out.Bytes()); again.Hash(0) != p.Hash(0) {
		t.Error("threads change when they are written and read")
	}
}

func TestModules(t *testing.T) {
	m := new(builder).bytes(fieldSampleType, ints(1, 2)).strings("", "samples", "count", "/usr/lib/libc.so.6", "id", "libjvm.so",
		"[kernel.kallsyms]", `C:\x\app.dll`, "converter", "f").
		bytes(fieldMapping, ints(1, 0x1000, 0x2000, 0, 3, 4)).
		bytes(fieldMapping, ints(2, 0, 0, 0, 5, 0, 1)).
		bytes(fieldMapping, ints(3, 0xffff0000, 0xffffffff, 0, 6)).
		bytes(fieldMapping, ints(4, 0, 0, 0, 7)).
		bytes(fieldMapping, ints(5, 0, math.MaxInt64, 0, 8)).
		bytes(fieldFunction, ints(1, 9))
	for id := range uint64(5) {
		m.bytes(fieldLocation, sub(func(m *builder) { m.int(1, id+1).int(2, id+1).int(3, 0x1100).bytes(4, ints(1)) }))
		m.bytes(fieldSample, sub(func(m *builder) { m.int(1, id+1).int(2, id+1) }))
	}
	p := mustDecode(t, m.b)
	want := []struct {
		module, path string
		kind         profile.Kind
		typ          profile.FrameType
	}{
		{"libc.so.6", "/usr/lib/libc.so.6", profile.KindNative, 0},
		{"libjvm.so", "", profile.KindNative, 0},
		{"[kernel.kallsyms]", "[kernel.kallsyms]", profile.KindKernel, profile.FrameKernel},
		{"app.dll", `C:\x\app.dll`, profile.KindNative, 0},
		{"", "converter", profile.KindUnknown, 0},
	}
	for i, st := range p.Tables[0].Stack {
		fr := p.Symbols.Frames[p.Symbols.Leaf(st)]
		fn := p.Symbols.Functions[fr.Function]
		if path := p.Symbols.Modules[fr.Module].Path; fn.Module != want[i].module || path != want[i].path || fn.Kind != want[i].kind ||
			fr.Type != want[i].typ {
			t.Errorf("sample %d: %+v %+v in %q, want %+v", i, fn, fr, path, want[i])
		}
	}
}

func TestValueTypes(t *testing.T) {
	for _, tt := range []struct{ file, want string }{
		{"samples/count cpu/nanoseconds 10:cpu/nanoseconds", "cpu-samples/count@10nanoseconds cpu/nanoseconds@10nanoseconds"},
		{"alloc_objects/count alloc_space/bytes inuse_objects/count inuse_space/bytes 512:space/bytes", "alloc-samples/count alloc/bytes@512bytes live-samples/count live/bytes@512bytes"},
		{"contentions/count delay/nanoseconds 1:contentions/count", "lock-samples/count@1count lock/nanoseconds"},
		{"goroutine/count 1:goroutine/count", "goroutines/count@1count"},
		{"sample/count wall/nanoseconds 10:wall/nanoseconds", "wall-samples/count@10nanoseconds wall/nanoseconds@10nanoseconds"},
		{"samples/count 10:wall/milliseconds", "wall-samples/count@10milliseconds"},
		{"cpu/count samples/count 0:/", "cpu-samples/count samples/count"},
		{"cpu/percent objects/count space/bytes 0:/", "cpu/percent objects/count space/bytes"},
		{"hits/count 10:cpu/nanoseconds", "hits/count"},
	} {
		m := new(builder)
		texts := []string{""}
		typ := func(s string) []byte {
			name, unit, _ := strings.Cut(s, "/")
			texts = append(texts, name, unit)
			return ints(uint64(len(texts)-2), uint64(len(texts)-1))
		}
		for _, word := range strings.Fields(tt.file) {
			if period, name, ok := strings.Cut(word, ":"); ok {
				m.bytes(fieldPeriodType, typ(name))
				var v uint64
				for _, c := range period {
					v = v*10 + uint64(c-'0')
				}
				m.int(fieldPeriod, v)
			} else {
				m.bytes(fieldSampleType, typ(word))
			}
		}
		p := mustDecode(t, m.strings(texts...).b)
		var keys []string
		for i := range p.Tables {
			keys = append(keys, p.Tables[i].Type.Key())
		}
		if got := strings.Join(keys, " "); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.file, got, tt.want)
		}
		if lost := tt.file[:4] == "hits"; lost != (len(p.Warnings) == 1) {
			t.Errorf("%s: warnings %q", tt.file, p.Warnings)
		}
		var out bytes.Buffer
		if err := Encode(&out, p, -1); err != nil {
			t.Fatal(err)
		}
		again := mustDecode(t, out.Bytes())
		for i := range p.Tables {
			if a, b := p.Tables[i].Type, again.Tables[i].Type; a != b {
				t.Errorf("%s: %+v becomes %+v", tt.file, a, b)
			}
		}
	}
}
