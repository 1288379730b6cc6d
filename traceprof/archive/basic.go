package archive

import (
	"cmp"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/traceprof"
)

// tag names the Java class of the document. SkyWalking's reader rejects keys that the
// class does not have, and lists that it cannot set (refs, tags, logs).
const tag = "!!org.apache.skywalking.oap.server.tool.profile.exporter.ProfiledBasicInfo\n"

// basic is the content of basic.yml.
type basic struct {
	Config struct {
		Task  string `yaml:"taskId"`
		Trace string `yaml:"traceId"`
		Dir   string `yaml:"analyzeResultDist"`
	} `yaml:"config"`
	Segments []basicSegment `yaml:"segments"`
	Spans    []basicSpan    `yaml:"profiledSegmentSpans"`
}

// basicSegment is one segment. Before SkyWalking 9.5 a file had one segment, with its keys
// on the top level.
type basicSegment struct {
	ID       string `yaml:"segmentId"`
	Start    int64  `yaml:"segmentStartTime"`
	End      int64  `yaml:"segmentEndTime"`
	Duration int64  `yaml:"duration"`
	First    int32  `yaml:"minSequence"`
	Last     int32  `yaml:"maxSequence"`
}

// basicSpan is one span.
type basicSpan struct {
	Trace    string `yaml:"traceId"`
	Segment  string `yaml:"segmentId"`
	Service  string `yaml:"serviceCode"`
	Instance string `yaml:"serviceInstanceName"`
	span     `yaml:",inline"`
}

// span is a traceprof.Span with the keys of the document.
type span struct {
	ID        int32  `yaml:"spanId"`
	Parent    int32  `yaml:"parentSpanId"`
	Operation string `yaml:"endpointName"`
	Kind      string `yaml:"type"`
	Layer     string `yaml:"layer"`
	Peer      string `yaml:"peer"`
	Start     int64  `yaml:"startTime"`
	End       int64  `yaml:"endTime"`
	Error     bool   `yaml:"error,omitempty"` // of a method isError
}

// basicOf returns the basic.yml of an archive.
func basicOf(a *Archive) *basic {
	b := &basic{Segments: []basicSegment{}, Spans: []basicSpan{}}
	b.Config.Task, b.Config.Trace = a.Task, a.Trace
	for i := range a.Segments {
		s := &a.Segments[i]
		out := basicSegment{ID: s.ID, Start: s.Start, End: s.End, Duration: s.Latency()}
		if n := s.Snapshots.Len(); n > 0 {
			out.First, out.Last = s.Snapshots.Sequence[0], s.Snapshots.Sequence[n-1]
		}
		b.Segments = append(b.Segments, out)
		for _, p := range s.Spans {
			b.Spans = append(b.Spans, basicSpan{a.Trace, s.ID, s.Service, s.Instance, span(p)})
		}
	}
	return b
}

// encode returns basic.yml.
func (b *basic) encode() ([]byte, error) {
	text, err := yaml.Marshal(b)
	return append([]byte(tag), text...), err
}

// decodeBasic reads basic.yml.
func decodeBasic(text []byte) (*basic, error) {
	var b struct {
		basic        `yaml:",inline"`
		basicSegment `yaml:",inline"`
	}
	if err := yaml.Unmarshal(text, &b); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", basicName, profile.ErrMalformed, err)
	}
	if len(b.Segments) == 0 && b.basicSegment.ID != "" {
		b.Segments = []basicSegment{b.basicSegment}
	}
	if b.Config.Trace == "" && len(b.Segments) == 0 {
		return nil, fmt.Errorf("%s: %w: neither a trace nor a segment is set", basicName, profile.ErrMalformed)
	}
	return &b.basic, nil
}

// archive returns the archive that basic.yml describes, without snapshots.
func (b *basic) archive() *Archive {
	a := &Archive{Task: b.Config.Task, Trace: b.Config.Trace}
	bySegment := map[string][]basicSpan{}
	for _, p := range b.Spans {
		bySegment[p.Segment] = append(bySegment[p.Segment], p)
	}
	for _, in := range b.Segments {
		s := Segment{Segment: traceprof.Segment{ID: in.ID, Trace: a.Trace, Start: in.Start, End: in.End}}
		var first *traceprof.Span
		for _, p := range bySegment[in.ID] {
			s.Service, s.Instance = p.Service, p.Instance
			s.Spans = append(s.Spans, traceprof.Span(p.span))
			s.Error = s.Error || p.Error
		}
		slices.SortStableFunc(s.Spans, func(a, b traceprof.Span) int { return cmp.Compare(a.ID, b.ID) })
		for i := range s.Spans {
			if p := &s.Spans[i]; first == nil || p.Kind == "Entry" {
				first = p
			}
		}
		if first != nil {
			s.Operation, s.Endpoint = s.Spans[0].Operation, traceprof.CutName(first.Operation, traceprof.MaxEndpointName)
		}
		a.Segments = append(a.Segments, s)
	}
	return a
}
