package querier

import (
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/dendroprof/dendro/app/internal/server/connect"
	"github.com/dendroprof/dendro/internal/wire"
)

// schema has the messages of querier.v1.QuerierService, of the packages querier.v1,
// types.v1 and google.v1, as far as Dendro answers them. The messages of pprof have a P
// before their names.
var schema = connect.MustSchema(`
message Empty {}
message ProfileTypesRequest { int64 start = 1; int64 end = 2; }
message ProfileTypesResponse { repeated ProfileType profile_types = 1; }
message ProfileType { string ID = 1; string name = 2; string sample_type = 4; string sample_unit = 5; string period_type = 6; string period_unit = 7; }
message LabelNamesRequest { repeated string matchers = 1; int64 start = 2; int64 end = 3; }
message LabelValuesRequest { string name = 1; repeated string matchers = 2; int64 start = 3; int64 end = 4; }
message NamesResponse { repeated string names = 1; }
message SeriesRequest { repeated string matchers = 1; repeated string label_names = 2; int64 start = 3; int64 end = 4; }
message SeriesResponse { repeated Labels labels_set = 2; }
message Labels { repeated LabelPair labels = 1; }
message LabelPair { string name = 1; string value = 2; }

message SelectSeriesRequest {
	string profile_typeID = 1; string label_selector = 2; int64 start = 3; int64 end = 4; repeated string group_by = 5; double step = 6;
	Aggregation aggregation = 7; StackTraceSelector stack_trace_selector = 8; int64 limit = 9;
}
enum Aggregation { TIME_SERIES_AGGREGATION_TYPE_SUM = 0; TIME_SERIES_AGGREGATION_TYPE_AVERAGE = 1; }
message SelectSeriesResponse { repeated Series series = 1; }
message Series { repeated LabelPair labels = 1; repeated Point points = 2; }
message Point { double value = 1; int64 timestamp = 2; }

message SelectMergeStacktracesRequest {
	string profile_typeID = 1; string label_selector = 2; int64 start = 3; int64 end = 4; int64 max_nodes = 5; ProfileFormat format = 6;
	StackTraceSelector stack_trace_selector = 7; repeated string profile_id_selector = 8; repeated string trace_id_selector = 10; repeated string span_selector = 11;
}
enum ProfileFormat { PROFILE_FORMAT_UNSPECIFIED = 0; PROFILE_FORMAT_FLAMEGRAPH = 1; PROFILE_FORMAT_TREE = 2; PROFILE_FORMAT_DOT = 3; PROFILE_FORMAT_PPROF = 4; }
message StackTraceSelector { repeated CallSite call_site = 1; GoPGO go_pgo = 2; }
message CallSite { string name = 1; }
message GoPGO { uint32 keep_locations = 1; bool aggregate_callees = 2; }
message SelectMergeStacktracesResponse { FlameGraph flamegraph = 1; bytes tree = 2; string dot = 3; PprofProfile pprof = 5; }
message PprofProfile { PProfile profile = 1; }
message FlameGraph { repeated string names = 1; repeated Level levels = 2; int64 total = 3; int64 max_self = 4; }
message Level { repeated int64 values = 1; }

message SelectMergeProfileRequest {
	string profile_typeID = 1; string label_selector = 2; int64 start = 3; int64 end = 4; int64 max_nodes = 5;
	StackTraceSelector stack_trace_selector = 6; repeated string profile_id_selector = 7; repeated string trace_id_selector = 8;
}
message SelectMergeSpanProfileRequest {
	string profile_typeID = 1; string label_selector = 2; repeated string span_selector = 3; int64 start = 4; int64 end = 5; int64 max_nodes = 6; ProfileFormat format = 7;
}
message SelectMergeSpanProfileResponse { FlameGraph flamegraph = 1; bytes tree = 2; }
message DiffRequest { SelectMergeStacktracesRequest left = 1; SelectMergeStacktracesRequest right = 2; }
message DiffResponse { FlameGraphDiff flamegraph = 1; }
message FlameGraphDiff { repeated string names = 1; repeated Level levels = 2; int64 total = 3; int64 max_self = 4; int64 leftTicks = 5; int64 rightTicks = 6; }

message GetProfileStatsResponse { bool data_ingested = 1; int64 oldest_profile_time = 2; int64 newest_profile_time = 3; }
message AnalyzeQueryRequest { int64 start = 2; int64 end = 3; string query = 4; }
message AnalyzeQueryResponse { repeated QueryScope query_scopes = 1; QueryImpact query_impact = 2; }
message QueryScope { string component_type = 1; uint64 component_count = 2; uint64 series_count = 4; }
message QueryImpact { uint64 total_bytes_in_time_range = 2; uint64 total_queried_series = 3; }

message PProfile {
	repeated PValueType sample_type = 1; repeated PSample sample = 2; repeated PMapping mapping = 3; repeated PLocation location = 4; repeated PFunction function = 5;
	repeated string string_table = 6; int64 drop_frames = 7; int64 keep_frames = 8; int64 time_nanos = 9; int64 duration_nanos = 10; PValueType period_type = 11;
	int64 period = 12; repeated int64 comment = 13; int64 default_sample_type = 14;
}
message PValueType { int64 type = 1; int64 unit = 2; }
message PSample { repeated uint64 location_id = 1; repeated int64 value = 2; repeated PLabel label = 3; }
message PLabel { int64 key = 1; int64 str = 2; int64 num = 3; int64 num_unit = 4; }
message PMapping {
	uint64 id = 1; uint64 memory_start = 2; uint64 memory_limit = 3; uint64 file_offset = 4; int64 filename = 5; int64 build_id = 6;
	bool has_functions = 7; bool has_filenames = 8; bool has_line_numbers = 9; bool has_inline_frames = 10;
}
message PLocation { uint64 id = 1; uint64 mapping_id = 2; uint64 address = 3; repeated PLine line = 4; bool is_folded = 5; }
message PLine { uint64 function_id = 1; int64 line = 2; }
message PFunction { uint64 id = 1; int64 name = 2; int64 system_name = 3; int64 filename = 4; int64 start_line = 5; }
`)

// maxElements limits the texts and messages in a request.
const maxElements = 10_000

// fields are a decoded message: integers and doubles, and texts and messages, by the number
// of the field.
type fields struct {
	numbers wire.Numbers
	list    [len(wire.Numbers{})][]string
}

// Shapes of fields.
const (
	number = wire.AsVarint
	double = wire.AsFixed64
	text   = wire.AsBytes // a message, too
)

// read decodes a message.
func read(shape *wire.Shape, msg string) (*fields, error) {
	f, b := new(fields), []byte(msg)
	elements := 0
	for pos := 0; pos < len(b); {
		field, err := shape.Next(b, pos, len(b))
		if err != nil {
			return nil, invalid("the message is damaged: %v", err)
		}
		pos = field.Hi
		switch {
		case !shape.Known(field.Num):
		case field.Type == wire.Bytes:
			if elements++; elements > maxElements {
				return nil, invalid("more than %d elements in a request", maxElements)
			}
			f.list[field.Num] = append(f.list[field.Num], string(b[field.Lo:field.Hi]))
		default:
			f.numbers.Set(field)
		}
	}
	return f, nil
}

// int returns an integer, 0 if it is missing.
func (f *fields) int(num int) int64 { return int64(f.numbers[num]) }

// text returns a text, empty if it is missing. Of several the last counts.
func (f *fields) text(num int) string {
	if list := f.list[num]; len(list) > 0 {
		return list[len(list)-1]
	}
	return ""
}

// invalid returns the error of a request that its client has to change.
func invalid(format string, args ...any) error {
	return status.Error(codes.InvalidArgument, fmt.Sprintf(format, args...))
}

// unsupported returns the error of a request for what windows do not have.
func unsupported(format string, args ...any) error {
	return status.Error(codes.Unimplemented, fmt.Sprintf(format, args...))
}

// appendTexts appends a repeated text.
func appendTexts(b []byte, num int, list []string) []byte {
	for _, s := range list {
		b = wire.AppendBytes(b, num, s)
	}
	return b
}
