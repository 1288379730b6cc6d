package otlp

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"strconv"

	"github.com/dendroprof/dendro/format/protobuf"
	"github.com/dendroprof/dendro/internal/wire"
	"github.com/dendroprof/dendro/profile"
)

// Encode writes a table of p, or with table -1 all of them, as one ProfilesData
// in protocol buffers: a Profile message per table, the default first. What
// Decode returned reads back equal, up to the order of samples: each table has
// the same profile.Hash.
//
// Of profiles from other formats the file cannot hold addresses of objects,
// languages and columns of functions. A state becomes the attribute thread.state.
// Values that are scaled go to a smaller unit of time where there is one and are
// rounded otherwise. Times of a profile without a date count from 1970.
func Encode(w io.Writer, p *profile.Profile, table int) error {
	e := &encoder{p: p, dictionary: newDictionary(p.Symbols)}
	var tables []int
	switch {
	case len(p.Tables) == 0 || table < -1 || table >= len(p.Tables):
		return fmt.Errorf("write otlp: no sample table %d of %d", table, len(p.Tables))
	case table >= 0:
		tables = []int{table}
	default:
		tables = append(tables, p.Default)
		for i := range p.Tables {
			if i != p.Default {
				tables = append(tables, i)
			}
		}
	}
	by := scopeName{valid([]byte(p.Profiler)), valid([]byte(p.ProfilerVersion))}
	scope := wire.AppendBytes(nil, 1, []byte(protobuf.Encode(&by)))
	for n, i := range tables {
		msg, err := e.profile(&p.Tables[i], n == 0)
		if err != nil {
			return fmt.Errorf("write otlp: %w", err)
		}
		scope = wire.AppendBytes(scope, 2, msg)
	}
	resource := wire.AppendBytes(nil, 2, scope)
	out := bufio.NewWriterSize(w, 64<<10)
	out.Write(wire.AppendHead(nil, 1, len(resource)))
	out.Write(resource)
	e.write(out)
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write otlp: %w", err)
	}
	return nil
}

// encoder holds the state of one Encode.
type encoder struct {
	p *profile.Profile
	*dictionary
	tags map[profile.Tags]tags
	msg  []byte
	part []byte
}

// tags are what profile.Tags become in the file.
type tags struct {
	attributes []byte // the packed indices
	link       int32
}

// begin returns when the profile began, in Unix nanoseconds. Without a date that
// is 1, since a time of 0 is none.
func (e *encoder) begin() int64 {
	if e.p.Start.IsZero() {
		return 1
	}
	return e.p.Start.UnixNano()
}

// profile returns the Profile message of a table; the first one of a file also
// says what belongs to all.
func (e *encoder) profile(t *profile.Samples, first bool) ([]byte, error) {
	scale, err := t.Unscale()
	if err != nil {
		return nil, err
	}
	unscaled := t.Type
	unscaled.Unit = scale.Unit
	b := wire.AppendBytes(nil, 1, e.typeRef(e.fileName(&unscaled), scale.Unit))
	for i, v := range t.Value {
		if v = scale.Apply(v); v != 0 && t.Stack[i] != profile.NoStack { // gaps would count
			b = wire.AppendBytes(b, 2, e.sample(t, i, v))
		}
	}
	b = wire.AppendFixed64(b, 3, uint64(e.begin()))
	b = wire.AppendInt(b, 4, uint64(max(0, e.p.Duration)))
	if t.Type.Period > 0 {
		b = wire.AppendBytes(b, 5, e.typeRef(t.Type.PeriodName, t.Type.PeriodUnit))
		b = wire.AppendInt(b, 6, uint64(t.Type.Period))
	}
	if first {
		b = e.appendHead(b)
	}
	return b, nil
}

// appendHead appends the attributes that stand for fields of Profile.
func (e *encoder) appendHead(b []byte) []byte {
	var list []byte
	if len(e.p.Comments) > 0 {
		v := value{Which: valueArray}
		for _, c := range e.p.Comments {
			v.Array.Values = append(v.Array.Values, element{valueText, valid([]byte(c))})
		}
		list = binary.AppendUvarint(list, uint64(e.attribute(keyComment, v, "")))
	}
	for _, a := range [][2]string{{keyDropFrames, e.p.DropFrames}, {keyKeepFrames, e.p.KeepFrames}} {
		if a[1] != "" {
			list = binary.AppendUvarint(list, uint64(e.attribute(a[0], textValue(a[1]), "")))
		}
	}
	if len(list) > 0 {
		b = wire.AppendBytes(b, 11, list)
	}
	return b
}

// fileName returns what a type is called in the file: under the name it was read
// with, or the usual one, if that means the same type again.
func (e *encoder) fileName(t *profile.ValueType) string {
	names := []string{fileNames[t.Name]}
	if e.p.Format == Name {
		names = append([]string{t.Original}, names...)
	}
	for _, name := range names {
		if typeNames[[2]string{name, t.Unit}] == t.Name {
			return name
		}
	}
	return t.Name
}

func (e *encoder) typeRef(name, unit string) []byte {
	return protobuf.Encode(&valueType{e.string(name), e.string(unit)})
}

// sample returns the message of one row. It is valid until the next call.
func (e *encoder) sample(t *profile.Samples, i int, v int64) []byte {
	tags := e.tagsOf(t.Tags(i))
	b := wire.AppendInt(e.msg[:0], 1, uint64(e.stack(t.Stack[i])))
	if len(tags.attributes) > 0 {
		b = wire.AppendBytes(b, 2, tags.attributes)
	}
	b = wire.AppendInt(b, 3, uint64(tags.link))
	e.part = binary.AppendUvarint(e.part[:0], uint64(v))
	b = wire.AppendBytes(b, 4, e.part)
	if t.Time != nil {
		e.part = binary.LittleEndian.AppendUint64(e.part[:0], uint64(max(e.begin()+t.Time[i], 1)))
		b = wire.AppendBytes(b, 5, e.part)
	}
	e.msg = b
	return b
}

// tagsOf returns attributes and link of a sample.
func (e *encoder) tagsOf(k profile.Tags) tags {
	if t, ok := e.tags[k]; ok {
		return t
	}
	var t tags
	add := func(key string, v value, unit string) {
		t.attributes = binary.AppendUvarint(t.attributes, uint64(e.attribute(key, v, unit)))
	}
	th := e.p.Threads[k.Thread]
	if th.Name != "" {
		add(keyThreadName, textValue(th.Name), "")
	}
	if th.ID != "" {
		add(keyThreadID, numberOrText(th.ID), "")
	}
	if th.Process != "" {
		key, v := keyProcess, textValue(th.Process)
		if _, err := strconv.ParseInt(th.Process, 10, 64); err == nil {
			key, v = keyPid, numberOrText(th.Process)
		}
		add(key, v, "")
	}
	labels := e.p.LabelSets[k.Labels]
	if trace, span, n := linkOf(labels); n > 0 {
		t.link = e.link(trace, span)
		labels = labels[:len(labels)-n]
	}
	for _, l := range labels {
		if l.Text != "" {
			add(l.Key, textValue(l.Text), "")
		} else {
			add(l.Key, numberValue(l.Num), l.Unit)
		}
	}
	if k.State != 0 {
		add(keyState, textValue(e.p.States[k.State]), "")
	}
	if e.tags == nil {
		e.tags = map[profile.Tags]tags{}
	}
	e.tags[k] = t
	return t
}

// linkOf returns the ids of the link that the last n labels are.
func linkOf(labels []profile.Label) (trace, span []byte, n int) {
	id := func(key string, size int) []byte {
		if i := len(labels) - 1 - n; i >= 0 && labels[i].Key == key {
			if b, err := hex.DecodeString(labels[i].Text); err == nil && len(b) == size && hexID(b) == labels[i].Text {
				n++
				return b
			}
		}
		return nil
	}
	span = id(keySpan, 8)
	trace = id(keyTrace, 16)
	return trace, span, n
}

func textValue(text string) value { return value{Which: valueText, Text: valid([]byte(text))} }

func numberValue(n int64) value { return value{Which: valueNumber, Number: n} }

// numberOrText returns the value of an id: a number if it is spelled like one.
func numberOrText(text string) value {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n != 0 && strconv.FormatInt(n, 10) == text {
		return numberValue(n)
	}
	return textValue(text)
}
