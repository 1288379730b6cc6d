package otlp

import (
	"bytes"
	"encoding/hex"
	"math"
	"strconv"
	"strings"

	"github.com/dendroprof/dendro/format/protobuf"
	"github.com/dendroprof/dendro/internal/wire"
)

// The messages, as far as they are read. Of a list in an attribute only texts are read, of a
// map nothing.
type (
	message struct {
		Resources []resource `pb:"1 resource_profiles"`
		Tables    tables     `pb:"2 dictionary"`

		content []byte  // samples are read from it when they are linked
		indices []int32 // of a sample in work
	}
	resource struct {
		Resource struct {
			Attributes []keyValue `pb:"1 attributes"`
		} `pb:"1 resource"`
		Scopes []scope `pb:"2 scope_profiles"`
		_      []byte  `pb:"3"` // schema_url
	}
	scope struct {
		Scope    scopeName        `pb:"1 scope"`
		Profiles []profileMessage `pb:"2 profiles"`
		_        []byte           `pb:"3"` // schema_url
	}
	scopeName struct {
		Name    string `pb:"1 name"`
		Version string `pb:"2 version"`
	}
	profileMessage struct {
		At             protobuf.Position
		SampleType     valueType                `pb:"1 sample_type"`
		Samples        protobuf.Counted[sample] `pb:"2 samples"`
		Time           uint64                   `pb:"3 time_unix_nano fixed"`
		Duration       uint64                   `pb:"4 duration_nano"`
		PeriodType     valueType                `pb:"5 period_type"`
		Period         int64                    `pb:"6 period"`
		ID             []byte                   `pb:"7 profile_id hex"`
		OriginalFormat string                   `pb:"9 original_payload_format"`
		_              []byte                   `pb:"10"` // original_payload
		Attributes     []int32                  `pb:"11 attribute_indices"`
		Comments       []int32                  `pb:"15 comment_strindices"` // see fieldComments
	}
	valueType struct {
		Name int32 `pb:"1 type_strindex"`
		Unit int32 `pb:"2 unit_strindex"`
	}
	sample struct {
		At         protobuf.Position
		Stack      int32    `pb:"1 stack_index"`
		Attributes []int32  `pb:"2 attribute_indices"`
		Link       int32    `pb:"3 link_index"`
		Values     []int64  `pb:"4 values"`
		Times      []uint64 `pb:"5 timestamps_unix_nano fixed"`
	}

	tables struct {
		Mappings   []mapping   `pb:"1 mapping_table"`
		Locations  []location  `pb:"2 location_table"`
		Functions  []function  `pb:"3 function_table"`
		Links      []link      `pb:"4 link_table"`
		Strings    []string    `pb:"5 string_table"`
		Attributes []attribute `pb:"6 attribute_table"`
		Stacks     []stack     `pb:"7 stack_table"`
	}
	mapping struct {
		Start      uint64  `pb:"1 memory_start"`
		Limit      uint64  `pb:"2 memory_limit"`
		Offset     uint64  `pb:"3 file_offset"`
		File       int32   `pb:"4 filename_strindex"`
		Attributes []int32 `pb:"5 attribute_indices"`
	}
	location struct {
		Mapping    int32   `pb:"1 mapping_index"`
		Address    uint64  `pb:"2 address"`
		Lines      []line  `pb:"3 lines"` // innermost first
		Attributes []int32 `pb:"4 attribute_indices"`
	}
	line struct {
		Function int32 `pb:"1 function_index"`
		Line     int64 `pb:"2 line"`
		Column   int64 `pb:"3 column"`
	}
	function struct {
		Name       int32 `pb:"1 name_strindex"`
		SystemName int32 `pb:"2 system_name_strindex"`
		File       int32 `pb:"3 filename_strindex"`
		StartLine  int64 `pb:"4 start_line"`
	}
	link struct { // a span of a trace
		Trace []byte `pb:"1 trace_id hex"`
		Span  []byte `pb:"2 span_id hex"`
	}
	attribute struct {
		Key   int32 `pb:"1 key_strindex"`
		Value value `pb:"2 value"`
		Unit  int32 `pb:"3 unit_strindex"`
	}
	stack struct {
		Locations []int32 `pb:"1 location_indices"` // innermost first
	}

	keyValue struct {
		Key   string `pb:"1 key"`
		Value value  `pb:"2 value"`
		KeyAt int32  `pb:"3 key_strindex"` // if not 0
	}
	value struct { // an AnyValue
		Which    int     `pb:"which"`
		Text     string  `pb:"1 string_value"`
		Bool     bool    `pb:"2 bool_value"`
		Number   int64   `pb:"3 int_value"`
		Double   float64 `pb:"4 double_value"`
		Array    array   `pb:"5 array_value"`
		_        *none   `pb:"6 kvlist_value"`
		Bytes    []byte  `pb:"7 bytes_value"`
		StringAt int32   `pb:"8 string_value_strindex"`
	}
	array struct {
		Values []element `pb:"1 values"`
	}
	element struct {
		Which int    `pb:"which"`
		Text  string `pb:"1 string_value"`
	}
	none struct{}
)

var (
	messageType = protobuf.Of[message]()
	profileType = protobuf.Of[profileMessage]()
	sampleType  = protobuf.Of[sample]()
)

// What value.Which may be.
const (
	valueText = iota + 1
	valueBool
	valueNumber
	valueDouble
	valueArray
	valueMap
	valueBytes
	valueStringAt
)

// isNumber reports whether a value is a whole number.
func (v *value) isNumber() bool { return v.Which == valueNumber }

// texts returns the texts of a list.
func (v *value) texts() (list []string) {
	for i := range v.Array.Values {
		if e := &v.Array.Values[i]; e.Which == valueText {
			list = append(list, e.Text)
		}
	}
	return list
}

// textOf returns what a value other than a whole number says.
func (t *tables) textOf(v *value) string {
	switch v.Which {
	case valueText:
		return v.Text
	case valueBool:
		return strconv.FormatBool(v.Bool)
	case valueDouble:
		return strconv.FormatFloat(v.Double, 'g', -1, 64)
	case valueArray:
		if list := v.texts(); len(list) > 0 {
			return strings.Join(list, ", ")
		}
		return "[…]"
	case valueMap:
		return "{…}"
	case valueBytes:
		return hex.EncodeToString(v.Bytes)
	case valueStringAt:
		return t.text(v.StringAt)
	}
	return ""
}

// text returns a string of the table; what is not there is empty.
func (t *tables) text(i int32) string {
	if i < 0 || int(i) >= len(t.Strings) {
		return ""
	}
	return t.Strings[i]
}

// part is the place of an entry's elements in a slice of all.
type part struct{ lo, hi int32 }

// next returns the part of a slice from lo to its end.
func next(lo, hi int) part { return part{int32(lo), int32(hi)} }

// hexID returns an id in hexadecimal; one of zeros is none.
func hexID(id []byte) string {
	if len(bytes.Trim(id, "\x00")) == 0 {
		return ""
	}
	return hex.EncodeToString(id)
}

func valid(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }

// sampleTag begins a sample, of which a profile has most.
const sampleTag = 2<<3 | wire.Bytes

// eachSample calls plain with the place of each sample of a profile, from its tag at to its
// end, and use with the samples that plain returns false for, which are valid until it returns.
func (m *message) eachSample(p *profileMessage, plain func(at, pos, end int) (bool, error), use func(s *sample) error) error {
	var d protobuf.Decoder
	var s sample
	for pos, end := int(p.At.Lo), int(p.At.Hi); pos < end; {
		f := wire.Field{Num: 2, Type: wire.Bytes, At: pos}
		var err error
		if m.content[pos] == sampleTag {
			f.Lo, f.Hi, err = wire.Payload(m.content, pos+1, end)
		} else {
			f, err = profileType.Next(m.content, pos, end)
		}
		if err != nil {
			return err
		}
		pos = f.Hi
		if f.Num != 2 {
			continue
		}
		done, err := plain(f.At, f.Lo, f.Hi)
		if err == nil && !done {
			s = sample{}
			if err = sampleType.DecodeAt(&d, &s, m.content, f); err == nil {
				err = use(&s)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// index returns an index as it is, or one that exists nowhere.
func index(v uint64) int32 {
	if v > math.MaxInt32 {
		return -1
	}
	return int32(v)
}

// readIndices reads packed indices into the message's list.
func (m *message) readIndices(p part) error {
	m.indices = m.indices[:0]
	for pos := int(p.lo); pos < int(p.hi); {
		v, after, err := wire.Uvarint(m.content, pos, int(p.hi))
		if err != nil {
			return err
		}
		m.indices, pos = append(m.indices, index(v)), after
	}
	return nil
}
