package skywalking

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"pgregory.net/rapid"
	agentv3 "skywalking.apache.org/repo/goapi/collect/language/agent/v3"
	profilev3 "skywalking.apache.org/repo/goapi/collect/language/profile/v3"

	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/traceprof"
)

// read reads a snapshot in place and copies it into the protocol's own type.
func read(msg []byte) (*profilev3.ThreadSnapshot, error) {
	var s traceprof.Snapshot
	if err := readSnapshot(msg, &s); err != nil {
		return nil, err
	}
	m := &profilev3.ThreadSnapshot{TaskId: string(s.Task), TraceSegmentId: string(s.Segment), Time: s.Time, Sequence: s.Sequence}
	if s.Stack != nil {
		m.Stack = new(profilev3.ThreadStack)
		if err := readFrames(s.Stack, func(signature []byte) bool {
			m.Stack.CodeSignatures = append(m.Stack.CodeSignatures, string(signature))
			return true
		}); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// TestSnapshotsAreReadAsTheProtocolSays compares with the generated decoder.
func TestSnapshotsAreReadAsTheProtocolSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := &profilev3.ThreadSnapshot{
			TaskId: rapid.StringN(0, 50, 300).Draw(t, "task"), TraceSegmentId: rapid.StringN(0, 50, 300).Draw(t, "segment"),
			Time: rapid.Int64().Draw(t, "time"), Sequence: rapid.Int32().Draw(t, "sequence"),
		}
		if rapid.Bool().Draw(t, "stack") {
			want.Stack = &profilev3.ThreadStack{CodeSignatures: rapid.SliceOf(rapid.String()).Draw(t, "frames")}
		}
		msg, err := proto.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		msg = append(msg, rapid.SampledFrom([]string{"", "\xf8\x01\x05", "\x9a\x06\x02ab"}).Draw(t, "unknown")...)
		got, err := read(msg)
		if err != nil || !proto.Equal(got, want) {
			t.Fatalf("%v, %v, want %v", got, err, want)
		}
	})
}

// FuzzSnapshot: what the generated decoder takes is read the same, but for stacks
// in parts; what it refuses for its text is repaired.
func FuzzSnapshot(f *testing.F) {
	f.Add([]byte("\x0a\x01t\x12\x01s\x18\x05\x20\x01\x2a\x04\x0a\x02ab"))
	f.Add([]byte("\x0a\x01\xff\x2a\x03\x0a\x01\xfe"))
	f.Fuzz(func(t *testing.T, msg []byte) {
		got, err := read(msg)
		if err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Fatalf("%v", err)
			}
			return
		}
		for _, text := range append([]string{got.GetTaskId(), got.GetTraceSegmentId()}, got.GetStack().GetCodeSignatures()...) {
			if !utf8.ValidString(text) {
				t.Fatalf("%q", text)
			}
		}
		want := new(profilev3.ThreadSnapshot)
		if proto.Unmarshal(msg, want) != nil || bytes.Count(msg, []byte{5<<3 | 2}) > 1 {
			return
		}
		want.ProtoReflect().SetUnknown(nil)
		if want.Stack != nil {
			want.Stack.ProtoReflect().SetUnknown(nil)
		}
		if !proto.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
	})
}

// TestDeepStacks: a stack of more frames than any thread has is refused, before it
// costs memory for each.
func TestDeepStacks(t *testing.T) {
	for _, tt := range []struct {
		frames int
		want   error
	}{{maxFrames, nil}, {maxFrames + 1, ErrMalformed}} {
		n := 0
		err := readFrames(bytes.Repeat([]byte("\x0a\x01f"), tt.frames), func([]byte) bool { n++; return true })
		if !errors.Is(err, tt.want) || n > maxFrames {
			t.Errorf("%d frames: %d read, %v", tt.frames, n, err)
		}
	}
}

// TestManyEntries: a message of more parts than any agent sends is refused, before it costs memory
// for each.
func TestManyEntries(t *testing.T) {
	spans := func(n int) []byte { return bytes.Repeat([]byte("\x1a\x00"), n) }
	inner := bytes.Repeat([]byte("\x62\x00"), maxEntries/4) // tags of one span
	nested := bytes.Repeat(append(binary.AppendUvarint([]byte{0x1a}, uint64(len(inner))), inner...), 5)
	for name, tt := range map[string]struct {
		msg  []byte
		want error
	}{
		"most": {spans(maxEntries), nil}, "more": {spans(maxEntries + 1), errEntries}, "nested": {nested, errEntries},
		"behind a group": {append([]byte("\xa3\x06\xa4\x06"), spans(maxEntries+1)...), ErrMalformed},
	} {
		if _, err := decode(tt.msg, new(agentv3.SegmentObject)); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	text := []byte(`{"traceId":"{{\"{","spans":[` + strings.Repeat("{},", maxEntries-2) + `{}]}`)
	for _, want := range []error{nil, errEntries} {
		if err := fromJSON(text, new(agentv3.SegmentObject), func([]byte) error { return nil }); !errors.Is(err, want) {
			t.Errorf("JSON: %v, want %v", err, want)
		}
		text = bytes.Replace(text, []byte("["), []byte("[{},"), 1)
	}
}

// FuzzSegment: a segment is refused or becomes columns that can be stored, and its
// raw form is a message that everybody can read.
func FuzzSegment(f *testing.F) {
	good, err := proto.Marshal(&agentv3.SegmentObject{TraceId: "t", TraceSegmentId: "s", Service: "shop", ServiceInstance: "i",
		Spans: []*agentv3.SpanObject{{OperationName: "/buy", StartTime: 1, EndTime: 2}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(strings.ReplaceAll(string(good), "/buy", "\xff\xfe\xfd\xfc")))
	f.Fuzz(func(t *testing.T, msg []byte) {
		m := new(agentv3.SegmentObject)
		raw, err := decode(msg, m)
		if err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Fatal(err)
			}
			return
		}
		s, some, err := segmentOf(m, raw)
		if err != nil || !some {
			return
		}
		for _, text := range []string{s.ID, s.Trace, s.Service, s.Instance, s.Endpoint, s.Operation} {
			if !utf8.ValidString(text) || utf8.RuneCountInString(text) > maxID {
				t.Fatalf("%q", text)
			}
		}
		if _, err := ReadSegment(s.Raw); err != nil {
			t.Fatalf("the raw form: %v", err)
		}
	})
}

// TestMend: mending changes nothing but text that is no UTF-8.
func TestMend(t *testing.T) {
	desc := new(agentv3.SegmentObject).ProtoReflect().Descriptor()
	rapid.Check(t, func(t *rapid.T) {
		bytesOf := func(label string) string { return string(rapid.SliceOfN(rapid.Byte(), 0, 8).Draw(t, label)) }
		texts := []string{bytesOf("trace"), bytesOf("operation"), bytesOf("tag")}
		m := &agentv3.SegmentObject{TraceId: "@0@", TraceSegmentId: "s", IsSizeLimited: true,
			Spans: []*agentv3.SpanObject{{SpanId: -1, OperationName: "@1@", Peer: "@2@", StartTime: 5}}}
		spoil := func(values func(string) string) *agentv3.SegmentObject {
			c := proto.Clone(m).(*agentv3.SegmentObject)
			c.TraceId, c.Spans[0].OperationName, c.Spans[0].Peer = values(texts[0]), values(texts[1]), values(texts[2])
			return c
		}
		broken := encode(spoil(func(s string) string { return s }))
		repaired, ok := repair(nil, broken, desc, 0)
		if !ok {
			t.Fatal("not a message")
		}
		got, want := new(agentv3.SegmentObject), spoil(func(s string) string { return strings.ToValidUTF8(s, "\uFFFD") })
		if err := proto.Unmarshal(repaired, got); err != nil || !proto.Equal(got, want) {
			t.Fatalf("%v, %v, want %v", err, got, want)
		}
		if _, ok := repair(nil, broken[:len(broken)-1], desc, 0); ok {
			t.Fatal("a cut message was repaired")
		}
	})
}

// encode writes a segment with text of any bytes, which the generated encoder
// refuses: with place holders of the same length first.
func encode(m *agentv3.SegmentObject) []byte {
	c := proto.Clone(m).(*agentv3.SegmentObject)
	hold := func(s string, c byte) string { return strings.Repeat(string(c), len(s)) }
	c.TraceId, c.Spans[0].OperationName, c.Spans[0].Peer = hold(m.TraceId, 'X'), hold(m.Spans[0].OperationName, 'Y'),
		hold(m.Spans[0].Peer, 'Z')
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(c)
	if err != nil {
		panic(err)
	}
	for _, pair := range [][2]string{{c.TraceId, m.TraceId}, {c.Spans[0].OperationName, m.Spans[0].OperationName},
		{c.Spans[0].Peer, m.Spans[0].Peer}} {
		if pair[0] != "" {
			at := bytes.LastIndex(b, []byte(pair[0]))
			copy(b[at:], pair[1])
		}
	}
	return b
}

// TestEveryMessageCanBeRepaired: no message of the protocol nests deeper than maxNesting.
func TestEveryMessageCanBeRepaired(t *testing.T) {
	var depth func(d protoreflect.MessageDescriptor, level int) int
	depth = func(d protoreflect.MessageDescriptor, level int) int {
		deepest := level
		for i := range d.Fields().Len() {
			if f := d.Fields().Get(i); f.Kind() == protoreflect.MessageKind {
				deepest = max(deepest, depth(f.Message(), level+1))
			}
		}
		return deepest
	}
	if got := depth(new(agentv3.SegmentCollection).ProtoReflect().Descriptor(), 0); got > maxNesting {
		t.Errorf("messages nest %d deep", got)
	}
}

// TestKnownSnapshotsCostNothing: a snapshot whose stack is known is taken in
// without allocating, but for the columns of the batch, which grow.
func TestKnownSnapshotsCostNothing(t *testing.T) {
	in := traceprof.NewIntake(mem.New(), traceprof.IntakeOptions{})
	defer in.Close(context.Background())
	s := New(Options{Intake: in}).NewSession(true)
	msg, err := proto.Marshal(&profilev3.ThreadSnapshot{TaskId: "1700000000000_c2hvcA==.1", TraceSegmentId: "segment", Time: 1, Sequence: 1,
		Stack: &profilev3.ThreadStack{CodeSignatures: strings.Split(strings.Repeat("org.example.Shop.buy:17 ", 60), " ")}})
	if err != nil {
		t.Fatal(err)
	}
	if got := testing.AllocsPerRun(2000, func() {
		if err := s.Snapshot(t.Context(), msg); err != nil {
			t.Fatal(err)
		}
	}); got > 0 {
		t.Errorf("%v allocations a snapshot", got)
	}
}

// FuzzJSON: a body is refused as malformed or handed on as messages.
func FuzzJSON(f *testing.F) {
	f.Add([]byte(`[{"traceId":"t","spans":[{"startTime":"5","unknown":[]}]},{}]`))
	f.Add([]byte(`[{"traceId":"\ud800"}`))
	f.Add([]byte(`9E999`))
	f.Fuzz(func(t *testing.T, body []byte) {
		check := func(msg []byte) error {
			_, err := decode(msg, new(agentv3.SegmentObject))
			return err
		}
		segment := func() proto.Message { return new(agentv3.SegmentObject) }
		for _, err := range []error{many(bytes.NewReader(body), segment(), check), one(bytes.NewReader(body), segment(), check)} {
			if err != nil && !errors.Is(err, ErrMalformed) {
				t.Fatal(err)
			}
		}
	})
}

// FuzzGoProfile: whatever is sent as a profile is refused or becomes columns that
// fit together.
func FuzzGoProfile(f *testing.F) {
	f.Add([]byte("\x1f\x8b"), "s")
	f.Fuzz(func(t *testing.T, data []byte, task string) {
		in := traceprof.NewIntake(mem.New(), traceprof.IntakeOptions{})
		defer in.Close(context.Background())
		err := New(Options{Intake: in}).NewSession(true).GoProfile(t.Context(), task, data)
		if err != nil && !errors.Is(err, ErrMalformed) {
			t.Fatal(err)
		}
	})
}
