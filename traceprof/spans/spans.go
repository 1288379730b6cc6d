// Package spans decodes the spans of a segment: the steps of a request that agents
// time, such as the request itself and the calls that it makes. The snapshots during a
// span show where it spent its time.
//
// Segments are stored as sent by agents of Apache SkyWalking, as the message
// SegmentObject of their data-collect protocol. Tags, logs and references are skipped.
package spans

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/internal/wire"
	"github.com/dendroprof/dendro/traceprof"
)

// Names of the numbers in the protocol.
var (
	kinds  = []string{"Entry", "Exit", "Local"}
	layers = []string{"Unknown", "Database", "RPCFramework", "Http", "MQ", "Cache", "FAAS"}
)

func nameOf(names []string, number uint64) string {
	if number < uint64(len(names)) {
		return names[number]
	}
	return ""
}

// number is the reverse of nameOf; of unknown names it is out of range.
func number(names []string, name string) uint64 {
	if i := slices.Index(names, name); i >= 0 {
		return uint64(i)
	}
	return uint64(len(names))
}

// Fields of SegmentObject and SpanObject.
var (
	segmentShape = wire.Shape{3: wire.AsBytes}
	spanShape    = wire.Shape{1: wire.AsVarint, 2: wire.AsVarint, 3: wire.AsVarint, 4: wire.AsVarint,
		6: wire.AsBytes, 7: wire.AsBytes, 8: wire.AsVarint, 9: wire.AsVarint, 11: wire.AsVarint}
)

// Of returns the spans of a segment in the order of their ids. Raw is
// traceprof.Segment.Raw; without it there are none.
func Of(raw []byte) ([]traceprof.Span, error) {
	var list []traceprof.Span
	for pos := 0; pos < len(raw); {
		f, err := segmentShape.Next(raw, pos, len(raw))
		if err != nil {
			return nil, fmt.Errorf("the spans of a segment: %w", err)
		}
		if f.Num == 3 {
			s, err := read(raw, f.Lo, f.Hi)
			if err != nil {
				return nil, fmt.Errorf("span %d of a segment: %w", len(list), err)
			}
			list = append(list, s)
		}
		pos = f.Hi
	}
	slices.SortStableFunc(list, func(a, b traceprof.Span) int { return cmp.Compare(a.ID, b.ID) })
	return list, nil
}

// Encode returns a SegmentObject with the spans, for Of.
func Encode(list []traceprof.Span) []byte {
	var raw, b []byte
	for i := range list {
		s := &list[i]
		b = wire.AppendInt(b[:0], 1, uint64(s.ID))
		b = wire.AppendInt(b, 2, uint64(s.Parent))
		b = wire.AppendInt(b, 3, uint64(s.Start))
		b = wire.AppendInt(b, 4, uint64(s.End))
		b = wire.AppendBytes(b, 6, s.Operation)
		b = wire.AppendBytes(b, 7, s.Peer)
		b = wire.AppendInt(b, 8, number(kinds, s.Kind))
		b = wire.AppendInt(b, 9, number(layers, s.Layer))
		b = wire.AppendBool(b, 11, s.Error)
		raw = wire.AppendBytes(raw, 3, b)
	}
	return raw
}

// read reads one SpanObject.
func read(raw []byte, pos, end int) (traceprof.Span, error) {
	var s traceprof.Span
	var v wire.Numbers
	for pos < end {
		f, err := spanShape.Next(raw, pos, end)
		if err != nil {
			return s, err
		}
		switch f.Num {
		case 6:
			s.Operation = text(raw[f.Lo:f.Hi])
		case 7:
			s.Peer = text(raw[f.Lo:f.Hi])
		default:
			v.Set(f)
		}
		pos = f.Hi
	}
	s.ID, s.Parent, s.Start, s.End = int32(v[1]), int32(v[2]), int64(v[3]), int64(v[4])
	s.Kind, s.Layer, s.Error = nameOf(kinds, v[8]), nameOf(layers, v[9]), v[11] != 0
	return s, nil
}

func text(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }

// Ranges returns the time of a span for an analysis. With own it excludes the time of
// the spans directly in it: what remains begins where such a span ends and ends 1 ms
// before the next one begins.
func Ranges(segment string, list []traceprof.Span, s traceprof.Span, own bool) []traceprof.Range {
	if !own {
		return []traceprof.Range{{Segment: segment, Start: s.Start, End: s.End}}
	}
	var inner []traceprof.Span
	for _, c := range list {
		// A span that begins later was only scheduled here, and ran after this one.
		if c.Parent == s.ID && c.ID != s.ID && c.Start <= s.End {
			inner = append(inner, c)
		}
	}
	slices.SortStableFunc(inner, func(a, b traceprof.Span) int { return cmp.Compare(a.Start, b.Start) })
	var ranges []traceprof.Range
	at := s.Start
	for _, c := range inner {
		if c.Start > at {
			ranges = append(ranges, traceprof.Range{Segment: segment, Start: at, End: c.Start - 1})
		}
		at = max(at, c.End)
	}
	if at < s.End || len(inner) == 0 {
		ranges = append(ranges, traceprof.Range{Segment: segment, Start: at, End: s.End})
	}
	return ranges
}

// Whole returns the time of a whole segment for an analysis, including dumps with times
// outside of it, caused by two clocks or by the end of the request.
func Whole(segment string) traceprof.Range {
	return traceprof.Range{Segment: segment, Start: math.MinInt64, End: math.MaxInt64}
}
