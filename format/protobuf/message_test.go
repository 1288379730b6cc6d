package protobuf_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	"pgregory.net/rapid"

	"github.com/dendroprof/dendro/format/protobuf"
	"github.com/dendroprof/dendro/internal/wire"
	"github.com/dendroprof/dendro/profile"
)

// all has a field of every type; its .proto file is in descriptor.
type all struct {
	head
	I32    int32    `pb:"2 i32"`
	U32    uint32   `pb:"3 u32"`
	I64    []int64  `pb:"4 many_int64s"`
	U64    uint64   `pb:"5 u64"`
	Fixed  []uint64 `pb:"6 fixed fixed"`
	Bools  []bool   `pb:"7 bools"`
	Double float64  `pb:"8 double"`
	Data   []byte   `pb:"9 data"`
	Parts  []part   `pb:"10 parts"`
	Part   *part    `pb:"11 part"`
	Mood   mood     `pb:"12 mood"`
	Floats []float64
	_      int                    // not of the message
	Later  protobuf.Encoded[part] `pb:"13 later"`
	Inline part                   `pb:"14 inline"`
	Texts  []string               `pb:"15 texts"`
}

type head struct {
	Text string `pb:"1 text"`
}

type part struct {
	Name string  `pb:"1 name"`
	IDs  []int32 `pb:"2 ids"`
}

type mood int32

func (mood) Names() []string { return []string{"GOOD", "BAD"} }

var allType = protobuf.Of[all]()

func decode(t rapid.TB, msg []byte) all {
	t.Helper()
	var v all
	if err := allType.Decode(new(protobuf.Decoder), &v, msg); err != nil {
		t.Fatalf("%x: %v", msg, err)
	}
	return v
}

// descriptor describes all for the reference implementation.
func descriptor(t testing.TB) func() *dynamicpb.Message {
	t.Helper()
	file := &descriptorpb.FileDescriptorProto{Name: proto.String("all.proto"), Syntax: proto.String("proto3"),
		EnumType: []*descriptorpb.EnumDescriptorProto{{Name: proto.String("Mood"), Value: []*descriptorpb.EnumValueDescriptorProto{
			{Name: proto.String("GOOD"), Number: proto.Int32(0)}, {Name: proto.String("BAD"), Number: proto.Int32(1)}}}}}
	message := func(name, fields string) {
		m := &descriptorpb.DescriptorProto{Name: proto.String(name)}
		for i, text := range strings.Fields(fields) {
			kind, name, _ := strings.Cut(text, ":")
			f := &descriptorpb.FieldDescriptorProto{Name: proto.String(name), Number: proto.Int32(int32(i + 1)),
				Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()}
			if many, ok := strings.CutPrefix(kind, "*"); ok {
				kind, f.Label = many, descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
			}
			switch kind {
			case "Part", "Mood":
				f.TypeName = proto.String("." + kind)
				if f.Type = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum(); kind == "Mood" {
					f.Type = descriptorpb.FieldDescriptorProto_TYPE_ENUM.Enum()
				}
			default:
				f.Type = descriptorpb.FieldDescriptorProto_Type(descriptorpb.FieldDescriptorProto_Type_value["TYPE_"+kind]).Enum()
			}
			m.Field = append(m.Field, f)
		}
		file.MessageType = append(file.MessageType, m)
	}
	message("All", `STRING:text INT32:i32 UINT32:u32 *INT64:many_int64s UINT64:u64 *FIXED64:fixed *BOOL:bools DOUBLE:double BYTES:data
		*Part:parts Part:part Mood:mood Part:later Part:inline *STRING:texts`)
	message("Part", "STRING:name *INT32:ids")
	d, err := protodesc.NewFile(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	return func() *dynamicpb.Message { return dynamicpb.NewMessage(d.Messages().ByName("All")) }
}

// anyAll draws a message.
func anyAll(t *rapid.T) all {
	text := rapid.SampledFrom([]string{"", "x", "a\n\"\\\x01é\x00", strings.Repeat("long", 60)})
	anyPart := rapid.Custom(func(t *rapid.T) part {
		return part{text.Draw(t, "name"), list(t, rapid.Int32())}
	})
	v := all{
		head: head{text.Draw(t, "text")}, I32: rapid.Int32().Draw(t, "i32"), U32: rapid.Uint32().Draw(t, "u32"), I64: list(t, rapid.Int64()),
		U64: rapid.Uint64().Draw(t, "u64"), Fixed: list(t, rapid.Uint64()),
		Bools: list(t, rapid.Bool()), Double: rapid.Float64().Draw(t, "double"),
		Data: list(t, rapid.Byte()), Parts: list(t, anyPart), Mood: mood(rapid.IntRange(0, 1).Draw(t, "mood")), Inline: anyPart.Draw(t, "inline"),
		Texts: list(t, text),
	}
	if rapid.Bool().Draw(t, "has part") {
		p := anyPart.Draw(t, "part")
		v.Part, v.Later = &p, protobuf.Encode(&p)
		if v.Later == nil {
			v.Later = protobuf.Encoded[part]{}
		}
	}
	return v
}

func list[T any](t *rapid.T, of *rapid.Generator[T]) []T {
	if l := rapid.SliceOfN(of, 0, 9).Draw(t, "list"); len(l) > 0 {
		return l
	}
	return nil
}

func diff(a, b all) string {
	return cmp.Diff(a, b, cmp.AllowUnexported(all{}, head{}), cmp.Comparer(func(a, b float64) bool {
		return math.Float64bits(a) == math.Float64bits(b)
	}))
}

// TestReference writes and reads messages in both forms, as does the implementation of the
// protocol's authors.
func TestReference(t *testing.T) {
	empty := descriptor(t)
	rapid.Check(t, func(t *rapid.T) {
		v := anyAll(t)
		msg := protobuf.Encode(&v)
		if d := diff(v, decode(t, msg)); d != "" {
			t.Fatal(d)
		}
		theirs := empty()
		if err := proto.Unmarshal(msg, theirs); err != nil {
			t.Fatalf("%x: %v", msg, err)
		}
		same, err := proto.MarshalOptions{Deterministic: true}.Marshal(theirs)
		if err != nil || !proto.Equal(theirs, unmarshal(t, empty(), msg)) {
			t.Fatal(err)
		}
		if d := diff(v, decode(t, same)); d != "" {
			t.Fatalf("as they write it: %s", d)
		}
		text, err := allType.JSON(msg)
		if err != nil {
			t.Fatal(err)
		}
		theirText, err := protojson.Marshal(theirs)
		if err != nil {
			t.Fatal(err)
		}
		var want bytes.Buffer
		if err := json.Compact(&want, theirText); err != nil || want.String() != string(text) {
			t.Fatalf("%s, they write %s (%v)", text, &want, err)
		}
		again, err := allType.FromJSON(text, false)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if d := diff(v, decode(t, again)); d != "" {
			t.Fatalf("%s: %s", text, d)
		}
	})
}

func unmarshal(t *rapid.T, m *dynamicpb.Message, msg []byte) *dynamicpb.Message {
	if err := proto.Unmarshal(msg, m); err != nil {
		t.Fatal(err)
	}
	return m
}

// TestFromJSON reads what clients may write.
func TestFromJSON(t *testing.T) {
	read := func(text string) (v all, err error) {
		msg, err := allType.FromJSON([]byte(text), false)
		if err == nil {
			v = decode(t, msg)
		}
		return v, err
	}
	for text, want := range map[string]all{
		"":   {},
		"{}": {},
		`{"many_int64s": [1, "2", -3], "i32": null, "unknown": [{"text": 1}], "part": null}`: {I64: []int64{1, 2, -3}},
		`{"manyInt64s": null, "mood": "BAD", "double": "NaN", "texts": ["\ud800", "a"]}`:     {Mood: 1, Double: math.NaN(), Texts: []string{"\ufffd", "a"}},
		`{"mood": 7, "data": "-_8", "double": "-Infinity"}`:                                  {Mood: 7, Data: []byte{0xfb, 0xff}, Double: math.Inf(-1)},
		`{"data": "+/8=", "bools": [true, false], "part": {"ids": [], "name": ""}}`:          {Data: []byte{0xfb, 0xff}, Bools: []bool{true, false}, Part: &part{}},
	} {
		got, err := read(text)
		if math.IsNaN(want.Double) {
			want.Double, got.Double = 0, got.Double-got.Double
			if !math.IsNaN(got.Double) {
				t.Errorf("%s: no NaN", text)
			}
			got.Double = 0
		}
		if d := diff(want, got); d != "" || err != nil {
			t.Errorf("%s: %v %s", text, err, d)
		}
	}
	for _, text := range []string{"[]", "{", `{"i32": "x"}`, `{"mood": "UGLY"}`, `{"data": "%"}`, `{"texts": "a"}`, `{"double": []}`, `{} {}`,
		`{"part": 1}`, `{"u64": "99999999999999999999"}`} {
		if _, err := read(text); !errors.Is(err, profile.ErrMalformed) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// once is a oneof.
type once struct {
	Which int               `pb:"which"`
	Text  string            `pb:"1 text"`
	Num   int64             `pb:"2 num"`
	At    protobuf.Position // of the message
	Sub   protobuf.Counted[part]
}

type outer struct {
	Parts protobuf.Counted[part] `pb:"1 parts"`
	Once  []once                 `pb:"2 once"`
	ID    []byte                 `pb:"3 id hex"`
}

func TestOneofCountedPosition(t *testing.T) {
	zero := once{Which: 2}
	both := append(protobuf.Encode(&once{Which: 1, Text: "x"}), protobuf.Encode(&zero)...)
	msg := wire.AppendBytes(nil, 1, "")
	msg = wire.AppendBytes(msg, 2, []byte(both))
	msg = wire.AppendBytes(wire.AppendBytes(msg, 1, ""), 1, "")
	msg = wire.AppendBytes(msg, 3, "\x01\xff")
	var v outer
	if err := protobuf.Of[outer]().Decode(new(protobuf.Decoder), &v, msg); err != nil {
		t.Fatal(err)
	}
	want := outer{3, []once{{Which: 2, Text: "x", At: protobuf.Position{At: 2, Lo: 4, Hi: 9}}}, []byte{1, 255}}
	if d := cmp.Diff(want, v); d != "" {
		t.Error(d)
	}
	const text = `{"parts":[{},{},{}],"once":[{"text":"x","num":"0"}],"id":"01ff"}`
	if got, err := protobuf.Of[outer]().JSON(msg); err != nil || string(got) != text {
		t.Errorf("%s, %v", got, err)
	}
	if again, err := protobuf.Of[outer]().FromJSON([]byte(text), false); err != nil || len(again) == 0 {
		t.Error(err)
	}
	if got := protobuf.Encode(&outer{Once: []once{zero}}); string(got) != "\x12\x02\x10\x00" {
		t.Errorf("%x", got)
	}
}

// TestNotMessages: a struct that is no message is found when the program starts.
func TestNotMessages(t *testing.T) {
	type itself struct {
		More []outer `pb:"16 more"`
	}
	for name, of := range map[string]func(){
		"a number above 15": func() { protobuf.Of[itself]() },
		"no number": func() {
			protobuf.Of[struct {
				A string `pb:"name"`
			}]()
		},
		"a type": func() {
			protobuf.Of[struct {
				A float32 `pb:"1 a"`
			}]()
		},
		"an option": func() {
			protobuf.Of[struct {
				A int64 `pb:"1 a fixed"`
			}]()
		},
		"a list of pointers": func() {
			protobuf.Of[struct {
				A []*part `pb:"1 a"`
			}]()
		},
		"itself": func() { protobuf.Of[recursive]() },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			of()
		}()
	}
}

type recursive struct {
	Inner []recursive `pb:"1 inner"`
}

// seeds are messages and damaged ones.
func seeds() [][]byte {
	v := all{head: head{"text"}, I64: []int64{1, -1}, Fixed: []uint64{7}, Parts: []part{{"a", []int32{1}}, {}}, Part: &part{},
		Mood: 1, Texts: []string{"", "x"}}
	msg := protobuf.Encode(&v)
	return [][]byte{msg, msg[:len(msg)-3], bytes.Repeat([]byte{10<<3 | wire.Bytes, 0}, 100),
		{4<<3 | wire.Varint, 0xff}, {6<<3 | wire.Bytes, 3, 1, 2, 3}}
}

// FuzzDecode: no message makes Decode or JSON panic or take more memory than was counted, and
// what is read is written and read again equal.
func FuzzDecode(f *testing.F) {
	for _, s := range seeds() {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, msg []byte) {
		var v all
		counted := int64(0)
		d := protobuf.Decoder{Expand: func(n int64) error { counted += n; return nil }}
		var damaged *wire.Error
		err := allType.Decode(&d, &v, msg)
		text, textErr := allType.JSON(msg)
		if err != nil || textErr != nil {
			if err != nil && !errors.As(err, &damaged) || textErr != nil && !errors.As(textErr, &damaged) {
				t.Fatalf("%x: %v, %v", msg, err, textErr)
			}
			return
		}
		if held := size(reflect.ValueOf(v)); held > counted+int64(len(msg)) {
			t.Fatalf("%x: %d bytes are held, %d were counted", msg, held, counted)
		}
		again := protobuf.Encode(&v)
		if d := diff(v, decode(t, again)); d != "" {
			t.Fatalf("%x: %s", msg, d)
		}
		if !json.Valid(text) {
			t.Fatalf("%x: %s", msg, text)
		}
		if _, err := allType.FromJSON(text, false); err != nil {
			t.Fatalf("%x: %s: %v", msg, text, err)
		}
	})
}

// size returns the bytes that a value refers to.
func size(v reflect.Value) (n int64) {
	switch v.Kind() {
	case reflect.String:
		return int64(v.Len())
	case reflect.Slice:
		n = int64(v.Len()) * int64(v.Type().Elem().Size())
		for i := range v.Len() {
			n += size(v.Index(i))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			n = int64(v.Type().Elem().Size()) + size(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			n += size(v.Field(i))
		}
	}
	return n
}

// FuzzFromJSON: no text makes the translation panic, and what it gives is a message.
func FuzzFromJSON(f *testing.F) {
	for _, s := range seeds() {
		if text, err := allType.JSON(s); err == nil {
			f.Add(text)
		}
	}
	f.Add([]byte(`{"parts": [{}, {"name": null}], "double": "NaN", "i32": "7", "mood": "BAD", "later": {}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		msg, err := allType.FromJSON(text, false)
		if err != nil {
			return
		}
		if len(msg) > 16*len(text) {
			t.Fatalf("%s became %d bytes", text, len(msg))
		}
		decode(t, msg)
	})
}

// TestMemory: an error of Expand comes before the memory is taken.
func TestMemory(t *testing.T) {
	for _, msg := range [][]byte{
		bytes.Repeat([]byte{10<<3 | wire.Bytes, 0}, 1<<20), bytes.Repeat([]byte{15<<3 | wire.Bytes, 0}, 1<<20),
		wire.AppendBytes(nil, 7, make([]byte, 4<<20)), wire.AppendBytes(nil, 1, make([]byte, 4<<20)),
	} {
		full, left := errors.New("full"), int64(1<<20)
		d := protobuf.Decoder{Expand: func(n int64) error {
			if left -= n; left < 0 {
				return full
			}
			return nil
		}}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var v all
		err := allType.Decode(&d, &v, msg)
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; !errors.Is(err, full) || used > 2<<20 {
			t.Errorf("%x…: %v, %d bytes", msg[:4], err, used)
		}
	}
}

// TestShared: lists that share a piece do not grow into each other.
func TestShared(t *testing.T) {
	v := all{Parts: slices.Repeat([]part{{"x", []int32{1, 2, 3}}}, 100)}
	got := decode(t, protobuf.Encode(&v))
	for i := range got.Parts {
		got.Parts[i].IDs = append(got.Parts[i].IDs, 9)
	}
	for i, p := range got.Parts {
		if !slices.Equal(p.IDs, []int32{1, 2, 3, 9}) {
			t.Errorf("part %d: %v", i, p.IDs)
		}
	}
}
