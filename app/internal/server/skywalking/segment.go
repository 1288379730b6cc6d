package skywalking

import (
	"cmp"
	"fmt"

	agentv3 "skywalking.apache.org/repo/goapi/collect/language/agent/v3"

	"github.com/dendroprof/dendro/traceprof"
	"github.com/dendroprof/dendro/traceprof/ids"
)

// ReadSegment decodes traceprof.Segment.Raw.
func ReadSegment(raw []byte) (*agentv3.SegmentObject, error) {
	m := new(agentv3.SegmentObject)
	_, err := decode(raw, m)
	return m, err
}

// segmentOf converts a segment with the encoded message raw. It returns false for one
// without spans.
//
// The first span is the one with id 0: agents list spans in the order in which they ended,
// so a parent comes after its children.
func segmentOf(m *agentv3.SegmentObject, raw []byte) (traceprof.Segment, bool, error) {
	if len(m.GetTraceSegmentId()) > maxID || len(m.GetTraceId()) > maxID {
		return traceprof.Segment{}, false, fmt.Errorf("%w: SegmentObject: an id of more than %d bytes", ErrMalformed, maxID)
	}
	spans := m.GetSpans()
	if len(spans) == 0 || m.GetTraceSegmentId() == "" {
		return traceprof.Segment{}, false, nil
	}
	s := traceprof.Segment{
		ID: m.GetTraceSegmentId(), Trace: m.GetTraceId(),
		Service: ids.ServiceName(m.GetService()), Instance: ids.InstanceName(m.GetServiceInstance()),
		Start: spans[0].GetStartTime(), End: spans[0].GetEndTime(),
	}
	first, entry := spans[0], (*agentv3.SpanObject)(nil)
	for _, span := range spans {
		s.Start = min(s.Start, span.GetStartTime())
		s.End = max(s.End, span.GetEndTime())
		s.Error = s.Error || span.GetIsError()
		if span.GetSpanId() == 0 {
			first = span
		}
		if span.GetSpanType() == agentv3.SpanType_Entry {
			entry = span
		}
	}
	s.Operation = traceprof.CutName(first.GetOperationName(), traceprof.MaxTaskEndpoint)
	entry = cmp.Or(entry, first)
	s.Endpoint = ids.EndpointName(entry.GetOperationName())
	s.Raw = raw
	return s, true, nil
}
