// Package protobuf describes messages of protocol buffers once: as Go structs whose tags name
// the fields as the .proto file does. Their binary form, their JSON form and the struct that
// code works with follow from that.
//
//	type seriesRequest struct {
//		Matchers []string `pb:"1 matchers"`
//		Start    int64    `pb:"3 start"`
//	}
//
//	var request = protobuf.Of[seriesRequest]()
//
//	err := new(protobuf.Decoder).Decode(request, &r, msg) // binary → struct: r.Start
//	b := protobuf.Encode(&r)                              // struct → binary
//	text, err := request.JSON(b)                          // binary → JSON
//	b, err := request.FromJSON(text, false)                      // JSON → binary
//
// To add a message, write the struct. The Go type of a field says its type in the .proto file:
//
//	int32, int64, uint32, uint64, bool, string    the same
//	float64                                       double
//	uint64 with the option fixed: "3 time fixed"  fixed64
//	[]byte; with the option hex, hex in JSON      bytes: a part of the message, not a copy
//	int32 with a method Names() []string          enum
//	struct, *struct                               message; only a pointer tells absent from empty
//	an embedded struct                            its fields
//	[]T                                           repeated
//	Encoded[T]                                    message T that stays encoded
//	Counted[T]                                    repeated T of which Decode keeps the number
//
// A field of type Position gets the place of the message, and one with the tag "which" makes all
// others a oneof: it is the number of the field that counts. Other fields without a tag are the
// program's own, and what no field names is skipped. Field numbers are at most 15, and a
// message contains itself only as Encoded; Of panics otherwise, because structs are constants.
//
// Decoding is safe for any input: nothing recurses deeper than the structs, and memory is
// counted by Decoder.Expand before it is taken. Elements of repeated fields lie in large pieces
// that many lists share. Readers of profiles that
// still cannot afford a struct per sample read those messages in place, with package wire, by
// the Shape of the same description. The messages of SkyWalking's agents are not described: its
// project publishes them as generated types.
package protobuf

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"github.com/dendroprof/dendro/internal/wire"
)

// Shape says which wire types the fields of a message may have.
type Shape = wire.Shape

// Field is one field of an encoded message.
type Field = wire.Field

// Message describes a message.
type Message struct {
	Shape
	name   string
	goType reflect.Type
	fields []*field // in the order of the struct
	lists  []*field
	byNum  [len(Shape{})]*field
	place  *field // of type Position
	which  *field // the number of the field that counts

	complete bool // all fields are known
}

// Type is the Message of a struct.
type Type[T any] struct{ *Message }

// Position is where a message stands in the outermost one: its tag and its content.
type Position struct{ At, Lo, Hi int32 }

// Encoded is a message of type T that stays encoded.
type Encoded[T any] []byte

func (Encoded[T]) inner() reflect.Type { return reflect.TypeFor[T]() }

// Encode encodes a message.
func Encode[T any](v *T) Encoded[T] { return Of[T]().Append(nil, v) }

// Counted is a repeated field of messages of type T, of which only the number is kept: its user
// reads them from the content.
type Counted[T any] int

func (Counted[T]) inner() reflect.Type { return reflect.TypeFor[T]() }

type field struct {
	num         int
	name, snake string // in JSON and in the .proto file; empty: not in JSON
	kind        kind
	list        bool // repeated
	of          *Message
	enum        []string

	offset  uintptr
	size    uintptr // of a value or element
	pointer bool    // to a message
	slice   reflect.Type
	id      int // of a list
}

// kind is the type of a field's values.
type kind uint8

const (
	int32s kind = iota // numbers in JSON
	uint32s
	enums    // names
	int64s   // texts of digits, like all integers of 64 bits
	uint64s  //
	fixed64s // of 8 bytes each
	bools    //
	doubles  //
	texts    //
	ids      // bytes, hexadecimal in JSON
	bytes64  // bytes, base64 in JSON
	nested   // messages
	encoded  // messages that stay bytes
	counted  // messages that are counted
)

// packed reports whether the values of a list lie in one field of bytes.
func (f *field) packed() bool { return f.list && f.kind < texts }

var (
	mu       sync.Mutex
	messages = map[reflect.Type]*Message{}
	lists    int // of all messages
)

// Of returns the description of a struct.
func Of[T any]() Type[T] {
	mu.Lock()
	defer mu.Unlock()
	return Type[T]{describe(reflect.TypeFor[T]())}
}

func describe(t reflect.Type) *Message {
	if m, ok := messages[t]; ok {
		return m
	}
	m := &Message{name: t.Name(), goType: t}
	messages[t] = m
	m.describe(t, 0)
	m.complete = true
	return m
}

// describe adds the fields of a struct that lies at an offset of the message's.
func (m *Message) describe(t reflect.Type, offset uintptr) {
	for sf := range t.Fields() {
		tag := strings.Fields(sf.Tag.Get("pb"))
		f := &field{offset: offset + sf.Offset, size: sf.Type.Size()}
		switch {
		case sf.Anonymous:
			m.describe(sf.Type, f.offset)
		case sf.Type == reflect.TypeFor[Position]():
			m.place = f
		case len(tag) == 0:
		case tag[0] == "which":
			m.which = f
		default:
			f.parse(t, &sf, tag)
			m.add(f)
		}
	}
}

func (m *Message) add(f *field) {
	switch f.kind {
	case int32s, uint32s, enums, int64s, uint64s, bools:
		m.Shape[f.num] = wire.AsVarint
	case fixed64s, doubles:
		m.Shape[f.num] = wire.AsFixed64
	}
	if f.list || m.Shape[f.num] == 0 {
		m.Shape[f.num] |= wire.AsBytes
	}
	if f.list && f.kind != counted {
		f.id = lists
		lists++
		m.lists = append(m.lists, f)
	}
	m.fields = append(m.fields, f)
	m.byNum[f.num] = f
}

// parse reads the tag `NUMBER NAME OPTION` and the type of a field.
func (f *field) parse(of reflect.Type, sf *reflect.StructField, tag []string) {
	num, err := strconv.Atoi(tag[0])
	if err != nil || num < 1 || num >= len(wire.Shape{}) {
		panic(fmt.Sprintf("protobuf: %s.%s has the number %q", of, sf.Name, tag[0]))
	}
	f.num = num
	if len(tag) > 1 {
		f.snake = tag[1]
		first, rest, _ := strings.Cut(f.snake, "_")
		f.name = first
		for part := range strings.SplitSeq(rest, "_") {
			f.name += strings.ToUpper(part[:min(1, len(part))]) + part[min(1, len(part)):]
		}
	}
	option := ""
	if len(tag) > 2 {
		option = tag[2]
	}
	t := sf.Type
	if t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8 {
		f.list, f.slice = true, t
		t = t.Elem()
		f.size = t.Size()
	}
	if x, ok := reflect.Zero(t).Interface().(interface{ inner() reflect.Type }); ok {
		if f.of, f.kind = describe(x.inner()), encoded; t.Kind() == reflect.Int {
			f.kind, f.list = counted, true
		}
		return
	}
	if t.Kind() == reflect.Pointer {
		f.pointer = true
		t = t.Elem()
	}
	if x, ok := reflect.Zero(t).Interface().(interface{ Names() []string }); ok {
		f.enum = x.Names()
	}
	switch {
	case f.enum != nil && t.Kind() == reflect.Int32:
		f.kind = enums
	case option == "fixed" && t.Kind() == reflect.Uint64:
		f.kind = fixed64s
	case option == "hex" && t.Kind() == reflect.Slice:
		f.kind = ids
	case t.Kind() == reflect.Struct && !(f.pointer && f.list):
		if f.kind, f.of = nested, describe(t); !f.of.complete {
			panic(fmt.Sprintf("protobuf: %s contains itself", t))
		}
	default:
		known := false
		if f.kind, known = kinds[t.Kind()]; !known || f.pointer || f.enum != nil || option != "" {
			panic(fmt.Sprintf("protobuf: %s.%s has the type %s %s", of, sf.Name, sf.Type, option))
		}
	}
}

var kinds = map[reflect.Kind]kind{
	reflect.Int32: int32s, reflect.Uint32: uint32s, reflect.Int64: int64s, reflect.Uint64: uint64s, reflect.Bool: bools,
	reflect.Float64: doubles, reflect.String: texts, reflect.Slice: bytes64,
}

// at returns where a field of a struct is.
func (f *field) at(p unsafe.Pointer) unsafe.Pointer { return unsafe.Add(p, f.offset) }

// String returns the name of the message.
func (m *Message) String() string { return m.name }
