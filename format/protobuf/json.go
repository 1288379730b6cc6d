package protobuf

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dendroprof/dendro/format/internal/jsonscan"
	"github.com/dendroprof/dendro/internal/wire"
	"github.com/dendroprof/dendro/profile"
)

// The JSON form is translated from and to the binary form: names in lower camel case, 64-bit
// integers as texts of digits, bytes in base64. Read are also the names of the .proto file, 64-bit
// integers as numbers, and enums as numbers.

// Translator translates JSON to the binary form, and keeps its buffers.
type Translator struct {
	Message *Message
	Renamed map[string]string                  // names that fields had before
	Old     func(key []byte, list bool) bool   // whether a key makes it a message that is refused; or nil
	Refuse  func(at int64) *profile.ParseError // the error of it
	Strict  bool                               // a name that no field or enum has is an *UnknownFieldError

	s      jsonscan.Scanner
	out    []byte
	wanted int   // a place in out, or -1
	found  int64 // the place in the JSON text of the message at wanted
}

// Structure yields the bytes of a JSON text that are outside of its strings, and their places: braces among them.
func Structure(text []byte) iter.Seq2[int, byte] {
	return func(yield func(int, byte) bool) {
		quoted := false
		for i := 0; i < len(text); i++ {
			switch c := text[i]; {
			case c == '"':
				quoted = !quoted
			case !quoted:
				if !yield(i, c) {
					return
				}
			case c == '\\':
				i++
			}
		}
	}
}

// FromJSON translates a message to the binary form; no text is the empty message. Strictly, a name
// that no field or enum has is an *UnknownFieldError.
func (m *Message) FromJSON(text []byte, strict bool) ([]byte, error) {
	if len(text) == 0 {
		return nil, nil
	}
	j := &Translator{Message: m, Strict: strict}
	j.s.KeepNUL = true
	return j.Binary(text, profile.Limits{Line: len(text)})
}

// Binary translates a message. The result is valid until the next call.
func (j *Translator) Binary(text []byte, l profile.Limits) ([]byte, error) {
	j.wanted = -1
	return j.translate(text, l)
}

// Place returns where the message of text is that is translated to the place at.
func (j *Translator) Place(text []byte, at int, l profile.Limits) int64 {
	j.wanted, j.found = at, 0
	_, _ = j.translate(text, l) // it has no error again
	return j.found
}

func (j *Translator) translate(text []byte, l profile.Limits) ([]byte, error) {
	j.s.Reset(bytes.NewReader(text), l)
	j.out = slices.Grow(j.out[:0], len(text)/2)
	j.message(j.Message, -1)
	if err := j.s.End(); err != nil {
		return nil, err
	}
	if len(j.out) > math.MaxInt32 {
		return nil, &profile.ParseError{Err: profile.TooLarge("message longer", math.MaxInt32, "--max-message")}
	}
	return j.out, nil
}

// message appends the fields of an object, which become the message at a place of out.
func (j *Translator) message(m *Message, at int) {
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
		f, kind := j.named(m, key), j.s.Kind()
		switch {
		case j.Old != nil && j.Old(key, kind == jsonscan.Array):
			j.s.Fail(j.Refuse(j.s.Offset()))
		case f == nil && j.Strict && kind != jsonscan.Null:
			j.s.Fail(&profile.ParseError{Offset: j.s.Offset(), Err: &UnknownFieldError{Message: m, Field: string(key)}})
		case f == nil || kind == jsonscan.Null:
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

func (j *Translator) named(m *Message, key []byte) *field {
	for _, f := range m.fields {
		if f.name == string(key) && f.name != "" {
			return f
		}
	}
	name := j.Renamed[string(key)]
	for _, f := range m.fields {
		if f.snake == string(key) && f.name != "" || f.name == name && name != "" {
			return f
		}
	}
	return nil
}

// lengthBytes is how many bytes the length of a nested message takes here: it is
// known when the message is written, which is not moved then.
const lengthBytes = 5

// value appends a field.
func (j *Translator) value(f *field) {
	switch f.kind {
	case nested, encoded, counted:
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
		j.out = j.number(binary.AppendUvarint(j.out, uint64(f.num)<<3|wire.Fixed64), f)
	default:
		j.out = j.number(binary.AppendUvarint(j.out, uint64(f.num)<<3|wire.Varint), f)
	}
}

// packed appends a list of numbers.
func (j *Translator) packed(f *field) {
	j.out = binary.AppendUvarint(j.out, uint64(f.num)<<3|wire.Bytes)
	begin := len(j.out)
	j.out = append(j.out, 0)
	for range j.s.Array() {
		j.out = j.number(j.out, f)
	}
	size := len(j.out) - begin - 1
	if size < 0x80 {
		j.out[begin] = byte(size)
		return
	}
	j.out = slices.Replace(j.out, begin, begin+1, binary.AppendUvarint(nil, uint64(size))...)
}

// number appends a number as protocol buffers have it, without its field.
func (j *Translator) number(b []byte, f *field) []byte {
	switch f.kind {
	case bools:
		if j.s.Bool() {
			return append(b, 1)
		}
		return append(b, 0)
	case doubles:
		text := j.s.Scalar()
		v, err := strconv.ParseFloat(text, 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			j.s.Errorf("%.40q is not a number", text)
		}
		return binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	case fixed64s:
		return binary.LittleEndian.AppendUint64(b, uint64(j.int()))
	case enums:
		if j.s.Kind() == jsonscan.String {
			name := j.s.Text()
			i := slices.Index(f.enum, name)
			switch {
			case i < 0 && j.Strict:
				j.s.Fail(&profile.ParseError{Offset: j.s.Offset(), Err: &UnknownFieldError{Field: f.name, Value: name}})
			case i < 0:
				j.s.Errorf("%.40q is not one of %s", name, strings.Join(f.enum, ", "))
			}
			return binary.AppendUvarint(b, uint64(i))
		}
	}
	return binary.AppendUvarint(b, uint64(j.int()))
}

// int reads an integer, which may be a text.
func (j *Translator) int() int64 {
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
			j.s.Errorf("%.40q is not an integer", text)
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

// unpadded is base64 of both alphabets, with or without padding, in one spelling.
var unpadded = strings.NewReplacer("-", "+", "_", "/", "=", "")

// bytes reads bytes. Generic writers of OpenTelemetry write ids in base64 too.
func (j *Translator) bytes(k kind) []byte {
	text := j.s.Text()
	if k == ids {
		if b, err := hex.DecodeString(text); err == nil {
			return b
		}
	}
	b, err := base64.RawStdEncoding.DecodeString(unpadded.Replace(text))
	if err != nil {
		j.s.Errorf("%.40q is neither hexadecimal nor base64", text)
	}
	return b
}

// JSON translates a message from the binary form, on one line. Fields are in the order of the
// struct; of one that is not repeated and comes twice, the last counts.
func (m *Message) JSON(msg []byte) ([]byte, error) { return m.appendJSON(nil, msg, 0, len(msg)) }

func (m *Message) appendJSON(b, msg []byte, pos, end int) ([]byte, error) {
	var places [len(wire.Shape{})]struct{ first, last wire.Field } // by number
	for at := pos; at < end; {
		w, err := m.Next(msg, at, end)
		if err != nil {
			return nil, err
		}
		if at = w.Hi; m.Known(w.Num) {
			p := &places[w.Num]
			if p.last = w; p.first.Num == 0 {
				p.first = w
			}
		}
	}
	b = append(b, '{')
	for _, f := range m.fields {
		p := &places[f.num]
		if p.first.Num == 0 || f.name == "" {
			continue
		}
		if b[len(b)-1] != '{' {
			b = append(b, ',')
		}
		b = append(jsonscan.AppendText(b, f.name), ':')
		if !f.list {
			p.first = p.last
		} else {
			b = append(b, '[')
		}
		for at := p.first.At; at <= p.last.At; {
			w, err := m.Next(msg, at, end)
			if err != nil {
				return nil, err
			}
			at = w.Hi
			if w.Num != f.num {
				continue
			}
			if b, err = f.appendJSON(b, msg, w); err != nil {
				return nil, err
			}
		}
		if f.list {
			b = append(b, ']')
		}
	}
	return append(b, '}'), nil
}

func (f *field) appendJSON(b, msg []byte, w wire.Field) ([]byte, error) {
	data := msg[w.Lo:w.Hi]
	if w.Type == wire.Bytes && f.packed() { // none or many
		for pos := w.Lo; pos < w.Hi; {
			v, next, err := f.element(msg, pos, w.Hi)
			if err != nil {
				return nil, err
			}
			b, pos = f.appendNumber(f.comma(b), v), next
		}
		return b, nil
	}
	b = f.comma(b)
	switch {
	case f.of != nil:
		return f.of.appendJSON(b, msg, w.Lo, w.Hi)
	case f.kind == texts:
		return jsonscan.AppendText(b, string(data)), nil
	case f.kind == ids:
		return jsonscan.AppendText(b, hex.EncodeToString(data)), nil
	case f.kind == bytes64:
		return append(base64.StdEncoding.AppendEncode(append(b, '"'), data), '"'), nil
	}
	return f.appendNumber(b, w.Value), nil
}

// comma separates the elements of a list.
func (f *field) comma(b []byte) []byte {
	if f.list && b[len(b)-1] != '[' {
		return append(b, ',')
	}
	return b
}

func (f *field) appendNumber(b []byte, v uint64) []byte {
	switch f.kind {
	case int32s:
		return strconv.AppendInt(b, int64(f.int32(v)), 10)
	case uint32s:
		return strconv.AppendUint(b, uint64(uint32(v)), 10)
	case enums:
		if v < uint64(len(f.enum)) {
			return jsonscan.AppendText(b, f.enum[v])
		}
		return strconv.AppendInt(b, int64(f.int32(v)), 10)
	case bools:
		return strconv.AppendBool(b, v != 0)
	case doubles:
		switch x := math.Float64frombits(v); {
		case math.IsNaN(x):
			return append(b, `"NaN"`...)
		case math.IsInf(x, 0):
			return append(append(b, '"'), strings.TrimPrefix(strconv.FormatFloat(x, 'g', -1, 64)+`inity"`, "+")...)
		default:
			text, _ := json.Marshal(x) // the only errors are those two
			return append(b, text...)
		}
	case int64s:
		return append(strconv.AppendInt(append(b, '"'), int64(v), 10), '"')
	}
	return append(strconv.AppendUint(append(b, '"'), v, 10), '"')
}
