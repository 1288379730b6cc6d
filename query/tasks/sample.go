package tasks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query/param"
	"github.com/dendroprof/dendro/traceprof"
	"github.com/dendroprof/dendro/traceprof/spans"
)

// ErrNotSampled: the selected part has no samples.
var ErrNotSampled = errors.New("nothing was sampled there")

// SampleSelection selects a part of the sampled time: segments, and in one of them a
// span or a range of time. At least one of Task, Trace and Segments is set; all that are
// set apply.
type SampleSelection struct {
	Task     string   `param:"task" arg:"id" help:"task: its id, the beginning of its id, or last (the newest)"`
	Trace    string   `param:"trace" arg:"id" help:"only this trace"`
	Segments []string `param:"segment" arg:"id" help:"only this segment; repeatable"`

	// Of one segment only:
	Span  *int   `param:"span" arg:"number" help:"one segment: only the time of this span (task segments --spans prints the numbers)"`
	Own   bool   `param:"own" help:"one segment: exclude the time of nested spans from that of --span (default: the first span)"`
	Range string `param:"range" arg:"START..END" help:"one segment: only this range, in milliseconds since its start, END excluded"`
}

// sample is the part of the sampled time that a selection chooses.
type sample struct {
	SampleSelection // Task is an id
	segments        []sampledSegment
	ranges          []traceprof.Range
}

// sampledSegment is a segment with snapshots. Of one that did not arrive only the id is
// known.
type sampledSegment struct {
	traceprof.Segment
	arrived bool
}

// newSample returns what a selection chooses, with the segments' spans if they are wanted or
// the selection needs them. The error wraps ErrNotSampled if there are no snapshots.
func newSample(ctx context.Context, st traceprof.Store, selection SampleSelection, withSpans bool) (*sample, error) {
	s := &sample{SampleSelection: selection}
	var unknown error
	if s.Task != "" {
		t, err := traceTask(ctx, st, s.Task)
		switch {
		case err == nil:
			s.Task = t.ID
		case errors.Is(err, traceprof.ErrNoTask):
			unknown = err // an archive, or a task that expired before its snapshots
		default:
			return nil, err
		}
	}
	err := s.findSegments(ctx, st, withSpans || s.Span != nil || s.Own)
	if errors.Is(err, ErrNotSampled) && s.Task != "" {
		err = cmp.Or(unknown, fmt.Errorf("%w (dendro task show %s says why)", err, s.Task))
	}
	if err == nil {
		err = s.findRanges()
	}
	return s, err
}

// findSegments finds the segments that have snapshots, by start, those that did not
// arrive last.
func (s *sample) findSegments(ctx context.Context, st traceprof.Store, withSpans bool) error {
	if s.Task == "" && s.Trace == "" && len(s.Segments) == 0 {
		return param.Errorf("select a task, --trace or --segment")
	}
	var arrived []traceprof.Segment
	q := traceprof.SnapshotQuery{Segments: s.Segments}
	if s.Task != "" {
		q.Tasks = []string{s.Task}
	}
	var err error
	if s.Trace != "" {
		if arrived, err = st.Segments(ctx, traceprof.SegmentQuery{IDs: s.Segments, Traces: []string{s.Trace}, NoRaw: !withSpans}); err != nil {
			return err
		}
		q.Segments = nil
		for i := range arrived {
			q.Segments = append(q.Segments, arrived[i].ID)
		}
		if len(arrived) == 0 {
			return fmt.Errorf("trace %s: %w: the store has no segment of it", s.Trace, ErrNotSampled)
		}
	}
	sampled, err := st.SampledSegments(ctx, q)
	if err != nil {
		return err
	}
	var ids []string
	for i := range sampled {
		ids = append(ids, sampled[i].Segment)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	if len(ids) == 0 {
		return fmt.Errorf("%s: %w", s, ErrNotSampled)
	}
	if s.Trace == "" {
		if arrived, err = st.Segments(ctx, traceprof.SegmentQuery{IDs: ids, NoRaw: !withSpans}); err != nil {
			return err
		}
	}
	for _, segment := range slices.Backward(arrived) { // they come newest first
		if i, ok := slices.BinarySearch(ids, segment.ID); ok {
			s.segments = append(s.segments, sampledSegment{segment, true})
			ids = slices.Delete(ids, i, i+1)
		}
	}
	for _, id := range ids {
		s.segments = append(s.segments, sampledSegment{Segment: traceprof.Segment{ID: id}})
	}
	return nil
}

// String describes the selection.
func (s *sample) String() string {
	switch {
	case len(s.Segments) == 1:
		return "segment " + s.Segments[0]
	case len(s.Segments) > 1:
		return fmt.Sprintf("%d segments", len(s.Segments))
	case s.Trace != "":
		return "trace " + s.Trace
	}
	return "task " + s.Task
}

// findRanges finds the ranges to analyze in the segments. A whole segment has all its
// snapshots, including those outside its time because of clocks or late agents.
func (s *sample) findRanges() error {
	var part calltree.Range
	if s.Range != "" {
		var err error
		if part, err = calltree.ParseRange(s.Range); err != nil {
			return param.Errorf("--range: %w", err)
		}
	}
	for i := range s.segments {
		s.ranges = append(s.ranges, spans.Whole(s.segments[i].ID))
	}
	if s.Span == nil && !s.Own && s.Range == "" {
		return nil
	}
	if len(s.segments) != 1 {
		return param.Errorf("--span, --own and --range apply to one segment; %s has %d", s, len(s.segments))
	}
	segment := &s.segments[0]
	if !segment.arrived {
		return param.Errorf("--span, --own and --range need the spans and times of segment %s; only its snapshots arrived", segment.ID)
	}
	if s.Span != nil || s.Own {
		all, err := spans.Of(segment.Raw)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(all, func(p traceprof.Span) bool { return s.Span == nil || int(p.ID) == *s.Span })
		if i < 0 {
			return param.Errorf("--span: no such span among the %d of segment %s", len(all), segment.ID)
		}
		s.ranges = spans.Ranges(segment.ID, all, all[i], s.Own)
	}
	if s.Range != "" {
		var within []traceprof.Range
		for _, r := range s.ranges {
			r.Start, r.End = max(r.Start, segment.Start+ceilMillis(part.Start)), min(r.End, segment.Start+ceilMillis(part.End)-1)
			if r.Start <= r.End {
				within = append(within, r)
			}
		}
		s.ranges = within
	}
	if len(s.ranges) == 0 {
		return fmt.Errorf("segment %s: %w", segment.ID, ErrNotSampled)
	}
	return nil
}

// ceilMillis returns the first whole ms that is not before a time in ns.
func ceilMillis(ns int64) int64 {
	ms := ns / 1e6
	if ns%1e6 > 0 {
		ms++
	}
	return ms
}

// profile returns the snapshots as a profile with times: see traceprof.Profile. Of
// several tasks that sampled one segment the first counts, unless one is selected.
func (s *sample) profile(ctx context.Context, st traceprof.Store) (*profile.Profile, error) {
	q := traceprof.SnapshotQuery{}
	if s.Task != "" {
		q.Tasks = []string{s.Task}
	}
	arrived := map[string]*traceprof.Segment{}
	for i := range s.segments {
		q.Segments = append(q.Segments, s.segments[i].ID)
		if s.segments[i].arrived {
			arrived[s.segments[i].ID] = &s.segments[i].Segment
		}
	}
	var list []traceprof.Snapshots
	seen := map[string]bool{}
	for part, err := range st.Snapshots(ctx, q) {
		if err != nil {
			return nil, err
		}
		if seen[part.Segment] {
			continue
		}
		seen[part.Segment] = true
		if part = within(part, s.ranges); part.Len() > 0 {
			list = append(list, part)
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s: %w", s, ErrNotSampled)
	}
	periods, err := periodsOf(ctx, st, list)
	if err != nil {
		return nil, err
	}
	p := traceprof.Profile(periods, list, arrived)
	return p, p.Check()
}

// periodsOf returns the periods of the tasks of snapshots. For an unknown task it is
// estimated from its dumps.
func periodsOf(ctx context.Context, st traceprof.Store, list []traceprof.Snapshots) (map[string]int64, error) {
	periods := map[string]int64{}
	for i := range list {
		id := list[i].Task
		if periods[id] > 0 {
			continue
		}
		t, err := st.Task(ctx, id)
		switch {
		case errors.Is(err, traceprof.ErrNoTask): // of an archive, or it expired
			t.Period = traceprof.Cover(&t, nil, &list[i]).Period
		case err != nil:
			return nil, err
		}
		periods[id] = t.Period
	}
	return periods, nil
}

// within returns the snapshots in the ranges of their segment.
func within(s traceprof.Snapshots, ranges []traceprof.Range) traceprof.Snapshots {
	ranges = slices.DeleteFunc(slices.Clone(ranges), func(r traceprof.Range) bool { return r.Segment != s.Segment })
	var rows []int
	for i, t := range s.Time {
		if slices.ContainsFunc(ranges, func(r traceprof.Range) bool { return r.Start <= t && t <= r.End }) {
			rows = append(rows, i)
		}
	}
	s.Keep(rows)
	return s
}

// SampledPart is what was sampled of a selection: its tasks and segments as far as they are
// known, and the query of its snapshots.
type SampledPart struct {
	Tasks     []traceprof.Task
	Segments  []traceprof.Segment
	Snapshots traceprof.SnapshotQuery
}

// Sampled returns what was sampled of a selection; a span or range of it is not cut out.
func Sampled(ctx context.Context, st traceprof.Store, selection SampleSelection) (*SampledPart, error) {
	s, err := newSample(ctx, st, SampleSelection{Task: selection.Task, Trace: selection.Trace, Segments: selection.Segments}, true)
	if err != nil {
		return nil, err
	}
	part := &SampledPart{}
	if s.Task != "" {
		part.Snapshots.Tasks = []string{s.Task}
	}
	for i := range s.segments {
		part.Snapshots.Segments = append(part.Snapshots.Segments, s.segments[i].ID)
		if s.segments[i].arrived {
			part.Segments = append(part.Segments, s.segments[i].Segment)
		}
	}
	sampled, err := st.SampledSegments(ctx, part.Snapshots)
	if err != nil {
		return nil, err
	}
	for i := range sampled {
		if i > 0 && sampled[i].Task == sampled[i-1].Task {
			continue
		}
		t, err := st.Task(ctx, sampled[i].Task)
		if errors.Is(err, traceprof.ErrNoTask) {
			continue // it expired, or the snapshots are of an archive
		}
		if err != nil {
			return nil, err
		}
		part.Tasks = append(part.Tasks, t)
	}
	return part, nil
}
