package tasks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/traceprof"
	"github.com/dendroprof/dendro/traceprof/spans"
)

// TaskSegmentsRequest asks for what a task sampled.
type TaskSegmentsRequest struct {
	TaskRequest
	Spans bool `param:"spans" group:"View" help:"list the spans of each segment, with the numbers for task analyze --span"`
	Rows  int  `param:"rows" group:"Limit" arg:"n" min:"0" help:"maximum number of rows (0: all)"`
}

// TaskSegmentsResult lists the segments that a task sampled, newest first.
type TaskSegmentsResult struct {
	Omitted query.Omitted     `json:"omitted,omitzero"`
	Causes  []traceprof.Cause `json:"causes"` // why there is nothing, or less than there should be
	Rows    []TaskSegment     `json:"rows"`
}

// TaskSpansResult lists the spans of the segments that a task sampled, of the newest first.
type TaskSpansResult struct {
	Omitted query.Omitted     `json:"omitted,omitzero"`
	Causes  []traceprof.Cause `json:"causes"` // as of TaskSegmentsResult
	Rows    []TaskSpan        `json:"rows"`
}

// TaskSegment is a segment with its coverage. Of one that did not arrive only the
// coverage is known.
type TaskSegment struct {
	traceprof.Coverage
	Trace    string `json:"trace"`
	Endpoint string `json:"endpoint"`
	Start    int64  `json:"start"`   // ms since 1970
	Latency  int64  `json:"latency"` // ms
}

// TaskSpan is a span; it comes after the span that contains it.
type TaskSpan struct {
	Segment   string `json:"segment"`
	Span      int32  `json:"span"`
	Depth     int32  `json:"depth"`
	Kind      string `json:"kind"`
	Start     int64  `json:"start"`    // ms since the start of the segment
	Duration  int64  `json:"duration"` // ms
	Operation string `json:"operation"`
}

// TaskSegments answers a TaskSegmentsRequest with the segments.
func TaskSegments(ctx context.Context, st traceprof.Store, r *TaskSegmentsRequest) (*TaskSegmentsResult, error) {
	about, list, err := sampledBy(ctx, st, r, false)
	if err != nil {
		return nil, err
	}
	rows, omitted := query.First(taskSegments(list, about.Coverage.Segments), r.Rows)
	return &TaskSegmentsResult{omitted, about.Causes, rows}, nil
}

// TaskSpans answers a TaskSegmentsRequest with the spans of the segments.
func TaskSpans(ctx context.Context, st traceprof.Store, r *TaskSegmentsRequest) (*TaskSpansResult, error) {
	about, list, err := sampledBy(ctx, st, r, true)
	if err != nil {
		return nil, err
	}
	rows, err := taskSpans(list)
	rows, omitted := query.First(rows, r.Rows)
	return &TaskSpansResult{omitted, about.Causes, rows}, err
}

// sampledBy describes a task of trace profiling, and returns the segments that it sampled,
// newest first, with their spans if they are wanted.
func sampledBy(ctx context.Context, st traceprof.Store, r *TaskSegmentsRequest, withSpans bool) (*TaskResult, []sampledSegment, error) {
	t, err := traceTask(ctx, st, r.Task)
	if err != nil {
		return nil, nil, err
	}
	about, err := describeTask(ctx, st, t, time.Now().UnixMilli())
	if err != nil {
		return nil, nil, err
	}
	s := &sample{SampleSelection: SampleSelection{Task: t.ID}}
	if err := s.findSegments(ctx, st, withSpans); err != nil && !errors.Is(err, ErrNotSampled) {
		return nil, nil, err
	}
	slices.Reverse(s.segments)
	return about, s.segments, nil
}

func taskSegments(list []sampledSegment, coverage []traceprof.Coverage) []TaskSegment {
	rows := make([]TaskSegment, len(list))
	for i := range list {
		s := &list[i]
		rows[i] = TaskSegment{Trace: s.Trace, Endpoint: s.Endpoint, Start: s.Start, Latency: s.Latency()}
		at, ok := slices.BinarySearchFunc(coverage, s.ID, func(c traceprof.Coverage, id string) int { return cmp.Compare(c.Segment, id) })
		if ok {
			rows[i].Coverage = coverage[at]
		}
		rows[i].Segment = s.ID
	}
	return rows
}

func taskSpans(list []sampledSegment) ([]TaskSpan, error) {
	rows := []TaskSpan{}
	for i := range list {
		all, err := spans.Of(list[i].Raw)
		if err != nil {
			return nil, fmt.Errorf("segment %s: %w", list[i].ID, err)
		}
		for _, at := range nested(all) {
			s := &all[at.Index]
			rows = append(rows, TaskSpan{Segment: list[i].ID, Span: s.ID, Depth: at.Depth, Kind: s.Kind, Start: s.Start - list[i].Start,
				Duration: s.End - s.Start, Operation: s.Operation})
		}
	}
	return rows, nil
}

// nested orders spans by start, each after the span that contains it.
func nested(all []traceprof.Span) []spans.Placed {
	slices.SortStableFunc(all, func(a, b traceprof.Span) int { return cmp.Compare(a.Start, b.Start) })
	first := map[int32]int{} // ids may repeat
	for i := len(all) - 1; i >= 0; i-- {
		first[all[i].ID] = i
	}
	return spans.InOrder(len(all), func(i int) int {
		if parent, known := first[all[i].Parent]; known && all[i].Parent < all[i].ID { // agents number outer spans first
			return parent
		}
		return -1
	})
}
