package agent

import (
	"encoding/base64"
	"strconv"
	"strings"
	"unicode/utf8"

	agentv3 "skywalking.apache.org/repo/goapi/collect/language/agent/v3"
)

// headerName is the header of SkyWalking's cross-process propagation protocol,
// version 3: sampled, trace, segment, span, service, instance, endpoint, address,
// separated by "-", all but the first and the span in base64.
const headerName = "sw8"

// maxHeader is the length, in bytes, up to which a header is read.
const maxHeader = 4096

// reference returns what another segment says of the span that started it.
func (s *span) reference() *agentv3.SegmentReference {
	return &agentv3.SegmentReference{
		RefType: agentv3.RefType_CrossThread, TraceId: s.segment.trace,
		ParentTraceSegmentId: s.segment.id, ParentSpanId: s.SpanId,
		ParentService: s.segment.agent.Service, ParentServiceInstance: s.segment.agent.Instance, ParentEndpoint: s.segment.operation(),
	}
}

// operation returns the operation of the segment's root span.
func (s *segment) operation() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.spans[0].OperationName
}

// header returns the header of a call that leaves in the span o.
func (s *segment) header(o *agentv3.SpanObject) string {
	e := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	return strings.Join([]string{"1", e(s.trace), e(s.id), strconv.Itoa(int(o.SpanId)),
		e(s.agent.Service), e(s.agent.Instance), e(s.operation()), e(o.Peer)}, "-")
}

// parseHeader returns the reference that a header is, nil if it is none. Base64
// has no "-", so splitting is safe.
func parseHeader(header string) *agentv3.SegmentReference {
	parts := strings.SplitN(header, "-", 9)
	if len(header) > maxHeader || len(parts) != 8 {
		return nil
	}
	span, err := strconv.ParseInt(parts[3], 10, 32)
	if err != nil {
		return nil
	}
	var text [8]string
	for i, part := range parts {
		if i == 0 || i == 3 {
			continue
		}
		b, err := base64.StdEncoding.DecodeString(part)
		if err != nil || !utf8.Valid(b) {
			return nil
		}
		text[i] = string(b)
	}
	if text[1] == "" || text[2] == "" {
		return nil
	}
	return &agentv3.SegmentReference{
		RefType: agentv3.RefType_CrossProcess, TraceId: text[1], ParentTraceSegmentId: text[2], ParentSpanId: int32(span),
		ParentService: text[4], ParentServiceInstance: text[5], ParentEndpoint: text[6], NetworkAddressUsedAtPeer: text[7],
	}
}
