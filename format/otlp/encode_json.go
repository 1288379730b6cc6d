package otlp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/dendroprof/dendro/internal/wire"
	"github.com/dendroprof/dendro/profile"
)

// EncodeJSON is Encode in the JSON form: names in lower camel case, 64-bit
// integers as texts, ids in hexadecimal, one line.
func EncodeJSON(w io.Writer, p *profile.Profile, table int) error {
	var buf bytes.Buffer
	if err := Encode(&buf, p, table); err != nil {
		return err
	}
	m := &message{}
	err := m.read(buf.Bytes(), 0, buf.Len())
	var doc jsonData
	if err == nil {
		doc, err = m.json()
	}
	if err != nil {
		return fmt.Errorf("write otlp: %w", wire.Place(err))
	}
	out := bufio.NewWriterSize(w, 64<<10)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(doc); err != nil {
		return fmt.Errorf("write otlp: %w", err)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write otlp: %w", err)
	}
	return nil
}

// The JSON form, as far as it is written. Zeros are left out.
type (
	jsonData struct {
		ResourceProfiles []jsonResource `json:"resourceProfiles"`
		Dictionary       jsonDictionary `json:"dictionary"`
	}
	jsonResource struct {
		ScopeProfiles []jsonScope `json:"scopeProfiles"`
	}
	jsonScope struct {
		Scope    jsonScopeName `json:"scope"`
		Profiles []jsonProfile `json:"profiles"`
	}
	jsonScopeName struct {
		Name    string `json:"name,omitempty"`
		Version string `json:"version,omitempty"`
	}
	jsonProfile struct {
		SampleType       jsonType     `json:"sampleType"`
		Samples          []jsonSample `json:"samples,omitempty"`
		TimeUnixNano     uint64       `json:"timeUnixNano,omitempty,string"`
		DurationNano     uint64       `json:"durationNano,omitempty,string"`
		PeriodType       *jsonType    `json:"periodType,omitempty"`
		Period           int64        `json:"period,omitempty,string"`
		AttributeIndices []int32      `json:"attributeIndices,omitempty"`
	}
	jsonType struct {
		TypeStrindex int32 `json:"typeStrindex,omitempty"`
		UnitStrindex int32 `json:"unitStrindex,omitempty"`
	}
	jsonSample struct {
		StackIndex         int32     `json:"stackIndex,omitempty"`
		AttributeIndices   []int32   `json:"attributeIndices,omitempty"`
		LinkIndex          int32     `json:"linkIndex,omitempty"`
		Values             []jsonInt `json:"values,omitempty"`
		TimestampsUnixNano []jsonInt `json:"timestampsUnixNano,omitempty"`
	}
	jsonDictionary struct {
		MappingTable   []jsonMapping   `json:"mappingTable"`
		LocationTable  []jsonLocation  `json:"locationTable"`
		FunctionTable  []jsonFunction  `json:"functionTable"`
		LinkTable      []jsonLink      `json:"linkTable"`
		StringTable    []string        `json:"stringTable"`
		AttributeTable []jsonAttribute `json:"attributeTable"`
		StackTable     []jsonStack     `json:"stackTable"`
	}
	jsonMapping struct {
		MemoryStart      uint64  `json:"memoryStart,omitempty,string"`
		MemoryLimit      uint64  `json:"memoryLimit,omitempty,string"`
		FileOffset       uint64  `json:"fileOffset,omitempty,string"`
		FilenameStrindex int32   `json:"filenameStrindex,omitempty"`
		AttributeIndices []int32 `json:"attributeIndices,omitempty"`
	}
	jsonLocation struct {
		MappingIndex     int32      `json:"mappingIndex,omitempty"`
		Address          uint64     `json:"address,omitempty,string"`
		Lines            []jsonLine `json:"lines,omitempty"`
		AttributeIndices []int32    `json:"attributeIndices,omitempty"`
	}
	jsonLine struct {
		FunctionIndex int32 `json:"functionIndex,omitempty"`
		Line          int64 `json:"line,omitempty,string"`
		Column        int64 `json:"column,omitempty,string"`
	}
	jsonFunction struct {
		NameStrindex       int32 `json:"nameStrindex,omitempty"`
		SystemNameStrindex int32 `json:"systemNameStrindex,omitempty"`
		FilenameStrindex   int32 `json:"filenameStrindex,omitempty"`
		StartLine          int64 `json:"startLine,omitempty,string"`
	}
	jsonLink struct {
		TraceID string `json:"traceId,omitempty"`
		SpanID  string `json:"spanId,omitempty"`
	}
	jsonAttribute struct {
		KeyStrindex  int32     `json:"keyStrindex,omitempty"`
		Value        *jsonText `json:"value,omitempty"`
		UnitStrindex int32     `json:"unitStrindex,omitempty"`
	}
	jsonText struct {
		StringValue *string    `json:"stringValue,omitempty"`
		IntValue    *jsonInt   `json:"intValue,omitempty"`
		ArrayValue  *jsonArray `json:"arrayValue,omitempty"`
	}
	jsonArray struct {
		Values []jsonText `json:"values"`
	}
	jsonStack struct {
		LocationIndices []int32 `json:"locationIndices,omitempty"`
	}
	// jsonInt is a 64-bit integer as a text.
	jsonInt int64
)

// MarshalJSON implements json.Marshaler.
func (i jsonInt) MarshalJSON() ([]byte, error) {
	return strconv.AppendQuote(nil, strconv.FormatInt(int64(i), 10)), nil
}

// json returns the message, which Encode wrote, in the JSON form.
func (m *message) json() (jsonData, error) {
	r := &m.resources[0]
	scope := jsonScope{Scope: jsonScopeName{r.scopeName, r.scopeVersion}}
	for i := range m.profiles {
		p, err := m.jsonProfile(&m.profiles[i])
		if err != nil {
			return jsonData{}, err
		}
		scope.Profiles = append(scope.Profiles, p)
	}
	return jsonData{[]jsonResource{{[]jsonScope{scope}}}, m.jsonDictionary()}, nil
}

func (m *message) jsonProfile(p *profileMessage) (jsonProfile, error) {
	x := jsonProfile{
		SampleType: jsonType{p.sampleType.name, p.sampleType.unit}, TimeUnixNano: p.time, DurationNano: p.duration,
		Period: p.period, AttributeIndices: m.part(p.attributes),
	}
	if p.period != 0 {
		x.PeriodType = &jsonType{p.periodType.name, p.periodType.unit}
	}
	err := m.eachSample(p, func(s *sample) error {
		js := jsonSample{StackIndex: s.stack, AttributeIndices: slices.Clone(m.part(s.attributes)), LinkIndex: s.link}
		for _, v := range m.values[s.values.lo:s.values.hi] {
			js.Values = append(js.Values, jsonInt(v))
		}
		for _, at := range m.times[s.times.lo:s.times.hi] {
			js.TimestampsUnixNano = append(js.TimestampsUnixNano, jsonInt(at))
		}
		x.Samples = append(x.Samples, js)
		return nil
	})
	return x, err
}

func (m *message) part(p part) []int32 { return m.indices[p.lo:p.hi] }

func (m *message) jsonDictionary() jsonDictionary {
	d := jsonDictionary{StringTable: m.strings}
	for _, x := range m.mappings {
		d.MappingTable = append(d.MappingTable, jsonMapping{x.start, x.limit, x.offset, x.file, m.part(x.attributes)})
	}
	for _, x := range m.locations {
		l := jsonLocation{MappingIndex: x.mapping, Address: x.address, AttributeIndices: m.part(x.attributes)}
		for _, ln := range m.lines[x.lines.lo:x.lines.hi] {
			l.Lines = append(l.Lines, jsonLine{ln.function, ln.line, ln.column})
		}
		d.LocationTable = append(d.LocationTable, l)
	}
	for _, x := range m.functions {
		d.FunctionTable = append(d.FunctionTable, jsonFunction{x.name, x.systemName, x.file, x.startLine})
	}
	for _, x := range m.links {
		d.LinkTable = append(d.LinkTable, jsonLink{x.trace, x.span})
	}
	for i, x := range m.attributes {
		a := jsonAttribute{KeyStrindex: x.key, UnitStrindex: x.unit}
		if i > 0 {
			a.Value = jsonValue(&x.value)
		}
		d.AttributeTable = append(d.AttributeTable, a)
	}
	for _, x := range m.stacks {
		d.StackTable = append(d.StackTable, jsonStack{m.part(x)})
	}
	return d
}

func jsonValue(v *value) *jsonText {
	switch {
	case v.isNumber:
		n := jsonInt(v.number)
		return &jsonText{IntValue: &n}
	case len(v.list) > 0:
		list := &jsonArray{}
		for i := range v.list {
			list.Values = append(list.Values, jsonText{StringValue: &v.list[i]})
		}
		return &jsonText{ArrayValue: list}
	}
	return &jsonText{StringValue: &v.text}
}
