package otlp

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"math"
	"slices"
	"strconv"

	"github.com/dendroprof/dendro/internal/jsonscan"
	"github.com/dendroprof/dendro/profile"
)

// decodeJSON reads the values of a content, one message each.
func decodeJSON(content []byte, l profile.Limits, k *linker) error {
	var s jsonscan.Scanner
	keys := map[string]string{}
	for at := 0; ; {
		at += len(content[at:]) - len(bytes.TrimLeft(content[at:], " \t\r\n"))
		if at == len(content) {
			return nil
		}
		end := at + valueEnd(content[at:])
		s.Reset(bytes.NewReader(content[at:end]), l)
		m := &message{}
		r := reader{&s, m, keys}
		r.data()
		if err := s.End(); err != nil {
			if pe, ok := err.(*profile.ParseError); ok && pe.Offset >= 0 {
				moved := *pe
				moved.Offset += int64(at)
				return &moved
			}
			return err
		}
		if err := k.add(m); err != nil {
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

// reader reads the JSON form of a message: names in lower camel case, 64-bit
// integers as numbers or texts, ids in hexadecimal.
type reader struct {
	s    *jsonscan.Scanner
	m    *message
	keys map[string]string // those met, so that each is one text in memory
}

// maxKeys is how many keys are kept: the format has 50.
const maxKeys = 256

// list calls use for the elements of an array.
func (r reader) list(use func()) {
	for range r.s.Array() {
		use()
	}
}

// fields calls use with the keys of an object.
func (r reader) fields(use func(key string)) {
	for spelled := range r.s.Object() {
		key, ok := r.keys[string(spelled)]
		if !ok {
			key = string(spelled)
			if len(r.keys) < maxKeys {
				r.keys[key] = key
			}
		}
		use(key)
	}
}

// int reads an integer, be it spelled as a text.
func (r reader) int() int64 {
	if r.s.Kind() != jsonscan.String {
		return r.s.Int()
	}
	digits := r.s.Bytes()
	if v, ok := plainNumber(digits); ok {
		return v
	}
	text := string(digits)
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil && text != "" {
		u, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			r.s.Errorf("%q is no integer", text)
		}
		v = int64(u)
	}
	return v
}

// plainNumber reads the decimal digits of a number that is not negative and fits,
// without making a text.
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

// push is append with twice the room each time: append alone grows long slices by
// a quarter, which copies them several times as often.
func push[T any](list []T, v T) []T {
	if len(list) == cap(list) {
		list = slices.Grow(list, max(len(list), 64))
	}
	return append(list, v)
}

func (r reader) index() int32 {
	v := r.int()
	if v < 0 || v > math.MaxInt32 {
		return -1
	}
	return int32(v)
}

// indices reads an array of indices.
func (r reader) indices() part {
	from := len(r.m.indices)
	r.list(func() { r.m.indices = push(r.m.indices, r.index()) })
	return next(from, len(r.m.indices))
}

func (r reader) data() {
	r.fields(func(key string) {
		switch key {
		case "resourceProfiles":
			r.list(r.resource)
		case "dictionary":
			r.dictionary()
		}
	})
}

func (r reader) resource() {
	var from resource
	first := len(r.m.profiles)
	r.fields(func(key string) {
		switch key {
		case "resource":
			r.fields(func(key string) {
				if key == "attributes" {
					r.list(func() { from.attributes = append(from.attributes, r.keyValue()) })
				}
			})
		case "scopeProfiles":
			r.list(func() { r.scope(&from) })
		}
	})
	from.profiles = next(first, len(r.m.profiles))
	r.m.resources = append(r.m.resources, from)
}

func (r reader) scope(from *resource) {
	r.fields(func(key string) {
		switch key {
		case "scope":
			r.fields(func(key string) {
				switch key {
				case "name":
					from.scopeName = r.s.Text()
				case "version":
					from.scopeVersion = r.s.Text()
				}
			})
		case "profiles":
			r.list(r.profile)
		}
	})
}

func (r reader) profile() {
	p := profileMessage{at: int(r.s.Offset())}
	first := len(r.m.samples)
	r.fields(func(key string) {
		switch key {
		case "sampleType":
			p.sampleType = r.valueType()
		case "periodType":
			p.periodType = r.valueType()
		case "samples":
			r.list(r.sample)
		case "timeUnixNano":
			p.time = uint64(r.int())
		case "durationNano":
			p.duration = uint64(r.int())
		case "period":
			p.period = r.int()
		case "originalPayloadFormat":
			p.originalFormat = r.s.Text()
		case "attributeIndices":
			p.attributes = r.indices()
		}
	})
	p.samples = next(first, len(r.m.samples))
	p.count = len(r.m.samples) - first
	r.m.profiles = append(r.m.profiles, p)
}

func (r reader) valueType() (t typeRef) {
	r.fields(func(key string) {
		switch key {
		case "typeStrindex":
			t.name = r.index()
		case "unitStrindex":
			t.unit = r.index()
		}
	})
	return t
}

func (r reader) sample() {
	x := sample{at: int(r.s.Offset())}
	r.fields(func(key string) {
		switch key {
		case "stackIndex":
			x.stack = r.index()
		case "linkIndex":
			x.link = r.index()
		case "attributeIndices":
			x.attributes = r.indices()
		case "values":
			from := len(r.m.values)
			r.list(func() { r.m.values = push(r.m.values, r.int()) })
			x.values = next(from, len(r.m.values))
		case "timestampsUnixNano":
			from := len(r.m.times)
			r.list(func() { r.m.times = push(r.m.times, uint64(r.int())) })
			x.times = next(from, len(r.m.times))
		}
	})
	r.m.samples = push(r.m.samples, x)
}

func (r reader) attribute() {
	var x attribute
	r.fields(func(key string) {
		switch key {
		case "keyStrindex":
			x.key = r.index()
		case "unitStrindex":
			x.unit = r.index()
		case "value":
			x.value = r.value()
		}
	})
	r.m.attributes = append(r.m.attributes, x)
}

func (r reader) keyValue() (kv keyValue) {
	r.fields(func(key string) {
		switch key {
		case "key":
			kv.key = r.s.Text()
		case "keyStrindex":
			kv.keyAt = r.index()
		case "value":
			kv.value = r.value()
		}
	})
	return kv
}

// value reads an AnyValue, as readValue does.
func (r reader) value() (v value) {
	r.fields(func(key string) {
		switch key {
		case "stringValue":
			v = value{text: r.s.Text()}
		case "boolValue":
			v = value{text: strconv.FormatBool(r.s.Bool())}
		case "intValue":
			v = value{isNumber: true, number: r.int()}
		case "doubleValue":
			text := r.s.Scalar()
			if f, err := strconv.ParseFloat(text, 64); err == nil {
				text = strconv.FormatFloat(f, 'g', -1, 64)
			}
			v = value{text: text}
		case "arrayValue":
			v = value{text: "[…]", list: r.texts()}
		case "kvlistValue":
			v = value{text: "{…}"}
		case "bytesValue":
			text := r.s.Text()
			if b, err := base64.StdEncoding.DecodeString(text); err == nil {
				text = hex.EncodeToString(b)
			}
			v = value{text: text}
		case "stringValueStrindex":
			v = value{stringAt: r.index()}
		}
	})
	v.join()
	return v
}

// texts reads the texts of an ArrayValue.
func (r reader) texts() (list []string) {
	r.fields(func(key string) {
		if key != "values" {
			return
		}
		r.list(func() {
			r.fields(func(key string) {
				if key == "stringValue" {
					list = append(list, r.s.Text())
				}
			})
		})
	})
	return list
}
