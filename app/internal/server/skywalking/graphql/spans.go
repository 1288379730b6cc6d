package graphql

import (
	"cmp"
	"slices"

	commonv3 "skywalking.apache.org/repo/goapi/collect/common/v3"
	agentv3 "skywalking.apache.org/repo/goapi/collect/language/agent/v3"
	"skywalking.apache.org/repo/goapi/query"

	"github.com/dendroprof/dendro/app/internal/server/skywalking"
	"github.com/dendroprof/dendro/traceprof"
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
		value := p.GetValue()
		out[i] = &query.KeyValue{Key: p.GetKey(), Value: &value}
	}
	return out
}

// spanKey identifies a span within its trace.
type spanKey struct {
	segment string
	span    int
}

// inOrder returns the spans of a trace in depth-first order, callees by start.
func inOrder(spans []*query.Span) []*query.Span {
	slices.SortStableFunc(spans, func(a, b *query.Span) int { return cmp.Compare(a.StartTime, b.StartTime) })
	known := make(map[spanKey]bool, len(spans))
	for _, s := range spans {
		known[spanKey{s.SegmentID, s.SpanID}] = true
	}
	var roots []*query.Span
	callees := map[spanKey][]*query.Span{}
	for _, s := range spans {
		if caller, ok := callerOf(s, known); ok {
			callees[caller] = append(callees[caller], s)
		} else {
			roots = append(roots, s)
		}
	}
	out := make([]*query.Span, 0, len(spans))
	done := make(map[*query.Span]bool, len(spans))
	visit := func(first *query.Span) {
		for stack := []*query.Span{first}; len(stack) > 0; {
			s := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if done[s] {
				continue // a cycle
			}
			done[s] = true
			out = append(out, s)
			key := spanKey{s.SegmentID, s.SpanID}
			for _, c := range slices.Backward(callees[key]) {
				stack = append(stack, c)
			}
			delete(callees, key) // of two spans with one id, the first has the callees
		}
	}
	for _, s := range roots {
		visit(s)
	}
	for _, s := range spans { // spans in cycles
		visit(s)
	}
	return out
}

// callerOf returns the caller of a span, if it is known.
func callerOf(s *query.Span, known map[spanKey]bool) (spanKey, bool) {
	if s.ParentSpanID >= 0 {
		key := spanKey{s.SegmentID, s.ParentSpanID}
		return key, known[key] && s.ParentSpanID != s.SpanID
	}
	for _, r := range s.Refs {
		key := spanKey{r.ParentSegmentID, r.ParentSpanID}
		if known[key] && key != (spanKey{s.SegmentID, s.SpanID}) {
			return key, true
		}
	}
	return spanKey{}, false
}
