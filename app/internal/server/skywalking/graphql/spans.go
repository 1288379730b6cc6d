package graphql

import (
	"cmp"
	"slices"

	commonv3 "skywalking.apache.org/repo/goapi/collect/common/v3"
	agentv3 "skywalking.apache.org/repo/goapi/collect/language/agent/v3"
	"skywalking.apache.org/repo/goapi/query"

	"github.com/dendroprof/dendro/app/internal/server/skywalking"
	"github.com/dendroprof/dendro/traceprof"
	"github.com/dendroprof/dendro/traceprof/spans"
)

// spansOf returns the spans of a segment in the agent's order; none if the segment cannot
// be decoded.
func spansOf(s *traceprof.Segment) []*query.Span {
	m, err := skywalking.ReadSegment(s.Raw)
	if err != nil {
		return nil
	}
	list := make([]*query.Span, 0, len(m.GetSpans()))
	for _, in := range m.GetSpans() {
		name, peer, component, layer, failed := in.GetOperationName(), in.GetPeer(), componentName(in.GetComponentId()),
			in.GetSpanLayer().String(), in.GetIsError()
		out := &query.Span{
			TraceID: s.Trace, SegmentID: s.ID, SpanID: int(in.GetSpanId()), ParentSpanID: int(in.GetParentSpanId()),
			ServiceCode: s.Service, ServiceInstanceName: s.Instance, StartTime: in.GetStartTime(), EndTime: in.GetEndTime(),
			EndpointName: &name, Type: in.GetSpanType().String(), Peer: &peer, Component: &component, IsError: &failed, Layer: &layer,
			Refs: []*query.Ref{}, Tags: pairs(in.GetTags()), Logs: []*query.LogEntity{}, AttachedEvents: []*query.SpanAttachedEvent{},
		}
		for _, r := range in.GetRefs() {
			ref := &query.Ref{TraceID: r.GetTraceId(), ParentSegmentID: r.GetParentTraceSegmentId(), ParentSpanID: int(r.GetParentSpanId()),
				Type: query.RefTypeCrossProcess}
			if r.GetRefType() == agentv3.RefType_CrossThread {
				ref.Type = query.RefTypeCrossThread
			}
			out.Refs = append(out.Refs, ref)
		}
		for _, l := range in.GetLogs() {
			out.Logs = append(out.Logs, &query.LogEntity{Time: l.GetTime(), Data: pairs(l.GetData())})
		}
		list = append(list, out)
	}
	return list
}

func pairs(in []*commonv3.KeyStringValuePair) []*query.KeyValue {
	out := make([]*query.KeyValue, len(in))
	for i, p := range in {
		out[i] = &query.KeyValue{Key: p.GetKey(), Value: new(p.GetValue())}
	}
	return out
}

// spanKey identifies a span within its trace.
type spanKey struct {
	segment string
	span    int
}

// inOrder returns the spans of a trace in depth-first order, callees by start.
func inOrder(list []*query.Span) []*query.Span {
	slices.SortStableFunc(list, func(a, b *query.Span) int { return cmp.Compare(a.StartTime, b.StartTime) })
	first := make(map[spanKey]int, len(list)) // of two spans with one id, the first has the callees
	for i, s := range slices.Backward(list) {
		first[spanKey{s.SegmentID, s.SpanID}] = i
	}
	caller := func(i int) int {
		s := list[i]
		keys := []spanKey{{s.SegmentID, s.ParentSpanID}}
		if s.ParentSpanID < 0 {
			keys = keys[:0]
			for _, r := range s.Refs {
				keys = append(keys, spanKey{r.ParentSegmentID, r.ParentSpanID})
			}
		}
		for _, key := range keys {
			if at, known := first[key]; known && key != (spanKey{s.SegmentID, s.SpanID}) {
				return at
			}
		}
		return -1
	}
	out := make([]*query.Span, len(list))
	for n, at := range spans.InOrder(len(list), caller) {
		out[n] = list[at.Index]
	}
	return out
}
