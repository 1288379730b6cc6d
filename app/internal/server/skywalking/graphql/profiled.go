package graphql

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"

	"skywalking.apache.org/repo/goapi/query"

	"github.com/dendroprof/dendro/internal/column"
	"github.com/dendroprof/dendro/traceprof"
	"github.com/dendroprof/dendro/traceprof/ids"
)

// profiled returns the ids of the segments with snapshots for a task, also of those whose
// first snapshot is missing, which SkyWalking's OAP omits.
func (r *resolver) profiled(ctx context.Context, task string) (map[string]bool, error) {
	if task == "" {
		return nil, nil
	}
	found := map[string]bool{}
	list, err := r.Store.SampledSegments(ctx, traceprof.SnapshotQuery{Tasks: []string{task}})
	for i := range list {
		found[list[i].Segment] = true
	}
	return found, err
}

// segmentsOf returns the segments with some ids, newest first.
func (r *resolver) segmentsOf(ctx context.Context, idSet map[string]bool, noRaw bool) ([]traceprof.Segment, error) {
	if len(idSet) == 0 {
		return nil, nil
	}
	return r.Store.Segments(ctx, traceprof.SegmentQuery{IDs: slices.Collect(maps.Keys(idSet)), NoRaw: noRaw})
}

// GetProfileTaskSegments answers Query.getProfileTaskSegments.
func (r *resolver) GetProfileTaskSegments(ctx context.Context, taskID string) ([]*query.ProfiledTraceSegments, error) {
	profiled, err := r.profiled(ctx, taskID)
	if err != nil {
		return nil, err
	}
	segments, err := r.segmentsOf(ctx, profiled, false)
	if err != nil {
		return nil, err
	}
	groups := map[process][]traceprof.Segment{}
	q := traceprof.SegmentQuery{Limit: maxScanned}
	for i := range segments {
		p := processOf(&segments[i])
		if groups[p] = append(groups[p], segments[i]); p.trace != "" {
			q.Traces = append(q.Traces, p.trace)
		}
	}
	slices.Sort(q.Traces)
	if q.Traces = slices.Compact(q.Traces); len(q.Traces) > 0 {
		if segments, err = r.Store.Segments(ctx, q); err != nil {
			return nil, err
		}
		for i := range segments {
			if p := processOf(&segments[i]); groups[p] != nil && !profiled[segments[i].ID] {
				groups[p] = append(groups[p], segments[i])
			}
		}
	}
	list := []*query.ProfiledTraceSegments{}
	for _, group := range groups {
		slices.SortFunc(group, func(a, b traceprof.Segment) int {
			return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.ID, a.ID))
		})
		list = append(list, fold(group, profiled)...)
	}
	slices.SortFunc(list, func(a, b *query.ProfiledTraceSegments) int {
		start := func(e *query.ProfiledTraceSegments) int64 {
			n, _ := strconv.ParseInt(e.Start, 10, 64) // written by fold
			return n
		}
		return cmp.Or(cmp.Compare(start(b), start(a)), cmp.Compare(a.Spans[0].SegmentID, b.Spans[0].SegmentID))
	})
	return list, nil
}

// process is the part of a trace that one instance had.
type process struct{ trace, service, instance string }

func processOf(s *traceprof.Segment) process { return process{s.Trace, s.Service, s.Instance} }

// fold converts the segments of a process, oldest first, to entries: a segment that was
// started by the thread of another one becomes a part of its entry. Entries without a
// profiled segment are omitted, and so are references to other processes, whose spans are
// not in the answer.
func fold(segments []traceprof.Segment, profiled map[string]bool) []*query.ProfiledTraceSegments {
	entries := map[string]*query.ProfiledTraceSegments{} // by segment
	into := map[string]string{}                          // by segment: the segment of its entry
	home := func(id string) string {
		for into[id] != "" {
			id = into[id]
		}
		return id
	}
	for i := range segments {
		entries[segments[i].ID] = entryOf(&segments[i], profiled)
	}
	for i := range segments {
		id := segments[i].ID
		caller := home(callingThread(id, entries))
		if caller == "" || caller == id {
			continue
		}
		into[id] = caller
		entries[caller].Spans = append(entries[caller].Spans, entries[id].Spans...)
	}
	var list []*query.ProfiledTraceSegments
	for i := range segments {
		e := entries[segments[i].ID]
		if into[segments[i].ID] != "" || !slices.ContainsFunc(e.Spans, func(s *query.ProfiledSpan) bool { return s.Profiled }) {
			continue
		}
		for _, s := range e.Spans {
			s.Refs = slices.DeleteFunc(s.Refs, func(r *query.Ref) bool { return r.Type == query.RefTypeCrossProcess })
		}
		list = append(list, e)
	}
	return list
}

// callingThread returns the segment among the entries whose thread started s, by the first
// reference to one of them, or "".
func callingThread(id string, entries map[string]*query.ProfiledTraceSegments) string {
	for _, s := range entries[id].Spans {
		if s.SegmentID != id || len(s.Refs) == 0 {
			continue
		}
		if s.Refs[0].Type == query.RefTypeCrossProcess {
			return ""
		}
		if entries[s.Refs[0].ParentSegmentID] != nil {
			return s.Refs[0].ParentSegmentID
		}
	}
	return ""
}

// entryOf returns the entry of one segment.
func entryOf(s *traceprof.Segment, profiled map[string]bool) *query.ProfiledTraceSegments {
	spans := column.Of(spansOf(s), func(span *query.Span) *query.ProfiledSpan { return profiledSpan(span, profiled[s.ID]) })
	return &query.ProfiledTraceSegments{TraceID: s.Trace, InstanceID: ids.Instance(s.Service, s.Instance), InstanceName: s.Instance,
		EndpointNames: []string{s.Endpoint}, Duration: latency(s), Start: strconv.FormatInt(s.Start, 10), Spans: spans}
}

// profiledSpan converts a span for lists of profiled segments.
func profiledSpan(s *query.Span, profiled bool) *query.ProfiledSpan {
	return &query.ProfiledSpan{SpanID: s.SpanID, ParentSpanID: s.ParentSpanID, SegmentID: s.SegmentID, Refs: s.Refs,
		ServiceCode: s.ServiceCode, ServiceInstanceName: s.ServiceInstanceName, StartTime: s.StartTime, EndTime: s.EndTime,
		EndpointName: s.EndpointName, Type: s.Type, Peer: s.Peer, Component: s.Component, IsError: s.IsError, Layer: s.Layer,
		Tags: s.Tags, Logs: s.Logs, Profiled: profiled}
}

// GetProfileTaskSegmentList answers Query.getProfileTaskSegmentList.
func (r *resolver) GetProfileTaskSegmentList(ctx context.Context, taskID string) ([]*query.BasicTrace, error) {
	profiled, err := r.profiled(ctx, taskID)
	if err != nil {
		return nil, err
	}
	segments, err := r.segmentsOf(ctx, profiled, true)
	return basicTraces(segments), err
}

// GetProfiledSegment answers Query.getProfiledSegment.
func (r *resolver) GetProfiledSegment(ctx context.Context, id string) (*query.ProfiledSegment, error) {
	segments, err := r.Store.Segments(ctx, traceprof.SegmentQuery{IDs: []string{id}})
	if err != nil || len(segments) == 0 {
		return nil, err
	}
	return &query.ProfiledSegment{Spans: entryOf(&segments[0], nil).Spans}, nil
}
