// Package excerpt chooses what of the sampled time is looked at: segments, of
// those a span or a part of their time. All that shows stacks of trace profiling
// chooses with it, so that a command, a page and a program mean the same.
//
// A choice becomes ranges for traceprof.Analyze, or a profile with times. The
// package computes nothing of a tree.
package excerpt

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/dendroprof/dendro/internal/spans"
	"github.com/dendroprof/dendro/traceprof"
)

// ErrNothing: a choice selects nothing that was sampled.
var ErrNothing = errors.New("nothing was sampled there")

// ErrChoice: a choice contradicts itself, or names what is not there.
var ErrChoice = errors.New("the choice makes no sense")

// Choice says what is looked at. At least one of Task, Trace and Segments is set;
// all that are set hold.
type Choice struct {
	Task     string
	Trace    string
	Segments []string // ids

	// Of one segment only:
	Span *int32 // the time of this span
	Own  bool   // without the spans in it; without Span of the segment's first

	// Part, of one segment only too, is a part of its time in ms since its start,
	// both ends inclusive.
	Part *Part
}

// Part is from when to when, in ms.
type Part struct{ From, To int64 }

// Segment is a segment that a choice selects.
type Segment struct {
	traceprof.Segment
	Known bool // false: only its snapshots are there, of the rest the id alone
}

// Spans returns the spans that were received with the segment.
func (s *Segment) Spans() ([]traceprof.Span, error) { return spans.Of(s.Raw) }

// Find returns the segments that a choice selects and that have snapshots, by
// their start, those that are not known last. It wraps ErrNothing if there are
// none.
func (c *Choice) Find(ctx context.Context, st traceprof.Store) ([]Segment, error) {
	if c.Task == "" && c.Trace == "" && len(c.Segments) == 0 {
		return nil, fmt.Errorf("%w: neither a task nor a trace nor a segment is named", ErrChoice)
	}
	var known []traceprof.Segment
	q := traceprof.SnapshotQuery{Segments: c.Segments}
	if c.Task != "" {
		q.Tasks = []string{c.Task}
	}
	var err error
	if c.Trace != "" {
		if known, err = st.Segments(ctx, traceprof.SegmentQuery{IDs: c.Segments, Traces: []string{c.Trace}}); err != nil {
			return nil, err
		}
		q.Segments = nil
		for i := range known {
			q.Segments = append(q.Segments, known[i].ID)
		}
		if len(known) == 0 {
			return nil, fmt.Errorf("trace %s: %w: no segment of it is kept", c.Trace, ErrNothing)
		}
	}
	var sampled []string
	for s, err := range st.Snapshots(ctx, q) {
		if err != nil {
			return nil, err
		}
		sampled = append(sampled, s.Segment)
	}
	slices.Sort(sampled)
	sampled = slices.Compact(sampled)
	if len(sampled) == 0 {
		return nil, fmt.Errorf("%s: %w", c, ErrNothing)
	}
	if c.Trace == "" {
		if known, err = st.Segments(ctx, traceprof.SegmentQuery{IDs: sampled}); err != nil {
			return nil, err
		}
	}
	var list []Segment
	for _, s := range slices.Backward(known) { // they come newest first
		if i, ok := slices.BinarySearch(sampled, s.ID); ok {
			list = append(list, Segment{s, true})
			sampled = slices.Delete(sampled, i, i+1)
		}
	}
	for _, id := range sampled {
		list = append(list, Segment{Segment: traceprof.Segment{ID: id}})
	}
	return list, nil
}

// String names what is chosen.
func (c *Choice) String() string {
	switch {
	case len(c.Segments) == 1:
		return "segment " + c.Segments[0]
	case len(c.Segments) > 1:
		return fmt.Sprintf("%d segments", len(c.Segments))
	case c.Trace != "":
		return "trace " + c.Trace
	}
	return "task " + c.Task
}

// Ranges returns what is to be analyzed. Whole segments come with all their
// snapshots, also those that clocks or late agents put outside of their time.
func (c *Choice) Ranges(ctx context.Context, st traceprof.Store) ([]traceprof.Range, error) {
	list, err := c.Find(ctx, st)
	if err != nil {
		return nil, err
	}
	return c.RangesOf(list, (*Segment).Spans)
}

// RangesOf is Ranges of segments that were found, with spans from elsewhere.
func (c *Choice) RangesOf(list []Segment, spansOf func(*Segment) ([]traceprof.Span, error)) ([]traceprof.Range, error) {
	if c.Span == nil && !c.Own && c.Part == nil {
		var ranges []traceprof.Range
		for i := range list {
			ranges = append(ranges, spans.Whole(list[i].ID))
		}
		return ranges, nil
	}
	if len(list) != 1 {
		return nil, fmt.Errorf("%w: a span or a part is of one segment, and %s has %d", ErrChoice, c, len(list))
	}
	s := &list[0]
	if !s.Known {
		return nil, fmt.Errorf("%w: of segment %s only the snapshots are there, neither its spans nor its times", ErrChoice, s.ID)
	}
	ranges := []traceprof.Range{spans.Whole(s.ID)}
	if c.Span != nil || c.Own {
		all, err := spansOf(s)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(all, func(p traceprof.Span) bool { return c.Span == nil || p.ID == *c.Span })
		if i < 0 {
			return nil, fmt.Errorf("%w: segment %s has no such span, but %d others", ErrChoice, s.ID, len(all))
		}
		ranges = spans.Ranges(s.ID, all, all[i], c.Own)
	}
	if c.Part != nil {
		var cut []traceprof.Range
		for _, r := range ranges {
			r.Start, r.End = max(r.Start, s.Start+c.Part.From), min(r.End, s.Start+c.Part.To)
			if r.Start <= r.End {
				cut = append(cut, r)
			}
		}
		ranges = cut
	}
	if len(ranges) == 0 {
		return nil, fmt.Errorf("segment %s: %w", s.ID, ErrNothing)
	}
	return ranges, nil
}
