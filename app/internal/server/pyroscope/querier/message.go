package querier

import (
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/dendroprof/dendro/format/pprof"
	"github.com/dendroprof/dendro/format/protobuf"
)

// The messages of querier.v1.QuerierService, of the packages querier.v1, types.v1 and
// google.v1, as far as Dendro answers them.
type (
	empty               struct{}
	profileTypesRequest struct {
		Start int64 `pb:"1 start"`
		End   int64 `pb:"2 end"`
	}
	profileTypesResponse struct {
		Types []profileType `pb:"1 profile_types"`
	}
	profileType struct {
		ID         string `pb:"1 ID"`
		Name       string `pb:"2 name"`
		SampleType string `pb:"4 sample_type"`
		SampleUnit string `pb:"5 sample_unit"`
		PeriodType string `pb:"6 period_type"`
		PeriodUnit string `pb:"7 period_unit"`
	}
	labelNamesRequest struct {
		Matchers []string `pb:"1 matchers"`
		Start    int64    `pb:"2 start"`
		End      int64    `pb:"3 end"`
	}
	labelValuesRequest struct {
		Name     string   `pb:"1 name"`
		Matchers []string `pb:"2 matchers"`
		Start    int64    `pb:"3 start"`
		End      int64    `pb:"4 end"`
	}
	namesResponse struct {
		Names []string `pb:"1 names"`
	}
	seriesRequest struct {
		Matchers   []string `pb:"1 matchers"`
		LabelNames []string `pb:"2 label_names"`
		Start      int64    `pb:"3 start"`
		End        int64    `pb:"4 end"`
	}
	seriesResponse struct {
		Sets []protobuf.Encoded[labels] `pb:"2 labels_set"`
	}
	labels struct {
		Labels []labelPair `pb:"1 labels"`
	}
	labelPair struct {
		Name  string `pb:"1 name"`
		Value string `pb:"2 value"`
	}
)

// selected is what the requests for windows of one type begin with.
type selected struct {
	Type     string `pb:"1 profile_typeID"`
	Selector string `pb:"2 label_selector"`
	Start    int64  `pb:"3 start"`
	End      int64  `pb:"4 end"`
}

type (
	selectSeriesRequest struct {
		selected
		By          []string           `pb:"5 group_by"`
		Step        float64            `pb:"6 step"` // seconds
		Aggregation aggregation        `pb:"7 aggregation"`
		Stack       stackTraceSelector `pb:"8 stack_trace_selector"`
		Limit       int64              `pb:"9 limit"`
		Exemplars   exemplars          `pb:"10 exemplar_type"` // windows have none
	}
	selectSeriesResponse struct {
		Series []series `pb:"1 series"`
	}
	series struct {
		Labels []labelPair `pb:"1 labels"`
		Points []point     `pb:"2 points"`
	}
	point struct {
		Value float64 `pb:"1 value"`
		Time  int64   `pb:"2 timestamp"`
	}
	stackTraceSelector struct {
		CallSite []callSite  `pb:"1 call_site"`
		GoPGO    *goPGO      `pb:"2 go_pgo"`
		Frames   frameFilter `pb:"3 frame_filter"`
	}
	frameFilter struct {
		Include         []string `pb:"1 include_function_names"`
		Exclude         []string `pb:"2 exclude_function_names"`
		IncludePatterns []string `pb:"3 include_function_name_regexes"`
		ExcludePatterns []string `pb:"4 exclude_function_name_regexes"`
	}
	goPGO struct {
		Keep    uint32 `pb:"1 keep_locations"`
		Callees bool   `pb:"2 aggregate_callees"`
	}
	asyncQuery struct {
		ID   string    `pb:"1 request_id"`
		Type asyncType `pb:"2 type"`
	}
	callSite struct {
		Name string `pb:"1 name"`
	}

	selectMergeStacktracesRequest struct {
		selected
		MaxNodes   int64              `pb:"5 max_nodes"`
		Format     format             `pb:"6 format"`
		Stack      stackTraceSelector `pb:"7 stack_trace_selector"`
		ProfileIDs []string           `pb:"8 profile_id_selector"`
		Async      *asyncQuery        `pb:"9 async"`
		TraceIDs   []string           `pb:"10 trace_id_selector"`
		SpanIDs    []string           `pb:"11 span_selector"`
		Options    formatOptions      `pb:"12 format_options"`
	}
	selectMergeStacktracesResponse struct {
		Flamegraph *flameGraph    `pb:"1 flamegraph"`
		Tree       []byte         `pb:"2 tree"`
		Dot        string         `pb:"3 dot"`
		Pprof      *pprofProfile  `pb:"5 pprof"`
		Functions  *functionTable `pb:"6 functions"`
		Branches   *functionTree  `pb:"7 function_tree"`
	}
	pprofProfile struct {
		Profile protobuf.Encoded[pprof.Message] `pb:"1 profile"`
	}
	selectMergeProfileRequest struct {
		selected
		MaxNodes   int64              `pb:"5 max_nodes"`
		Stack      stackTraceSelector `pb:"6 stack_trace_selector"`
		ProfileIDs []string           `pb:"7 profile_id_selector"`
		TraceIDs   []string           `pb:"8 trace_id_selector"`
	}
	selectMergeSpanProfileRequest struct {
		Type     string   `pb:"1 profile_typeID"`
		Selector string   `pb:"2 label_selector"`
		SpanIDs  []string `pb:"3 span_selector"`
		Start    int64    `pb:"4 start"`
		End      int64    `pb:"5 end"`
		MaxNodes int64    `pb:"6 max_nodes"`
		Format   format   `pb:"7 format"`
	}
	diffRequest struct {
		Left  selectMergeStacktracesRequest `pb:"1 left"`
		Right selectMergeStacktracesRequest `pb:"2 right"`
	}
	diffResponse struct {
		Flamegraph *flameGraph        `pb:"1 flamegraph"`
		Functions  *functionTableDiff `pb:"2 functions"`
		Branches   *functionTreeDiff  `pb:"3 function_tree"`
	}
	spanProfileResponse struct {
		Flamegraph *flameGraph `pb:"1 flamegraph"`
	}

	statsResponse struct {
		Ingested bool  `pb:"1 data_ingested"`
		Oldest   int64 `pb:"2 oldest_profile_time"`
		Newest   int64 `pb:"3 newest_profile_time"`
	}
	analyzeQueryRequest struct {
		Start int64  `pb:"2 start"`
		End   int64  `pb:"3 end"`
		Query string `pb:"4 query"`
	}
	analyzeQueryResponse struct {
		Scopes []queryScope `pb:"1 query_scopes"`
		Impact queryImpact  `pb:"2 query_impact"`
	}
	queryScope struct {
		Component  string `pb:"1 component_type"`
		Components uint64 `pb:"2 component_count"`
		Series     uint64 `pb:"4 series_count"`
	}
	queryImpact struct {
		Bytes  uint64 `pb:"2 total_bytes_in_time_range"`
		Series uint64 `pb:"3 total_queried_series"`
	}
)

// The messages of the formats FUNCTIONS and FUNCTION_TREE, as proposed in pull requests 5665, 5666 and
// 5668 of github.com/grafana/pyroscope and sent by Profiles Drilldown, as JSON. The numbers of
// their fields are those that come next: no release has them yet.
type (
	formatOptions struct {
		Functions functionsOptions     `pb:"1 functions"`
		Tree      *functionTreeOptions `pb:"2 function_tree"`
	}
	functionsOptions struct {
		Limit int64 `pb:"1 limit"`
	}
	functionTreeOptions struct {
		Selection treeSelection `pb:"1 selection"`
		Direction treeDirection `pb:"2 direction"`
		Depth     int32         `pb:"3 max_depth"` // 0: 1
	}
	functionTable struct {
		Functions []functionStats `pb:"1 functions"`
		Total     int64           `pb:"2 total"`           // of all samples
		Count     int64           `pb:"3 total_functions"` // also those beyond a limit
	}
	functionStats struct {
		Name  string `pb:"1 name"`
		Total int64  `pb:"2 total"`
		Self  int64  `pb:"3 self"`
	}
	functionTableDiff struct {
		Left  *functionTable `pb:"1 left"`
		Right *functionTable `pb:"2 right"`
	}
	functionTree struct {
		Callers *callTree `pb:"1 callers"`
		Callees *callTree `pb:"2 callees"`
	}
	callTree struct {
		Root protobuf.Encoded[callTreeNode] `pb:"1 root"`
	}
	callTreeNode struct {
		Name     string                           `pb:"1 name"`
		Total    int64                            `pb:"2 total"`
		Self     int64                            `pb:"3 self"`
		Children []protobuf.Encoded[callTreeNode] `pb:"4 children"`
		More     bool                             `pb:"5 has_children"` // also below the depth
	}
	functionTreeDiff struct {
		Left  *functionTree `pb:"1 left"`
		Right *functionTree `pb:"2 right"`
	}

	// Those of capabilities.v1.
	featureFlags struct {
		Flags []featureFlag `pb:"1 feature_flags"`
	}
	featureFlag struct {
		Name    string `pb:"1 name"`
		Enabled bool   `pb:"2 enabled"`
	}
)

// Where the chain of a function tree is: from the beginning of stacks, or at any place.
const (
	rootPath treeSelection = iota + 1
	functionChain
)

type treeSelection int32

func (treeSelection) Names() []string {
	return []string{"FUNCTION_TREE_SELECTION_UNSPECIFIED", "FUNCTION_TREE_SELECTION_ROOT_PATH", "FUNCTION_TREE_SELECTION_FUNCTION_CHAIN"}
}

const (
	onlyCallees treeDirection = iota + 1
	onlyCallers
	bothDirections
)

type treeDirection int32

func (treeDirection) Names() []string {
	return []string{"FUNCTION_TREE_DIRECTION_UNSPECIFIED", "FUNCTION_TREE_DIRECTION_CALLEES", "FUNCTION_TREE_DIRECTION_CALLERS",
		"FUNCTION_TREE_DIRECTION_BOTH"}
}

// Ways to add up a series.
const average aggregation = 1

type aggregation int32

func (aggregation) Names() []string {
	return []string{"TIME_SERIES_AGGREGATION_TYPE_SUM", "TIME_SERIES_AGGREGATION_TYPE_AVERAGE"}
}

// What a client may ask for besides the points of a series. Answers may have none.
type exemplars int32

func (exemplars) Names() []string {
	return []string{"EXEMPLAR_TYPE_UNSPECIFIED", "EXEMPLAR_TYPE_NONE", "EXEMPLAR_TYPE_INDIVIDUAL", "EXEMPLAR_TYPE_SPAN"}
}

type asyncType int32

func (asyncType) Names() []string {
	return []string{"ASYNC_QUERY_TYPE_DISABLED", "ASYNC_QUERY_TYPE_FORCE"}
}

// Formats of SelectMergeStacktraces.
const (
	formatDefault format = iota
	formatFlame
	formatTree
	formatDot
	formatPprof
	formatFunctions
	formatFunctionTree
)

type format int32

func (format) Names() []string {
	return []string{"PROFILE_FORMAT_UNSPECIFIED", "PROFILE_FORMAT_FLAMEGRAPH", "PROFILE_FORMAT_TREE",
		"PROFILE_FORMAT_DOT", "PROFILE_FORMAT_PPROF", "PROFILE_FORMAT_FUNCTIONS", "PROFILE_FORMAT_FUNCTION_TREE"}
}

// invalid returns the error of a request that its client has to change.
func invalid(format string, args ...any) error {
	return status.Error(codes.InvalidArgument, fmt.Sprintf(format, args...))
}

// unsupported returns the error of a request for what windows do not have.
func unsupported(format string, args ...any) error {
	return status.Error(codes.Unimplemented, fmt.Sprintf(format, args...))
}
