// Package wire reads and writes the wire format of protocol buffers, field by
// field and in place: https://protobuf.dev/programming-guides/encoding/.
//
// A message is a slice of bytes and a field the place of its payload in it. All
// places are offsets in the outermost message, so that every error can name one.
// A Shape says which wire types the fields of a message may have; what it does
// not know is returned as well, for the caller to skip. Nothing is allocated and
// nothing recurses: whoever knows the schema goes down into its messages.
//
// Groups, the wire types 3 and 4, are refused: no format that is read here has
// them and skipping them needs recursion. The package knows no schema, no names of
// fields and no defaults.
package wire

import (
	"encoding/binary"
	"fmt"
)

// Wire types.
const (
	Varint  = 0
	Fixed64 = 1
	Bytes   = 2
	Fixed32 = 5
)

// Wire types as bits of a Shape. A repeated integer may be packed into bytes or
// not, whatever the schema says.
const (
	AsVarint  = 1 << Varint
	AsFixed64 = 1 << Fixed64
	AsBytes   = 1 << Bytes
	AsFixed32 = 1 << Fixed32
)

// Shape says which wire types the fields of a message may have: a bit set per
// field number, 0 for a number that the message does not have. Messages here have
// no numbers above 15.
type Shape [16]uint8

// Known reports whether the message has a field of that number.
func (s *Shape) Known(num int) bool { return num < len(s) && s[num] != 0 }

// Field is one field of a message: [Lo, Hi) is its payload and Hi the place of
// the next field.
type Field struct {
	Num    int
	Type   int    // the wire type
	At     int    // place of the tag
	Value  uint64 // of a varint or a fixed number
	Lo, Hi int
}

// Next reads the field at pos of a message that ends at end. A field that the
// shape knows must have one of its wire types. Errors are of type *Error.
func (s *Shape) Next(msg []byte, pos, end int) (Field, error) {
	f := Field{At: pos}
	tag, pos, err := Uvarint(msg, pos, end)
	if err != nil {
		return f, err
	}
	if tag>>3 == 0 || tag>>3 > 1<<29-1 {
		return f, malformed(f.At, "field number %d", tag>>3)
	}
	f.Num, f.Type, f.Lo = int(tag>>3), int(tag&7), pos
	switch f.Type {
	case Varint:
		f.Value, f.Hi, err = Uvarint(msg, pos, end)
	case Bytes:
		f.Lo, f.Hi, err = Payload(msg, pos, end)
	case Fixed64:
		f.Hi = pos + 8
	case Fixed32:
		f.Hi = pos + 4
	default:
		return f, malformed(f.At, "field %d has wire type %d", f.Num, f.Type)
	}
	switch {
	case err != nil:
		return f, err
	case f.Hi > end:
		return f, cut(f.At, uint64(f.Hi-pos), end-pos)
	case f.Num < len(s) && s[f.Num] != 0 && s[f.Num]>>f.Type&1 == 0:
		return f, malformed(f.At, "field %d has wire type %d", f.Num, f.Type)
	}
	switch f.Type {
	case Fixed64:
		f.Value = binary.LittleEndian.Uint64(msg[f.Lo:])
	case Fixed32:
		f.Value = uint64(binary.LittleEndian.Uint32(msg[f.Lo:]))
	}
	return f, nil
}

// Uvarint reads a base-128 integer and returns the place behind it. It is small
// enough to be inlined for integers of one byte.
func Uvarint(msg []byte, pos, end int) (uint64, int, error) {
	if pos < end && msg[pos] < 0x80 {
		return uint64(msg[pos]), pos + 1, nil
	}
	return longUvarint(msg, pos, end)
}

func longUvarint(msg []byte, pos, end int) (uint64, int, error) {
	var v uint64
	for i := 0; i < 10; i++ {
		if pos+i >= end {
			return 0, 0, cut(pos, uint64(i+1), i)
		}
		c := msg[pos+i]
		if i == 9 && c > 1 {
			break
		}
		v |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			return v, pos + i + 1, nil
		}
	}
	return 0, 0, malformed(pos, "integer longer than 64 bits")
}

// Payload reads the length of a field of bytes at pos and returns where its
// payload begins and ends. It is small enough to be inlined for short payloads.
func Payload(msg []byte, pos, end int) (lo, hi int, err error) {
	if pos < end && msg[pos] < 0x80 && int(msg[pos]) < end-pos {
		return pos + 1, pos + 1 + int(msg[pos]), nil
	}
	return longPayload(msg, pos, end)
}

func longPayload(msg []byte, pos, end int) (lo, hi int, err error) {
	n, lo, err := Uvarint(msg, pos, end)
	if err == nil && n > uint64(end-lo) {
		err = cut(pos, n, end-lo)
	}
	return lo, lo + int(n), err
}

// Numbers holds the integer fields of a message by field number; 0 is not used.
type Numbers [len(Shape{})]uint64

// Ints reads a message of integers.
func (s *Shape) Ints(msg []byte, pos, end int) (v Numbers, err error) {
	for {
		if pos, err = s.Read(msg, pos, end, &v); err != nil || pos == end {
			return v, err
		}
		f, err := s.Next(msg, pos, end)
		if err != nil {
			return v, err
		}
		v.Set(f)
		pos = f.Hi
	}
}

// Read reads integers up to the first field that is none, or that is unusual,
// and returns its place.
func (s *Shape) Read(msg []byte, pos, end int, v *Numbers) (int, error) {
	for pos < end {
		tag := msg[pos]
		if tag&0x87 != Varint || s[tag>>3]&AsVarint == 0 {
			break
		}
		u, next, err := Uvarint(msg, pos+1, end)
		if err != nil {
			return pos, err
		}
		v[tag>>3] = u
		pos = next
	}
	return pos, nil
}

// Set takes a field that Read left out, if it is a number.
func (v *Numbers) Set(f Field) {
	if f.Type != Bytes && f.Num < len(v) {
		v[f.Num] = f.Value
	}
}

// Error is a message that breaks the format.
type Error struct {
	At int // place in the outermost message

	// Cut: a field reaches beyond the end of its message. It is apart from other
	// errors because a cut prefix looks like that and yet is right.
	Cut bool

	what string
}

// Error says what is wrong, without the place.
func (e *Error) Error() string { return e.what }

func cut(at int, need uint64, have int) error {
	return &Error{at, true, fmt.Sprintf("%d bytes announced, %d left: the file is cut or damaged", need, have)}
}

func malformed(at int, format string, args ...any) error {
	return &Error{at, false, fmt.Sprintf(format, args...)}
}

// AppendInt appends an integer field unless it is zero.
func AppendInt(b []byte, num int, v uint64) []byte {
	if v == 0 {
		return b
	}
	return binary.AppendUvarint(binary.AppendUvarint(b, uint64(num)<<3|Varint), v)
}

// AppendBool appends a field unless it is false.
func AppendBool(b []byte, num int, v bool) []byte {
	if v {
		return AppendInt(b, num, 1)
	}
	return b
}

// AppendFixed64 appends a field of 8 bytes unless it is zero.
func AppendFixed64(b []byte, num int, v uint64) []byte {
	if v == 0 {
		return b
	}
	return binary.LittleEndian.AppendUint64(binary.AppendUvarint(b, uint64(num)<<3|Fixed64), v)
}

// AppendBytes appends a field of bytes, be they none.
func AppendBytes[T []byte | string](b []byte, num int, data T) []byte {
	return append(AppendHead(b, num, len(data)), data...)
}

// AppendHead appends what stands in front of the payload of a field of bytes.
func AppendHead(b []byte, num, size int) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(b, uint64(num)<<3|Bytes), uint64(size))
}
