package graphql

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"

	"skywalking.apache.org/repo/goapi/query"

	"github.com/dendroprof/dendro/traceprof"
	"github.com/dendroprof/dendro/traceprof/ids"
)

// Limits of what one query about traces reads.
const (
	maxPage    = 1000   // segments of a page
	maxTraces  = 100    // traces of a page, with all their spans
	maxScanned = 20_000 // segments whose tags are compared
	maxSegment = 2000   // segments of one trace
	maxTagged  = 2000   // segments whose tags are listed
	batch      = 500    // segments read at a time
)

// condition is a parsed TraceQueryCondition.
type condition struct {
	segments traceprof.SegmentQuery // without a page
	tags     []*query.SpanTag
	offset   int
	limit    int
	during   span
	raw      bool // the segments' spans are needed
}

// conditionOf parses a condition. A page has at most most entries.
func conditionOf(in *query.TraceQueryCondition, most int) (c condition, err error) {
	if in == nil || in.Paging == nil {
		return c, errors.New("condition cannot be null")
	}
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	q := &c.segments
	if id := text(in.ServiceID); id != "" {
		if q.Service, err = ids.ParseService(id); err != nil {
			return c, err
		}
	}
	if id := text(in.ServiceInstanceID); id != "" {
		if q.Service, q.Instance, err = ids.ParseInstance(id); err != nil {
			return c, err
		}
	}
	if id := text(in.EndpointID); id != "" {
		if q.Service, q.Endpoint, err = ids.ParseEndpoint(id); err != nil {
			return c, err
		}
	}
	if id := text(in.TraceID); id != "" {
		q.Traces = []string{id}
	}
	if c.during, err = spanOf(in.QueryDuration); err != nil {
		return c, err
	}
	q.From, q.To = c.during.from, c.during.to
	if in.MinTraceDuration != nil {
		q.Shortest = int64(*in.MinTraceDuration)
	}
	if in.MaxTraceDuration != nil {
		q.Longest = int64(*in.MaxTraceDuration)
	}
	if in.TraceState != query.TraceStateAll {
		q.Failed = new(in.TraceState == query.TraceStateError)
	}
	q.BySlowest = in.QueryOrder == query.QueryOrderByDuration
	c.tags = in.Tags
	c.limit = min(max(in.Paging.PageSize, 1), most)
	if in.Paging.PageNum != nil {
		c.offset = min(max(*in.Paging.PageNum-1, 0), maxScanned) * c.limit
	}
	return c, nil
}

// each calls f with the segments that match a condition, in order, until it returns false.
func (r *resolver) each(ctx context.Context, c condition, f func(*traceprof.Segment) bool) error {
	q := c.segments
	q.NoRaw = len(c.tags) == 0 && !c.raw
	q.Limit = batch
	for q.Offset < maxScanned {
		list, err := r.Store.Segments(ctx, q)
		if err != nil {
			return err
		}
		for i := range list {
			if tagged(&list[i], c.tags) && !f(&list[i]) {
				return nil
			}
		}
		if len(list) < q.Limit {
			return nil
		}
		q.Offset += q.Limit
	}
	return nil
}

// tagged reports whether all tags are on spans of a segment.
func tagged(s *traceprof.Segment, tags []*query.SpanTag) bool {
	if len(tags) == 0 {
		return true
	}
	spans := spansOf(s)
	for _, tag := range tags {
		if !slices.ContainsFunc(spans, func(s *query.Span) bool {
			return slices.ContainsFunc(s.Tags, func(kv *query.KeyValue) bool {
				return kv.Key == tag.Key && (tag.Value == nil || *tag.Value == *kv.Value)
			})
		}) {
			return false
		}
	}
	return true
}

// QueryBasicTraces answers Query.queryBasicTraces.
func (r *resolver) QueryBasicTraces(ctx context.Context, in *query.TraceQueryCondition, _ *bool) (*query.TraceBrief, error) {
	c, err := conditionOf(in, maxPage)
	if err != nil {
		return nil, err
	}
	if len(c.tags) == 0 { // the store can paginate
		q := c.segments
		q.NoRaw, q.Offset, q.Limit = true, c.offset, c.limit
		list, err := r.Store.Segments(ctx, q)
		return &query.TraceBrief{Traces: basicTraces(list)}, err
	}
	brief, skipped := &query.TraceBrief{Traces: []*query.BasicTrace{}}, 0
	err = r.each(ctx, c, func(s *traceprof.Segment) bool {
		if skipped < c.offset {
			skipped++
			return true
		}
		brief.Traces = append(brief.Traces, basicTrace(s))
		return len(brief.Traces) < c.limit
	})
	return brief, err
}

// basicTrace converts a segment for lists.
func basicTrace(s *traceprof.Segment) *query.BasicTrace {
	return &query.BasicTrace{SegmentID: s.ID, EndpointNames: []string{s.Endpoint}, Duration: latency(s),
		Start: strconv.FormatInt(s.Start, 10), IsError: new(s.Error), TraceIds: []string{s.Trace}}
}

func basicTraces(list []traceprof.Segment) []*query.BasicTrace {
	out := make([]*query.BasicTrace, len(list))
	for i := range list {
		out[i] = basicTrace(&list[i])
	}
	return out
}

// latency returns the latency of a segment as 32 bits, as in the protocol.
func latency(s *traceprof.Segment) int {
	const most = 1<<31 - 1
	return int(min(max(s.Latency(), -most), most))
}

// QueryTrace answers Query.queryTrace.
func (r *resolver) QueryTrace(ctx context.Context, id string, _ *query.Duration, _ *bool) (*query.Trace, error) {
	segments, err := r.Store.Segments(ctx, traceprof.SegmentQuery{Traces: []string{id}, Limit: maxSegment})
	if err != nil {
		return nil, err
	}
	spans := []*query.Span{}
	for i := range segments {
		spans = append(spans, spansOf(&segments[i])...)
	}
	return &query.Trace{Spans: inOrder(spans)}, nil
}

// QueryTraces answers Query.queryTraces.
func (r *resolver) QueryTraces(ctx context.Context, in *query.TraceQueryCondition, _ *bool) (*query.TraceList, error) {
	c, err := conditionOf(in, maxTraces)
	if err != nil {
		return nil, err
	}
	var page []string
	seen := map[string]bool{}
	err = r.each(ctx, c, func(s *traceprof.Segment) bool {
		if seen[s.Trace] {
			return true
		}
		seen[s.Trace] = true
		if len(seen) > c.offset {
			page = append(page, s.Trace)
		}
		return len(page) < c.limit
	})
	if err != nil {
		return nil, err
	}
	out := &query.TraceList{Traces: []*query.TraceV2{},
		RetrievedTimeRange: &query.RetrievedTimeRange{StartTime: c.during.from, EndTime: c.during.to}}
	for _, id := range page {
		trace, err := r.QueryTrace(ctx, id, nil, nil)
		if err != nil {
			return nil, err
		}
		out.Traces = append(out.Traces, &query.TraceV2{Spans: trace.Spans})
	}
	return out, nil
}

// HasQueryTracesV2Support answers Query.hasQueryTracesV2Support.
func (r *resolver) HasQueryTracesV2Support(context.Context) (bool, error) { return true, nil }

// QueryBasicTracesByName answers Query.queryBasicTracesByName.
func (r *resolver) QueryBasicTracesByName(ctx context.Context, in *query.TraceQueryConditionByName, _ *bool) (*query.TraceBrief, error) {
	if in == nil {
		return r.QueryBasicTraces(ctx, nil, nil)
	}
	c := query.TraceQueryCondition{TraceID: in.TraceID, QueryDuration: in.QueryDuration, MinTraceDuration: in.MinTraceDuration,
		MaxTraceDuration: in.MaxTraceDuration, TraceState: in.TraceState, QueryOrder: in.QueryOrder, Tags: in.Tags, Paging: in.Paging}
	if in.Service != nil {
		c.ServiceID = new(ids.Service(in.Service.ServiceName))
	}
	if in.Instance != nil {
		c.ServiceInstanceID = new(ids.Instance(in.Instance.ServiceName, in.Instance.InstanceName))
	}
	if in.Endpoint != nil {
		c.EndpointID = new(ids.Endpoint(in.Endpoint.ServiceName, in.Endpoint.EndpointName))
	}
	return r.QueryBasicTraces(ctx, &c, nil)
}

// QueryTraceTagAutocompleteKeys answers Query.queryTraceTagAutocompleteKeys.
func (r *resolver) QueryTraceTagAutocompleteKeys(ctx context.Context, d query.Duration) ([]string, error) {
	return r.tagTexts(ctx, d, func(tag *query.KeyValue) (string, bool) { return tag.Key, true })
}

// QueryTraceTagAutocompleteValues answers Query.queryTraceTagAutocompleteValues.
func (r *resolver) QueryTraceTagAutocompleteValues(ctx context.Context, key string, d query.Duration) ([]string, error) {
	return r.tagTexts(ctx, d, func(tag *query.KeyValue) (string, bool) { return *tag.Value, tag.Key == key })
}

// tagTexts returns the distinct texts that f returns for the tags in the newest segments of
// a range of time, sorted.
func (r *resolver) tagTexts(ctx context.Context, d query.Duration, f func(*query.KeyValue) (string, bool)) ([]string, error) {
	during, err := spanOf(&d)
	if err != nil {
		return nil, err
	}
	seen, segments := map[string]bool{}, 0
	c := condition{raw: true, segments: traceprof.SegmentQuery{From: during.from, To: during.to}}
	err = r.each(ctx, c, func(s *traceprof.Segment) bool {
		for _, span := range spansOf(s) {
			for _, tag := range span.Tags {
				if text, ok := f(tag); ok {
					seen[text] = true
				}
			}
		}
		segments++
		return segments < maxTagged
	})
	return append([]string{}, slices.Sorted(maps.Keys(seen))...), err
}
