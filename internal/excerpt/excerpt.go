// Package excerpt selects a part of the sampled time: segments, and in one of them a
// span or a range of time. Commands and the server share it.
//
// A Choice names the part, Find returns its segments, and Ranges and Profile turn them
// into ranges for traceprof.Analyze or into a profile with times. It computes no call
// tree.
package excerpt

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dendroprof/dendro/internal/param"
	"github.com/dendroprof/dendro/internal/spans"
	"github.com/dendroprof/dendro/traceprof"
)

// ErrNothing: the selected part has no samples.
var ErrNothing = errors.New("nothing was sampled there")

// Choice selects a part. At least one of Task, Trace and Segments is set; all that are
// set apply. A contradictory choice, or one of a span or part that a segment lacks, is
// a *param.Error.
type Choice struct {
	Task     string   `param:"task" arg:"id" help:"task: its id, the beginning of its id, or last (the newest)"`
	Trace    string   `param:"trace" arg:"id" help:"trace"`
	Segments []string `param:"segment" arg:"id" help:"segment; repeatable"`

	// Of one segment only:
	Span *int  `param:"span" arg:"number" help:"of one segment: the time of this span (task segments --spans lists the numbers)"`
	Own  bool  `param:"own" help:"of one segment: the time of that span, or of the first, without the spans in it"`
	Part *Part `param:"range" arg:"START..END" help:"of one segment: this time in milliseconds since its start, END included"`
}

// Part is a range of time in ms since the start of a segment, both ends included.
type Part struct{ From, To int64 }

// UnmarshalText parses START..END in whole ms; without an end it is open.
func (p *Part) UnmarshalText(text []byte) error {
	p.From, p.To = 0, math.MaxInt32
	from, to, ok := strings.Cut(string(text), "..")
	for _, end := range []struct {
		text string
		to   *int64
	}{{from, &p.From}, {to, &p.To}} {
		if end.text == "" {
			continue
		}
		n, err := strconv.ParseInt(end.text, 10, 32)
		ok = ok && err == nil
		*end.to = n
	}
	if !ok {
		return fmt.Errorf("%.60q is not START..END in whole milliseconds", text)
	}
	return nil
}

// Segment is a selected segment.
type Segment struct {
	traceprof.Segment
	Known bool // false: only its id and snapshots are stored
}

// Find returns the selected segments that have snapshots, by start, unknown ones last.
// It wraps ErrNothing if there are none.
func (c *Choice) Find(ctx context.Context, st traceprof.Store) ([]Segment, error) {
	if c.Task == "" && c.Trace == "" && len(c.Segments) == 0 {
		return nil, param.Errorf("select a task, --trace or --segment")
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

// String describes the selection.
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

// Ranges returns the ranges to analyze in segments returned by Find. A whole segment
// has all its snapshots, including those outside its time because of clocks or late
// agents.
func (c *Choice) Ranges(list []Segment) ([]traceprof.Range, error) {
	if c.Span == nil && !c.Own && c.Part == nil {
		var ranges []traceprof.Range
		for i := range list {
			ranges = append(ranges, spans.Whole(list[i].ID))
		}
		return ranges, nil
	}
	if len(list) != 1 {
		return nil, param.Errorf("--span, --own and --range apply to one segment; %s has %d", c, len(list))
	}
	s := &list[0]
	if !s.Known {
		return nil, param.Errorf("--span, --own and --range need the spans and times of segment %s; only its snapshots arrived", s.ID)
	}
	ranges := []traceprof.Range{spans.Whole(s.ID)}
	if c.Span != nil || c.Own {
		all, err := spans.Of(s.Raw)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(all, func(p traceprof.Span) bool { return c.Span == nil || int(p.ID) == *c.Span })
		if i < 0 {
			return nil, param.Errorf("--span: no such span among the %d of segment %s", len(all), s.ID)
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
