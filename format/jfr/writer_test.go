package jfr

import (
	"encoding/binary"
	"math/bits"
	"strconv"
)

// buffer writes the primitives of the format, the plain way.
type buffer []byte

func (b *buffer) varint(v uint64) {
	for range maxVarint - 1 {
		if v < 0x80 {
			*b = append(*b, byte(v))
			return
		}
		*b = append(*b, byte(v)|0x80)
		v >>= 7
	}
	*b = append(*b, byte(v))
}

func (b *buffer) text(s string) {
	*b = append(*b, stringUTF8)
	b.varint(uint64(len(s)))
	*b = append(*b, s...)
}

// Classes of the chunks that a writer writes.
const (
	classString = iota + 20
	classInt
	classLong
	classBoolean
	classThread
	classClass
	classSymbol
	classMethod
	classFrameType
	classState
	classFrame
	classStack
	classOldObject
	classSetting   = 100
	classRecording = 107
)

type testField struct {
	name     string
	class    int
	constant bool
	array    bool
}

type testClass struct {
	id     int
	name   string
	fields []testField
}

// baseClasses are what all chunks describe.
var baseClasses = []testClass{
	{classString, "java.lang.String", nil},
	{classInt, "int", nil}, {classLong, "long", nil}, {classBoolean, "boolean", nil},
	{classThread, "java.lang.Thread", []testField{{name: "osName", class: classString}, {name: "osThreadId", class: classLong},
		{name: "javaName", class: classString}, {name: "javaThreadId", class: classLong}}},
	{classClass, "java.lang.Class", []testField{{name: "modifiers", class: classInt}, {name: "name", class: classSymbol, constant: true}}},
	{classSymbol, "jdk.types.Symbol", []testField{{name: "string", class: classString}}},
	{classMethod, "jdk.types.Method", []testField{{name: "type", class: classClass, constant: true},
		{name: "name", class: classSymbol, constant: true}, {name: "hidden", class: classBoolean}}},
	{classFrameType, "jdk.types.FrameType", []testField{{name: "description", class: classString}}},
	{classState, "jdk.types.ThreadState", []testField{{name: "name", class: classString}}},
	{classFrame, "jdk.types.StackFrame", []testField{{name: "method", class: classMethod, constant: true},
		{name: "lineNumber", class: classInt}, {name: "bytecodeIndex", class: classInt}, {name: "type", class: classFrameType, constant: true}}},
	{classStack, "jdk.types.StackTrace", []testField{{name: "truncated", class: classBoolean},
		{name: "frames", class: classFrame, array: true}}},
	{classOldObject, "jdk.types.OldObject", []testField{{name: "address", class: classLong},
		{name: "type", class: classClass, constant: true}}},
	{classSetting, "jdk.ActiveSetting", []testField{{name: "startTime", class: classLong}, {name: "id", class: classLong},
		{name: "name", class: classString}, {name: "value", class: classString}}},
	{classRecording, "jdk.ActiveRecording", nil},
}

// writer writes one chunk: events as they come, then constants and metadata.
type writer struct {
	classes        []testClass
	events         buffer
	constants      map[int]map[uint64]buffer // by class
	symbols        map[string]uint64
	ticksPerSecond int64
}

func newWriter(events ...testClass) *writer {
	return &writer{
		classes: append(baseClasses[:len(baseClasses):len(baseClasses)], events...), constants: map[int]map[uint64]buffer{},
		symbols: map[string]uint64{}, ticksPerSecond: 1_000_000_000,
	}
}

// event writes an event whose content write fills in.
func (w *writer) event(class int, write func(*buffer)) {
	w.events = append(w.events, framed(class, write)...)
}

// framed returns an event with its size, which is four bytes long.
func framed(class int, write func(*buffer)) buffer {
	var body buffer
	body.varint(uint64(class))
	write(&body)
	const sizeBytes = 4
	n := uint64(len(body) + sizeBytes)
	head := buffer{byte(n) | 0x80, byte(n>>7) | 0x80, byte(n>>14) | 0x80, byte(n >> 21 & 0x7f)}
	return append(head, body...)
}

// numbers writes an event of varints.
func (w *writer) numbers(class int, fields ...uint64) {
	w.event(class, func(b *buffer) {
		for _, f := range fields {
			b.varint(f)
		}
	})
}

func (w *writer) setting(id int, name, value string) {
	w.event(classSetting, func(b *buffer) {
		b.varint(0)
		b.varint(uint64(id))
		b.text(name)
		b.text(value)
	})
}

func (w *writer) constant(class int, id uint64, write func(*buffer)) {
	if w.constants[class] == nil {
		w.constants[class] = map[uint64]buffer{}
	}
	var b buffer
	write(&b)
	w.constants[class][id] = b
}

func (w *writer) symbol(text string) uint64 {
	id, ok := w.symbols[text]
	if !ok {
		id = uint64(len(w.symbols) + 1)
		w.symbols[text] = id
		w.constant(classSymbol, id, func(b *buffer) { b.text(text) })
	}
	return id
}

func (w *writer) class(id uint64, name string) {
	symbol := w.symbol(name)
	w.constant(classClass, id, func(b *buffer) { b.varint(1); b.varint(symbol) })
}

func (w *writer) method(id, class uint64, name string) {
	symbol := w.symbol(name)
	w.constant(classMethod, id, func(b *buffer) { b.varint(class); b.varint(symbol); *b = append(*b, 0) })
}

func (w *writer) named(class int, id uint64, name string) {
	w.constant(class, id, func(b *buffer) { b.text(name) })
}

func (w *writer) thread(id uint64, name string, tid uint64) {
	w.constant(classThread, id, func(b *buffer) {
		b.text("os")
		b.varint(tid)
		b.text(name)
		b.varint(0)
	})
}

type testFrame struct{ method, line, kind uint64 }

// stack writes a stack trace, innermost frame first.
func (w *writer) stack(id uint64, frames ...testFrame) {
	w.constant(classStack, id, func(b *buffer) {
		*b = append(*b, 0)
		b.varint(uint64(len(frames)))
		for _, f := range frames {
			b.varint(f.method)
			b.varint(f.line)
			b.varint(77)
			b.varint(f.kind)
		}
	})
}

// bytes returns the chunk.
func (w *writer) bytes() []byte {
	out := make(buffer, headerSize)
	out = append(out, w.events...)
	constants := len(out)
	out = append(out, framed(constantsEvent, func(b *buffer) {
		*b = append(*b, 0, 0, 0, 0) // start, duration, distance, kind
		b.varint(uint64(len(w.constants)))
		for _, c := range w.classes { // in a fixed order
			pool := w.constants[c.id]
			if pool == nil {
				continue
			}
			b.varint(uint64(c.id))
			b.varint(uint64(len(pool)))
			for id, content := range pool {
				b.varint(id)
				*b = append(*b, content...)
			}
		}
	})...)
	metadata := len(out)
	out = append(out, w.metadata()...)
	copy(out, magic)
	put := func(at int, v int64) { binary.BigEndian.PutUint64(out[at:], uint64(v)) }
	binary.BigEndian.PutUint16(out[4:], 2)
	put(8, int64(len(out)))
	put(16, int64(constants))
	put(24, int64(metadata))
	put(32, 1_700_000_000_000_000_000)
	put(40, 2_000_000_000)
	put(48, 1000) // ticks
	put(56, w.ticksPerSecond)
	binary.BigEndian.PutUint32(out[64:], compressedIntegers)
	return out
}

// metadata returns the description of the classes.
func (w *writer) metadata() buffer {
	texts := map[string]uint64{}
	var order []string
	text := func(s string) uint64 {
		id, ok := texts[s]
		if !ok {
			id = uint64(len(order))
			texts[s] = id
			order = append(order, s)
		}
		return id
	}
	var tree buffer
	element := func(name string, children int, attributes ...string) {
		tree.varint(text(name))
		tree.varint(uint64(len(attributes) / 2))
		for _, a := range attributes {
			tree.varint(text(a))
		}
		tree.varint(uint64(children))
	}
	element("root", 2)
	element("metadata", len(w.classes))
	for _, c := range w.classes {
		element("class", len(c.fields), "id", strconv.Itoa(c.id), "name", c.name)
		for _, f := range c.fields {
			attributes := []string{"name", f.name, "class", strconv.Itoa(f.class)}
			if f.constant {
				attributes = append(attributes, "constantPool", "true")
			}
			if f.array {
				attributes = append(attributes, "dimension", "1")
			}
			element("field", 0, attributes...)
		}
	}
	element("region", 0, "locale", "en")
	return framed(metadataEvent, func(b *buffer) {
		*b = append(*b, 0, 0, 1) // start, duration, number
		b.varint(uint64(len(order)))
		for _, s := range order {
			b.text(s)
		}
		*b = append(*b, tree...)
	})
}

// varintLength is the length of a varint by its definition.
func varintLength(v uint64) int { return min(max(1, (bits.Len64(v)+6)/7), maxVarint) }
