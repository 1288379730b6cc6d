package otlp

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/dendroprof/dendro/format/internal/jsonscan"
	"github.com/dendroprof/dendro/format/protobuf"
	"github.com/dendroprof/dendro/internal/wire"
	"github.com/dendroprof/dendro/profile"
)

// The JSON form is translated from and to protocol buffers by the schema: names in
// lower camel case, 64-bit integers as numbers or texts, ids in hexadecimal.

// decodeJSON reads the values of a content, one message each.
func decodeJSON(content []byte, l profile.Limits, k *linker) error {
	j := jsonReader{limits: l, wanted: -1}
	for at := 0; ; {
		at += len(content[at:]) - len(bytes.TrimLeft(content[at:], " \t\r\n"))
		if at == len(content) {
			return nil
		}
		end := at + valueEnd(content[at:])
		if err := j.decode(content[at:end], k); err != nil {
			if pe, ok := err.(*profile.ParseError); ok && pe.Offset >= 0 {
				moved := *pe
				moved.Offset += int64(at)
				return &moved
			}
			return err
		}
		at = end
	}
}

// valueEnd returns the length of the object that text begins with, or all of it.
func valueEnd(text []byte) int {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth <= 0 {
				return i + 1
			}
		}
	}
	return len(text)
}

// jsonReader translates JSON to protocol buffers.
type jsonReader struct {
	s      jsonscan.Scanner
	limits profile.Limits
	out    []byte

	wanted int   // a place in out, or -1
	found  int64 // the place in the JSON text of the message at wanted
}

// decode gives one message to k.
func (j *jsonReader) decode(text []byte, k *linker) error {
	if err := j.translate(text); err != nil {
		return err
	}
	err := protobuf.Place(k.current(j.out, 0, len(j.out)))
	var pe *profile.ParseError
	if errors.As(err, &pe) && pe.Offset >= 0 {
		j.wanted, j.found = int(pe.Offset), 0
		j.translate(text) // again, for the place
		j.wanted = -1
		moved := *pe
		moved.Offset = j.found
		return &moved
	}
	return err
}

func (j *jsonReader) translate(text []byte) error {
	j.s.Reset(bytes.NewReader(text), j.limits)
	j.out = slices.Grow(j.out[:0], len(text)/2)
	j.message(dataSchema, -1)
	if err := j.s.End(); err != nil {
		return err
	}
	if len(j.out) > math.MaxInt32 {
		return &profile.ParseError{Err: profile.TooLarge("message longer", math.MaxInt32, "--max-message")}
	}
	return nil
}

// message appends the fields of an object, which become the message at a place of out.
func (j *jsonReader) message(s *schema, at int) {
	if !j.s.BeginObject() {
		return
	}
	if at == j.wanted {
		j.found = j.s.Offset()
	}
	for {
		key, ok := j.s.Key()
		if !ok {
			return
		}
		f := s.named(key)
		switch {
		case string(key) == "locationsStartIndex" || f != nil && f.of == typeSchema && j.s.Kind() == jsonscan.Array:
			j.s.Fail(errOldDraft(j.s.Offset()))
		case f == nil || f.name == "":
		case f.packed():
			j.packed(f)
		case f.list:
			for range j.s.Array() {
				j.value(f)
			}
		default:
			j.value(f)
		}
	}
}

// lengthBytes is how many bytes the length of a nested message takes here: it is
// known when the message is written, which is not moved then.
const lengthBytes = 5

// value appends a field.
func (j *jsonReader) value(f *field) {
	switch f.kind {
	case nested:
		at := len(j.out)
		j.out = append(binary.AppendUvarint(j.out, uint64(f.num)<<3|wire.Bytes), make([]byte, lengthBytes)...)
		begin := len(j.out)
		j.message(f.of, at)
		size := len(j.out) - begin
		for i := range lengthBytes {
			j.out[begin-lengthBytes+i] = byte(size>>(7*i))&0x7f | 0x80
		}
		j.out[begin-1] &= 0x7f
	case texts:
		j.out = wire.AppendBytes(j.out, f.num, j.s.Bytes())
	case ids, bytes64:
		j.out = wire.AppendBytes(j.out, f.num, j.bytes(f.kind))
	case fixed64s, doubles:
		j.out = j.number(binary.AppendUvarint(j.out, uint64(f.num)<<3|wire.Fixed64), f.kind)
	default:
		j.out = j.number(binary.AppendUvarint(j.out, uint64(f.num)<<3|wire.Varint), f.kind)
	}
}

// packed appends a list of numbers.
func (j *jsonReader) packed(f *field) {
	j.out = binary.AppendUvarint(j.out, uint64(f.num)<<3|wire.Bytes)
	begin := len(j.out)
	j.out = append(j.out, 0)
	for range j.s.Array() {
		j.out = j.number(j.out, f.kind)
	}
	size := len(j.out) - begin - 1
	if size < 0x80 {
		j.out[begin] = byte(size)
		return
	}
	j.out = slices.Replace(j.out, begin, begin+1, binary.AppendUvarint(nil, uint64(size))...)
}

// number appends a number as protocol buffers have it, without its field.
func (j *jsonReader) number(b []byte, k kind) []byte {
	switch k {
	case bools:
		if j.s.Bool() {
			return append(b, 1)
		}
		return append(b, 0)
	case doubles:
		text := j.s.Scalar()
		v, err := strconv.ParseFloat(text, 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			j.s.Errorf("%q is not a number", text)
		}
		return binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	case fixed64s:
		return binary.LittleEndian.AppendUint64(b, uint64(j.int()))
	}
	return binary.AppendUvarint(b, uint64(j.int()))
}

// int reads an integer, which may be a text.
func (j *jsonReader) int() int64 {
	if j.s.Kind() != jsonscan.String {
		return j.s.Int()
	}
	digits := j.s.Bytes()
	if v, ok := plainNumber(digits); ok {
		return v
	}
	text := string(digits)
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil && text != "" {
		u, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			j.s.Errorf("%q is not an integer", text)
		}
		v = int64(u)
	}
	return v
}

// plainNumber parses the decimal digits of a non-negative number without allocating.
func plainNumber(digits []byte) (v int64, ok bool) {
	if len(digits) == 0 {
		return 0, false
	}
	for _, c := range digits {
		d := int64(c) - '0'
		if d < 0 || d > 9 || v > (math.MaxInt64-d)/10 {
			return 0, false
		}
		v = v*10 + d
	}
	return v, true
}

// bytes reads bytes. Generic writers of the schema write ids in base64 too.
func (j *jsonReader) bytes(k kind) []byte {
	text := j.s.Text()
	if k == ids {
		if b, err := hex.DecodeString(text); err == nil {
			return b
		}
	}
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		j.s.Errorf("%.40q is neither hexadecimal nor base64", text)
	}
	return b
}

// EncodeJSON is Encode in the JSON form, on one line.
func EncodeJSON(w io.Writer, p *profile.Profile, table int) error {
	var buf bytes.Buffer
	if err := Encode(&buf, p, table); err != nil {
		return err
	}
	text, err := appendJSON(nil, dataSchema, buf.Bytes(), 0, buf.Len())
	if err == nil {
		_, err = w.Write(append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write otlp: %w", err)
	}
	return nil
}

// appendJSON appends the message [pos, end) of Encode, in which the elements of a list
// follow each other.
func appendJSON(b []byte, s *schema, msg []byte, pos, end int) ([]byte, error) {
	b = append(b, '{')
	var last *field
	closeList := func() {
		if last != nil && last.list {
			b = append(b, ']')
		}
	}
	for pos < end {
		w, err := s.Next(msg, pos, end)
		if err != nil {
			return nil, err
		}
		f := s.numbered(w.Num)
		if f != last {
			closeList()
		}
		if last != nil {
			b = append(b, ',')
		}
		if f != last {
			b = append(jsonscan.AppendText(b, f.name), ':')
			if f.list {
				b = append(b, '[')
			}
		}
		if b, err = appendValue(b, f, msg, w); err != nil {
			return nil, err
		}
		last, pos = f, w.Hi
	}
	closeList()
	return append(b, '}'), nil
}

func appendValue(b []byte, f *field, msg []byte, w wire.Field) ([]byte, error) {
	data := msg[w.Lo:w.Hi]
	switch {
	case f.kind == nested:
		return appendJSON(b, f.of, msg, w.Lo, w.Hi)
	case f.kind == texts:
		return jsonscan.AppendText(b, string(data)), nil
	case f.kind == ids:
		return jsonscan.AppendText(b, hex.EncodeToString(data)), nil
	case !f.packed():
		return appendNumber(b, f.kind, w.Value), nil
	}
	for i := 0; i < len(data); {
		if i > 0 {
			b = append(b, ',')
		}
		v, n := binary.Uvarint(data[i:])
		if f.kind == fixed64s {
			v, n = binary.LittleEndian.Uint64(data[i:]), 8
		}
		b = appendNumber(b, f.kind, v)
		i += n
	}
	return b, nil
}

func appendNumber(b []byte, k kind, v uint64) []byte {
	switch k {
	case int32s:
		return strconv.AppendInt(b, int64(v), 10)
	case int64s:
		return append(strconv.AppendInt(append(b, '"'), int64(v), 10), '"')
	}
	return append(strconv.AppendUint(append(b, '"'), v, 10), '"')
}
