package otlp

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"math"
	"strconv"
	"strings"

	"github.com/dendroprof/dendro/format/protobuf"
	"github.com/dendroprof/dendro/internal/wire"
)

// each calls use with the fields of the message [pos, end) that the schema knows.
func each(s *schema, msg []byte, pos, end int, use func(f wire.Field) error) error {
	for pos < end {
		f, err := s.Next(msg, pos, end)
		if err != nil {
			return err
		}
		if s.Known(f.Num) {
			if err := use(f); err != nil {
				return err
			}
		}
		pos = f.Hi
	}
	return nil
}

// read reads the message [pos, end).
func (m *message) read(msg []byte, pos, end int) error {
	m.content = msg
	dictionaries := 0
	return each(dataSchema, msg, pos, end, func(f wire.Field) error {
		if f.Num == 1 {
			return m.readResources(msg, f)
		}
		if dictionaries++; dictionaries > 1 {
			return protobuf.Malformed(f.At, "a second dictionary: are these several messages without lengths in front?")
		}
		return m.readDictionary(msg, f)
	})
}

func (m *message) readResources(msg []byte, f wire.Field) error {
	var from resource
	first := len(m.profiles)
	err := each(resourcesSchema, msg, f.Lo, f.Hi, func(f wire.Field) error {
		switch f.Num {
		case 1:
			return each(resourceSchema, msg, f.Lo, f.Hi, func(f wire.Field) error {
				if f.Num != 1 {
					return nil
				}
				kv, err := readKeyValue(msg, f)
				from.attributes = append(from.attributes, kv)
				return err
			})
		case 2:
			return each(scopesSchema, msg, f.Lo, f.Hi, func(f wire.Field) error {
				switch f.Num {
				case 1:
					return from.readScope(msg, f)
				case 2:
					return m.readProfile(msg, f)
				}
				return nil
			})
		}
		return nil
	})
	from.profiles = next(first, len(m.profiles))
	m.resources = append(m.resources, from)
	return err
}

func (from *resource) readScope(msg []byte, f wire.Field) error {
	return each(scopeSchema, msg, f.Lo, f.Hi, func(f wire.Field) error {
		switch f.Num {
		case 1:
			from.scopeName = valid(msg[f.Lo:f.Hi])
		case 2:
			from.scopeVersion = valid(msg[f.Lo:f.Hi])
		}
		return nil
	})
}

// readProfile reads a Profile message but for its samples, of which it reads no more
// than the lengths: they need the dictionary, which comes later.
func (m *message) readProfile(msg []byte, f wire.Field) error {
	p := profileMessage{at: f.At, body: next(f.Lo, f.Hi)}
	var attributes []int32
	for pos := f.Lo; pos < f.Hi; {
		if msg[pos] == sampleTag {
			_, hi, err := wire.Payload(msg, pos+1, f.Hi)
			if err != nil {
				return err
			}
			pos = hi
			p.count++
			continue
		}
		g, err := profileSchema.Next(msg, pos, f.Hi)
		if err != nil {
			return err
		}
		pos = g.Hi
		switch g.Num {
		case 1:
			p.sampleType, err = readType(msg, g)
		case 2:
			p.count++
		case 3:
			p.time = g.Value
		case 4:
			p.duration = g.Value
		case 5:
			p.periodType, err = readType(msg, g)
		case 6:
			p.period = int64(g.Value)
		case 7:
			if id := msg[g.Lo:g.Hi]; len(bytes.Trim(id, "\x00")) > 0 { // zeros are no id
				p.id = string(id)
			}
		case 9:
			p.originalFormat = valid(msg[g.Lo:g.Hi])
		case 11:
			attributes, err = appendIndices(attributes, msg, g)
		case fieldComments:
			p.comments, err = appendIndices(p.comments, msg, g)
		}
		if err != nil {
			return err
		}
	}
	p.attributes = m.addIndices(attributes)
	m.profiles = append(m.profiles, p)
	return nil
}

// eachSample calls plain with the place of each sample of a profile, from its tag at to its
// end, and use with the samples that plain returns false for. A sample and its parts are
// valid until use returns.
func (m *message) eachSample(p *profileMessage, plain func(at, pos, end int) (bool, error), use func(s *sample) error) error {
	indices, values, times := len(m.indices), len(m.values), len(m.times)
	var s sample
	for pos, end := int(p.body.lo), int(p.body.hi); pos < end; {
		f := wire.Field{Num: 2, Type: wire.Bytes, At: pos}
		var err error
		if m.content[pos] == sampleTag {
			f.Lo, f.Hi, err = wire.Payload(m.content, pos+1, end)
		} else {
			f, err = profileSchema.Next(m.content, pos, end)
		}
		if err != nil {
			return err
		}
		pos = f.Hi
		if f.Num != 2 {
			continue
		}
		done, err := plain(f.At, f.Lo, f.Hi)
		if err != nil {
			return err
		}
		if done {
			continue
		}
		m.indices, m.values, m.times = m.indices[:indices], m.values[:values], m.times[:times]
		if err := m.readSample(&s, m.content, f); err != nil {
			return err
		}
		if err := use(&s); err != nil {
			return err
		}
	}
	m.indices, m.values, m.times = m.indices[:indices], m.values[:values], m.times[:times]
	return nil
}

func (m *message) addIndices(list []int32) part {
	from := len(m.indices)
	m.indices = append(m.indices, list...)
	return next(from, len(m.indices))
}

func readType(msg []byte, f wire.Field) (typeRef, error) {
	v, err := typeSchema.Ints(msg, f.Lo, f.Hi)
	return typeRef{index(v[1]), index(v[2])}, err
}

// index returns an index as it is, or one that exists nowhere.
func index(v uint64) int32 {
	if v > math.MaxInt32 {
		return -1
	}
	return int32(v)
}

// appendIndices appends a repeated field of indices, packed or not.
func appendIndices(list []int32, msg []byte, f wire.Field) ([]int32, error) {
	if f.Type == wire.Varint {
		return append(list, index(f.Value)), nil
	}
	for pos := f.Lo; pos < f.Hi; {
		v, after, err := wire.Uvarint(msg, pos, f.Hi)
		if err != nil {
			return list, err
		}
		list = append(list, index(v))
		pos = after
	}
	return list, nil
}

// sampleTag begins a sample, of which a profile has most.
const sampleTag = 2<<3 | wire.Bytes

// sampleField is sampleSchema.Next, quicker for the fields that nearly all samples have.
func sampleField(msg []byte, pos, end int) (f wire.Field, err error) {
	switch tag := msg[pos]; tag {
	case 1<<3 | wire.Varint:
		f.Num, f.Type, f.At = 1, wire.Varint, pos
		f.Value, f.Hi, err = wire.Uvarint(msg, pos+1, end)
		return f, err
	case 2<<3 | wire.Bytes, 4<<3 | wire.Bytes, 5<<3 | wire.Bytes:
		f.Num, f.Type, f.At = int(tag>>3), wire.Bytes, pos
		f.Lo, f.Hi, err = wire.Payload(msg, pos+1, end)
		return f, err
	}
	return sampleSchema.Next(msg, pos, end)
}

// readSample reads a sample into s; its indices, values and times are appended to those of
// the message.
func (m *message) readSample(s *sample, msg []byte, f wire.Field) error {
	*s = sample{at: f.At}
	attributes, values, times := len(m.indices), len(m.values), len(m.times)
	for pos := f.Lo; pos < f.Hi; {
		g, err := sampleField(msg, pos, f.Hi)
		if err != nil {
			return err
		}
		switch g.Num {
		case 1:
			s.stack = index(g.Value)
		case 2:
			m.indices, err = appendIndices(m.indices, msg, g)
		case 3:
			s.link = index(g.Value)
		case 4:
			err = m.readValues(msg, g)
		case 5:
			err = m.readTimes(msg, g)
		}
		if err != nil {
			return err
		}
		pos = g.Hi
	}
	s.attributes, s.values, s.times = next(attributes, len(m.indices)), next(values, len(m.values)), next(times, len(m.times))
	return nil
}

func (m *message) readValues(msg []byte, f wire.Field) error {
	if f.Type == wire.Varint {
		m.values = append(m.values, int64(f.Value))
		return nil
	}
	for pos := f.Lo; pos < f.Hi; {
		v, after, err := wire.Uvarint(msg, pos, f.Hi)
		if err != nil {
			return err
		}
		m.values = append(m.values, int64(v))
		pos = after
	}
	return nil
}

func (m *message) readTimes(msg []byte, f wire.Field) error {
	if f.Type == wire.Fixed64 {
		m.times = append(m.times, f.Value)
		return nil
	}
	if (f.Hi-f.Lo)%8 != 0 {
		return protobuf.Malformed(f.At, "times in %d bytes", f.Hi-f.Lo)
	}
	for pos := f.Lo; pos < f.Hi; pos += 8 {
		m.times = append(m.times, binary.LittleEndian.Uint64(msg[pos:]))
	}
	return nil
}

func (m *message) readDictionary(msg []byte, f wire.Field) error {
	return each(dictionarySchema, msg, f.Lo, f.Hi, func(f wire.Field) (err error) {
		switch f.Num {
		case 1:
			var x mapping
			var v wire.Numbers
			x.attributes, err = m.entry(mappingSchema, msg, f, 5, &v)
			x.start, x.limit, x.offset, x.file = v[1], v[2], v[3], index(v[4])
			m.mappings = append(m.mappings, x)
		case 2:
			err = m.readLocation(msg, f)
		case 3:
			var v wire.Numbers
			v, err = functionSchema.Ints(msg, f.Lo, f.Hi)
			m.functions = append(m.functions, function{index(v[1]), index(v[2]), index(v[3]), int64(v[4])})
		case 4:
			err = m.readLink(msg, f)
		case 5:
			m.strings = append(m.strings, valid(msg[f.Lo:f.Hi]))
		case 6:
			err = m.readAttribute(msg, f)
		case 7:
			var s part
			s, err = m.entry(stackSchema, msg, f, 1, &wire.Numbers{})
			m.stacks = append(m.stacks, s)
		}
		return err
	})
}

// entry reads a message of integers and of one field of indices.
func (m *message) entry(s *schema, msg []byte, f wire.Field, indices int, v *wire.Numbers) (part, error) {
	from := len(m.indices)
	for pos := f.Lo; pos < f.Hi; {
		g, err := s.Next(msg, pos, f.Hi)
		if err != nil {
			return part{}, err
		}
		if g.Num == indices {
			if m.indices, err = appendIndices(m.indices, msg, g); err != nil {
				return part{}, err
			}
		}
		v.Set(g)
		pos = g.Hi
	}
	return next(from, len(m.indices)), nil
}

func (m *message) readLocation(msg []byte, f wire.Field) error {
	x := location{at: f.At}
	firstLine, firstIndex := len(m.lines), len(m.indices)
	for pos := f.Lo; pos < f.Hi; {
		g, err := locationSchema.Next(msg, pos, f.Hi)
		if err != nil {
			return err
		}
		switch g.Num {
		case 1:
			x.mapping = index(g.Value)
		case 2:
			x.address = g.Value
		case 3:
			var v wire.Numbers
			v, err = lineSchema.Ints(msg, g.Lo, g.Hi)
			m.lines = append(m.lines, line{index(v[1]), int64(v[2]), int64(v[3])})
		case 4:
			m.indices, err = appendIndices(m.indices, msg, g)
		}
		if err != nil {
			return err
		}
		pos = g.Hi
	}
	x.lines, x.attributes = next(firstLine, len(m.lines)), next(firstIndex, len(m.indices))
	m.locations = append(m.locations, x)
	return nil
}

func (m *message) readLink(msg []byte, f wire.Field) error {
	var x link
	err := each(linkSchema, msg, f.Lo, f.Hi, func(f wire.Field) error {
		id := hexID(msg[f.Lo:f.Hi])
		if f.Num == 1 {
			x.trace = id
		} else {
			x.span = id
		}
		return nil
	})
	m.links = append(m.links, x)
	return err
}

// hexID returns an id of a trace or span in hexadecimal; one of zeros is none.
func hexID(id []byte) string {
	for _, b := range id {
		if b != 0 {
			return hex.EncodeToString(id)
		}
	}
	return ""
}

func (m *message) readAttribute(msg []byte, f wire.Field) error {
	var x attribute
	err := each(attributeSchema, msg, f.Lo, f.Hi, func(f wire.Field) (err error) {
		switch f.Num {
		case 1:
			x.key = index(f.Value)
		case 2:
			x.value, err = readValue(msg, f)
		case 3:
			x.unit = index(f.Value)
		}
		return err
	})
	m.attributes = append(m.attributes, x)
	return err
}

func readKeyValue(msg []byte, f wire.Field) (kv keyValue, err error) {
	err = each(keyValueSchema, msg, f.Lo, f.Hi, func(f wire.Field) (err error) {
		switch f.Num {
		case 1:
			kv.key = valid(msg[f.Lo:f.Hi])
		case 2:
			kv.value, err = readValue(msg, f)
		case 3:
			kv.keyAt = index(f.Value)
		}
		return err
	})
	return kv, err
}

// readValue reads an AnyValue. Of lists the texts are kept, of maps nothing.
func readValue(msg []byte, f wire.Field) (v value, err error) {
	err = each(valueSchema, msg, f.Lo, f.Hi, func(f wire.Field) error {
		switch f.Num {
		case 1:
			v = value{text: valid(msg[f.Lo:f.Hi])}
		case 2:
			v = value{text: strconv.FormatBool(f.Value != 0)}
		case 3:
			v = value{isNumber: true, number: int64(f.Value)}
		case 4:
			v = value{text: strconv.FormatFloat(math.Float64frombits(f.Value), 'g', -1, 64)}
		case 5:
			v = value{text: "[…]"}
			return each(arraySchema, msg, f.Lo, f.Hi, func(f wire.Field) error {
				return each(valueSchema, msg, f.Lo, f.Hi, func(f wire.Field) error {
					if f.Num == 1 {
						v.list = append(v.list, valid(msg[f.Lo:f.Hi]))
					}
					return nil
				})
			})
		case 6:
			v = value{text: "{…}"}
		case 7:
			v = value{text: hex.EncodeToString(msg[f.Lo:f.Hi])}
		case 8:
			v = value{stringAt: index(f.Value)}
		}
		return nil
	})
	v.join()
	return v, err
}

func valid(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }
