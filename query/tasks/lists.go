package tasks

import (
	"context"
	"fmt"
	"sort"
	"time"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/document"
	"github.com/dendroprof/dendro/query/param"
	"github.com/dendroprof/dendro/traceprof"
	"github.com/dendroprof/dendro/traceprof/spans"
)

// InstancesRequest asks for the instances that reported.
type InstancesRequest struct {
	Service string    `param:"service" group:"Selection" arg:"name" help:"service"`
	Since   time.Time `param:"since" group:"Selection" arg:"date" help:"instances seen on or after this date"`
	Rows    int       `param:"rows" group:"Limit" arg:"n" min:"0" help:"maximum number of rows (0: all)"`
}

// Instances lists instances by service and name.
func Instances(ctx context.Context, st traceprof.Store, r *InstancesRequest) (*query.List[traceprof.Instance], error) {
	list, err := st.Instances(ctx, r.Service, query.Milli(r.Since))
	rows, omitted := query.First(list, r.Rows)
	return &query.List[traceprof.Instance]{Omitted: omitted, Rows: rows}, err
}

// EndpointsRequest asks for the endpoints of a service.
type EndpointsRequest struct {
	Service string `param:"service" group:"Selection" arg:"name" help:"service (required)"`
	Keyword string `param:"keyword" group:"Selection" arg:"text" help:"endpoints whose names contain this text, in any case"`
	Rows    int    `param:"rows" group:"Limit" arg:"n" min:"0" default:"1000" help:"maximum number of rows (0: all)"`
}

// Endpoints lists endpoints by name.
func Endpoints(ctx context.Context, st traceprof.Store, r *EndpointsRequest) (*query.List[traceprof.Endpoint], error) {
	if r.Service == "" {
		return nil, param.Errorf("--service is missing: endpoints belong to a service")
	}
	list, err := st.Endpoints(ctx, r.Service, r.Keyword, r.Rows)
	return &query.List[traceprof.Endpoint]{Rows: list}, err
}

// SegmentsRequest asks for the segments of a store.
type SegmentsRequest struct {
	Segments []string  `param:"segment" group:"Selection" arg:"id" help:"segment; repeatable"`
	Traces   []string  `param:"trace" group:"Selection" arg:"id" help:"trace; repeatable"`
	Service  string    `param:"service" group:"Selection" arg:"name" help:"service"`
	Instance string    `param:"instance" group:"Selection" arg:"name" help:"instance"`
	Endpoint string    `param:"endpoint" group:"Selection" arg:"name" help:"endpoint"`
	Since    time.Time `param:"since" group:"Selection" arg:"date" help:"segments that start on or after this date"`
	Until    time.Time `param:"until" group:"Selection" arg:"date" help:"segments that start before this date"`
	Shortest Millis    `param:"shortest" group:"Selection" arg:"time" help:"minimum latency"`
	Longest  Millis    `param:"longest" group:"Selection" arg:"time" help:"maximum latency"`
	Failed   *bool     `param:"failed" group:"Selection" help:"segments with errors, or without"`
	Sort     string    `param:"sort" group:"View" choices:"start,latency" help:"order: newest start first, or longest first"`
	Offset   int       `param:"offset" group:"Limit" arg:"n" min:"0" help:"number of rows to skip"`
	Rows     int       `param:"rows" group:"Limit" arg:"n" min:"0" default:"1000" help:"maximum number of rows (0: all)"`
}

// Segment is a segment, with its spans if it was requested alone.
type Segment struct {
	traceprof.Segment
	Latency int64            `json:"latency"` // ms
	Spans   []traceprof.Span `json:"spans,omitempty"`
}

func segmentOf(s traceprof.Segment) Segment {
	s.Raw = nil
	return Segment{Segment: s, Latency: s.Latency()}
}

// Segments lists segments without their spans.
func Segments(ctx context.Context, st traceprof.Store, r *SegmentsRequest) (*query.List[Segment], error) {
	list, err := st.Segments(ctx, traceprof.SegmentQuery{IDs: r.Segments, Traces: r.Traces, Service: r.Service, Instance: r.Instance,
		Endpoint: r.Endpoint,
		From:     query.Milli(r.Since), To: query.Milli(r.Until), Shortest: int64(r.Shortest), Longest: int64(r.Longest), Failed: r.Failed,
		BySlowest: r.Sort == "latency", NoRaw: true, Offset: r.Offset, Limit: r.Rows})
	result := &query.List[Segment]{Rows: make([]Segment, len(list))}
	for i := range list {
		result.Rows[i] = segmentOf(list[i])
	}
	return result, err
}

// SegmentRequest asks for one segment.
type SegmentRequest struct {
	Segment string `param:"segment" arg:"id" help:"segment"`
}

// DescribeSegment answers a SegmentRequest.
func DescribeSegment(ctx context.Context, st traceprof.Store, r *SegmentRequest) (*Segment, error) {
	list, err := st.Segments(ctx, traceprof.SegmentQuery{IDs: []string{r.Segment}})
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("segment %.200s: %w: the store has no such segment", r.Segment, ErrNotSampled)
	}
	result := segmentOf(list[0])
	result.Spans, err = spans.Of(list[0].Raw)
	return &result, err
}

// SnapshotsRequest asks for snapshots one by one.
type SnapshotsRequest struct {
	Tasks    []string `param:"task" group:"Selection" arg:"id" help:"task; repeatable"`
	Segments []string `param:"segment" group:"Selection" arg:"id" help:"segment; repeatable"`
	Rows     int      `param:"rows" group:"Limit" arg:"n" min:"0" help:"maximum number of rows (0: all)"`
}

// SnapshotsResult lists snapshots by task, segment and sequence.
type SnapshotsResult struct {
	Omitted query.Omitted           `json:"omitted,omitzero"`
	Rows    document.Rows[Snapshot] `json:"rows"`
}

// Snapshot is one stack of a thread, outermost frame first.
type Snapshot struct {
	Task     string   `json:"task"`
	Segment  string   `json:"segment"`
	Sequence int32    `json:"sequence"`
	Time     int64    `json:"time"` // ms since 1970
	Stack    []string `json:"stack"`
}

// Snapshots answers a SnapshotsRequest.
func Snapshots(ctx context.Context, st traceprof.Store, r *SnapshotsRequest) (*SnapshotsResult, error) {
	if len(r.Tasks)+len(r.Segments) == 0 {
		return nil, param.Errorf("select a task or a segment: --task, --segment")
	}
	var list []traceprof.Snapshots
	var ends []int // rows up to the end of each
	n := 0
	for s, err := range st.Snapshots(ctx, traceprof.SnapshotQuery{Tasks: r.Tasks, Segments: r.Segments}) {
		if err != nil {
			return nil, err
		}
		n += s.Len()
		list, ends = append(list, s), append(ends, n)
	}
	shown := n
	if r.Rows > 0 {
		shown = min(n, r.Rows)
	}
	return &SnapshotsResult{query.Omitted{Rows: n - shown}, document.RowsOf(shown, func(i int) Snapshot {
		at := sort.SearchInts(ends, i+1)
		s := &list[at]
		i -= ends[at] - s.Len()
		stack := []string{}
		if s.Path[i] != calltree.NoNode {
			stack = s.Stacks.Names(s.Path[i])
		}
		return Snapshot{s.Task, s.Segment, s.Sequence[i], s.Time[i], stack}
	})}, nil
}
