package protobuf

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"unsafe"

	"github.com/dendroprof/dendro/internal/wire"
)

// Decoder reads messages. The zero value counts nothing.
type Decoder struct {
	// Expand counts bytes of memory before they are taken: of lists, messages and texts.
	Expand func(bytes int64) error

	Repair bool // texts that are not UTF-8 get U+FFFD
	Strict bool // a field that no field names is an *UnknownFieldError

	pieces []piece // by the id of a list
}

// UnknownFieldError is the error of a field that no field of a struct names, or of a value that
// its enum has not.
type UnknownFieldError struct {
	Message *Message
	Field   string // its number, or in JSON its name
	Value   string // in JSON, of an enum; empty: the field is not known
}

// Error names the field.
func (e *UnknownFieldError) Error() string {
	if e.Value != "" {
		return fmt.Sprintf("%s %.60q is not known", e.Field, e.Value)
	}
	return fmt.Sprintf("%s has a field %.60q that is not known", e.Message, e.Field)
}

// piece is memory for the elements of lists.
type piece struct {
	slice
	next int // elements of the next piece
}

// slice is a slice as it is in memory.
type slice struct {
	data     unsafe.Pointer
	len, cap int
}

// maxPiece bounds how many elements beyond those of a list are taken at once.
const maxPiece = 1 << 12

// Decode reads the message msg into v. What a field of bytes gets is a part of it. Errors are
// of type *wire.Error, or of Expand.
func (t Type[T]) Decode(d *Decoder, v *T, msg []byte) error {
	return t.DecodeAt(d, v, msg, wire.Field{Hi: len(msg)})
}

// DecodeAt reads the message that is the payload of a field of msg.
func (t Type[T]) DecodeAt(d *Decoder, v *T, msg []byte, f Field) error {
	return d.message(t.Message, unsafe.Pointer(v), msg, f)
}

func (d *Decoder) message(m *Message, p unsafe.Pointer, msg []byte, at wire.Field) error {
	if m.place != nil {
		*(*Position)(m.place.at(p)) = Position{int32(at.At), int32(at.Lo), int32(at.Hi)}
	}
	for pos := at.Lo; pos < at.Hi; {
		f, err := m.Next(msg, pos, at.Hi)
		if err != nil {
			return err
		}
		pos = f.Hi
		if !m.Known(f.Num) {
			if d.Strict {
				return &UnknownFieldError{Message: m, Field: strconv.Itoa(int(f.Num))}
			}
			continue
		}
		x := m.byNum[f.Num]
		switch {
		case x.kind == counted:
			n := (*int)(x.at(p))
			for *n++; pos < at.Hi && msg[pos] < 0x80 && msg[pos] == msg[f.At]; *n++ { // they are many
				if _, pos, err = wire.Payload(msg, pos+1, at.Hi); err != nil {
					return err
				}
			}
		case !x.list:
			if m.which != nil {
				*(*int)(m.which.at(p)) = x.num
			}
			err = d.value(x, x.at(p), msg, f)
		case f.Type == wire.Bytes && x.packed():
			err = d.packed(x, (*slice)(x.at(p)), msg, f)
		default:
			var element unsafe.Pointer
			if element, err = d.element(x, (*slice)(x.at(p))); err == nil {
				err = d.value(x, element, msg, f)
			}
		}
		if err != nil {
			return err
		}
	}
	for _, x := range m.lists {
		d.close(x, (*slice)(x.at(p)))
	}
	return nil
}

// value reads one value to p.
func (d *Decoder) value(x *field, p unsafe.Pointer, msg []byte, f wire.Field) error {
	switch x.kind {
	case int32s, uint32s, enums:
		*(*int32)(p) = x.int32(f.Value)
	case int64s, uint64s, fixed64s, doubles:
		*(*uint64)(p) = f.Value
	case bools:
		*(*bool)(p) = f.Value != 0
	case texts:
		if err := d.expand(f.Hi - f.Lo); err != nil {
			return err
		}
		text := string(msg[f.Lo:f.Hi])
		if d.Repair {
			text = strings.ToValidUTF8(text, "\uFFFD")
		}
		*(*string)(p) = text
	case nested:
		if x.pointer {
			if *(*unsafe.Pointer)(p) == nil {
				if err := d.expand(int(x.of.goType.Size())); err != nil {
					return err
				}
				*(*unsafe.Pointer)(p) = reflect.New(x.of.goType).UnsafePointer()
			}
			p = *(*unsafe.Pointer)(p)
		}
		return d.message(x.of, p, msg, f)
	default:
		*(*[]byte)(p) = nil
		if f.Hi > f.Lo || x.kind == encoded { // whose presence counts
			*(*[]byte)(p) = msg[f.Lo:f.Hi:f.Hi]
		}
	}
	return nil
}

// int32 returns a number as 32 bits. One that does not fit is -1: as an index it is none.
func (f *field) int32(v uint64) int32 {
	if f.kind != uint32s && int64(v) != int64(int32(v)) {
		return -1
	}
	return int32(v)
}

// packed reads numbers that lie behind each other.
func (d *Decoder) packed(x *field, list *slice, msg []byte, f wire.Field) error {
	for pos := f.Lo; pos < f.Hi; {
		p, err := d.element(x, list)
		if err != nil {
			return err
		}
		n := wire.Field{}
		n.Value, pos, err = x.element(msg, pos, f.Hi)
		if err == nil {
			err = d.value(x, p, msg, n)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// element reads one of packed numbers, and returns the place behind it.
func (f *field) element(msg []byte, pos, end int) (uint64, int, error) {
	if f.kind != fixed64s && f.kind != doubles {
		return wire.Uvarint(msg, pos, end)
	}
	if end-pos < 8 {
		_, _, err := wire.Uvarint(msg, end, end) // it is cut
		return 0, pos, err
	}
	return binary.LittleEndian.Uint64(msg[pos:]), pos + 8, nil
}

func (d *Decoder) expand(bytes int) error {
	if d.Expand == nil {
		return nil
	}
	return d.Expand(int64(bytes))
}

// element returns the place of a new element of a list, which takes the rest of the piece.
func (d *Decoder) element(x *field, list *slice) (unsafe.Pointer, error) {
	if list.len == list.cap {
		if d.pieces == nil {
			d.pieces = make([]piece, lists)
		}
		if rest := &d.pieces[x.id]; list.cap == 0 && rest.cap > 0 {
			*list, rest.slice = rest.slice, slice{}
		} else {
			n := max(4, list.len, rest.next)
			rest.next = min(2*n, maxPiece)
			if err := d.expand((list.len + n) * int(x.size)); err != nil {
				return nil, err
			}
			reflect.NewAt(x.slice, unsafe.Pointer(list)).Elem().Grow(n)
		}
	}
	list.len++
	return unsafe.Add(list.data, uintptr(list.len-1)*x.size), nil
}

// close leaves the rest of the piece to the next list.
func (d *Decoder) close(x *field, list *slice) {
	if list.len < list.cap {
		d.pieces[x.id].slice = slice{unsafe.Add(list.data, uintptr(list.len)*x.size), 0, list.cap - list.len}
		list.cap = list.len
	}
}

// Append appends the encoded message. What has the zero value is left out, except in lists.
func (t Type[T]) Append(b []byte, v *T) []byte { return t.append(b, unsafe.Pointer(v)) }

func (m *Message) append(b []byte, p unsafe.Pointer) []byte {
	for _, f := range m.fields {
		if m.which != nil {
			if *(*int)(m.which.at(p)) == f.num {
				return f.append(b, f.at(p), true)
			}
			continue
		}
		switch {
		case !f.list:
			b = f.append(b, f.at(p), false)
		case f.kind != counted:
			b = f.appendList(b, (*slice)(f.at(p)))
		}
	}
	return b
}

func (f *field) appendList(b []byte, list *slice) []byte {
	begin := len(b)
	for i := range list.len {
		p := unsafe.Add(list.data, uintptr(i)*f.size)
		switch {
		case !f.packed():
			b = f.append(b, p, true)
		case f.kind == fixed64s || f.kind == doubles:
			b = binary.LittleEndian.AppendUint64(b, f.number(p))
		default:
			b = binary.AppendUvarint(b, f.number(p))
		}
	}
	if f.packed() && list.len > 0 {
		return insertHead(b, begin, f.num)
	}
	return b
}

// append appends a value; always: also if it is zero.
func (f *field) append(b []byte, p unsafe.Pointer, always bool) []byte {
	begin := len(b)
	switch f.kind {
	case nested:
		if f.pointer {
			if p = *(*unsafe.Pointer)(p); p == nil {
				return b
			}
			always = true
		}
		b = f.of.append(b, p)
	case texts:
		b = append(b, *(*string)(p)...)
	case ids, bytes64, encoded:
		if always = always || f.kind == encoded && *(*[]byte)(p) != nil; always || len(*(*[]byte)(p)) > 0 {
			return wire.AppendBytes(b, f.num, *(*[]byte)(p))
		}
		return b
	case fixed64s, doubles:
		if v := f.number(p); v != 0 || always {
			b = binary.AppendUvarint(b, uint64(f.num)<<3|wire.Fixed64)
			b = binary.LittleEndian.AppendUint64(b, v)
		}
		return b
	default:
		if v := f.number(p); v != 0 || always {
			b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(f.num)<<3|wire.Varint), v)
		}
		return b
	}
	if len(b) > begin || always {
		return insertHead(b, begin, f.num)
	}
	return b
}

// number returns a number as it is encoded.
func (f *field) number(p unsafe.Pointer) uint64 {
	switch f.kind {
	case int32s, enums:
		return uint64(int64(*(*int32)(p)))
	case uint32s:
		return uint64(*(*uint32)(p))
	case bools:
		if *(*bool)(p) {
			return 1
		}
		return 0
	case doubles:
		if v := *(*float64)(p); v == 0 && !math.Signbit(v) {
			return 0
		}
	}
	return *(*uint64)(p)
}

// insertHead puts in front of the payload that begins at a place what belongs there.
func insertHead(b []byte, begin, num int) []byte {
	var head [2 * binary.MaxVarintLen64]byte
	h := wire.AppendHead(head[:0], num, len(b)-begin)
	b = append(b, h...)
	copy(b[begin+len(h):], b[begin:])
	copy(b[begin:], h)
	return b
}
