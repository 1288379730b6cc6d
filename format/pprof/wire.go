package pprof

import "github.com/dendroprof/dendro/format/protobuf"

// Message is the outermost message of the format, Profile. Decoder does not use the struct: it
// reads messages in place, by their shapes.
type Message struct {
	SampleType        []valueTypeMessage `pb:"1 sample_type"`
	Sample            []sampleMessage    `pb:"2 sample"`
	Mapping           []mappingMessage   `pb:"3 mapping"`
	Location          []locationMessage  `pb:"4 location"`
	Function          []functionMessage  `pb:"5 function"`
	StringTable       []string           `pb:"6 string_table"`
	DropFrames        int64              `pb:"7 drop_frames"`
	KeepFrames        int64              `pb:"8 keep_frames"`
	TimeNanos         int64              `pb:"9 time_nanos"`
	DurationNanos     int64              `pb:"10 duration_nanos"`
	PeriodType        valueTypeMessage   `pb:"11 period_type"`
	Period            int64              `pb:"12 period"`
	Comment           []int64            `pb:"13 comment"`
	DefaultSampleType int64              `pb:"14 default_sample_type"`
	DocURL            int64              `pb:"15 doc_url"`
}

type (
	valueTypeMessage struct {
		Type int64 `pb:"1 type"`
		Unit int64 `pb:"2 unit"`
	}
	sampleMessage struct {
		LocationID []uint64       `pb:"1 location_id"`
		Value      []int64        `pb:"2 value"`
		Label      []labelMessage `pb:"3 label"`
	}
	labelMessage struct {
		Key     int64 `pb:"1 key"`
		Str     int64 `pb:"2 str"`
		Num     int64 `pb:"3 num"`
		NumUnit int64 `pb:"4 num_unit"`
	}
	mappingMessage struct {
		ID              uint64 `pb:"1 id"`
		MemoryStart     uint64 `pb:"2 memory_start"`
		MemoryLimit     uint64 `pb:"3 memory_limit"`
		FileOffset      uint64 `pb:"4 file_offset"`
		Filename        int64  `pb:"5 filename"`
		BuildID         int64  `pb:"6 build_id"`
		HasFunctions    bool   `pb:"7 has_functions"`
		HasFilenames    bool   `pb:"8 has_filenames"`
		HasLineNumbers  bool   `pb:"9 has_line_numbers"`
		HasInlineFrames bool   `pb:"10 has_inline_frames"`
	}
	locationMessage struct {
		ID        uint64        `pb:"1 id"`
		MappingID uint64        `pb:"2 mapping_id"`
		Address   uint64        `pb:"3 address"`
		Line      []lineMessage `pb:"4 line"`
		IsFolded  bool          `pb:"5 is_folded"`
	}
	lineMessage struct {
		FunctionID uint64 `pb:"1 function_id"`
		Line       int64  `pb:"2 line"`
		Column     int64  `pb:"3 column"`
	}
	functionMessage struct {
		ID         uint64 `pb:"1 id"`
		Name       int64  `pb:"2 name"`
		SystemName int64  `pb:"3 system_name"`
		Filename   int64  `pb:"4 filename"`
		StartLine  int64  `pb:"5 start_line"`
	}
)

var (
	profileShape   = protobuf.Of[Message]().Shape
	valueTypeShape = protobuf.Of[valueTypeMessage]().Shape
	sampleShape    = protobuf.Of[sampleMessage]().Shape
	labelShape     = protobuf.Of[labelMessage]().Shape
	mappingShape   = protobuf.Of[mappingMessage]().Shape
	locationShape  = protobuf.Of[locationMessage]().Shape
	lineShape      = protobuf.Of[lineMessage]().Shape
	functionShape  = protobuf.Of[functionMessage]().Shape
)

// Field numbers of the outermost message.
const (
	fieldSampleType  = 1
	fieldSample      = 2
	fieldMapping     = 3
	fieldLocation    = 4
	fieldFunction    = 5
	fieldString      = 6
	fieldDropFrames  = 7
	fieldKeepFrames  = 8
	fieldTime        = 9
	fieldDuration    = 10
	fieldPeriodType  = 11
	fieldPeriod      = 12
	fieldComment     = 13
	fieldDefaultType = 14
	fieldDocURL      = 15
)
