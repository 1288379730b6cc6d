// Package archive reads and writes the files of SkyWalking's tool profile_exporter: a
// profiled trace, to be analyzed elsewhere.
//
// The file, TRACE.tar.gz, has two members:
//
//	work/basic.yml      the task, the trace, its segments with their times, and their
//	                    spans
//	work/snapshot.data  the snapshots: messages ThreadSnapshot of the agents'
//	                    protocol, each preceded by its length as a varint
//
// SkyWalking's exporter omits the task and the segment of the snapshots, and the last
// snapshot of every segment. Dendro writes all of them; SkyWalking's analyzer reads such
// files too. How a snapshot without a segment finds its segment: see assign.
//
// The format has only thread dumps. Go profiles are exported as pprof without loss.
package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/dendroprof/dendro/traceprof"
	"github.com/dendroprof/dendro/traceprof/spans"
)

// Archive is a trace with its snapshots for one task.
type Archive struct {
	Task     string
	Trace    string
	Segments []Segment
}

// Segment is a segment of the trace with its spans and snapshots. Raw is empty.
type Segment struct {
	traceprof.Segment
	Spans     []traceprof.Span
	Snapshots traceprof.Snapshots
}

// ErrNotProfiled: there are no thread dumps of a trace for a task.
var ErrNotProfiled = errors.New("no snapshots")

// Collect reads a trace and its snapshots for a task from a store. Errors wrap
// traceprof.ErrNoTask or ErrNotProfiled if there are none.
func Collect(ctx context.Context, st traceprof.Store, task, trace string) (*Archive, error) {
	if _, err := st.Task(ctx, task); err != nil {
		return nil, fmt.Errorf("task %s: %w", task, err)
	}
	segments, err := st.Segments(ctx, traceprof.SegmentQuery{Traces: []string{trace}})
	if err != nil {
		return nil, err
	}
	q := traceprof.SnapshotQuery{Tasks: []string{task}}
	at := map[string]int{}
	for i := range segments {
		q.Segments = append(q.Segments, segments[i].ID)
		at[segments[i].ID] = i
	}
	a := &Archive{Task: task, Trace: trace}
	if len(q.Segments) == 0 {
		return nil, fmt.Errorf("trace %s of task %s: %w: the store has no segment of it", trace, task, ErrNotProfiled)
	}
	samples := false
	for s, err := range st.Snapshots(ctx, q) {
		if err != nil {
			return nil, err
		}
		if s.Language != traceprof.Dumps {
			samples = true
			continue
		}
		segment := segments[at[s.Segment]]
		list, err := spans.Of(segment.Raw)
		if err != nil {
			return nil, fmt.Errorf("segment %s: %w", segment.ID, err)
		}
		segment.Raw = nil
		a.Segments = append(a.Segments, Segment{segment, list, s})
	}
	switch {
	case len(a.Segments) > 0:
		slices.SortStableFunc(a.Segments, func(a, b Segment) int { return cmp.Compare(a.Start, b.Start) })
		return a, nil
	case samples:
		return nil, fmt.Errorf("trace %s of task %s: %w: it has samples of a Go profile, which this format cannot hold; export pprof instead", trace, task, ErrNotProfiled)
	}
	return nil, fmt.Errorf("trace %s of task %s: %w", trace, task, ErrNotProfiled)
}

// Put stores the segments and the snapshots of the archive.
func (a *Archive) Put(ctx context.Context, st traceprof.Store) error {
	segments, snapshots := make([]traceprof.Segment, len(a.Segments)), make([]traceprof.Snapshots, len(a.Segments))
	for i := range a.Segments {
		segments[i], snapshots[i] = a.Segments[i].Segment, a.Segments[i].Snapshots
		segments[i].Raw = spans.Encode(a.Segments[i].Spans)
	}
	if err := st.PutSegments(ctx, segments...); err != nil {
		return err
	}
	return st.PutSnapshots(ctx, snapshots...)
}
